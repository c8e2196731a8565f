#ifndef XLA_HLO_TRANSFORMS_LOOPS_CHEAP_RECIPE_H_
#define XLA_HLO_TRANSFORMS_LOOPS_CHEAP_RECIPE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::remat_plan {

// How a large value is computed from small ones by instructions that cost next
// to nothing: broadcasts, iotas, converts, transposes, elementwise ones, and
// loop fusions of such.
//
//   m = compare(broadcast(p), iota())  → made: m, broadcast, iota; carried: p
struct CheapRecipe {
  absl::flat_hash_set<const HloInstruction*> made;
  absl::flat_hash_set<const HloInstruction*> carried;
  // The `made` instructions, readers before what they read.
  std::vector<const HloInstruction*> order;
};

struct CheapRecipeOptions {
  // Carried operands may have up to the value's bytes divided by this; 0.5
  // means twice the bytes. Parameters do not count: they are there anyway.
  double carried_part = 4;
  // Whether fusions may be recomputed as well.
  bool fusions = true;
};

// Bytes of the value, 8 for each pointer of a tuple.
int64_t BytesOf(const HloInstruction* inst);

// Whether the value is a parameter or an element of one.
bool IsParameterRead(const HloInstruction* inst);

// Traces `value` back as long as what is carried stays small; nullopt if that
// leads nowhere. O(instructions visited), at most 64.
std::optional<CheapRecipe> FindCheapRecipe(
    const HloInstruction* value, const CheapRecipeOptions& options = {});

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_CHEAP_RECIPE_H_
