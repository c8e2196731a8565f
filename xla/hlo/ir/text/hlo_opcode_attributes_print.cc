// The attributes that belong to one opcode each, in the order of HLO text:
// everything but communication, linear algebra and calls, which have files of
// their own.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/text/hlo_instruction_print_internal.h"
#include "xla/hlo/ir/text/hlo_print_util.h"
#include "xla/literal.h"
#include "xla/printer.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_print_internal {
namespace {

constexpr absl::string_view kElided = "{...}";

// Arrays of more elements are elided unless large constants are asked for.
constexpr int64_t kMaxElementsOfSmallConstant = 10;

bool IsSmall(const Shape& shape) {
  return shape.IsArray() &&
         ShapeUtil::ElementsIn(shape) <= kMaxElementsOfSmallConstant;
}

// Constants that a fingerprint includes: scalars, and the value of arrays of
// zeros or ones.
void PrintEssence(Printer* printer, const Literal& literal) {
  if (ShapeUtil::IsScalar(literal.shape())) {
    literal.PrintWithoutShapeOneline(printer);
  } else if (literal.IsAll(0)) {
    printer->Append("0");
  } else if (literal.IsAll(1)) {
    printer->Append("1");
  } else {
    printer->Append(kElided);
  }
}

template <typename Field>
void PrintDims(Printer* printer, absl::string_view key, const Field& dims) {
  printer->Append(key);
  PrintBracedInts(printer, AsSpan(dims));
}

}  // namespace

}  // namespace hlo_print_internal

using hlo_print_internal::PrintAttribute;
using hlo_print_internal::PrintDims;
using hlo_print_internal::PrintFlag;
using hlo_print_internal::PrintIntsAttribute;

// --- Between the parentheses
// -----------------------------------------------------

void HloConstantInstruction::PrintOperandsWithCanonicalNameMap(
    Printer* printer, const HloPrintOptions& options,
    CanonicalNameMap* canonical_name_map) const {
  if (!HasLiteral()) {
    printer->Append(hlo_print_internal::kElided);
  } else if (options.print_only_essential_constants()) {
    hlo_print_internal::PrintEssence(printer, literal());
  } else if (options.print_large_constants() ||
             hlo_print_internal::IsSmall(literal().shape())) {
    literal().PrintWithoutShapeOneline(printer);
  } else {
    printer->Append(hlo_print_internal::kElided);
  }
}

void HloParameterInstruction::PrintOperandsWithCanonicalNameMap(
    Printer* printer, const HloPrintOptions& options,
    CanonicalNameMap* canonical_name_map) const {
  if (options.print_parameter_number()) printer->Append(parameter_number());
}

// --- Dimensions
// --------------------------------------------------------------------

void HloDimensionsInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintIntsAttribute(printer, "dimensions=", dimensions());
}

void HloSortInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintIntsAttribute(printer, "dimensions=", dimensions());
  PrintFlag(printer, "is_stable=true", is_stable());
}

void HloMapInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintIntsAttribute(printer, "dimensions=", dimensions());
}

void HloGetDimensionSizeInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintIntsAttribute(printer, "dimensions=", {dimension()});
}

void HloSetDimensionSizeInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintIntsAttribute(printer, "dimensions=", {dimension()});
}

void HloIotaInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(printer, "iota_dimension=", iota_dimension());
}

void HloReshapeInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  if (inferred_dimension() == -1) return;
  PrintAttribute(printer, "inferred_dimension=", inferred_dimension());
}

void HloScanInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintIntsAttribute(printer, "dimensions=", dimensions());
  PrintAttribute(printer, "num_carries=", num_carries());
  PrintFlag(printer, "is_reverse=true", is_reverse());
  if (is_associative() != TRI_STATE_UNSPECIFIED) {
    PrintAttribute(printer,
                   "is_associative=", is_associative() == TRI_STATE_TRUE);
  }
}

void HloTopKInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(printer, "k=", k());
  PrintAttribute(printer, "largest=", largest());
  PrintAttribute(printer, "is_stable=", is_stable());
}

// --- Slices, gathers, padding
// ----------------------------------------------------

void HloSliceInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  const bool unit_strides = absl::c_all_of(
      slice_strides(), [](int64_t stride) { return stride == 1; });
  printer.Next([&](Printer* p) {
    p->Append("slice={");
    for (size_t i = 0; i < slice_starts().size(); ++i) {
      AppendCat(p, i == 0 ? "[" : ", [", slice_starts(i), ":", slice_limits(i));
      if (!unit_strides) AppendCat(p, ":", slice_strides(i));
      p->Append("]");
    }
    p->Append("}");
  });
}

void HloDynamicSliceInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintIntsAttribute(printer, "dynamic_slice_sizes=", dynamic_slice_sizes());
}

void HloPadInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  printer.Next([&](Printer* p) {
    p->Append("padding=");
    PrintPaddingConfig(p, padding_config());
  });
}

void HloGatherInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  printer.Next([&](Printer* p) {
    PrintGatherDimensionNumbers(p, gather_dimension_numbers());
  });
  PrintIntsAttribute(printer, "slice_sizes=", gather_slice_sizes());
  PrintFlag(printer, "indices_are_sorted=true", indices_are_sorted());
}

void HloGatherInstruction::PrintGatherDimensionNumbers(
    Printer* printer, const GatherDimensionNumbers& dims) {
  PrintDims(printer, "offset_dims=", dims.offset_dims());
  PrintDims(printer, ", collapsed_slice_dims=", dims.collapsed_slice_dims());
  PrintDims(printer, ", start_index_map=", dims.start_index_map());
  if (dims.operand_batching_dims_size() > 0) {
    PrintDims(printer,
              ", operand_batching_dims=", dims.operand_batching_dims());
  }
  if (dims.start_indices_batching_dims_size() > 0) {
    PrintDims(printer, ", start_indices_batching_dims=",
              dims.start_indices_batching_dims());
  }
  AppendCat(printer, ", index_vector_dim=", dims.index_vector_dim());
}

void HloScatterInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  printer.Next([&](Printer* p) {
    PrintScatterDimensionNumbers(p, scatter_dimension_numbers());
  });
  PrintFlag(printer, "indices_are_sorted=true", indices_are_sorted());
  PrintFlag(printer, "unique_indices=true", unique_indices());
}

void HloScatterInstruction::PrintScatterDimensionNumbers(
    Printer* printer, const ScatterDimensionNumbers& dims) {
  PrintDims(printer, "update_window_dims=", dims.update_window_dims());
  PrintDims(printer, ", inserted_window_dims=", dims.inserted_window_dims());
  PrintDims(printer, ", scatter_dims_to_operand_dims=",
            dims.scatter_dims_to_operand_dims());
  if (dims.input_batching_dims_size() > 0) {
    PrintDims(printer, ", input_batching_dims=", dims.input_batching_dims());
  }
  if (dims.scatter_indices_batching_dims_size() > 0) {
    PrintDims(printer, ", scatter_indices_batching_dims=",
              dims.scatter_indices_batching_dims());
  }
  AppendCat(printer, ", index_vector_dim=", dims.index_vector_dim());
}

// --- Single values
// -------------------------------------------------------------------

void HloGetTupleElementInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(printer, "index=", tuple_index());
}

void HloCompareInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(printer,
                 "direction=", ComparisonDirectionToString(direction()));
  // What is taken apart or not verified may have no such operand.
  const bool has_array = operand_count() > 0 && operand(0) != nullptr &&
                         operand(0)->shape().IsArray();
  if (!has_array || type() != Comparison::DefaultComparisonType(
                                  operand(0)->shape().element_type())) {
    PrintAttribute(printer, "type=", ComparisonTypeToString(type()));
  }
}

void HloParameterInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  if (!parameter_replicated_at_leaf_buffers().has_value()) return;
  printer.Next([&](Printer* p) {
    p->Append("parameter_replication={");
    absl::string_view separator = "";
    for (bool leaf : *parameter_replicated_at_leaf_buffers()) {
      AppendCat(p, separator, leaf ? "true" : "false");
      separator = ",";
    }
    p->Append("}");
  });
}

void HloReducePrecisionInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(printer, "exponent_bits=", exponent_bits());
  PrintAttribute(printer, "mantissa_bits=", mantissa_bits());
}

void HloCopyStartInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  if (!cross_program_prefetch_index().has_value()) return;
  PrintAttribute(printer, "cross_program_prefetch_index=",
                 *cross_program_prefetch_index());
}

void HloDomainInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  printer.Next([&](Printer* p) {
    AppendCat(p, "domain={kind=\"", operand_side_metadata().Kind(),
              "\", entry=", user_side_metadata().ToString(),
              ", exit=", operand_side_metadata().ToString(), "}");
  });
}

// --- Random numbers
// ------------------------------------------------------------------

void HloRngInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(printer, "distribution=",
                 RandomDistributionToString(random_distribution()));
}

void HloRngGetAndUpdateStateInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(printer, "delta=", delta());
}

void HloRngBitGeneratorInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  PrintAttribute(printer, "algorithm=", RandomAlgorithmToString(algorithm()));
}

}  // namespace xla
