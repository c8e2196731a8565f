#ifndef XLA_BACKENDS_GPU_MODEL_COST_KERNEL_COST_H_
#define XLA_BACKENDS_GPU_MODEL_COST_KERNEL_COST_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "xla/backends/gpu/model/cost/instruction_flops.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// One way in which a kernel reads a value.
//
// Reads in the same place, that is for the same element of the result, are one
// read however many instructions ask for it: they have the same `place`. Place
// 0 is that of the elements the kernel runs over: its result, or what its
// reduction reads.
//
// Reads a few elements away from a place, such as the slices and padding for
// the elements of a window, are one access, too: one that is `near` that place.
struct ValueAccess {
  int32_t place = 0;
  // If near: the place.
  int32_t center = 0;
  // How often an element is read, on average; below 1 where not all are.
  double utilization = 1;
  // How often the code of what computes the value is emitted.
  double copies = 1;
  // Neighboring threads read most of the same elements, and at about the same
  // time: what is read again comes from the nearest cache.
  bool near = false;
  // Neighboring threads read neighboring elements; if the kernel runs as
  // written / if it is computed as part of another one, away from its place 0.
  bool coalesced = true;
  bool nested_coalesced = true;
  // The bitcast that it is read through, where reads through several ones add
  // up (OperationPrices::kXla); 0 otherwise.
  int32_t bitcast = 0;
};
// There is one for each read of each kernel.
static_assert(sizeof(ValueAccess) == 32);

struct OperandCost {
  // Usually one: beyond a handful they are added up.
  absl::InlinedVector<ValueAccess, 1> accesses;
  // The kernel overwrites parts of it in place.
  bool in_place = false;
  // Bytes of the part that is not overwritten: read and written if the kernel
  // computes the operand, which is then not in memory.
  int64_t kept_bytes = 0;

  double utilization() const;
  // The same, but what is near a place is read there once.
  double utilization_by_place() const;
  // The place that all are at or near; nullopt if they are apart.
  std::optional<int32_t> center() const;
  double copies() const;
  // Whether each element is read once, for the element of the result at its
  // place.
  bool IsReadAlongTheResult() const {
    return !in_place && accesses.size() == 1 && accesses[0].place == 0 &&
           accesses[0].utilization <= 1;
  }
  void Add(const ValueAccess& access);
  // The same for reads near a place that other instructions ask for, which are
  // other elements of the window, and for others that add up.
  void AddUp(const ValueAccess& access);
};

// The work of an instruction that runs as one kernel: enough to predict that of
// a kernel made of two of them, without making it.
struct KernelCost {
  // Operations, weighted by opcode and type (see instruction_flops.h), counted
  // as often as they are executed.
  double flops = 0;
  // Elements that the kernel runs over.
  double iterations = 0;
  int64_t bytes_written = 0;
  // Instructions that a code generator emits.
  double ir_size = 0;
  // The kernel is built around a reduction or a transpose.
  bool has_hero = false;
  // A dot, a convolution, a custom call and the like: not generated.
  bool is_library = false;
  // Not a kernel: a parameter, a constant, a tuple, a bitcast, control flow.
  bool is_free = false;
  // By position.
  std::vector<OperandCost> operands;
};

// A cost and what its operands are.
struct KernelCostWithOperands {
  KernelCost cost;
  std::vector<const HloInstruction*> operands;
};

// The change in cost of a consumer that computes a producer inside.
struct PairCost {
  struct Operand {
    const HloInstruction* operand = nullptr;
    OperandCost before;
    OperandCost after;
  };
  // Without operands.
  KernelCost cost;
  // How the consumer read the producer.
  OperandCost removed;
  // Those of the producer, each once.
  absl::InlinedVector<Operand, 4> operands;
};

// Computes and keeps the costs of kernels. O(instructions + operands) of a
// fusion for the first request, then O(1).
class KernelCosts {
 public:
  // Without a device every reduction is a kernel built for reductions, never a
  // loop. The device must outlive this. Kernels are those of `kernels_for`,
  // operations are counted as `prices` has them.
  explicit KernelCosts(
      const stream_executor::DeviceDescription* device = nullptr,
      KernelTarget kernels_for = KernelTarget::kOwn,
      OperationPrices prices = OperationPrices::kDevice)
      : device_(device),
        kernels_for_(kernels_for),
        prices_(prices),
        flops_(prices) {}

  // Valid until Invalidate.
  const KernelCost& Get(const HloInstruction& kernel);

  // The same with each operand once.
  KernelCostWithOperands Unique(const HloInstruction& kernel);

  // The cost of `producer` computed inside of `consumer`, which reads it, at
  // each place where it is read. `keep_output`: the producer's result is
  // written, too. Operands: those of the consumer, in order, but for the
  // producer, then the producer's other ones. O(operands of both).
  KernelCostWithOperands Fused(const HloInstruction& producer,
                               const HloInstruction& consumer,
                               bool keep_output = false);

  // The same as a difference to the consumer. O(operands of the producer), and
  // a look at each of the consumer's for each of them that it shares.
  PairCost OfPair(const HloInstruction& producer,
                  const HloInstruction& consumer, bool keep_output = false);

  // Two kernels in one that share what they read at the same place. Operands of
  // `a`, then the other ones of `b`. What `b` reads of several outputs of `a`
  // is there already; if nothing else reads it, it is not written. O(operands
  // of both).
  KernelCostWithOperands Siblings(const HloInstruction& a,
                                  const HloInstruction& b);

  // Where `kernel` reads `operand`, in order. O(operands), or O(places) between
  // IndexOperands(&kernel) and IndexOperands(nullptr), when no operand of it
  // may be replaced: to price a kernel with each of its many producers.
  using Positions = absl::InlinedVector<int64_t, 2>;
  Positions PositionsOf(const HloInstruction& operand,
                        const HloInstruction& kernel) const;
  void IndexOperands(const HloInstruction* kernel);

  // After a kernel has changed or before it goes.
  void Invalidate(const HloInstruction& kernel) { costs_.erase(&kernel); }
  // Saves the walk over a fusion whose cost Fused has computed before it was
  // made. If the operands differ, it only invalidates.
  void Set(const HloInstruction& kernel, KernelCostWithOperands cost);

 private:
  KernelCost Compute(const HloInstruction& kernel);
  // How a kernel of that cost reads an operand, wherever it has it.
  OperandCost ReadsOf(const HloInstruction& kernel, const KernelCost& cost,
                      const HloInstruction& operand) const;
  // Wraps around after 2^31 places: places that old are not compared any more.
  int32_t NewPlace() {
    if (last_place_ == std::numeric_limits<int32_t>::max()) last_place_ = 0;
    return ++last_place_;
  }

  const stream_executor::DeviceDescription* device_;
  KernelTarget kernels_for_;
  OperationPrices prices_;
  absl::node_hash_map<const HloInstruction*, KernelCost> costs_;
  const HloInstruction* indexed_ = nullptr;
  absl::flat_hash_map<const HloInstruction*, Positions> positions_;
  InstructionFlops flops_;
  int32_t last_place_ = 0;
  int depth_ = 0;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_COST_KERNEL_COST_H_
