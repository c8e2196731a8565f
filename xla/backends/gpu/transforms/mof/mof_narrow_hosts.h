#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_HOSTS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_HOSTS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/backends/gpu/transforms/mof/mof_kernels.h"
#include "xla/backends/gpu/transforms/mof/mof_narrow_parts.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/fusion_decision.h"

namespace xla::gpu {

// A computation that several kernels share.
struct NarrowOutput {
  // In post order of their kernels.
  std::vector<NarrowPart> parts;
  // The kernel to write it; null: none may, or none saves anything.
  HloInstruction* host = nullptr;
  // An estimate.
  double saved_bytes = 0;
};

// The kernel that has `value` as a result, or makes it.
const HloInstruction* MakerOfNarrowed(const HloInstruction* value);

// Finds the kernels that may write narrow outputs (mof_narrow_outputs.h), and
// for each output the one that saves the most bytes. Readers come after their
// host in a post order that SetOrder is given; a kernel that replaces another
// takes its place.
class NarrowHosts {
 public:
  // The context is kept.
  explicit NarrowHosts(const MofContext& context) : context_(context) {}

  // `order`: all instructions of the computation, operands first. Forgets all
  // that was known.
  void SetOrder(const std::vector<HloInstruction*>& order);
  void Replace(const HloInstruction* from, const HloInstruction* to) {
    positions_[to] = positions_.at(from);
  }
  // `kernel` is about to change.
  void Forget(const HloInstruction* kernel) { heroes_.erase(kernel); }

  // Not what can be no host by its opcode.
  static bool MayRunMore(const HloInstruction& kernel);

  // Sets host and saved_bytes. O(users of a large operand) and O(size) of at
  // most 8 kernels.
  void Choose(NarrowOutput* output);
  // The part's kernel comes after the host.
  bool IsServedBy(const HloInstruction& host, const NarrowPart& part) const {
    return Position(part.kernel) > Position(&host);
  }
  // The result of the host that nothing needs if the parts that it serves read
  // the value; null: none. `value`: the small kernel that computes it; null:
  // not there yet.
  const HloInstruction* UnreadResult(const HloInstruction& host,
                                     const NarrowOutput& output,
                                     const HloInstruction* value) const;

 private:
  // In post order; an element of a fusion has the fusion's place.
  int64_t Position(const HloInstruction* instruction) const;
  // The hero that decides how a kernel runs; null if the kernel may not get
  // another output.
  const HloInstruction* HeroOfHost(const HloInstruction& host);
  bool MayHost(const HloInstruction& host) const;
  // The reason why a kernel cannot write the part's value, apart from prices.
  FusionDecision CanHost(const HloInstruction& host, const HloInstruction& hero,
                         const NarrowPart& part) const;
  // Those that may, the first ones in post order.
  std::vector<HloInstruction*> FindHosts(const NarrowOutput& output);

  const MofContext& context_;
  absl::flat_hash_map<const HloInstruction*, int64_t> positions_;
  absl::flat_hash_map<const HloInstruction*, const HloInstruction*> heroes_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_HOSTS_H_
