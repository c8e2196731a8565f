// Attributes of linear algebra and windows, and of fusions, calls and custom
// calls.

#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/text/hlo_instruction_print_internal.h"
#include "xla/hlo/ir/text/hlo_print_util.h"
#include "xla/literal.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_print_internal {
namespace {

void PrintWindow(AttributePrinter& printer, const Window& window) {
  if (window.dimensions_size() == 0) return;
  printer.Next([&](Printer* p) {
    AppendCat(p, "window={", window_util::ToString(window), "}");
  });
}

// operand_precision and algorithm, where they are not the defaults.
void PrintPrecision(AttributePrinter& printer, const PrecisionConfig& config) {
  if (absl::c_any_of(config.operand_precision(), [](int precision) {
        return precision != PrecisionConfig::DEFAULT;
      })) {
    printer.Next([&](Printer* p) {
      p->Append("operand_precision=");
      PrintOperandPrecision(p, config);
    });
  }
  if (config.algorithm() != PrecisionConfig::ALG_UNSET) {
    PrintAttribute(printer,
                   "algorithm=", AlgorithmToString(config.algorithm()));
  }
}

void PrintGroupCounts(AttributePrinter& printer, int64_t feature_group_count,
                      int64_t batch_group_count) {
  if (feature_group_count != 1) {
    PrintAttribute(printer, "feature_group_count=", feature_group_count);
  }
  if (batch_group_count != 1) {
    PrintAttribute(printer, "batch_group_count=", batch_group_count);
  }
}

}  // namespace

absl::string_view ConvolutionKindToString(ConvolutionKind kind) {
  switch (kind) {
    case CONVOLUTION_KIND_FPROP:
      return "fprop";
    case CONVOLUTION_KIND_DGRAD:
      return "dgrad";
    case CONVOLUTION_KIND_WGRAD:
      return "wgrad";
    default:
      return "unset";
  }
}

void PrintAliasing(AttributePrinter& printer,
                   const OutputToOperandAliasing& aliasing) {
  if (aliasing.empty()) return;
  printer.Next([&](Printer* p) {
    p->Append("output_to_operand_aliasing={");
    absl::string_view separator = "";
    for (const auto& [output, operand] : aliasing) {
      p->Append(separator);
      separator = ", ";
      PrintIndex(p, output);
      AppendCat(p, ": (", operand.first, ", ");
      PrintIndex(p, operand.second);
      p->Append(")");
    }
    p->Append("}");
  });
}

}  // namespace hlo_print_internal

using hlo_print_internal::PrintAttribute;
using hlo_print_internal::PrintFlag;
using hlo_print_internal::PrintIntsAttribute;
using hlo_print_internal::PrintPrecision;
using hlo_print_internal::PrintQuotedAttribute;
using hlo_print_internal::PrintWindow;

void HloBatchNormInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  printer.Next([&](Printer* p) {
    p->Append("epsilon=");
    PrintFloat(p, epsilon());
  });
  PrintAttribute(printer, "feature_index=", feature_index());
}

void HloFftInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(printer, "fft_type=", FftType_Name(fft_type()));
  PrintIntsAttribute(printer, "fft_length=", fft_length());
}

void HloTriangularSolveInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  const TriangularSolveOptions& solve = triangular_solve_options();
  PrintFlag(printer, "left_side=true", solve.left_side());
  PrintFlag(printer, "lower=true", solve.lower());
  PrintFlag(printer, "unit_diagonal=true", solve.unit_diagonal());
  PrintAttribute(printer, "transpose_a=",
                 TriangularSolveOptions::Transpose_Name(solve.transpose_a()));
}

void HloCholeskyInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintFlag(printer, "lower=true", cholesky_options().lower());
}

void HloDotInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  printer.Next([&](Printer* p) {
    PrintDotDimensionNumbers(p, dot_dimension_numbers());
  });
  PrintPrecision(printer, precision_config());
}

void HloScaledDotInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  printer.Next([&](Printer* p) {
    PrintDotDimensionNumbers(p, dot_dimension_numbers());
  });
  PrintPrecision(printer, precision_config());
}

void HloRaggedDotInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(
      printer, "",
      RaggedDotDimensionNumbersToString(ragged_dot_dimension_numbers()));
  PrintPrecision(printer, precision_config());
}

void HloConvolutionInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintWindow(printer, window());
  PrintAttribute(
      printer, "dim_labels=",
      ConvolutionDimensionNumbersToString(convolution_dimension_numbers()));
  hlo_print_internal::PrintGroupCounts(printer, feature_group_count(),
                                       batch_group_count());
  PrintPrecision(printer, precision_config());
  if (convolution_kind() != CONVOLUTION_KIND_UNSET) {
    PrintAttribute(
        printer, "convolution_kind=",
        hlo_print_internal::ConvolutionKindToString(convolution_kind()));
  }
  if (sparsity_config().has_lhs() || sparsity_config().has_rhs()) {
    printer.Next([&](Printer* p) {
      p->Append("sparsity_config=");
      PrintSparsityConfig(p, sparsity_config());
    });
  }
}

void HloReduceWindowInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintWindow(printer, window());
}

void HloSelectAndScatterInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintWindow(printer, window());
}

void HloFusionInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(printer, "kind=", xla::ToString(fusion_kind()));
  hlo_print_internal::PrintAliasing(printer, output_to_operand_aliasing());
}

void HloCallInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  hlo_print_internal::PrintAliasing(printer, output_to_operand_aliasing());
}

void HloCustomCallInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  if (has_window()) PrintWindow(printer, window());
  if (has_convolution_dimension_numbers()) {
    PrintAttribute(
        printer, "dim_labels=",
        ConvolutionDimensionNumbersToString(convolution_dimension_numbers()));
  }
  hlo_print_internal::PrintGroupCounts(printer, feature_group_count(),
                                       batch_group_count());
  PrintPrecision(printer, precision_config());
  if (padding_type() != PADDING_INVALID) {
    PrintAttribute(printer, "padding_type=", PaddingType_Name(padding_type()));
  }
  PrintQuotedAttribute(printer, "custom_call_target=", custom_call_target());
  if (layout_constrained()) {
    printer.Next([&](Printer* p) {
      p->Append("operand_layout_constraints={");
      AppendJoin(p, operand_shapes_with_layout(), ", ",
                 [](Printer* p, const Shape& shape) {
                   ShapeUtil::PrintHumanStringWithLayout(p, shape);
                 });
      p->Append("}");
    });
  }
  PrintFlag(printer, "custom_call_has_side_effect=true",
            custom_call_has_side_effect());
  if (HasLiteral()) {
    printer.Next([&](Printer* p) {
      p->Append("literal=");
      // Whole, as it is no constant that --print-large-constants is about.
      literal().PrintWithLayoutOneline(p);
    });
  }
  hlo_print_internal::PrintAliasing(printer, output_to_operand_aliasing());
  if (custom_call_schedule() != SCHEDULE_NONE) {
    PrintAttribute(
        printer, "schedule=", CustomCallSchedule_Name(custom_call_schedule()));
  }
  if (api_version() != API_VERSION_ORIGINAL) {
    PrintAttribute(printer,
                   "api_version=", CustomCallApiVersion_Name(api_version()));
  }
}

}  // namespace xla
