#ifndef XLA_HLO_TRANSFORMS_LOOPS_BODY_WRITER_H_
#define XLA_HLO_TRANSFORMS_LOOPS_BODY_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/loops/loop_state.h"

namespace xla::remat_plan {

// Computes values of the computation around a loop in the loop's body, whole or
// one place of a dimension:
//
//   t = transpose(p);  Slice(t, 0, i)  →  body: transpose(dynamic-slice(p, i))
//
// `made`: the instructions that the body repeats, which must be few: recursion
// is as deep as they are. All others are passed through the loop's state. Marks
// what it adds as rematerialized.
class BodyWriter {
 public:
  BodyWriter(LoopState loop,
             const absl::flat_hash_set<const HloInstruction*>& made)
      : loop_(loop), made_(made) {}

  absl::StatusOr<HloInstruction*> Whole(HloInstruction* value);

  // The place `index`, an instruction of the body, of dimension `dim`, which
  // the result still has, with size 1. Repeats instructions for that place
  // alone where they permit it.
  absl::StatusOr<HloInstruction*> Slice(HloInstruction* value, int64_t dim,
                                        HloInstruction* index);

  // Writes `place`, as Slice() makes it, over that place of `whole`, both of
  // the body. Not marked.
  HloInstruction* Write(HloInstruction* whole, HloInstruction* place,
                        int64_t dim, HloInstruction* index);

  // Says what that place is, where the body has it already.
  void SetSlice(const HloInstruction* value, int64_t dim,
                const HloInstruction* index, HloInstruction* inside) {
    slices_[{value, dim, index}] = inside;
  }
  // The place as it was made or set; null: not yet.
  HloInstruction* FindSlice(const HloInstruction* value, int64_t dim,
                            const HloInstruction* index) const;

  // What the body computes, whole, of `order`, in that order.
  std::vector<HloInstruction*> Made(
      absl::Span<const HloInstruction* const> order) const;

  // The dimension of an operand that is `dim` of the result; -1: it is not in
  // it; nullopt: none of this kind. Only those of a dot differ.
  static std::optional<int64_t> DimensionBelow(const HloInstruction& value,
                                               int64_t dim,
                                               int64_t operand = 0);

 private:
  HloInstruction* Add(std::unique_ptr<HloInstruction> inst);
  HloInstruction* SliceOf(HloInstruction* whole, const Shape& shape,
                          int64_t dim, HloInstruction* index);
  // Indices of that place: 0 in the other dimensions.
  std::vector<HloInstruction*> StartOf(const HloInstruction* whole, int64_t dim,
                                       HloInstruction* index);

  LoopState loop_;
  const absl::flat_hash_set<const HloInstruction*>& made_;
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> whole_;
  // By value, dimension and index.
  absl::flat_hash_map<
      std::tuple<const HloInstruction*, int64_t, const HloInstruction*>,
      HloInstruction*>
      slices_;
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_BODY_WRITER_H_
