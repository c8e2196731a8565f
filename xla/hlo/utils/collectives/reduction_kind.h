#ifndef XLA_HLO_UTILS_COLLECTIVES_REDUCTION_KIND_H_
#define XLA_HLO_UTILS_COLLECTIVES_REDUCTION_KIND_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/xla_data.pb.h"

namespace xla {

// What a collective does with the values of its devices.
enum class ReductionKind { SUM, PRODUCT, MIN, MAX };

// "sum", "prod", "min", "max".
absl::string_view ReductionKindToString(ReductionKind kind);
// The inverse; InvalidArgument for other names.
absl::StatusOr<ReductionKind> StringToReductionKind(
    absl::string_view reduction_kind);

//   add -> SUM, multiply -> PRODUCT, minimum -> MIN, maximum -> MAX,
//   of PRED also: and -> MIN, or -> MAX; else nullopt.
std::optional<ReductionKind> OpcodeToReductionKind(HloOpcode hlo_opcode,
                                                   PrimitiveType type);
// The inverse: an opcode that `element_type` has, `and` and `or` for PRED.
HloOpcode ReductionKindToOpcode(ReductionKind reduction_kind,
                                PrimitiveType element_type);

// By opcode and element type.
std::optional<ReductionKind> MatchReductionInstruction(
    const HloInstruction* hlo);
// Matches a computation of two scalars whose root combines the two parameters
// in either order; nullopt for others.
std::optional<ReductionKind> MatchReductionComputation(
    const HloComputation* computation);

// The computation that the function above reads, for a module to own.
std::unique_ptr<HloComputation> MakeReductionComputation(
    ReductionKind reduction_kind, PrimitiveType element_type);

// What changes no value: 0, 1, the largest, the least. nullopt where the type
// has none: tokens, tuples, the order of complex numbers.
std::optional<Literal> GetReductionIdentity(ReductionKind kind,
                                            PrimitiveType type);

}  // namespace xla

#endif  // XLA_HLO_UTILS_COLLECTIVES_REDUCTION_KIND_H_
