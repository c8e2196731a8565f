#include "xla/hlo/ir/text/hlo_attribute_printer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/text/hlo_print_util.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Whether the lexer takes `key=` as the name of an attribute.
bool IsAttributeName(absl::string_view key) {
  return !key.empty() && (absl::ascii_isalpha(key[0]) || key[0] == '_') &&
         absl::c_all_of(key, [](char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
         });
}

// A repeated field as `key={1,2}`.
void PrintDims(Printer* printer, absl::string_view key_and_equals,
               const google::protobuf::RepeatedField<int64_t>& dims) {
  printer->Append(key_and_equals);
  PrintBracedInts(printer, AsSpan(dims));
}

void PrintTensorSparsity(Printer* printer,
                         const SparsityConfig::TensorSparsityConfig& config) {
  AppendCat(printer, "{sparsity=", config.num_non_zero());
  AppendCat(printer, "x", config.block_size());
  AppendCat(printer, " dimension=", config.dimension());
  AppendCat(printer, " stride=", config.stride());
  AppendCat(printer, " idx=", config.idx(), "}");
}

}  // namespace

void PrintPaddingConfig(Printer* printer, const PaddingConfig& padding) {
  const bool has_interior = absl::c_any_of(
      padding.dimensions(),
      [](const auto& dim) { return dim.interior_padding() != 0; });
  absl::string_view separator = "";
  for (const auto& dim : padding.dimensions()) {
    printer->Append(separator);
    separator = "x";
    AppendCat(printer, dim.edge_padding_low(), "_", dim.edge_padding_high());
    if (has_interior) AppendCat(printer, "_", dim.interior_padding());
  }
}

// key=, in quotes if it is no word.
void PrintKey(Printer* printer, absl::string_view key) {
  if (IsAttributeName(key)) {
    printer->Append(key);
  } else {
    PrintQuoted(printer, key);
  }
  printer->Append("=");
}

void PrintFrontendAttributes(Printer* printer,
                             const FrontendAttributes& attributes) {
  absl::InlinedVector<std::pair<absl::string_view, absl::string_view>, 4>
      entries;
  entries.reserve(attributes.map().size());
  for (const auto& entry : attributes.map()) {
    entries.emplace_back(entry.first, entry.second);
  }
  std::sort(entries.begin(), entries.end());
  printer->Append("{");
  absl::string_view separator = "";
  for (const auto& [key, value] : entries) {
    printer->Append(separator);
    separator = ",";
    PrintKey(printer, key);
    PrintDictOrQuoted(printer, value);
  }
  printer->Append("}");
}

void PrintStatisticsViz(Printer* printer, const StatisticsViz& statistics) {
  printer->Append("{visualizing_index=");
  printer->Append(statistics.stat_index_to_visualize());
  for (const Statistic& statistic : statistics.statistics()) {
    printer->Append(",");
    PrintKey(printer, statistic.stat_name());
    PrintDouble(printer, statistic.stat_val());
  }
  printer->Append("}");
}

void PrintTolerance(Printer* printer,
                    const ResultAccuracy::Tolerance& tolerance) {
  printer->Append("{atol=");
  PrintDouble(printer, tolerance.atol());
  printer->Append(",rtol=");
  PrintDouble(printer, tolerance.rtol());
  AppendCat(printer, ",ulps=", tolerance.ulps(), "}");
}

void PrintResultAccuracy(Printer* printer, const ResultAccuracy& accuracy) {
  if (accuracy.specs_case() == ResultAccuracy::kTolerance) {
    printer->Append("{tolerance=");
    PrintTolerance(printer, accuracy.tolerance());
    printer->Append("}");
  } else {
    AppendCat(printer, "{mode=",
              absl::AsciiStrToLower(ResultAccuracy::Mode_Name(accuracy.mode())),
              "}");
  }
}

void PrintSparsityConfig(Printer* printer, const SparsityConfig& config) {
  printer->Append("{");
  if (config.has_lhs()) {
    printer->Append("lhs=");
    PrintTensorSparsity(printer, config.lhs());
  }
  if (config.has_rhs()) {
    printer->Append(config.has_lhs() ? " rhs=" : "rhs=");
    PrintTensorSparsity(printer, config.rhs());
  }
  printer->Append("}");
}

void PrintOperandPrecision(Printer* printer, const PrecisionConfig& config) {
  printer->Append("{");
  absl::string_view separator = "";
  for (int precision : config.operand_precision()) {
    AppendCat(printer, separator,
              absl::AsciiStrToLower(PrecisionConfig::Precision_Name(
                  static_cast<PrecisionConfig::Precision>(precision))));
    separator = ",";
  }
  printer->Append("}");
}

void PrintDotDimensionNumbers(Printer* printer,
                              const DotDimensionNumbers& dnums) {
  if (!dnums.lhs_batch_dimensions().empty()) {
    PrintDims(printer, "lhs_batch_dims=", dnums.lhs_batch_dimensions());
    printer->Append(", ");
  }
  PrintDims(printer,
            "lhs_contracting_dims=", dnums.lhs_contracting_dimensions());
  if (!dnums.rhs_batch_dimensions().empty()) {
    PrintDims(printer, ", rhs_batch_dims=", dnums.rhs_batch_dimensions());
  }
  PrintDims(printer,
            ", rhs_contracting_dims=", dnums.rhs_contracting_dimensions());
}

}  // namespace xla
