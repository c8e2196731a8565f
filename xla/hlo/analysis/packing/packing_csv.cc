#include "xla/hlo/analysis/packing/packing_csv.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

namespace xla::packing {
namespace {

class CsvReader {
 public:
  CsvReader(absl::string_view text, absl::string_view file_name)
      : text_(text), file_name_(file_name) {}

  absl::StatusOr<PackingProblem> Read();

 private:
  // Cells without the blanks around them; views into the text.
  static std::vector<absl::string_view> Cells(absl::string_view line) {
    std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
    for (absl::string_view& cell : cells) {
      cell = absl::StripAsciiWhitespace(cell);
    }
    return cells;
  }

  absl::Status Error(absl::string_view cell, absl::string_view message) const;
  absl::Status ReadHeader();
  absl::Status ReadBuffer();

  absl::string_view text_;
  absl::string_view file_name_;
  absl::string_view line_;
  int64_t line_number_ = 0;
  std::vector<std::string> columns_;
  absl::flat_hash_map<std::string, int64_t> line_of_id_;
  PackingProblem problem_;
};

absl::Status CsvReader::Error(absl::string_view cell,
                              absl::string_view message) const {
  const int64_t column = cell.data() - line_.data();
  return absl::InvalidArgumentError(absl::StrCat(
      file_name_, ":", line_number_, ":", column + 1, ": error: ", message,
      "\n  ", line_, "\n  ", std::string(column, ' '), "^"));
}

absl::Status CsvReader::ReadHeader() {
  static constexpr absl::string_view kKnown[] = {"id",   "lower",     "upper",
                                                 "size", "alignment", "group"};
  for (absl::string_view cell : Cells(line_)) {
    if (std::find(std::begin(kKnown), std::end(kKnown), cell) ==
        std::end(kKnown)) {
      return Error(cell, absl::StrCat("unknown column '", cell,
                                      "'; known: id, lower, upper, size, "
                                      "alignment, group"));
    }
    if (std::find(columns_.begin(), columns_.end(), cell) != columns_.end()) {
      return Error(cell, absl::StrCat("column '", cell, "' appears twice"));
    }
    columns_.emplace_back(cell);
  }
  for (absl::string_view needed : {"lower", "upper", "size"}) {
    if (std::find(columns_.begin(), columns_.end(), needed) == columns_.end()) {
      return Error(line_.substr(line_.size()),
                   absl::StrCat("missing column '", needed, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status CsvReader::ReadBuffer() {
  const std::vector<absl::string_view> cells = Cells(line_);
  if (cells.size() != columns_.size()) {
    return Error(cells.back(), absl::StrCat(cells.size(), " cells for ",
                                            columns_.size(), " columns"));
  }
  PackingBuffer buffer;
  absl::string_view upper, size, alignment;
  for (int64_t c = 0; c < cells.size(); ++c) {
    const std::string& column = columns_[c];
    if (column == "id") {
      buffer.id = std::string(cells[c]);
      auto [it, is_new] = line_of_id_.emplace(buffer.id, line_number_);
      if (!is_new) {
        return Error(cells[c],
                     absl::StrCat("id '", cells[c],
                                  "' is already used in line ", it->second));
      }
      continue;
    }
    int64_t value;
    if (!absl::SimpleAtoi(cells[c], &value)) {
      return Error(cells[c], absl::StrCat(column, " is not a 64-bit integer: '",
                                          cells[c], "'"));
    }
    if (column == "lower") buffer.lower = value;
    if (column == "upper") buffer.upper = value, upper = cells[c];
    if (column == "size") buffer.size = value, size = cells[c];
    if (column == "alignment") buffer.alignment = value, alignment = cells[c];
    if (column == "group") buffer.colocation = value;
  }
  if (buffer.lower >= buffer.upper) {
    return Error(upper, "upper must be above lower");
  }
  if (buffer.size < 0) return Error(size, "size is negative");
  if (buffer.alignment < 1) {
    return Error(alignment, "alignment must be positive");
  }
  problem_.buffers.push_back(std::move(buffer));
  return absl::OkStatus();
}

absl::StatusOr<PackingProblem> CsvReader::Read() {
  for (absl::string_view line : absl::StrSplit(text_, '\n')) {
    ++line_number_;
    line_ = absl::StripTrailingAsciiWhitespace(line);
    if (line_.empty()) continue;
    absl::Status status = columns_.empty() ? ReadHeader() : ReadBuffer();
    if (!status.ok()) return status;
  }
  if (columns_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_name_,
                     ":1:1: error: the file is empty; its first line must name "
                     "the columns: id,lower,upper,size"));
  }
  return std::move(problem_);
}

}  // namespace

absl::StatusOr<PackingProblem> ParsePackingCsv(absl::string_view text,
                                               absl::string_view file_name) {
  return CsvReader(text, file_name).Read();
}

std::string PackingProblemToCsv(const PackingProblem& problem) {
  std::string text = "id,lower,upper,size,alignment,group\n";
  for (int64_t i = 0; i < problem.buffers.size(); ++i) {
    const PackingBuffer& buffer = problem.buffers[i];
    absl::StrAppend(&text, buffer.id, "#", i, ",", buffer.lower, ",",
                    buffer.upper, ",", buffer.size, ",", buffer.alignment, ",",
                    buffer.colocation, "\n");
  }
  return text;
}

std::string PackingToCsv(const PackingProblem& problem,
                         const PackingSolution& solution) {
  std::string text = "id,lower,upper,size,offset\n";
  for (int64_t i = 0; i < problem.buffers.size(); ++i) {
    const PackingBuffer& buffer = problem.buffers[i];
    absl::StrAppend(&text, buffer.id.empty() ? absl::StrCat(i) : buffer.id, ",",
                    buffer.lower, ",", buffer.upper, ",", buffer.size, ",",
                    solution.offsets[i], "\n");
  }
  return text;
}

}  // namespace xla::packing
