// How the lanes of a row join what each has of it.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/reduction_emitter.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

using kir::ElementType;
using kir::Operand;

// Sums and products of 64 bits are not exact in the kernel machine, and a warp
// knows no floats of a byte.
bool IsJoined(ElementType type, HloOpcode op) {
  switch (type) {
    case ElementType::kF16:
    case ElementType::kBF16:
    case ElementType::kF32:
    case ElementType::kF64:
      return true;
    case ElementType::kS8:
    case ElementType::kU8:
    case ElementType::kS16:
    case ElementType::kU16:
    case ElementType::kS32:
    case ElementType::kU32:
      return op != HloOpcode::kMultiply;
    default:
      return false;
  }
}

}  // namespace

std::string ReductionEmitter::WarpOp(const Hero& hero) const {
  const HloInstruction& root = *hero.hlo->to_apply()->root_instruction();
  if (hero.accumulators.size() != 1 || root.operand_count() != 2 ||
      root.operand(0)->opcode() != HloOpcode::kParameter ||
      root.operand(1)->opcode() != HloOpcode::kParameter ||
      root.operand(0) == root.operand(1)) {
    return "";
  }
  const ElementType type = builder_.TypeOf(hero.accumulators[0]);
  if (type == ElementType::kPred) {
    // Predicates are 0 and 1.
    return root.opcode() == HloOpcode::kOr    ? "max"
           : root.opcode() == HloOpcode::kAnd ? "min"
                                              : "";
  }
  if (!IsJoined(type, root.opcode())) return "";
  switch (root.opcode()) {
    case HloOpcode::kAdd:
      return "add";
    case HloOpcode::kMultiply:
      return "mul";
    case HloOpcode::kMaximum:
      return "max";
    case HloOpcode::kMinimum:
      return "min";
    default:  // No such operation of a warp.
      return "";
  }
}

absl::StatusOr<bool> ReductionEmitter::JoinByWarps(
    const std::vector<Hero*>& heroes) {
  if (!group_.row) return false;
  for (const Hero* hero : heroes) {
    if (WarpOp(*hero).empty()) return false;
  }
  for (Hero* hero : heroes) {
    std::vector<kir::Argument> arguments = {hero->accumulators[0]};
    if (lanes_ < kir::kWarpThreads) arguments.push_back(AffineExpr(lanes_));
    hero->accumulators = {builder_.Emit(
        absl::StrCat("warp_reduce.", WarpOp(*hero)),
        builder_.TypeOf(hero->accumulators[0]), std::move(arguments))};
  }
  if (lanes_ > kir::kWarpThreads) {
    RETURN_IF_ERROR(JoinWarps(heroes));
  }
  return true;
}

// The first lane of each warp brings what its warp has; all take what the warps
// of their row brought.
absl::Status ReductionEmitter::JoinWarps(const std::vector<Hero*>& heroes) {
  const int64_t warps = lanes_ / kir::kWarpThreads;
  const auto& ranges = builder_.ranges();
  const AffineExpr warp =
      AffineExpr::FloorDiv(thread_, AffineExpr(kir::kWarpThreads))
          .SimplifyIn(ranges);
  for (Hero* hero : heroes) {
    partials_[hero] = {
        builder_.AddShared("s", builder_.TypeOf(hero->accumulators[0]),
                           {frame_.threads() / kir::kWarpThreads})};
  }
  RETURN_IF_ERROR(frame_.Where(
      Inside(AffineExpr::Mod(thread_, kir::kWarpThreads).SimplifyIn(ranges), 1,
             ranges),
      [&] {
        for (Hero* hero : heroes) {
          builder_.EmitTo(Element(partials_[hero][0], warp), "copy",
                          {hero->accumulators[0]});
        }
        return absl::OkStatus();
      }));
  builder_.EmitSync(kir::SyncScope::kBlock);
  const AffineExpr first =
      (AffineExpr::FloorDiv(thread_, AffineExpr(lanes_)) * AffineExpr(warps))
          .SimplifyIn(ranges);
  for (Hero* hero : heroes) {
    // Every lane adds the same parts in the same order: all have the same bits,
    // and no second exchange is needed to spread the result.
    const ElementType type = builder_.TypeOf(hero->accumulators[0]);
    const std::string op = WarpOp(*hero);
    Operand all;
    for (int64_t w = 0; w < warps; ++w) {
      const Operand part = builder_.Emit(
          "copy", type, {Element(partials_[hero][0], first + AffineExpr(w))});
      all = w == 0 ? part : builder_.Emit(op, type, {all, part});
    }
    hero->accumulators = {all};
  }
  return absl::OkStatus();
}

void ReductionEmitter::Join(int64_t distance) {
  const bool warp = group_.row && distance * 2 <= kir::kWarpThreads;
  builder_.EmitSync(warp ? kir::SyncScope::kWarp : kir::SyncScope::kBlock);
}

// One level of the tree: the first `distance` lanes of each row take in the
// partial results of the lanes `distance` further on.
absl::Status ReductionEmitter::Halve(int level, int64_t distance) {
  const AffineExpr other =
      thread_ + AffineExpr(group_.row ? distance : distance * rows_per_block_);
  return frame_.Where(
      Inside(lane_, distance, builder_.ranges()), [&]() -> absl::Status {
        for (Hero* hero : Heroes(level)) {
          const std::vector<kir::BufferId>& partials = partials_[hero];
          std::vector<Operand> values;
          for (size_t k = 0; k < partials.size(); ++k) {
            values.push_back(
                builder_.Emit("copy", builder_.TypeOf(hero->accumulators[k]),
                              {Element(partials[k], other)}));
          }
          RETURN_IF_ERROR(
              emitter_.Accumulate(*hero->hlo, hero->accumulators, values));
          for (size_t k = 0; k < partials.size(); ++k) {
            builder_.EmitTo(Element(partials[k], thread_), "copy",
                            {hero->accumulators[k]});
          }
        }
        return absl::OkStatus();
      });
}

// A tree in shared memory for what a warp has no instruction for. At `distance`
// the lanes below it read places of the lanes from `distance` up to twice that,
// and write their own: what is read and what is written do not overlap, so one
// barrier per level is enough. The barrier is that of a warp once all these
// lanes are in one, which holds from 2 * distance <= 32 on where the lanes of a
// row are neighbors. After the last level every lane reads the place of lane 0,
// so the barrier there has to span all lanes of the row.
absl::Status ReductionEmitter::Combine(int level) {
  const std::vector<Hero*> heroes = Heroes(level);
  if (heroes.empty()) return absl::OkStatus();
  bool joined = lanes_ == 1;
  if (!joined) {
    ASSIGN_OR_RETURN(joined, JoinByWarps(heroes));
  }
  if (!joined) {
    for (Hero* hero : heroes) {
      for (const Operand& value : hero->accumulators) {
        const kir::BufferId id =
            builder_.AddShared("s", builder_.TypeOf(value), {frame_.threads()});
        partials_[hero].push_back(id);
        builder_.EmitTo(Element(id, thread_), "copy", {value});
      }
    }
    for (int64_t distance = lanes_ / 2; distance > 0; distance /= 2) {
      Join(distance);
      RETURN_IF_ERROR(Halve(level, distance));
    }
    Join(lanes_ / 2);
    const AffineExpr first =
        (group_.row ? thread_ - lane_
                    : AffineExpr::Mod(thread_, rows_per_block_))
            .SimplifyIn(builder_.ranges());
    for (Hero* hero : heroes) {
      for (size_t k = 0; k < hero->accumulators.size(); ++k) {
        hero->accumulators[k] =
            builder_.Emit("copy", builder_.TypeOf(hero->accumulators[k]),
                          {Element(partials_[hero][k], first)});
      }
    }
  }
  for (Hero* hero : heroes) {
    if (!hero->neutral) {
      ASSIGN_OR_RETURN(const std::vector<Operand> initial,
                       emitter_.BeginReduction(*hero->hlo));
      RETURN_IF_ERROR(
          emitter_.Accumulate(*hero->hlo, initial, hero->accumulators));
      hero->accumulators = initial;
    }
    ASSIGN_OR_RETURN(hero->result,
                     emitter_.EndReduction(*hero->hlo, hero->accumulators));
  }
  return absl::OkStatus();
}

}  // namespace xla::gpu
