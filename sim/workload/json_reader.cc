#include "sim/workload/json_reader.h"

#include <utility>

#include "sim/workload/json_fields.h"
#include "sim/workload/record_reader.h"

namespace blockyard::workload {
namespace {

class JsonReader final : public RowReader {
 public:
  JsonReader(LineReader lines, std::unique_ptr<RecordFormat> format, std::size_t longest)
      : records_(std::move(lines), longest), format_(std::move(format)) {}

  bool read(RowBatch& batch) override {
    batch.clear();
    std::string_view record;
    for (std::size_t i = 0; i < RowBatch::kLines && batch.size < RowBatch::kLines; ++i) {
      if (!records_.next(record)) return i > 0;
      const std::size_t rows = batch.size;
      const std::size_t ids = batch.prefix_ids.size();
      try {
        parse(record, batch);
      } catch (const JsonFault& fault) {
        batch.size = rows;
        batch.prefix_ids.resize(ids);
        const std::size_t offset = fault.at == nullptr ? 0 : static_cast<std::size_t>(fault.at - record.data());
        batch.bad.push_back({records_.place(offset), fault.message});
      }
      for (std::size_t row = rows; row < batch.size; ++row) batch.rows[row].line = records_.line_number();
    }
    return true;
  }

  [[nodiscard]] const std::string& file() const override { return records_.file(); }

 private:
  void parse(std::string_view record, RowBatch& batch) {
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    if (auto error = parser_.iterate(record, record.size() + LineReader::kPadding).get(document)) {
      broken_json(error, nullptr);
    }
    if (auto error = document.get_object().get(object)) broken_json(error, nullptr);
    format_->parse(object, batch);
    if (!document.current_location().error()) throw JsonFault{nullptr, "text behind the JSON object"};
  }

  RecordReader records_;
  std::unique_ptr<RecordFormat> format_;
  simdjson::ondemand::parser parser_;
};

}  // namespace

std::unique_ptr<RowReader> open_json(LineReader lines, std::unique_ptr<RecordFormat> format,
                                     std::size_t longest_record) {
  return std::make_unique<JsonReader>(std::move(lines), std::move(format), longest_record);
}

}  // namespace blockyard::workload
