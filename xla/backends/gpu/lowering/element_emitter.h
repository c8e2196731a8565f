#ifndef XLA_BACKENDS_GPU_LOWERING_ELEMENT_EMITTER_H_
#define XLA_BACKENDS_GPU_LOWERING_ELEMENT_EMITTER_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/kernel_builder.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/literal.h"
#include "xla/shape.h"

// Emits the code of one thread that computes one element of a value, and with
// it the elements of operands that it depends on, recursively.
//
//   n = negate(transpose(x))  element [i, j]  ->  %v0[0] = copy(%x[j, i])
//                                                 %v1[0] = neg(%v0[0])
//
// Within a scope (the body of a kernel, loop or branch) an element is computed
// once, however many instructions read it. Reductions, windows and dots become
// loops of that thread.
//
// Unimplemented errors name opcode, reason and instruction.

namespace xla::gpu {

// The type of registers and arrays that hold elements of this type.
// Unimplemented for complex numbers, which are pairs (complex_parts.h), floats
// of less than a byte, and 8-bit floats other than f8e4m3fn and f8e5m2.
// Integers of less than a byte take a whole byte, sign-extended.
absl::StatusOr<kir::ElementType> KernelType(PrimitiveType type);

// An array of that shape from its first element: the operand of statements that
// take a place in memory besides, such as gathers and scatters.
kir::Operand WholeArray(kir::BufferId buffer, const Shape& shape);

// "OPCODE: REASON, in NAME".
absl::Status NotLowered(const HloInstruction& hlo, absl::string_view reason);
// Attributes a refusal of part of the instruction's code to the instruction.
absl::Status NotLowered(const HloInstruction& hlo, const absl::Status& reason);

class ElementEmitter {
 public:
  explicit ElementEmitter(KernelBuilder* builder) : builder_(*builder) {
    scopes_.emplace_back();
  }

  // Declares an array that is read from memory: an operand of the kernel, or a
  // constant of several elements.
  void AddInput(const HloInstruction* hlo, kir::BufferId buffer) {
    inputs_[hlo] = buffer;
  }

  // The buffer of the array; -1 if it is in none.
  kir::BufferId FindInput(const HloInstruction& hlo) const {
    const auto input = inputs_.find(&hlo);
    return input == inputs_.end() ? -1 : input->second;
  }

  // Elements of `hlo` are known only where they were remembered; no thread may
  // compute them by itself, until AllowAll().
  void Forbid(const HloInstruction* hlo) { forbidden_.insert(hlo); }
  void AllowAll() { forbidden_.clear(); }

  // One element; of element `tuple_index` if the value is a tuple.
  absl::StatusOr<kir::Operand> Element(const HloInstruction& hlo,
                                       const Indices& indices,
                                       int64_t tuple_index = 0);
  // The indices, in the result of a dynamic-update-slice, of an element of its
  // update.
  absl::StatusOr<Indices> UpdatedPlaces(const HloInstruction& hlo,
                                        const Indices& indices);
  // Where in the result of a scatter an element of its updates goes: its linear
  // position in memory, and whether the whole window of the update is in
  // bounds; otherwise it is skipped.
  struct ScatterPlace {
    kir::Operand place;
    kir::Argument inside;
  };
  absl::StatusOr<ScatterPlace> PlaceOfUpdate(const HloInstruction& hlo,
                                             const Indices& indices);
  // Writes one element of an array of that shape.
  absl::Status StoreAt(kir::BufferId buffer, const Shape& shape,
                       const Indices& indices, const kir::Operand& value);
  // The same where `condition` holds.
  absl::Status StoreWhere(const kir::Operand& condition, kir::BufferId buffer,
                          const Shape& shape, const Indices& indices,
                          const kir::Operand& value);
  // Calls `body` in a scope: what it computes is not known outside.
  absl::Status InScope(absl::FunctionRef<absl::Status()> body);
  // The results of applying a computation to scalars.
  absl::StatusOr<std::vector<kir::Operand>> Apply(
      const HloComputation& computation, absl::Span<const kir::Operand> args);

  // For reductions that threads share: initializes the accumulators, adds one
  // element, and converts the results to the reduction's types.
  absl::StatusOr<std::vector<kir::Operand>> BeginReduction(
      const HloInstruction& hlo);
  absl::Status Accumulate(const HloInstruction& hlo,
                          absl::Span<const kir::Operand> accumulators,
                          absl::Span<const kir::Operand> values);
  absl::StatusOr<std::vector<kir::Operand>> EndReduction(
      const HloInstruction& hlo, absl::Span<const kir::Operand> accumulators);
  // Whether the first value, an element of the instruction's operand, precedes
  // the second one in the total order of its type.
  absl::StatusOr<kir::Operand> CompareTotal(const HloInstruction& hlo,
                                            ComparisonDirection direction,
                                            const kir::Operand& a,
                                            const kir::Operand& b);
  // Records the value of the element, which is valid from here on in this
  // scope.
  void Remember(const HloInstruction& hlo, const Indices& indices,
                std::vector<kir::Operand> values);

 private:
  using Key = std::pair<const HloInstruction*, Indices>;
  struct Scope {
    // Looked up, never iterated: no output depends on pointers.
    std::map<Key, std::vector<kir::Operand>> values;
  };
  using Values = absl::StatusOr<std::vector<kir::Operand>>;

  const std::vector<kir::Operand>* Find(const Key& key) const;
  // The element's linear position in memory, which values of the kernel decide.
  absl::StatusOr<kir::Operand> PlaceInMemory(const Shape& shape,
                                             const Indices& indices);
  bool ReadsRegister(const Indices& indices) const;
  absl::StatusOr<kir::Operand> Load(const HloInstruction& hlo,
                                    kir::BufferId buffer,
                                    const Indices& indices);
  Values Compute(const HloInstruction& hlo, const Indices& indices);

  // element_emitter_arithmetic.cc
  Values Constant(const HloInstruction& hlo);
  Values Nan(const Literal& nan, kir::ElementType type);
  Values Elementwise(const HloInstruction& hlo, const Indices& indices);
  kir::Operand Integer(int64_t value, kir::ElementType type);
  absl::StatusOr<std::vector<kir::Operand>> OperandElements(
      const HloInstruction& hlo, const Indices& indices);
  absl::StatusOr<kir::Operand> Binary(const HloInstruction& hlo,
                                      const kir::Operand& a,
                                      const kir::Operand& b,
                                      kir::ElementType type);
  absl::StatusOr<kir::Operand> Unary(const HloInstruction& hlo,
                                     const kir::Operand& a,
                                     kir::ElementType type);
  absl::StatusOr<kir::Operand> Divide(const HloInstruction& hlo,
                                      const kir::Operand& a,
                                      const kir::Operand& b,
                                      kir::ElementType type);
  absl::StatusOr<kir::Operand> Compare(const HloInstruction& hlo,
                                       const kir::Operand& a,
                                       const kir::Operand& b);
  kir::Operand Compare(ComparisonDirection direction, const kir::Operand& a,
                       const kir::Operand& b);
  absl::StatusOr<kir::Operand> Convert(const HloInstruction& hlo,
                                       const kir::Operand& a,
                                       kir::ElementType type);

  // The value that these bits have in the type, in a byte of its own.
  kir::Operand Narrow(const kir::Operand& value, PrimitiveType type);
  absl::StatusOr<kir::Operand> LoadPacked(const HloInstruction& hlo,
                                          kir::BufferId buffer,
                                          const Indices& indices);

  // element_emitter_bits.cc
  absl::StatusOr<kir::Operand> ReinterpretBits(const HloInstruction& hlo,
                                               const kir::Operand& a,
                                               kir::ElementType type);
  absl::StatusOr<kir::Operand> BitsOf(const kir::Operand& a,
                                      PrimitiveType from);
  // A bitcast-convert to elements of another width.
  Values SplitOrJoinBits(const HloInstruction& hlo, const Indices& indices);
  absl::StatusOr<kir::Operand> ReducePrecision(const HloInstruction& hlo,
                                               const kir::Operand& a,
                                               kir::ElementType type);
  absl::StatusOr<kir::Operand> RoundBits(const HloInstruction& hlo,
                                         const kir::Operand& a,
                                         kir::ElementType type);
  absl::StatusOr<kir::Operand> RoundHalves(const HloInstruction& hlo,
                                           const kir::Operand& a);
  absl::StatusOr<kir::Operand> TotalOrder(const HloInstruction& hlo,
                                          const kir::Operand& a);
  kir::Operand CompareHalves(ComparisonDirection direction,
                             const kir::Operand& a, const kir::Operand& b);

  // element_emitter_movement.cc
  using MakeElement = absl::FunctionRef<absl::StatusOr<kir::Operand>()>;
  absl::StatusOr<AffineExpr> Start(const HloInstruction& start,
                                   const Indices& indices, int64_t least,
                                   int64_t limit);
  // What `then` computes if the condition holds, otherwise what `otherwise`
  // does.
  absl::StatusOr<kir::Operand> Choose(const AffineExpr& condition,
                                      PrimitiveType element_type,
                                      MakeElement then, MakeElement otherwise);
  // The element of the array that the condition selects; where both are
  // computed, indices out of bounds are clamped.
  absl::StatusOr<kir::Operand> ElementWhere(const AffineExpr& condition,
                                            const HloInstruction& hlo,
                                            Indices indices);
  Values Iota(const HloInstruction& hlo, const Indices& indices);
  Values Pad(const HloInstruction& hlo, const Indices& indices);
  absl::StatusOr<kir::Operand> Concatenate(const HloInstruction& hlo,
                                           const Indices& indices,
                                           int64_t first, int64_t end);
  Values DynamicSlice(const HloInstruction& hlo, const Indices& indices);
  Values DynamicUpdateSlice(const HloInstruction& hlo, const Indices& indices);
  Values Gather(const HloInstruction& hlo, const Indices& indices);

  // element_emitter_reductions.cc
  Values Reduce(const HloInstruction& hlo, const Indices& indices);
  Values ReduceWindow(const HloInstruction& hlo, const Indices& indices);
  Values Dot(const HloInstruction& hlo, const Indices& indices);
  // Loops over `extents`, the last innermost.
  absl::Status Loops(absl::Span<const int64_t> extents, Indices* places,
                     absl::FunctionRef<absl::Status()> body);

  // element_emitter_windows.cc
  Values Convolution(const HloInstruction& hlo, const Indices& indices);
  Values Scatter(const HloInstruction& hlo, const Indices& indices);
  Values SelectAndScatter(const HloInstruction& hlo, const Indices& indices);
  // Whether the window of a select-and-scatter selects its place `offsets`.
  absl::StatusOr<kir::Operand> IsSelected(const HloInstruction& hlo,
                                          const Indices& window,
                                          const Indices& offsets);
  // Combines the accumulators with the values by the combiner, where the
  // condition holds.
  absl::Status Combine(const HloComputation& combiner,
                       const kir::Argument& condition,
                       absl::Span<const kir::Operand> accumulators,
                       absl::Span<const kir::Operand> values);
  // Emits `body` under a condition that does not depend on values of the
  // kernel.
  absl::Status If(const HloInstruction& hlo, const AffineExpr& condition,
                  absl::FunctionRef<absl::Status()> body);

  KernelBuilder& builder_;
  std::map<const HloInstruction*, kir::BufferId> inputs_;
  std::set<const HloInstruction*> forbidden_;  // looked up only
  std::vector<Scope> scopes_;
  int depth_ = 0;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_ELEMENT_EMITTER_H_
