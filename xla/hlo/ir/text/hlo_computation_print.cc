// Text of computations: signature, body, braces.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/text/hlo_instruction_print_internal.h"
#include "xla/hlo/ir/text/hlo_print_util.h"
#include "xla/printer.h"
#include "xla/shape_util.h"

namespace xla {
namespace hlo_print_internal {
namespace {

// Longer computations say their name again after the closing brace.
constexpr size_t kMinInstructionsForTrailer = 5;

// (a: f32[2], b: f32[]) -> f32[2]
void PrintSignature(Printer* printer, const HloComputation& computation,
                    const HloPrintOptions& options) {
  absl::string_view separator = "(";
  for (const HloInstruction* parameter : computation.parameter_instructions()) {
    AppendCat(printer, separator,
              PrintName(parameter->name(), options.print_ids()), ": ");
    separator = ", ";
    ShapeUtil::PrintHumanString(printer, parameter->shape());
  }
  printer->Append(computation.num_parameters() == 0 ? "() -> " : ") -> ");
  ShapeUtil::PrintHumanString(printer, computation.root_instruction()->shape());
}

}  // namespace

void PrintIndent(Printer* printer, int levels) {
  if (printer->is_hasher()) return;
  static constexpr absl::string_view kSpaces = "                ";
  size_t width = 2 * static_cast<size_t>(levels > 0 ? levels : 0);
  while (width > 0) {
    const size_t chunk = std::min(width, kSpaces.size());
    printer->Append(kSpaces.substr(0, chunk));
    width -= chunk;
  }
}

void PrintComputation(Printer* printer, const HloComputation& computation,
                      const HloPrintOptions& options,
                      absl::Span<const HloInstruction* const> order,
                      CanonicalNameMap* names, bool entry) {
  PrintIndent(printer, options.indent_amount());
  if (entry) printer->Append("ENTRY ");
  // A body inside the line of its caller has no name.
  const bool is_inline = options.is_in_nested_computation();
  if (!is_inline && (options.print_ids() || NamesByPosition(options))) {
    PrintComputationName(printer, options, computation, names);
    printer->Append(" ");
  } else if (!is_inline && options.print_percent()) {
    printer->Append("%");
  }
  // To a hash the body says it.
  if (options.print_program_shape() && !printer->is_hasher()) {
    PrintSignature(printer, computation, options);
    printer->Append(" ");
  }
  printer->Append("{\n");
  HloPrintOptions inner = options;
  inner.set_indent_amount(options.indent_amount() + 1)
      .set_is_in_nested_computation(true);
  if (options.canonicalize_instruction_names()) names->Reserve(order.size());
  for (const HloInstruction* instruction : order) {
    if (IsFoldedGte(*instruction, options)) continue;
    PrintIndent(printer, inner.indent_amount());
    if (instruction == computation.root_instruction()) {
      printer->Append("ROOT ");
    }
    instruction->PrintWithCanonicalNameMap(printer, inner, names);
    printer->Append("\n");
  }
  PrintIndent(printer, options.indent_amount());
  printer->Append("}");
  // Text that reads back names the thread at the caller; text that is compared
  // says it everywhere.
  if (is_inline && !options.canonicalize_instruction_names()) return;
  if (!computation.IsMainThread() &&
      (options.print_ids() || NamesByPosition(options))) {
    printer->Append(", execution_thread=");
    PrintQuoted(printer, computation.execution_thread());
  }
  if (!is_inline && options.print_name_after_closing_brace() &&
      order.size() > kMinInstructionsForTrailer && !printer->is_hasher()) {
    AppendCat(printer, " // ", computation.name());
  }
}

}  // namespace hlo_print_internal

void HloComputation::Print(
    Printer* printer, const HloPrintOptions& options,
    absl::Span<const HloInstruction* const> instruction_order) const {
  std::vector<HloInstruction*> post_order;
  if (instruction_order.empty()) {
    post_order = MakeInstructionPostOrder();
    instruction_order = post_order;
  }
  const bool entry =
      options.print_computation_mode() ==
          HloPrintOptions::PrintComputationMode::kComputationWithEntryKeyword &&
      IsEntryComputation();
  CanonicalNameMap names;
  hlo_print_internal::PrintComputation(printer, *this, options,
                                       instruction_order, &names, entry);
}

void HloComputation::Print(Printer* printer,
                           const HloPrintOptions& options) const {
  Print(printer, options, /*instruction_order=*/{});
}

std::string HloComputation::ToString() const {
  return ToString(HloPrintOptions::Default());
}

std::string HloComputation::ToString(const HloPrintOptions& options) const {
  return ToString(options, /*instruction_order=*/{});
}

std::string HloComputation::ToString(
    const HloPrintOptions& options,
    absl::Span<const HloInstruction* const> instruction_order) const {
  StringPrinter printer;
  Print(&printer, options, instruction_order);
  return std::move(printer).ToString();
}

absl::Cord HloComputation::ToCord(
    const HloPrintOptions& options,
    absl::Span<const HloInstruction* const> instruction_order) const {
  CordPrinter printer;
  Print(&printer, options, instruction_order);
  return std::move(printer).ToCord();
}

}  // namespace xla
