#include "xla/backends/gpu/lowering/matrix_lowering.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/dot_results.h"
#include "xla/backends/gpu/lowering/dot_shape.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/matrix_emitter.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

using kir::ElementType;
using kir::Operand;

// Steps that shared memory holds where copies run ahead.
constexpr int64_t kStages = 3;
// Threads of a multiprocessor that multiply 16 bits.
constexpr int64_t kThreadsOfHalves = 512;

// Whether one product of TF32 is less than what the product asks for.
bool AsksForF32(const PrecisionConfig& config) {
  switch (config.algorithm()) {
    case PrecisionConfig::ALG_DOT_BF16_BF16_F32_X3:
    case PrecisionConfig::ALG_DOT_BF16_BF16_F32_X6:
    case PrecisionConfig::ALG_DOT_BF16_BF16_F32_X9:
    case PrecisionConfig::ALG_DOT_TF32_TF32_F32_X3:
    case PrecisionConfig::ALG_DOT_F32_F32_F32:
    case PrecisionConfig::ALG_DOT_F64_F64_F64:
      return true;
    default:
      return absl::c_any_of(config.operand_precision(), [](int precision) {
        return precision != PrecisionConfig::DEFAULT;
      });
  }
}

}  // namespace

MatrixEmitter::Hero MatrixEmitter::MakeHero(const HloInstruction& hlo) {
  Hero hero;
  hero.hlo = &hlo;
  hero.shape = MakeDotShape(hlo, frame_.body());
  hero.is_exact = AsksForF32(hlo.precision_config());
  for (int number : {0, 1}) {
    Side& side = hero.sides[number];
    side.operand = hlo.operand(number);
    side.side = number;
    side.depth_is_fast = hero.shape.depth_is_fast[number];
    side.places = number == 0 ? tile_.rows : tile_.columns;
    side.rounds =
        std::max<int64_t>(1, kChunksOfPlace * side.places / frame_.threads());
    side.fast_role = side.depth_is_fast ? DotShape::kDepth
                     : number == 0      ? DotShape::kRow
                                        : DotShape::kColumn;
    FindChunks(hero, &side);
  }
  if (CopiesAhead(hero) && kStages * tile_.stage_bytes() *
                                   static_cast<int64_t>(group_.heroes.size()) <=
                               shared_bytes_) {
    hero.stages = kStages;
  }
  for (Side& side : hero.sides) {
    const auto local = [&](const std::vector<int64_t>& extents) {
      const kir::BufferId id = builder_.AddLocal(tile_.type, extents);
      builder_.SetVectorWidth(id, extents.back());
      return id;
    };
    if (side.source < 0) side.loaded = local({side.rounds, tile_.vector()});
    side.shared = builder_.AddShared(
        "s", tile_.type,
        side.depth_is_fast
            ? std::vector<int64_t>{hero.stages, side.places, tile_.depth()}
            : std::vector<int64_t>{hero.stages, tile_.depth(),
                                   side.places + tile_.padding()});
    builder_.SetVectorWidth(side.shared, tile_.vector());
    side.fragments = local(
        side.side == 0 ? std::vector<int64_t>{tile_.down(), 2, tile_.vector()}
                       : std::vector<int64_t>{tile_.across(), tile_.vector()});
    if (!side.depth_is_fast) side.read = local({together_[side.side]});
  }
  hero.sums = builder_.AddLocal(ElementType::kF32,
                                {tile_.down(), tile_.across(), 2, 2});
  return hero;
}

absl::Status MatrixEmitter::Multiply(const Hero& hero, const AffineExpr& step) {
  for (const Side& side : hero.sides) {
    RETURN_IF_ERROR(ReadFragments(side, StageOf(hero, step)));
  }
  std::vector<kir::Argument> factors = {At(hero.sides[0].fragments, {0, 0, 0}),
                                        At(hero.sides[1].fragments, {0, 0})};
  if (tile_.type == ElementType::kF32 && hero.is_exact) {
    factors.push_back(AffineExpr(1));
  }
  builder_.EmitTo(At(hero.sums, {0, 0, 0, 0}), "warp_mma", std::move(factors));
  return absl::OkStatus();
}

absl::Status MatrixEmitter::EmitHero(const Hero& hero) {
  RETURN_IF_ERROR(Each(tile_.down(), [&](const AffineExpr& i) {
    return Each(tile_.across(), [&](const AffineExpr& j) {
      return Each(4, [&](const AffineExpr& k) {
        builder_.EmitTo(At(hero.sums, {i, j, AffineExpr::FloorDiv(k, 2),
                                       AffineExpr::Mod(k, 2)}),
                        "full", {0.0});
        return absl::OkStatus();
      });
    });
  }));
  // The pipeline, with `ahead` = stages - 1 steps under way. When iteration
  // `step` waits, ahead + step groups are committed (one per step of the
  // prologue and one per iteration before this one), and all but the latest
  // ahead - 1 of them have arrived: those of steps 0 … step.
  //
  // One barrier per iteration does two things: it publishes what other threads
  // copied or stored for `step`, and it proves that all threads are done with
  // the products of step - 1. The stage of step - 1 is the one that step +
  // ahead overwrites next, since they differ by `stages`, and a Store() behind
  // the products goes to step + 1, whose stage was last read at step + 1 -
  // stages <= step - 1.
  const int64_t steps =
      CeilOfRatio(hero.shape.Count(DotShape::kDepth), tile_.depth());
  const bool copies = CopiesAhead(hero);
  const int64_t ahead = hero.stages - 1;
  // Copies are groups, one of each step, also of the steps behind the last one.
  const auto copy = [&](const AffineExpr& step) -> absl::Status {
    if (!copies) return absl::OkStatus();
    RETURN_IF_ERROR(CopyAhead(hero, step));
    builder_.EmitAsync(kir::Async::Op::kCommit, 0);
    return absl::OkStatus();
  };
  for (int64_t step = 0; step < ahead; ++step) RETURN_IF_ERROR(copy(step));
  RETURN_IF_ERROR(Load(hero, 0));
  RETURN_IF_ERROR(Store(hero, 0));
  RETURN_IF_ERROR(
      builder_.Loop("k", kir::LoopKind::kSerial, 0, steps,
                    [&](const AffineExpr& step) -> absl::Status {
                      if (copies)
                        builder_.EmitAsync(kir::Async::Op::kWait, ahead - 1);
                      builder_.EmitSync(kir::SyncScope::kBlock);
                      RETURN_IF_ERROR(copy(step + AffineExpr(ahead)));
                      RETURN_IF_ERROR(Load(hero, step + AffineExpr(1)));
                      RETURN_IF_ERROR(Multiply(hero, step));
                      return Store(hero, step + AffineExpr(1));
                    }));
  if (copies) builder_.EmitAsync(kir::Async::Op::kWait, 0);
  builder_.EmitSync(kir::SyncScope::kBlock);
  return absl::OkStatus();
}

absl::Status MatrixEmitter::Write() {
  DotResults results(group_, &frame_);
  const DotShape& shape = heroes_[0].shape;
  // A lane's columns of so many blocks lie together.
  const int64_t columns = 2 * together_[1];
  int64_t width = std::min<int64_t>(columns, 4);
  for (int64_t k : group_.results) {
    const Operand result = At(frame_.results()[k].buffer, {});
    if (kir::ElementBytes(builder_.TypeOf(result)) > 4) width = 2;
  }
  if (shape.row_is_fast) width = 1;
  while (group_.columns % width != 0) width /= 2;
  // The place of a block of eight rows, from column `begin` of a group on.
  //
  // Blocks interleave their columns (Line()): with t = together_[1], column c
  // of block j is place (j / t * 8 + c) * t + j % t. A lane has columns 2 *
  // quarter_ and 2 * quarter_ + 1 of each block, which over t blocks make 2 * t
  // neighbors in the order q * t + j % t. `column` is taken apart in that way
  // below.
  const auto place = [&](const AffineExpr& block, const AffineExpr& group,
                         const AffineExpr& begin) -> absl::Status {
    const AffineExpr row = first_row_ + warp_row_ + Line(0, block);
    const AffineExpr first =
        first_column_ + warp_column_ +
        (group * AffineExpr(4) + quarter_) * AffineExpr(columns) + begin;
    const AffineExpr exists =
        AffineExpr::Min(Inside(row, group_.rows, builder_.ranges()),
                        Inside(first, group_.columns, builder_.ranges()));
    return frame_.Where(exists, [&] {
      return builder_.Vector(width, [&](const AffineExpr& more) {
        return NamePlaces(
            shape, shape.result,
            shape.Parts({batch_, row, first + more, 0}, builder_.ranges()),
            &builder_, [&](const Indices& indices) {
              const AffineExpr together(together_[1]);
              const AffineExpr column = begin + more;
              std::vector<Operand> sums;
              for (const Hero& hero : heroes_) {
                sums.push_back(
                    At(hero.sums,
                       {Simple(AffineExpr::FloorDiv(block, 2)),
                        Simple(group * together +
                               AffineExpr::Mod(column, together)),
                        Simple(AffineExpr::Mod(block, 2)),
                        Simple(AffineExpr::FloorDiv(column, together))}));
              }
              return results.Write(shape.ResultElement(indices), sums);
            });
      });
    });
  };
  return Each(2 * tile_.down(), [&](const AffineExpr& block) {
    return Each(tile_.across() / together_[1], [&](const AffineExpr& group) {
      return Each(columns / width, [&](const AffineExpr& part) {
        return place(block, group, part * AffineExpr(width));
      });
    });
  });
}

absl::Status MatrixEmitter::Emit() {
  together_ = {std::min(tile_.vector(), 2 * tile_.down()),
               std::min(tile_.vector(), tile_.across())};
  for (const HloInstruction* hlo : group_.heroes) {
    const DotShape shape = MakeDotShape(*hlo, frame_.body());
    for (int side : {0, 1}) {
      if (shape.depth_is_fast[side]) together_[side] = 1;
    }
  }
  for (const HloInstruction* hlo : group_.heroes) {
    heroes_.push_back(MakeHero(*hlo));
  }
  // With 128 registers, which is enough where factors are not split.
  const bool is_small = tile_.type != ElementType::kF32 &&
                        heroes_.size() == 1 &&
                        frame_.threads() <= kThreadsOfHalves;
  builder_.AskForBlocks(is_small ? kThreadsOfHalves / frame_.threads() : 1);
  const int64_t down = CeilOfRatio(group_.rows, tile_.rows);
  const int64_t across = CeilOfRatio(group_.columns, tile_.columns);
  return frame_.Blocks(
      group_.batch * down * across,
      [&](const AffineExpr& block, const AffineExpr& thread) -> absl::Status {
        const auto& ranges = builder_.ranges();
        const Indices tile =
            Delinearize(block, {group_.batch, down, across}, ranges);
        thread_ = thread;
        batch_ = tile[0];
        first_row_ = tile[1] * AffineExpr(tile_.rows);
        first_column_ = tile[2] * AffineExpr(tile_.columns);
        const Indices lane = Delinearize(
            thread, {tile_.warps_down, tile_.warps_across, 8, 4}, ranges);
        warp_row_ = lane[0] * AffineExpr(tile_.warp_rows());
        warp_column_ = lane[1] * AffineExpr(tile_.warp_columns());
        line_ = lane[2];
        quarter_ = lane[3];
        for (const Hero& hero : heroes_) RETURN_IF_ERROR(EmitHero(hero));
        return Write();
      });
}

std::optional<MatrixTile> FindMatrixTile(const DotGroup& group,
                                         const KernelFrame& frame) {
  std::optional<ElementType> type;
  int64_t depth = std::numeric_limits<int64_t>::max();  // the least
  for (const HloInstruction* hero : group.heroes) {
    const PrimitiveType factor = hero->operand(0)->shape().element_type();
    const PrimitiveType result = hero->shape().element_type();
    if (hero->operand(1)->shape().element_type() != factor ||
        (factor != F16 && factor != BF16 && factor != F32) ||
        (result != factor && result != F32)) {
      return std::nullopt;
    }
    const absl::StatusOr<ElementType> kernel_type = KernelType(factor);
    if (!kernel_type.ok() || (type.has_value() && *type != *kernel_type)) {
      return std::nullopt;
    }
    type = *kernel_type;
    depth = std::min(depth,
                     MakeDotShape(*hero, frame.body()).Count(DotShape::kDepth));
  }
  // What a multiprocessor runs at once.
  constexpr int64_t kThreads = 2048;
  return ChooseMatrixTile(
      *type, group.batch, group.rows, group.columns, depth, frame.threads(),
      std::max<int64_t>(1, frame.device_threads() / kThreads));
}

absl::Status EmitMatrixProducts(const DotGroup& group, const MatrixTile& tile,
                                int64_t shared_bytes, KernelFrame* frame) {
  return MatrixEmitter(group, tile, shared_bytes, frame).Emit();
}

}  // namespace xla::gpu
