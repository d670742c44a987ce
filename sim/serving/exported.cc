#include "sim/serving/exported.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

#include "sim/serving/hardware.h"
#include "sim/serving/sample_options.h"
#include "sim/workload/byte_source.h"
#include "sim/workload/content_store.h"
#include "sim/workload/request_fields.h"
#include "sim/workload/samples.h"

namespace blockyard::serving {
namespace {

using scenario::Document;

std::string format_of(const std::string& path, const std::string& named) {
  if (!named.empty()) return named;
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".csv") return "blockyard";
  if (ending == ".jsonl") return "blockyard-jsonl";
  throw InputError({path}, "its ending does not say which format to write; expected .csv or .jsonl");
}

// Only one rule of max_tokens asks for it.
Tokens max_model_len(const Document& scenario, const std::filesystem::path& configs, Diagnostics& errors) {
  if (scenario.choice("workload.max_tokens.rule") != "model_limit") return Tokens(1);
  if (!scenario.is_word("engine.max_model_len", "auto")) return scenario.tokens("engine.max_model_len");
  if (scenario.has_value("model")) return Tokens(load_model(scenario, configs).max_position_embeddings);
  errors.add(scenario.place("workload.max_tokens.rule"),
             "workload.max_tokens.rule: model_limit needs engine.max_model_len, or a model");
  return Tokens(1);
}

struct Opened {
  workload::ContentStore contents;
  Requests requests;
};

std::unique_ptr<Opened> open(const Document& scenario, const std::filesystem::path& configs) {
  Diagnostics errors;
  auto opened = std::make_unique<Opened>();
  const Tokens limit = max_model_len(scenario, configs, errors);
  opened->requests = make_requests(scenario, limit, &opened->contents, errors);
  errors.throw_if_any();
  return opened;
}

// What the requests tell beyond times and lengths. A column that nobody uses would let a reader expect what is not
// there.
workload::FieldSet fields_told(Opened& opened) {
  workload::FieldSet told = workload::fields::kNone;
  std::array<workload::Request, 256> requests;
  while (const std::size_t n = opened.requests.source->read(requests)) {
    for (const workload::Request& request : std::span(requests).first(n)) {
      told |= workload::fields_of(request);
      if (request.content != workload::ContentId::none) opened.contents.drop(request.content);
    }
  }
  return told;
}

}  // namespace

workload::Written export_requests(const Document& scenario, const std::filesystem::path& configs,
                                  const std::string& path, const std::string& format) {
  if (scenario.is_set("workload.trace.file") &&
      !workload::can_be_read_again(scenario.file("workload.trace.file").string()))
    throw InputError(scenario.place("workload.trace.file"), "an export reads the trace once more; expected a file");
  workload::OutputOptions options;
  options.format = format_of(path, format);
  options.fields = fields_told(*open(scenario, configs));
  if (options.format == "blockyard" && (options.fields & workload::fields::kIds) != 0)
    throw InputError({path}, "prompts have ids of blocks, which CSV cannot say; expected an ending .jsonl");
  const auto opened = open(scenario, configs);
  const workload::ReadReport none;
  const workload::ReadReport& read = opened->requests.trace == nullptr ? none : opened->requests.trace->report();
  return workload::write_trace(*opened->requests.source, opened->contents, path, options, read);
}

RequestsOverride exported_requests(const Document& scenario, const std::filesystem::path& configs,
                                   const std::string& path) {
  // Which keys have a say is the same as without the trace, and so is what the report says of them.
  static_cast<void>(open(scenario, configs));
  const bool samples = asks_samples(scenario);
  return {.tells_contents = tells_contents(scenario) && !(samples && asks_beams(scenario)),
          .asks_samples = samples,
          .expected = std::nullopt,
          .make = [path, samples](workload::ContentStore* contents) {
            workload::TraceOptions options;
            options.bad_lengths = workload::BadLengths::keep;
            options.contents = contents;
            Requests requests;
            auto source = workload::open_trace(path, options);
            requests.named_by = source.get();
            requests.source = std::move(source);
            if (!samples) requests.source = workload::expect_one_sample(std::move(requests.source));
            return requests;
          }};
}

}  // namespace blockyard::serving
