// Which threads take which part of a row, and what they keep of it.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/kernel_ir/kernel_vectors.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/lowering/reduction_emitter.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

// Vectors of a row that a lane has, if there are so many: their loads are on
// the way together. More of them where that spares a barrier of warps.
constexpr int64_t kVectorsOfLane = 4, kVectorsOfWarp = 8;
// Neighboring lanes read so many bytes of a row, or all of it: two sectors of
// memory.
constexpr int64_t kBytesOfLanes = 64;
// Registers of a thread for elements of its row.
constexpr int64_t kMostKept = 64;

int64_t PowerOfTwoUpTo(int64_t number) {
  int64_t power = 1;
  while (power * 2 <= number) power *= 2;
  return power;
}

// Values that take no longer to compute again than to keep.
bool IsCheap(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kBroadcast ||
         hlo.opcode() == HloOpcode::kConstant ||
         hlo.opcode() == HloOpcode::kIota;
}

}  // namespace

bool KeepsNumbers(const HloInstruction& hlo) {
  const auto is_row_major = [](const Shape& shape) {
    return !shape.has_layout() ||
           LayoutUtil::IsMonotonicWithDim0Major(shape.layout());
  };
  switch (hlo.opcode()) {
    case HloOpcode::kReshape:
      return true;
    case HloOpcode::kBitcast:
      return is_row_major(hlo.shape()) && is_row_major(hlo.operand(0)->shape());
    case HloOpcode::kBroadcast:  // along dimensions of one element
      return absl::c_is_sorted(hlo.dimensions()) &&
             ShapeUtil::ElementsIn(hlo.shape()) ==
                 ShapeUtil::ElementsIn(hlo.operand(0)->shape());
    default:  // Elementwise opcodes move nothing.
      return hlo.IsElementwise();
  }
}

bool IsNeutral(const HloInstruction& reduce) {
  const HloInstruction& root = *reduce.to_apply()->root_instruction();
  const HloInstruction& init = *reduce.operand(reduce.operand_count() - 1);
  if (reduce.operand_count() != 2 || root.operand_count() != 2 ||
      root.operand(0)->opcode() != HloOpcode::kParameter ||
      root.operand(1)->opcode() != HloOpcode::kParameter ||
      root.operand(0) == root.operand(1) ||
      init.opcode() != HloOpcode::kConstant || init.literal().is_elided()) {
    return false;
  }
  const PrimitiveType type = init.shape().element_type();
  switch (root.opcode()) {
    case HloOpcode::kAdd:
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return init.literal().IsAll(0);
    case HloOpcode::kMultiply:
      return init.literal().IsAll(1);
    case HloOpcode::kMaximum:
      return init.literal().IsAll(LiteralUtil::MinValue(type));
    case HloOpcode::kMinimum:
      return init.literal().IsAll(LiteralUtil::MaxValue(type));
    default:  // No known neutral element.
      return false;
  }
}

int64_t WidestAlongRows(const ReductionGroup& group, KernelFrame& frame) {
  const int64_t elements = group.rows * group.columns;
  int64_t bytes = 1;
  const auto look = [&](const Shape& shape) {
    if (ShapeUtil::ElementsIn(shape) != elements) return;
    bytes = std::max(bytes,
                     ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type()));
  };
  std::vector<const HloInstruction*> stack(group.heroes.begin(),
                                           group.heroes.end());
  for (int64_t k : group.results) {
    look(frame.results()[k].shape);
    stack.push_back(frame.results()[k].hlo);
  }
  std::set<const HloInstruction*> seen(stack.begin(), stack.end());
  while (!stack.empty()) {
    const HloInstruction* hlo = stack.back();
    stack.pop_back();
    if (frame.emitter().FindInput(*hlo) >= 0) {
      look(hlo->shape());
      continue;
    }
    for (const HloInstruction* operand : hlo->operands()) {
      if (seen.insert(operand).second) stack.push_back(operand);
    }
  }
  return bytes;
}

int64_t NeighborsAlongRows(const ReductionGroup& group, int64_t bytes) {
  int64_t width = std::numeric_limits<int64_t>::max();
  for (const HloInstruction* hero : group.heroes) {
    const Shape& input = hero->operand(0)->shape();
    const std::vector<int64_t> dims = LongDimensions(input);
    const int64_t fastest = dims.empty() ? 1 : input.dimensions(dims.back());
    width = std::min(width, kir::NeighborsOfThread(bytes, fastest));
  }
  return width;
}

// A lane that begins with its first column takes columns one by one.
void ReductionEmitter::ChooseWidth(int64_t min_vector_columns) {
  bytes_ = WidestAlongRows(group_, frame_);
  if (group_.row && group_.columns >= min_vector_columns &&
      absl::c_all_of(group_.heroes, [](const HloInstruction* hero) {
        return IsNeutral(*hero);
      })) {
    width_ = NeighborsAlongRows(group_, bytes_);
  }
}

// The number of lanes trades work for each thread against the depth of the tree
// and the number of idle threads.
void ReductionEmitter::ChooseThreads() {
  const int64_t threads = frame_.threads();
  const int64_t vectors = group_.columns / width_;
  const int64_t most = std::min(threads, PowerOfTwoUpTo(vectors));
  if (group_.row) {
    // A few vectors for each lane; less than a warp for each row only where
    // that leaves enough threads; more where there are too few rows for a
    // block.
    int64_t least = 1;
    while (least < kir::kWarpThreads &&
           least * width_ * bytes_ < kBytesOfLanes) {
      least *= 2;
    }
    lanes_ = most;
    const auto fills = [&](int64_t lanes) {
      return group_.rows * lanes >= frame_.device_threads();
    };
    while (lanes_ > least && lanes_ * kVectorsOfLane > vectors &&
           (lanes_ > kir::kWarpThreads || fills(lanes_ / 2))) {
      lanes_ /= 2;
    }
    if (lanes_ > kir::kWarpThreads &&
        kir::kWarpThreads * kVectorsOfWarp >= vectors &&
        fills(kir::kWarpThreads)) {
      lanes_ = kir::kWarpThreads;
    }
    while (lanes_ < most && threads / lanes_ > group_.rows) lanes_ *= 2;
  } else {
    int64_t rows = std::min<int64_t>(threads, kir::kWarpThreads);
    while (rows > 1 && rows / 2 >= group_.rows) rows /= 2;
    lanes_ = std::min(most, threads / rows);
  }
  if (!kept_.empty()) ChooseLanesThatKeep();
  rows_per_block_ = threads / lanes_;
}

// The most words that are kept at the same time, by a sweep over the levels: a
// value occupies registers from the level that computes it through the last
// that reads it. Each lane keeps all of its columns of a row.
int64_t ReductionEmitter::KeptRegisters(int64_t lanes) const {
  std::map<int, int64_t> changes;  // by level
  for (const Kept& kept : kept_) {
    const int64_t words = CeilOfRatio<int64_t>(
        ShapeUtil::ByteSizeOfPrimitiveType(kept.hlo->shape().element_type()),
        4);
    changes[kept.level] += words;
    changes[kept.last + 1] -= words;
  }
  int64_t registers = 0, most = 0;
  for (const auto& [level, words] : changes) {
    registers += words;
    most = std::max(most, registers);
  }
  return most * width_ * CeilOfRatio(group_.columns / width_, lanes);
}

// One warp for a row needs no barrier.
void ReductionEmitter::ChooseLanesThatKeep() {
  if (lanes_ > kir::kWarpThreads &&
      KeptRegisters(kir::kWarpThreads) <= kMostKept &&
      group_.rows * kir::kWarpThreads >= frame_.device_threads()) {
    lanes_ = kir::kWarpThreads;
  }
  const int64_t most =
      std::min(frame_.threads(), PowerOfTwoUpTo(group_.columns / width_));
  while (lanes_ < most && KeptRegisters(lanes_) > kMostKept) lanes_ *= 2;
  if (KeptRegisters(lanes_) > kMostKept) kept_.clear();
}

std::vector<const HloInstruction*> ReductionEmitter::ComputedBy(int level) {
  std::vector<const HloInstruction*> values;
  for (const Hero* hero : Heroes(level)) {
    const int64_t inputs = hero->hlo->operand_count() / 2;
    for (int64_t k = 0; k < inputs; ++k) {
      values.push_back(hero->hlo->operand(k));
    }
  }
  for (const Output& output : outputs_) {
    if (output.level == level && output.way.full) {
      values.push_back(output.result->hlo);
    }
  }
  return values;
}

std::set<const HloInstruction*> ReductionEmitter::ReadBy(int level) {
  std::vector<const HloInstruction*> stack = ComputedBy(level);
  std::set<const HloInstruction*> read(stack.begin(), stack.end());
  while (!stack.empty()) {
    const HloInstruction* hlo = stack.back();
    stack.pop_back();
    if (emitter_.FindInput(*hlo) >= 0 ||
        absl::c_linear_search(group_.heroes, hlo) ||
        absl::c_any_of(kept_, [&](const Kept& kept) {
          return kept.hlo == hlo && kept.IsReadAt(level);
        })) {
      continue;
    }
    for (const HloInstruction* operand : hlo->operands()) {
      if (read.insert(operand).second) stack.push_back(operand);
    }
  }
  return read;
}

// A value is kept where a second level asks for it at the same place; what that
// one is computed from is then not asked for again.
void ReductionEmitter::FindKept(int last) {
  if (!group_.row) return;
  const int64_t elements = ShapeUtil::ElementsIn(input_);
  const std::set<const HloInstruction*> body(frame_.body().begin(),
                                             frame_.body().end());
  std::map<const HloInstruction*, int> computed;    // looked up only
  std::map<const HloInstruction*, size_t> is_kept;  // looked up only
  for (int level = 0; level <= last; ++level) {
    std::vector<const HloInstruction*> stack = ComputedBy(level);
    std::set<const HloInstruction*> seen;
    while (!stack.empty()) {
      const HloInstruction* hlo = stack.back();
      stack.pop_back();
      if (!seen.insert(hlo).second || !hlo->shape().IsArray() ||
          ShapeUtil::ElementsIn(hlo->shape()) != elements || IsCheap(*hlo) ||
          absl::c_linear_search(group_.heroes, hlo)) {
        continue;
      }
      const int first = computed.try_emplace(hlo, level).first->second;
      if (first < level) {
        const auto [kept, is_new] = is_kept.try_emplace(hlo, kept_.size());
        if (is_new) kept_.push_back({hlo, first, level});
        kept_[kept->second].last = level;
        continue;
      }
      if (emitter_.FindInput(*hlo) >= 0 || body.count(hlo) == 0 ||
          !KeepsNumbers(*hlo)) {
        continue;
      }
      stack.insert(stack.end(), hlo->operands().begin(), hlo->operands().end());
    }
  }
}

}  // namespace xla::gpu
