#ifndef XLA_HLO_TRANSFORMS_LOOPS_EXPANSION_FUSION_H_
#define XLA_HLO_TRANSFORMS_LOOPS_EXPANSION_FUSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// Computes values that are derived from others, mostly smaller ones, inside of
// their readers, so that they take no memory at all.
//
//   b = broadcast(s); e = compare(b, iota()); y = select(e, x, z)
//   → y = fusion(s, x, z) {b, iota, e, select}
//
// Readers are elementwise instructions, reductions and loop fusions. A reader
// takes the whole recipe of an operand (cheap_recipe.h), back to values with at
// most 1/`carried_part` of its bytes (twice its bytes for 0.5); each reader
// recomputes it, without copies that keep the layout. Of operands that are
// alike, such as two iotas, it reads one. Values below `min_bytes` stay, as do
// those that others read as well. Fusions take their readers' places in the
// schedule. Makes at most `max_fusions`, last readers first, and returns for
// each what it computes inside: "y: e, b".
//
// O(instructions times the length of recipes).
absl::StatusOr<std::vector<std::string>> FuseExpansions(int64_t min_bytes,
                                                        double carried_part,
                                                        int64_t max_fusions,
                                                        HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_EXPANSION_FUSION_H_
