#ifndef XLA_BACKENDS_GPU_FUSION_EXPLAIN_FUSION_SVG_H_
#define XLA_BACKENDS_GPU_FUSION_EXPLAIN_FUSION_SVG_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::gpu {

// Instructions of a module to draw; a fusion is drawn with its instructions.
struct FusionPicture {
  const HloModule* module;
  absl::flat_hash_set<const HloInstruction*> shown;
};

// Draws, as SVG, what a fusion pass did: the module before it on the left,
// after it on the right. Each kernel is a box, a fusion a box with its
// instructions inside; arrows run from operands to users. Fusions with several
// outputs are highlighted. Draws the first kMaxInstructions of each side; for a
// fusion of more than kMaxFused instructions, only their number.
//
// Needs no other tool. Deterministic.
std::string FusionsToSvg(absl::string_view title, const FusionPicture& before,
                         const FusionPicture& after);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_EXPLAIN_FUSION_SVG_H_
