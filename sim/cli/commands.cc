#include "sim/cli/commands.h"

#include <array>

#include "sim/cli/dispatch.h"

namespace blockyard::cli {
namespace {

constexpr std::array kCommands{
    Command{"run", "simulate a scenario and say what its users felt and its memory did", run},
    Command{"compare", "simulate variants of a scenario on the same workload, side by side", compare},
    Command{"validate", "lay a simulated server beside a measured one", validate},
    Command{"calibrate", "fit constants of the cost model to a measured server", calibrate},
    Command{"size", "will it fit: the memory arithmetic of a model on a GPU, line by line", size},
    Command{"conform", "replay recorded runs of the real engine and compare every line", conform},
    Command{"explain", "one request's time, wait by wait, from the files of a run", explain},
    Command{"cache", "a trace against the prefix cache alone: policies, capacities, the optimum", cache},
    Command{"trace", "look at request traces, convert them, generate them", trace},
    Command{"list", "what a scenario can name: models, gpus, schedulers, ...", list},
    Command{"schema", "the JSON Schema of the scenario, for editors", schema},
};

constexpr std::array kTraceCommands{
    Command{"info", "rows, times, lengths and repeated prefixes of traces", trace_info},
    Command{"convert", "write a trace, or a part of it, in another format", trace_convert},
    Command{"generate", "write the requests that a scenario's generator draws as a trace", trace_generate},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }
std::span<const Command> trace_commands() { return kTraceCommands; }

ExitStatus trace(const Arguments& arguments, Streams streams) {
  return dispatch("blockyard trace", "look at request traces, convert them, generate them", trace_commands(), arguments,
                  streams);
}

}  // namespace blockyard::cli
