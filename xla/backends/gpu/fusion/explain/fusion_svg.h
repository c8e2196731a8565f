#ifndef XLA_BACKENDS_GPU_FUSION_EXPLAIN_FUSION_SVG_H_
#define XLA_BACKENDS_GPU_FUSION_EXPLAIN_FUSION_SVG_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::gpu {

// Instructions of a module to be drawn; those in fusions come with these.
struct FusionPicture {
  const HloModule* module;
  absl::flat_hash_set<const HloInstruction*> shown;
};

// The picture, as SVG, of what a fusion pass has done: what it found on the
// left, what it left on the right. Each kernel is a box, a fusion one with its
// instructions inside; arrows run from operands to users. Fusions with several
// outputs stand out. The first kMaxInstructions of each side; of a fusion with
// more than kMaxFused instructions only the number.
//
// Needs no other tool. The same text for the same modules.
std::string FusionsToSvg(absl::string_view title, const FusionPicture& before,
                         const FusionPicture& after);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_EXPLAIN_FUSION_SVG_H_
