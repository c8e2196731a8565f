#ifndef XLA_HLO_MEMORY_ACCOUNTING_REMAT_BUFFERS_H_
#define XLA_HLO_MEMORY_ACCOUNTING_REMAT_BUFFERS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/layout.h"
#include "xla/shape.h"

namespace xla {

// Instructions of one computation, numbered in the order in which they run.
using RematItemId = int32_t;
using RematBufferId = int32_t;
inline constexpr RematItemId kNoRematItem = -1;

// How rematerialization counts bytes.
struct RematSizeOptions {
  // Bytes of the buffer of an array, or of the table of pointers of a tuple.
  // Empty: densely packed elements, pointers of 8 bytes. Dynamic dimensions
  // count with their bounds.
  std::function<int64_t(const Shape&)> shape_size;
  // Arrays whose layout names this memory space are not counted.
  int64_t host_memory_space = Layout::kHostMemorySpace;

  // Whether the shape is in that memory space / the bytes it counts for.
  bool IsOnHost(const Shape& shape) const;
  int64_t SizeOf(const Shape& shape) const;
};

// A piece of memory: an array, or the table of pointers of a tuple.
struct RematBuffer {
  RematItemId definer = 0;
  // Its bytes while it is live; 0 if `elsewhere`.
  int64_t bytes = 0;
  // Bytes of its shape.
  int64_t shape_bytes = 0;
  // A parameter, live out or in host memory: not counted here.
  bool elsewhere = false;
  bool live_out = false;
  // Some reader gets it by more than bitcasts and get-tuple-elements: in a
  // tuple passed to a call, in a loop's state.
  bool indirect = false;
  // An element of an element of the defining instruction.
  bool nested = false;
  // Its readers in execution order, each once.
  absl::InlinedVector<RematItemId, 2> users;
};

// Whether the computations that the instruction calls need memory in addition.
bool RunsComputations(const HloInstruction& instruction);

// The parts of an async-update's value that come from its operands: `count`
// positions of its shape in pre-order, from `to` on, are those of operand
// number `operand` from `from` on.
//   u = ((f32[4]), f32[4], u32[]) async-update(s)   {}, {0}, {0,0}, {1} of s
// Contexts (elements 2 and up) are the update's own, unless it aliases them;
// operands that it binds are passed on whole. O(shape).
void ForEachPassedOnByUpdate(
    const HloInstruction& update,
    absl::FunctionRef<void(int32_t to, int64_t operand, int32_t from,
                           int32_t count)>
        fn);

// Which instruction makes, forwards and reads which buffers.
//
//   0 a = f32[8] negate(p)            defines buffer 0
//   1 t = (f32[8], f32[8]) tuple(a,p) defines its table, forwards a's and p's
//   2 w = while(t), …                 reads all of t's, and goes on in them
//   3 g = get-tuple-element(w), 0     reads the table, forwards a's
//
// Forwarding is that of TuplePointsToAnalysis, and besides a while's result
// lies in the buffers of its operand. An instruction reads all buffers of its
// operands, a get-tuple-element only the table. O(indices of all shapes).
class RematBuffers {
 public:
  struct Item {
    HloInstruction* instruction = nullptr;
    // The buffers it defines have consecutive ids.
    RematBufferId first_defined = 0;
    int32_t defined_count = 0;
    // Whether it calls computations that need memory in addition.
    bool runs_computations = false;
    // Kept up to date when clones change it.
    bool has_control_predecessors = false;
    bool has_control_successors = false;
    // Its value, index by index in pre-order.
    int32_t first_output = 0;
    int32_t output_count = 0;
    absl::InlinedVector<RematBufferId, 4> used;
  };

  RematBuffers() = default;

  // Numbers items by position. InvalidArgument if an operand comes after its
  // user or is missing.
  static absl::StatusOr<RematBuffers> Build(
      const HloInstructionSequence& sequence, const RematSizeOptions& options);

  RematItemId item_count() const {
    return static_cast<RematItemId>(items_.size());
  }
  RematBufferId buffer_count() const {
    return static_cast<RematBufferId>(buffers_.size());
  }
  const Item& item(RematItemId id) const { return items_[id]; }
  Item& item(RematItemId id) { return items_[id]; }
  const RematBuffer& buffer(RematBufferId id) const { return buffers_[id]; }
  RematBuffer& buffer(RematBufferId id) { return buffers_[id]; }
  absl::Span<const RematBufferId> outputs(const Item& item) const {
    return absl::MakeConstSpan(pool_).subspan(item.first_output,
                                              item.output_count);
  }

  // -1 if the instruction has no item.
  RematItemId Find(const HloInstruction* instruction) const {
    const int32_t id = instruction->local_id();
    return id < static_cast<int32_t>(by_local_id_.size()) ? by_local_id_[id]
                                                          : -1;
  }

  // Adds an instruction whose operands are known: its item, the buffers it
  // defines and forwards, and those it reads (without becoming their user).
  absl::StatusOr<RematItemId> AddItem(HloInstruction* instruction);

  // Updates what an item reads and forwards after its operands have changed.
  // The buffers it defines, and users, stay.
  absl::Status UpdateOperands(RematItemId id);

  // Bytes of a shape as options say, host memory 0.
  int64_t SizeOf(const Shape& shape) const { return options_.SizeOf(shape); }

 private:
  struct View {
    int32_t first = 0;
    int32_t count = 0;
  };

  View ViewOf(const HloInstruction* instruction) const {
    const Item& item = items_[Find(instruction)];
    return {item.first_output, item.output_count};
  }
  static View Element(View tuple, const Shape& shape, int64_t index);
  RematBufferId Define(RematItemId item, const Shape& shape, bool nested);
  View DefineAll(RematItemId id, const Shape& shape);
  // The buffers that the instruction passes on unchanged; count 0 if it makes
  // its result.
  View Forwarded(const HloInstruction* instruction) const;
  View MakeOutputs(RematItemId id);
  // Buffers that replace some of those that DefineAll would make: calls
  // fn(first index in pre-order, view).
  template <typename Fn>
  void ForEachPassedOn(const HloInstruction* instruction, const Fn& fn) const;
  void CollectUses(RematItemId id);

  RematSizeOptions options_;
  std::vector<Item> items_;
  std::vector<RematBuffer> buffers_;
  std::vector<RematBufferId> pool_;
  std::vector<RematItemId> by_local_id_;
};

using RematBuffersByComputation =
    absl::flat_hash_map<const HloComputation*, RematBuffers>;

}  // namespace xla

#endif  // XLA_HLO_MEMORY_ACCOUNTING_REMAT_BUFFERS_H_
