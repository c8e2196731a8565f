#ifndef XLA_HLO_IR_TEXT_HLO_INSTRUCTION_PRINT_INTERNAL_H_
#define XLA_HLO_IR_TEXT_HLO_INSTRUCTION_PRINT_INTERNAL_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/text/hlo_attribute_printer.h"
#include "xla/hlo/ir/text/hlo_print_util.h"
#include "xla/printer.h"
#include "xla/service/hlo.pb.h"

// Shared by the printers of instructions, computations and modules. Not for
// use elsewhere.

namespace xla {

// Access to the attributes of a subclass.
class HloInstructionPrinter {
 public:
  static void PrintOpcodeAttributes(
      const HloInstruction& inst, HloInstruction::AttributePrinter& attributes,
      const HloPrintOptions& options) {
    inst.PrintExtraAttributesImpl(attributes, options);
  }
};

namespace hlo_print_internal {

using AttributePrinter = HloInstruction::AttributePrinter;

// --- One attribute each. `key` ends with '='. --------------------------------

template <typename T>
void PrintAttribute(AttributePrinter& attributes, absl::string_view key,
                    const T& value) {
  attributes.Next([&](Printer* p) { AppendCat(p, key, value); });
}

inline void PrintAttribute(AttributePrinter& attributes, absl::string_view key,
                           bool value) {
  attributes.Next(
      [&](Printer* p) { AppendCat(p, key, value ? "true" : "false"); });
}

inline void PrintIntsAttribute(AttributePrinter& attributes,
                               absl::string_view key,
                               absl::Span<const int64_t> values) {
  attributes.Next([&](Printer* p) {
    p->Append(key);
    PrintBracedInts(p, values);
  });
}

inline void PrintQuotedAttribute(AttributePrinter& attributes,
                                 absl::string_view key,
                                 absl::string_view value) {
  attributes.Next([&](Printer* p) {
    p->Append(key);
    PrintQuoted(p, value);
  });
}

// `key_is_true` (with its value) if the flag is set, else nothing.
inline void PrintFlag(AttributePrinter& attributes,
                      absl::string_view key_is_true, bool flag) {
  if (flag) attributes.Next([&](Printer* p) { p->Append(key_is_true); });
}

using OutputToOperandAliasing =
    std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>;
void PrintAliasing(AttributePrinter& attributes,
                   const OutputToOperandAliasing& aliasing);

// --- Names and values
// ----------------------------------------------------------

// Two blanks for each level.
void PrintIndent(Printer* printer, int levels);

// Name with its percent sign, if the options want one.
void PrintInstructionName(Printer* printer, const HloPrintOptions& options,
                          absl::string_view name);

// Whether text that is hashed says by position which computation is called, as
// each is printed once, and without its name.
bool NamesByPosition(const HloPrintOptions& options);

// Name of a called computation: its own, or the canonical one of the map.
void PrintComputationName(Printer* printer, const HloPrintOptions& options,
                          const HloComputation& computation,
                          CanonicalNameMap* names);

// fprop, dgrad or wgrad; "unset" for an unknown kind.
absl::string_view ConvolutionKindToString(ConvolutionKind kind);

// --- Instructions and computations
// ---------------------------------------------

// All attributes of an instruction. Computation names come from `names` under
// canonicalize_computations, if it is not null.
void PrintAttributes(const HloInstruction& inst, AttributePrinter& attributes,
                     const HloPrintOptions& options, CanonicalNameMap* names);

// An asynchronous instruction that prints as <wrapped opcode>-start, -update or
// -done. Its computation is then not printed.
bool PrintsAsAsyncSugar(const HloInstruction& inst,
                        const HloPrintOptions& options);

// A computation that does not appear in the text, because all its callers print
// as sugar.
bool IsHiddenBySugar(const HloComputation& computation,
                     const HloPrintOptions& options);

// A get-tuple-element whose line is omitted: users print `tuple#1`.
bool IsFoldedGte(const HloInstruction& inst, const HloPrintOptions& options);

// The scheduled order of a computation, or its post order. Computations are
// listed as this order calls them, depth first from the entry.
std::vector<const HloInstruction*> InstructionsInPrintingOrder(
    const HloModule& module, const HloComputation& computation);

// Prints a computation with the names of the map, after ENTRY if `entry`.
void PrintComputation(Printer* printer, const HloComputation& computation,
                      const HloPrintOptions& options,
                      absl::Span<const HloInstruction* const> order,
                      CanonicalNameMap* names, bool entry);

}  // namespace hlo_print_internal
}  // namespace xla

#endif  // XLA_HLO_IR_TEXT_HLO_INSTRUCTION_PRINT_INTERNAL_H_
