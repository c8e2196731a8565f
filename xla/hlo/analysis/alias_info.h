#ifndef XLA_HLO_ANALYSIS_ALIAS_INFO_H_
#define XLA_HLO_ANALYSIS_ALIAS_INFO_H_

#include <optional>
#include <utility>
#include <vector>

#include "xla/hlo/analysis/hlo_operand_index.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace xla {

// Which outputs of an instruction share memory with its operands: must, may,
// must not. Backends override these rules where theirs differ.
//
//   u = f32[8] dynamic-update-slice(x, y, i)   operand 0 {} = output {}, must
//   a = f32[8] add(x, y)                       no opinion
class AliasInfo {
 public:
  // (operand index, output index)
  using InPlacePair = std::pair<HloOperandIndex, ShapeIndex>;

  AliasInfo() = default;
  virtual ~AliasInfo() = default;

  // Whether GetInPlaceInputOutputPairs(user) has this pair.
  bool MustAlias(const HloInstruction* operand, const ShapeIndex& operand_index,
                 const HloInstruction* user,
                 const ShapeIndex& user_index) const;

  // Operands that are updated in place. Unless the backend has its own list:
  //   dynamic-update-slice, set-dimension-size: operand 0; ragged-all-to-all:
  //   operand 1; scatter: the operands that are updated; all-reduce-start: all;
  //   collective-permute(-start) with destination buffers (4 operands, of which
  //   two are tables of slices): operand 1 and its elements;
  //   custom-call: its aliasing list; async-start, -update and -done: what of
  //   the start's list each binds and shows, for an update after its own list,
  //   for a done between {0,…} of the state and its result;
  //   fusion: array outputs that one update in place makes inside, if its
  //   target is a parameter (through tuples, bitcasts and nested fusions), then
  //   its aliasing list.
  // O(operands), for fusions O(outputs * path).
  std::vector<InPlacePair> GetInPlaceInputOutputPairs(
      const HloInstruction* user) const;

  // Whether the output may reuse the operand's memory if nothing needs the
  // operand afterwards; nullopt leaves it to the rules of
  // HloDataflowAnalysis::CanShareOperandBufferWithUser. `operand` is an operand
  // of `user`.
  virtual std::optional<bool> MayAlias(const HloInstruction* operand,
                                       const ShapeIndex& operand_index,
                                       const HloInstruction* user,
                                       const ShapeIndex& user_index) const {
    return std::nullopt;
  }

 protected:
  // The backend's own list, instead of the default one; nullopt: default.
  virtual std::optional<std::vector<InPlacePair>>
  GetNonDefaultInPlaceInputOutputPairs(const HloInstruction* user) const {
    return std::nullopt;
  }

 private:
  std::vector<InPlacePair> FusionPairs(const HloInstruction* fusion) const;
  // The last update that computes `output` of the fusion in the memory of a
  // parameter, and that parameter; null if there is none.
  const HloInstruction* TraceUpdates(const HloInstruction* fusion,
                                     const ShapeIndex& output,
                                     HloOperandIndex* source) const;
};

// Follows tuple instructions along the index, then get-tuple-elements; stops at
// the tuple that the last of these selects from. O(instructions on the way).
//
//   t = tuple(a, b); g = get-tuple-element(t), index=1; r = tuple(g)
//   (r, {0}) → (t, {1})
std::pair<const HloInstruction*, ShapeIndex> FollowTupleIndirection(
    const HloInstruction* instruction, ShapeIndex operand_index);
// Follows both in any order: (r, {0}) → (b, {}).
std::pair<const HloInstruction*, ShapeIndex> FollowTuplesToTheEnd(
    const HloInstruction* instruction, ShapeIndex operand_index);

// An instruction that writes its result over an operand, by its opcode:
// dynamic-update-slice, set-dimension-size, ragged-all-to-all, scatter,
// all-reduce-start, and a collective-permute(-start) with destination buffers.
bool IsDefaultInPlaceOperation(const HloInstruction* hlo);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_ALIAS_INFO_H_
