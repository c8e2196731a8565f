// Lines of HLO text: names, operands and the attributes of any opcode.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_op_metadata.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/text/hlo_attribute_printer.h"
#include "xla/hlo/ir/text/hlo_instruction_print_internal.h"
#include "xla/hlo/ir/text/hlo_print_util.h"
#include "xla/printer.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_print_internal {
namespace {

constexpr size_t kMaxOperandsIfCompact = 4;

void PrintShape(Printer* printer, const HloPrintOptions& options,
                const Shape& shape) {
  if (options.include_layout_in_shapes()) {
    ShapeUtil::PrintHumanStringWithLayout(printer, shape);
  } else {
    ShapeUtil::PrintHumanString(printer, shape);
  }
}

// Opcode as printed.
void PrintOpcode(Printer* printer, const HloInstruction& inst,
                 const HloPrintOptions& options) {
  if (!inst.IsAsynchronous() || !PrintsAsAsyncSugar(inst, options)) {
    printer->Append(HloOpcodeString(inst.opcode()));
    return;
  }
  absl::string_view suffix = HloOpcodeString(inst.opcode());
  suffix.remove_prefix(absl::string_view("async").size());
  AppendCat(printer, HloOpcodeString(inst.async_wrapped_opcode()), suffix);
}

// The instruction behind folded get-tuple-elements, and `#index` for each.
void PrintFoldedGte(Printer* printer, const HloInstruction* gte,
                    const HloPrintOptions& options, CanonicalNameMap* names) {
  absl::InlinedVector<int64_t, 4> path;
  while (IsFoldedGte(*gte, options)) {
    path.push_back(gte->tuple_index());
    gte = gte->operand(0);
  }
  if (options.canonicalize_instruction_names()) {
    printer->Append(names->LookupOrInsert(gte->unique_id()));
  } else {
    PrintInstructionName(printer, options, gte->name());
  }
  for (auto index = path.rbegin(); index != path.rend(); ++index) {
    AppendCat(printer, "#", *index);
  }
}

void PrintOperand(Printer* printer, const HloInstruction* operand,
                  const HloPrintOptions& options, CanonicalNameMap* names) {
  if (operand == nullptr) {
    printer->Append("null ");
    return;
  }
  const bool canonical = options.canonicalize_instruction_names();
  const bool has_name = canonical ? options.is_in_nested_computation()
                                  : options.print_operand_names();
  if (options.print_operand_shape()) {
    PrintShape(printer, options, operand->shape());
    if (has_name) printer->Append(" ");
  }
  if (!has_name) return;
  if (IsFoldedGte(*operand, options)) {
    PrintFoldedGte(printer, operand, options, names);
  } else if (canonical) {
    printer->Append(names->LookupOrInsert(operand->unique_id()));
  } else {
    PrintInstructionName(printer, options, operand->name());
  }
}

// The first frame of the stack in place of its id.
OpMetadata WithFrame(const HloInstruction& inst) {
  OpMetadata inlined = inst.metadata();
  inlined.clear_stack_frame_id();
  std::vector<HloStackFrame> stack = inst.GetStackTraceFromMetadata();
  if (!stack.empty()) {
    inlined.set_source_file(std::string(stack[0].file_name));
    inlined.set_source_line(stack[0].line);
    inlined.set_source_end_line(stack[0].end_line);
    inlined.set_source_column(stack[0].column);
    inlined.set_source_end_column(stack[0].end_column);
  }
  return inlined;
}

// metadata={...}, under the options for it; nothing if nothing is left, as of
// fields that text has no words for.
void PrintMetadata(Printer* printer, const HloInstruction& inst,
                   const HloPrintOptions& options) {
  const OpMetadata& metadata = inst.metadata();
  const bool only_op_name = options.print_metadata_only_op_name();
  const bool inlines = options.print_inline_stack_frames() && !only_op_name &&
                       metadata.stack_frame_id() != 0;
  // A hash need not know beforehand that nothing is left.
  if (printer->is_hasher() && !inlines) {
    printer->Append(", metadata={");
    PrintOpMetadata(printer, metadata, only_op_name);
    printer->Append("}");
    return;
  }
  if (!inst.has_metadata()) return;
  const std::string text = inlines ? OpMetadataToString(WithFrame(inst))
                                   : OpMetadataToString(metadata, only_op_name);
  if (!text.empty()) AppendCat(printer, ", metadata={", text, "}");
}

void PrintBackendConfig(Printer* printer, const HloInstruction& inst,
                        const HloPrintOptions& options) {
  const std::string& config = inst.raw_backend_config_string();
  if (config.empty()) return;
  printer->Append(", backend_config=");
  if (options.sort_backend_config()) {
    PrintDictOrQuoted(printer, SortJsonObject(config));
  } else {
    PrintDictOrQuoted(printer, config);
  }
}

}  // namespace

void PrintInstructionName(Printer* printer, const HloPrintOptions& options,
                          absl::string_view name) {
  if (options.print_percent()) {
    AppendCat(printer, "%", PrintName(name, options.print_ids()));
  } else {
    printer->Append(PrintName(name, options.print_ids()));
  }
}

bool NamesByPosition(const HloPrintOptions& options) {
  return options.canonicalize_computations() && !options.print_ids() &&
         options.print_subcomputation_mode() ==
             HloPrintOptions::PrintSubcomputationMode::kNameOnly;
}

void PrintComputationName(Printer* printer, const HloPrintOptions& options,
                          const HloComputation& computation,
                          CanonicalNameMap* names) {
  if (NamesByPosition(options) && names != nullptr) {
    // Ids of computations, made negative, are disjoint from ids of
    // instructions.
    printer->Append(names->LookupOrInsert(-2 - computation.unique_id()));
  } else {
    PrintInstructionName(printer, options, computation.name());
  }
}

bool IsFoldedGte(const HloInstruction& inst, const HloPrintOptions& options) {
  return options.compact_gte() &&
         inst.opcode() == HloOpcode::kGetTupleElement && !inst.IsRoot() &&
         !(options.print_control_dependencies() &&
           inst.HasControlDependencies());
}

}  // namespace hlo_print_internal

using hlo_print_internal::PrintInstructionName;

void HloInstruction::PrintExtraAttributes(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  hlo_print_internal::PrintAttributes(*this, printer, options,
                                      /*names=*/nullptr);
}

std::vector<std::string> HloInstruction::ExtraAttributesToString(
    const HloPrintOptions& options) const {
  std::vector<std::unique_ptr<StringPrinter>> printers;
  AttributePrinter attributes([&] {
    printers.push_back(std::make_unique<StringPrinter>());
    return printers.back().get();
  });
  PrintExtraAttributes(attributes, options);
  std::vector<std::string> result;
  result.reserve(printers.size());
  for (std::unique_ptr<StringPrinter>& printer : printers) {
    result.push_back(std::move(*printer).ToString());
  }
  return result;
}

void HloInstruction::PrintOperandsWithCanonicalNameMap(
    Printer* printer, const HloPrintOptions& options,
    CanonicalNameMap* canonical_name_map) const {
  absl::Span<HloInstruction* const> shown(operands_);
  if (options.compact_operands() &&
      shown.size() > hlo_print_internal::kMaxOperandsIfCompact) {
    shown = shown.first(hlo_print_internal::kMaxOperandsIfCompact);
  }
  const int64_t interval = options.print_operand_index_annotation_interval();
  for (size_t i = 0; i < shown.size(); ++i) {
    if (i != 0) {
      printer->Append(", ");
      if (interval > 0 && i % interval == 0) {
        AppendCat(printer, "/*index=", i, "*/");
      }
    }
    hlo_print_internal::PrintOperand(printer, shown[i], options,
                                     canonical_name_map);
  }
  if (shown.size() < operands_.size()) {
    AppendCat(printer, ", ...(+", operands_.size() - shown.size(), ")");
  }
}

void HloInstruction::PrintWithCanonicalNameMap(
    Printer* printer, const HloPrintOptions& options,
    CanonicalNameMap* canonical_name_map) const {
  if (!options.canonicalize_instruction_names()) {
    PrintInstructionName(printer, options, name());
    printer->Append(" = ");
  } else if (options.is_in_nested_computation()) {
    AppendCat(printer, canonical_name_map->LookupOrInsert(unique_id()), " = ");
  }
  if (options.print_result_shape()) {
    hlo_print_internal::PrintShape(printer, options, shape());
    printer->Append(" ");
  }
  hlo_print_internal::PrintOpcode(printer, *this, options);
  printer->Append("(");
  PrintOperandsWithCanonicalNameMap(printer, options, canonical_name_map);
  printer->Append(")");
  AttributePrinter attributes([printer] {
    printer->Append(", ");
    return printer;
  });
  hlo_print_internal::PrintAttributes(*this, attributes, options,
                                      canonical_name_map);
  if (options.print_original_value() && original_value() != nullptr) {
    AppendCat(printer, ", origin={", original_value()->ToString(), "}");
  }
  if (options.print_metadata()) {
    hlo_print_internal::PrintMetadata(printer, *this, options);
  }
  if (options.print_backend_config()) {
    hlo_print_internal::PrintBackendConfig(printer, *this, options);
  }
  if (options.print_extra_attributes()) {
    for (const auto& [key, value] : unknown_attributes()) {
      AppendCat(printer, ", ", key, "=", value);
    }
  }
}

void HloInstruction::Print(Printer* printer,
                           const HloPrintOptions& options) const {
  CanonicalNameMap names;
  PrintWithCanonicalNameMap(printer, options, &names);
}

std::string HloInstruction::ToString(const HloPrintOptions& options) const {
  StringPrinter printer;
  Print(&printer, options);
  return std::move(printer).ToString();
}

std::string HloInstruction::ToShortString() const {
  StringPrinter printer;
  AppendCat(&printer, "%", name(), " = ", HloOpcodeString(opcode()));
  absl::string_view separator = "(";
  for (const HloInstruction* operand : operands_) {
    AppendCat(&printer, separator, "%",
              operand == nullptr ? "null" : operand->name());
    separator = ", ";
  }
  printer.Append(operands_.empty() ? "()" : ")");
  return std::move(printer).ToString();
}

std::string HloInstruction::SignatureString() const {
  StringPrinter printer;
  absl::string_view separator = "(";
  for (const HloInstruction* operand : operands_) {
    printer.Append(separator);
    separator = ", ";
    if (operand == nullptr) {
      printer.Append("null");
    } else {
      ShapeUtil::PrintHumanString(&printer, operand->shape());
    }
  }
  printer.Append(operands_.empty() ? "() -> " : ") -> ");
  ShapeUtil::PrintHumanString(&printer, shape());
  return std::move(printer).ToString();
}

}  // namespace xla
