#include "xla/backends/gpu/model/fusion_hero.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/hlo_traversal.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

// The hero of a fusion output is the instruction whose access pattern decides
// which kernel the back-end emits: a reduction, a transpose or a concatenation
// that is reached from the output through intermediates only, that is,
// instructions which run in the same loop without moving elements. Reductions
// are looked for along single chains; for transposes a breadth-first search
// over intermediates is needed, and several of them are acceptable only if they
// are tiled alike.

namespace xla {
namespace gpu {
namespace {

// Threads along a side of a tile, and banks of shared memory with their bytes.
constexpr int64_t kTileSide = 32;
constexpr int64_t kBanks = 32;
constexpr int64_t kBankBytes = 4;

constexpr int64_t kMinTransposedDimension = 16;
constexpr int64_t kMinTransposedDimensionIfMany = 8;
constexpr int64_t kManyElements = 8192;
// Elements of a minor dimension that stays are moved as one up to this size.
constexpr int64_t kMaxMinorBits = 64;
constexpr int64_t kMinTileRowBits = 8 * 16;

// Operands that a transpose's or concatenate's way to the root may join.
constexpr int kMaxJoinedOperands = 3;

int64_t ElementBits(const Shape& shape) {
  return primitive_util::IsSubByteNonPredType(shape.element_type())
             ? primitive_util::BitWidth(shape.element_type())
             : 8 * ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type());
}

// Dimensions from major to minor, without those of size 1.
std::vector<int64_t> PhysicalDimensions(const Shape& shape) {
  std::vector<int64_t> result;
  const int64_t rank = shape.dimensions().size();
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t dim =
        shape.has_layout() ? LayoutUtil::Major(shape.layout(), i) : i;
    if (shape.dimensions(dim) != 1) result.push_back(dim);
  }
  return result;
}

// Merges dimensions that stay neighbors in memory, so that equal movements
// have equal descriptions whatever their rank.
TransposeDescription NormalizedTranspose(const HloInstruction& transpose) {
  const Shape& shape = transpose.shape();
  const std::vector<int64_t> operand_order =
      PhysicalDimensions(transpose.operand(0)->shape());
  TransposeDescription result;
  result.instr = &transpose;
  // Per run of dimensions that stay neighbors: where it is in the operand.
  std::vector<int64_t> first_position;
  int64_t previous = -1;
  for (int64_t dim : PhysicalDimensions(shape)) {
    const int64_t position =
        absl::c_find(operand_order, transpose.dimensions(dim)) -
        operand_order.begin();
    if (!first_position.empty() && position == previous + 1) {
      result.dimensions.back() *= shape.dimensions(dim);
    } else {
      first_position.push_back(position);
      result.dimensions.push_back(shape.dimensions(dim));
    }
    previous = position;
  }
  std::vector<int64_t> sorted = first_position;
  absl::c_sort(sorted);
  for (int64_t position : first_position) {
    result.permutation.push_back(absl::c_lower_bound(sorted, position) -
                                 sorted.begin());
  }
  return result;
}

// Elements that one access to shared memory moves where two or four fit into a
// bank; 0 if the transpose is not of that sort.
int64_t PackedElements(int64_t bits, int64_t minor_before,
                       int64_t minor_after) {
  if (bits != 8 && bits != 16) return 0;
  const int64_t packed = 8 * kBankBytes / bits;
  for (int64_t dim : {minor_before, minor_after}) {
    if (dim < kTileSide * packed || dim % packed != 0) return 0;
  }
  return packed;
}

bool IsTrivialOperand(const HloInstruction* operand) {
  return operand->opcode() == HloOpcode::kConstant ||
         (operand->opcode() == HloOpcode::kBroadcast &&
          ShapeUtil::IsEffectiveScalar(operand->operand(0)->shape()));
}

bool IsTransposeOrConcatenate(const HloInstruction& instr) {
  return instr.opcode() == HloOpcode::kConcatenate ||
         (instr.opcode() == HloOpcode::kTranspose &&
          GetDescriptionForTiledTransposeEmitter(instr).has_value());
}

// The two kinds of graph that heroes are looked for in.
const HloInstruction& InstructionOf(const HloInstructionAdaptor& node) {
  return node.instruction();
}
const HloInstruction& InstructionOf(const HloInstruction* node) {
  return *node;
}
absl::InlinedVector<HloInstructionAdaptor, 2> OperandsInFusion(
    const HloInstructionAdaptor& node) {
  absl::InlinedVector<HloInstructionAdaptor, 2> result;
  for (const HloInstructionAdaptor& operand : node.GetOperands()) {
    if (node.parent().ContainsInstruction(operand)) result.push_back(operand);
  }
  return result;
}
absl::InlinedVector<const HloInstruction*, 2> OperandsInFusion(
    const HloInstruction* node) {
  absl::InlinedVector<const HloInstruction*, 2> result;
  for (const HloInstruction* operand : node->operands()) {
    if (operand->opcode() != HloOpcode::kParameter) result.push_back(operand);
  }
  return result;
}

template <typename Node>
std::optional<Node> FindReduce(const Node& root) {
  Node node = root;
  while (InstructionOf(node).opcode() != HloOpcode::kReduce) {
    if (!IsIntermediate(&InstructionOf(node))) return std::nullopt;
    std::optional<Node> next;
    for (const Node& operand : OperandsInFusion(node)) {
      if (!IsTrivialOperand(&InstructionOf(operand))) next = operand;
    }
    if (!next.has_value()) return std::nullopt;
    node = *next;
  }
  return node;
}

template <typename Node>
Node FindHero(const Node& root) {
  if (std::optional<Node> reduce = FindReduce(root)) return *reduce;

  std::optional<Node> hero;
  std::vector<Node> worklist = {root};
  absl::flat_hash_set<Node> seen = {root};
  for (size_t next = 0; next < worklist.size(); ++next) {
    const Node node = worklist[next];
    const HloInstruction& instr = InstructionOf(node);
    if (IsTransposeOrConcatenate(instr)) {
      if (!hero.has_value()) {
        hero = node;
        continue;
      }
      auto first = GetDescriptionForTiledTransposeEmitter(InstructionOf(*hero));
      auto second = GetDescriptionForTiledTransposeEmitter(instr);
      if (!first || !second || !first->IsEquivalent(*second)) return root;
      continue;
    }
    if (!IsIntermediate(&instr, kMaxJoinedOperands)) continue;
    for (const Node& operand : OperandsInFusion(node)) {
      if (seen.insert(operand).second) worklist.push_back(operand);
    }
  }
  return hero.value_or(root);
}

// Whether the walk of FindHero() could end anywhere but at its root: it costs
// much more than a look at opcodes, and is asked whenever a fusion grows.
bool MayHaveHero(const HloComputation& fused) {
  return absl::c_any_of(fused.instructions(), [](const HloInstruction* instr) {
    return instr->opcode() == HloOpcode::kReduce ||
           instr->opcode() == HloOpcode::kTranspose ||
           instr->opcode() == HloOpcode::kConcatenate;
  });
}

}  // namespace

std::string TransposeDescription::ToString() const {
  return absl::StrCat("dimensions [", absl::StrJoin(dimensions, ","),
                      "] permutation [", absl::StrJoin(permutation, ","), "]");
}

// A tiled transpose reads tiles of 32 x 32 elements row by row into shared
// memory and writes them column by column, so that both accesses are coalesced.
// This pays off only if both dimensions are long enough. One more column of
// padding avoids bank conflicts.
std::optional<TransposeDescription> GetDescriptionForTiledTransposeEmitter(
    const HloInstruction& hero) {
  if (hero.opcode() != HloOpcode::kTranspose) return std::nullopt;
  const int64_t bits = ElementBits(hero.shape());
  if (bits <= 4) return std::nullopt;
  TransposeDescription result = NormalizedTranspose(hero);
  const int64_t rank = result.dimensions.size();
  if (rank < 2) return std::nullopt;

  // The size of dimension `i` of the operand.
  auto operand_dimension = [&](int64_t i) {
    return result.dimensions[absl::c_find(result.permutation, i) -
                             result.permutation.begin()];
  };
  const int64_t tile_bytes = kTileSide * (kTileSide + 1) * bits / 8;
  const int64_t minor = result.dimensions.back();
  if (result.permutation.back() == rank - 1) {
    const int64_t row =
        std::min(result.dimensions[rank - 2], operand_dimension(rank - 2));
    if (bits * minor > kMaxMinorBits || bits * minor * row < kMinTileRowBits) {
      return std::nullopt;
    }
    result.shmem_usage = tile_bytes * minor;
    return result;
  }
  const int64_t operand_minor = operand_dimension(rank - 1);
  const int64_t smaller = std::min(minor, operand_minor);
  if (smaller < kMinTransposedDimension &&
      (smaller < kMinTransposedDimensionIfMany ||
       minor * operand_minor < kManyElements)) {
    return std::nullopt;
  }
  const int64_t packed = PackedElements(bits, operand_minor, minor);
  result.shmem_usage =
      packed > 0 ? kBanks * kBankBytes * kTileSide * packed : tile_bytes;
  return result;
}

bool TransposeMovesElements(const HloInstruction& transpose) {
  return NormalizedTranspose(transpose).dimensions.size() > 1;
}

bool IsIntermediate(const HloInstruction* instr, int allowed_operand_count) {
  if (instr->opcode() == HloOpcode::kTranspose) {
    return !TransposeMovesElements(*instr);
  }
  if (instr->IsEffectiveBitcast()) return true;
  if (instr->opcode() == HloOpcode::kFusion) return false;
  if (instr->opcode() == HloOpcode::kCopy) {
    return ShapeUtil::Equal(instr->shape(), instr->operand(0)->shape());
  }
  if (instr->operand_count() == 0 || !instr->IsElementwise()) return false;
  absl::InlinedVector<const HloInstruction*, 3> operands;
  for (const HloInstruction* operand : instr->operands()) {
    if (IsTrivialOperand(operand) || absl::c_linear_search(operands, operand)) {
      continue;
    }
    operands.push_back(operand);
  }
  return !operands.empty() &&
         static_cast<int>(operands.size()) <= allowed_operand_count;
}

HloInstructionAdaptor FindNonTrivialHero(const HloInstructionAdaptor& root) {
  return FindHero<HloInstructionAdaptor>(root);
}

const HloInstruction& FindNonTrivialHero(const HloInstruction& root) {
  if (!root.IsFused() || !MayHaveHero(*root.parent())) return root;
  return *FindHero<const HloInstruction*>(&root);
}

}  // namespace gpu
}  // namespace xla
