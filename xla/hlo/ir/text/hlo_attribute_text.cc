// Text of attribute values and the way back: the free functions declared in
// hlo_instruction.h.

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/text/hlo_attribute_printer.h"
#include "xla/printer.h"
#include "xla/service/hlo.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Runs a print function into a string.
template <typename PrintFn>
std::string Printed(PrintFn&& print) {
  StringPrinter printer;
  print(&printer);
  return std::move(printer).ToString();
}

// A protobuf enum value from its lower-case text. `prefix` precedes the
// upper-case text in the enumerator's name.
template <typename Enum>
absl::StatusOr<Enum> ParseLowerEnum(absl::string_view prefix,
                                    absl::string_view name,
                                    absl::string_view what,
                                    bool (*parse)(const std::string&, Enum*)) {
  Enum value;
  if (absl::c_none_of(name, absl::ascii_isupper) &&
      parse(absl::StrCat(prefix, absl::AsciiStrToUpper(name)), &value)) {
    return value;
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown ", what, ": ", name));
}

std::string DimsToString(absl::string_view key,
                         const google::protobuf::RepeatedField<int64_t>& dims) {
  return absl::StrCat(key, "={", absl::StrJoin(dims, ","), "}");
}

// The labels of one side of a convolution: position i holds the label of
// dimension i, '?' where nothing is said about it.
class DimLabels {
 public:
  explicit DimLabels(int64_t rank) : labels_(rank, "?") {}

  // Dimensions without a role may stand anywhere between the others.
  void Set(int64_t dim, absl::string_view label) {
    constexpr int64_t kMost = 1000;
    if (dim < 0 || dim >= kMost) return;
    if (dim >= static_cast<int64_t>(labels_.size()))
      labels_.resize(dim + 1, "?");
    labels_[dim] = std::string(label);
  }
  void SetSpatial(const google::protobuf::RepeatedField<int64_t>& dims) {
    for (int i = 0; i < dims.size(); ++i) Set(dims[i], absl::StrCat(i));
  }
  std::string Join() const { return absl::StrJoin(labels_, ""); }

 private:
  std::vector<std::string> labels_;
};

}  // namespace

absl::string_view ToString(HloInstruction::FusionKind kind) {
  switch (kind) {
    case HloInstruction::FusionKind::kLoop:
      return "kLoop";
    case HloInstruction::FusionKind::kInput:
      return "kInput";
    case HloInstruction::FusionKind::kOutput:
      return "kOutput";
    case HloInstruction::FusionKind::kCustom:
      return "kCustom";
  }
  return "kUnknown";
}

absl::StatusOr<HloInstruction::FusionKind> StringToFusionKind(
    absl::string_view kind_name) {
  for (HloInstruction::FusionKind kind :
       {HloInstruction::FusionKind::kLoop, HloInstruction::FusionKind::kInput,
        HloInstruction::FusionKind::kOutput,
        HloInstruction::FusionKind::kCustom}) {
    if (kind_name == ToString(kind)) return kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown fusion kind: ", kind_name));
}

std::ostream& operator<<(std::ostream& os, HloInstruction::FusionKind kind) {
  return os << ToString(kind);
}

std::string PaddingConfigToString(const PaddingConfig& padding) {
  return Printed([&](Printer* p) { PrintPaddingConfig(p, padding); });
}

std::string FrontendAttributesToString(
    const FrontendAttributes& frontend_attributes) {
  return Printed(
      [&](Printer* p) { PrintFrontendAttributes(p, frontend_attributes); });
}

std::string StatisticsVizToString(const StatisticsViz& statistics_viz) {
  return Printed([&](Printer* p) { PrintStatisticsViz(p, statistics_viz); });
}

std::string ResultAccuracyToleranceToString(
    const ResultAccuracy::Tolerance& tolerance) {
  return Printed([&](Printer* p) {
    p->Append("tolerance=");
    PrintTolerance(p, tolerance);
  });
}

std::string SparsityConfigToString(const SparsityConfig& sparsity_config) {
  return Printed([&](Printer* p) { PrintSparsityConfig(p, sparsity_config); });
}

std::string RandomAlgorithmToString(const RandomAlgorithm& algorithm) {
  return absl::AsciiStrToLower(RandomAlgorithm_Name(algorithm));
}

std::string RandomDistributionToString(const RandomDistribution& distribution) {
  return absl::AsciiStrToLower(RandomDistribution_Name(distribution));
}

std::string PrecisionToString(const PrecisionConfig::Precision& precision) {
  return absl::AsciiStrToLower(PrecisionConfig::Precision_Name(precision));
}

std::string ResultAccuracyToString(ResultAccuracy::Mode accuracy_mode) {
  return absl::AsciiStrToLower(ResultAccuracy::Mode_Name(accuracy_mode));
}

std::string AlgorithmToString(const PrecisionConfig::Algorithm& algorithm) {
  return absl::AsciiStrToLower(
      absl::StripPrefix(PrecisionConfig::Algorithm_Name(algorithm), "ALG_"));
}

std::string DotDimensionNumbersToString(const DotDimensionNumbers& dnums) {
  return Printed([&](Printer* p) { PrintDotDimensionNumbers(p, dnums); });
}

std::string RaggedDotDimensionNumbersToString(
    const RaggedDotDimensionNumbers& dnums) {
  std::string text = DotDimensionNumbersToString(dnums.dot_dimension_numbers());
  absl::StrAppend(
      &text, ", ",
      DimsToString("lhs_ragged_dims", dnums.lhs_ragged_dimensions()));
  if (!dnums.rhs_group_dimensions().empty()) {
    absl::StrAppend(
        &text, ", ",
        DimsToString("rhs_group_dims", dnums.rhs_group_dimensions()));
  }
  return text;
}

std::string ConvolutionDimensionNumbersToString(
    const ConvolutionDimensionNumbers& dnums) {
  DimLabels input(dnums.input_spatial_dimensions_size() + 2);
  input.Set(dnums.input_batch_dimension(), "b");
  input.Set(dnums.input_feature_dimension(), "f");
  input.SetSpatial(dnums.input_spatial_dimensions());

  DimLabels kernel(dnums.kernel_spatial_dimensions_size() + 2);
  kernel.Set(dnums.kernel_input_feature_dimension(), "i");
  kernel.Set(dnums.kernel_output_feature_dimension(), "o");
  kernel.SetSpatial(dnums.kernel_spatial_dimensions());

  DimLabels output(dnums.output_spatial_dimensions_size() + 2);
  output.Set(dnums.output_batch_dimension(), "b");
  output.Set(dnums.output_feature_dimension(), "f");
  output.SetSpatial(dnums.output_spatial_dimensions());

  return absl::StrCat(input.Join(), "_", kernel.Join(), "->", output.Join());
}

absl::StatusOr<RandomAlgorithm> StringToRandomAlgorithm(
    const std::string& name) {
  return ParseLowerEnum<RandomAlgorithm>("", name, "random algorithm",
                                         [](const std::string& s, auto* v) {
                                           return RandomAlgorithm_Parse(s, v);
                                         });
}

absl::StatusOr<RandomDistribution> StringToRandomDistribution(
    const std::string& name) {
  return ParseLowerEnum<RandomDistribution>(
      "", name, "random distribution", [](const std::string& s, auto* v) {
        return RandomDistribution_Parse(s, v);
      });
}

absl::StatusOr<PrecisionConfig::Precision> StringToPrecision(
    const std::string& name) {
  return ParseLowerEnum<PrecisionConfig::Precision>(
      "", name, "precision", [](const std::string& s, auto* v) {
        return PrecisionConfig::Precision_Parse(s, v);
      });
}

absl::StatusOr<PrecisionConfig::Algorithm> StringToAlgorithm(
    const std::string& name) {
  return ParseLowerEnum<PrecisionConfig::Algorithm>(
      "ALG_", name, "dot algorithm", [](const std::string& s, auto* v) {
        return PrecisionConfig::Algorithm_Parse(s, v);
      });
}

absl::StatusOr<ResultAccuracy::Mode> StringToResultAccuracy(
    absl::string_view name) {
  return ParseLowerEnum<ResultAccuracy::Mode>(
      "", name, "result accuracy mode", [](const std::string& s, auto* v) {
        return ResultAccuracy::Mode_Parse(s, v);
      });
}

absl::StatusOr<CustomCallSchedule> StringToCustomCallSchedule(
    absl::string_view name) {
  CustomCallSchedule schedule;
  if (CustomCallSchedule_Parse(std::string(name), &schedule)) return schedule;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown custom call schedule: ", name));
}

absl::StatusOr<CustomCallApiVersion> StringToCustomCallApiVersion(
    absl::string_view name) {
  CustomCallApiVersion version;
  if (CustomCallApiVersion_Parse(std::string(name), &version)) return version;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown custom call API version: ", name));
}

std::string HloGatherInstruction::GatherDimensionNumbersToString(
    const GatherDimensionNumbers& dim_numbers) {
  return Printed(
      [&](Printer* p) { PrintGatherDimensionNumbers(p, dim_numbers); });
}

std::string HloScatterInstruction::ScatterDimensionNumbersToString(
    const ScatterDimensionNumbers& dim_numbers) {
  return Printed(
      [&](Printer* p) { PrintScatterDimensionNumbers(p, dim_numbers); });
}

}  // namespace xla
