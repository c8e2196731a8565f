#ifndef XLA_HLO_IR_TEXT_HLO_ATTRIBUTE_PRINTER_H_
#define XLA_HLO_IR_TEXT_HLO_ATTRIBUTE_PRINTER_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/repeated_field.h"
#include "xla/printer.h"
#include "xla/service/hlo.pb.h"
#include "xla/xla_data.pb.h"

// Attribute values that are proto messages, as HLO text. Each function writes
// what its comment shows, without the name of the attribute.

namespace xla {

inline absl::Span<const int64_t> AsSpan(
    const google::protobuf::RepeatedField<int64_t>& field) {
  return absl::MakeConstSpan(field.data(), field.size());
}

// `0_0x1_1`, or `0_0_0x1_1_2` when some dimension has interior padding.
void PrintPaddingConfig(Printer* printer, const PaddingConfig& padding);

// `{a="text",b={raw}}`: in order of keys; values that are dictionaries are
// printed unchanged.
void PrintFrontendAttributes(Printer* printer,
                             const FrontendAttributes& attributes);

// `{visualizing_index=1,name=1.5,other=2}`
void PrintStatisticsViz(Printer* printer, const StatisticsViz& statistics);

// `{atol=0.5,rtol=0,ulps=2}`
void PrintTolerance(Printer* printer,
                    const ResultAccuracy::Tolerance& tolerance);

// `{tolerance={atol=0.5,rtol=0,ulps=2}}` or `{mode=highest}`
void PrintResultAccuracy(Printer* printer, const ResultAccuracy& accuracy);

// `{lhs={num_non_zero=2,block_size=4,dimension=1,stride=1,idx=2},rhs={...}}`:
// a side that is not sparse is omitted.
void PrintSparsityConfig(Printer* printer, const SparsityConfig& config);

// `{highest,default}`
void PrintOperandPrecision(Printer* printer, const PrecisionConfig& config);

// `lhs_contracting_dims={1}, rhs_contracting_dims={0}` with the batch
// dimensions, where there are any, before the contracting ones of each side.
void PrintDotDimensionNumbers(Printer* printer,
                              const DotDimensionNumbers& dnums);

// `{0}` / `{1,2}` from any range of integers.
template <typename Index>
void PrintIndex(Printer* printer, const Index& index) {
  printer->Append("{");
  absl::string_view separator = "";
  for (int64_t i : index) {
    printer->Append(separator);
    printer->Append(i);
    separator = ",";
  }
  printer->Append("}");
}

}  // namespace xla

#endif  // XLA_HLO_IR_TEXT_HLO_ATTRIBUTE_PRINTER_H_
