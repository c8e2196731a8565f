#ifndef XLA_BACKENDS_GPU_MODEL_FUSION_HERO_H_
#define XLA_BACKENDS_GPU_MODEL_FUSION_HERO_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/hlo_traversal.h"

// The instruction of a fusion that its kernel is built around: a reduction, a
// transpose through shared memory, a concatenation.

namespace xla {
namespace gpu {

// A transpose that goes through tiles in shared memory, so that both sides are
// read and written along memory.
struct TransposeDescription {
  const HloInstruction* instr = nullptr;
  // The result's dimensions after normalization: major to minor, without
  // dimensions of size 1, adjacent dimensions that stay adjacent merged.
  absl::InlinedVector<int64_t, 3> dimensions;
  // Result dimension i is operand dimension permutation[i].
  absl::InlinedVector<int64_t, 3> permutation;
  // Bytes of the tile.
  int64_t shmem_usage = 0;

  // The same movement, whatever the instruction and the type.
  bool IsEquivalent(const TransposeDescription& other) const {
    return dimensions == other.dimensions && permutation == other.permutation;
  }
  std::string ToString() const;
};

// Describes a transpose for which tiling pays; nullopt for any other
// instruction. After normalization, with `bits` per element:
//  - the minor dimension stays: elements of bits * minor <= 64 bits are moved
//    as one, if 16 bytes or more of them lie together on both sides;
//  - else both the old and the new minor dimension must be >= 16, or both >= 8
//    with a product >= 8,192.
// Not for types of 4 bits or less.
std::optional<TransposeDescription> GetDescriptionForTiledTransposeEmitter(
    const HloInstruction& hero);

// Whether the transpose moves elements in memory; dimensions of size 1 do not
// count.
bool TransposeMovesElements(const HloInstruction& transpose);

// An instruction between a hero and a root that changes neither order nor
// number of elements: elementwise, or a bitcast of some opcode, with at most
// `allowed_operand_count` operands that are not trivial. Trivial are constants,
// and broadcasts of scalars.
bool IsIntermediate(const HloInstruction* instr, int allowed_operand_count = 1);

// The hero of a root: the reduce, tiled transpose or concatenate that is found
// going up through intermediates; for reduces through those with one operand
// that is not trivial, for the others with up to 3. If there is none, or more
// than one kind of transpose or concatenate, the root.
HloInstructionAdaptor FindNonTrivialHero(const HloInstructionAdaptor& root);
// The same of a root of a fused computation; any other instruction is its own
// hero.
const HloInstruction& FindNonTrivialHero(const HloInstruction& root);

}  // namespace gpu
}  // namespace xla

#endif  // XLA_BACKENDS_GPU_MODEL_FUSION_HERO_H_
