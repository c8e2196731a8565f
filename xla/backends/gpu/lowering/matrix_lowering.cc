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
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

using kir::ElementType;
using kir::Operand;

// Registers and shared memory between rows of words, against bank conflicts.
constexpr int64_t kPadding = 8;

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

class MatrixEmitter {
 public:
  MatrixEmitter(const DotGroup& group, const MatrixTile& tile,
                KernelFrame* frame)
      : group_(group),
        tile_(tile),
        frame_(*frame),
        builder_(frame->builder()),
        emitter_(frame->emitter()) {}

  absl::Status Emit();

 private:
  // An operand of a product.
  struct Side {
    const HloInstruction* operand = nullptr;
    int side = 0;
    bool depth_is_fast = false;
    int64_t places = 0;  // of the tile
    int64_t rounds = 0;  // in which all threads load one chunk each
    kir::BufferId loaded = -1, fragments = -1;
    std::array<kir::BufferId, 2> shared = {-1, -1};
    // The role of the dimension that is fast, the last part of it that has more
    // than one element, and the operand's dimension of that part where a chunk
    // of neighbors exists or does not as a whole; else -1.
    int fast_role = 0;
    int64_t fast_part = 0;
    int64_t fast_dimension = -1;
  };
  struct Hero {
    const HloInstruction* hlo = nullptr;
    DotShape shape;
    std::array<Side, 2> sides;
    kir::BufferId sums = -1;
    bool is_exact = false;
  };

  Hero MakeHero(const HloInstruction& hlo);
  absl::Status EmitHero(const Hero& hero);
  // Elements of a step into registers, and from there to the slot.
  absl::Status Load(const Hero& hero, const AffineExpr& step);
  absl::Status LoadChunk(const Hero& hero, const Side& side,
                         const AffineExpr& round, const AffineExpr& place,
                         const AffineExpr& k, int64_t in_word);
  absl::Status Store(const Hero& hero, int slot);
  absl::Status Store(const Side& side, int slot);
  absl::Status Multiply(const Hero& hero, int slot);
  absl::Status ReadFragments(const Side& side, int slot);
  absl::Status Write();

  // Calls `body` with the first place and the word or, where the depth is fast,
  // the vector, of each chunk of the thread.
  absl::Status Chunks(const Side& side,
                      absl::FunctionRef<absl::Status(const AffineExpr& round,
                                                     const AffineExpr& place,
                                                     const AffineExpr& part)>
                          body);
  absl::Status Each(int64_t count,
                    absl::FunctionRef<absl::Status(const AffineExpr&)> body) {
    if (count == 1) return body(0);
    return builder_.Loop("u", kir::LoopKind::kUnroll, 0, count, body);
  }
  // As one access.
  absl::Status CopyVector(
      int64_t width,
      absl::FunctionRef<std::pair<Operand, Operand>(const AffineExpr&)>
          places) {
    const auto copy = [&](const AffineExpr& j) {
      const auto [to, from] = places(j);
      builder_.EmitTo(to, "copy", {from});
      return absl::OkStatus();
    };
    if (width == 1) return copy(0);
    return builder_.Loop("j", kir::LoopKind::kVectorize, 0, width, copy);
  }
  AffineExpr Simple(const AffineExpr& e) const {
    return e.SimplifyIn(builder_.ranges());
  }
  Operand At(kir::BufferId buffer, Indices indices) const {
    Operand place;
    place.buffer = buffer;
    place.indices = std::move(indices);
    return place;
  }

  const DotGroup& group_;
  const MatrixTile& tile_;
  KernelFrame& frame_;
  KernelBuilder& builder_;
  ElementEmitter& emitter_;
  std::vector<Hero> heroes_;
  AffineExpr thread_, batch_, first_row_, first_column_;
  // The lane's row or column in a block of the units and the quarter of the
  // words that it has; the warp's part of the tile.
  AffineExpr line_, quarter_, warp_row_, warp_column_;
};

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
    const int64_t of_chunk = side.depth_is_fast ? 1 : tile_.per_word();
    const int64_t chunks =
        side.places * tile_.depth() / (tile_.vector() * of_chunk);
    side.rounds = std::max<int64_t>(1, chunks / frame_.threads());
    side.loaded =
        builder_.AddLocal(tile_.type, {side.rounds, tile_.vector() * of_chunk});
    builder_.SetVectorWidth(side.loaded, tile_.vector());
    for (kir::BufferId& shared : side.shared) {
      shared = builder_.AddShared(
          "s", tile_.type,
          side.depth_is_fast ? std::vector<int64_t>{side.places, tile_.depth()}
                             : std::vector<int64_t>{kir::WarpMma::kWords,
                                                    (side.places + kPadding) *
                                                        tile_.per_word()});
      builder_.SetVectorWidth(shared, tile_.vector());
    }
    side.fragments = builder_.AddLocal(
        tile_.type, number == 0
                        ? std::vector<int64_t>{tile_.down(), 2, tile_.vector()}
                        : std::vector<int64_t>{tile_.across(), tile_.vector()});
    builder_.SetVectorWidth(side.fragments, tile_.vector());

    side.fast_role = side.depth_is_fast ? DotShape::kDepth
                     : number == 0      ? DotShape::kRow
                                        : DotShape::kColumn;
    const std::vector<int64_t>& extents = hero.shape.extents[side.fast_role];
    side.fast_part = static_cast<int64_t>(extents.size()) - 1;
    while (side.fast_part > 0 && extents[side.fast_part] == 1) --side.fast_part;
    if (extents.empty() || extents[side.fast_part] % tile_.vector() != 0) {
      continue;
    }
    // Dimensions that a window goes along have two entries, and no chunks;
    // those of groups have two, of which the second counts.
    size_t next = 0;
    for (size_t d = 0; d < side.operand->shape().dimensions().size(); ++d) {
      const bool windowed = number == 0 && !hero.shape.windows.empty() &&
                            hero.shape.windows[d].has_value();
      if (static_cast<int64_t>(d) == hero.shape.grouped[number]) ++next;
      const auto [role, part] = hero.shape.sides[number][next];
      if (!windowed && role == side.fast_role && part == side.fast_part) {
        side.fast_dimension = static_cast<int64_t>(d);
      }
      next += windowed ? 2 : 1;
    }
  }
  hero.sums = builder_.AddLocal(ElementType::kF32,
                                {tile_.down(), tile_.across(), 2, 2});
  return hero;
}

absl::Status MatrixEmitter::Chunks(
    const Side& side,
    absl::FunctionRef<absl::Status(const AffineExpr&, const AffineExpr&,
                                   const AffineExpr&)>
        body) {
  // Neighboring threads have neighboring chunks.
  const AffineExpr fast(side.depth_is_fast ? 4 : side.places / tile_.vector());
  const int64_t chunks =
      side.depth_is_fast ? 4 * side.places
                         : kir::WarpMma::kWords * side.places / tile_.vector();
  const auto chunk = [&](const AffineExpr& round) {
    const AffineExpr number = round * AffineExpr(frame_.threads()) + thread_;
    const AffineExpr first = Simple(AffineExpr::Mod(number, fast));
    const AffineExpr second = Simple(AffineExpr::FloorDiv(number, fast));
    return emitter_.InScope([&] {
      return side.depth_is_fast
                 ? body(round, second, first)
                 : body(round, first * AffineExpr(tile_.vector()), second);
    });
  };
  if (chunks < frame_.threads()) {
    return frame_.Where(Inside(thread_, chunks, builder_.ranges()),
                        [&] { return chunk(0); });
  }
  return Each(side.rounds, chunk);
}

absl::Status MatrixEmitter::Load(const Hero& hero, const AffineExpr& step) {
  for (const Side& side : hero.sides) {
    RETURN_IF_ERROR(Chunks(
        side,
        [&](const AffineExpr& round, const AffineExpr& place,
            const AffineExpr& part) -> absl::Status {
          const int64_t of_part =
              side.depth_is_fast ? tile_.vector() : tile_.per_word();
          const AffineExpr k =
              step * AffineExpr(tile_.depth()) + part * AffineExpr(of_part);
          if (side.depth_is_fast) {
            return LoadChunk(hero, side, round, place, k, -1);
          }
          for (int64_t e = 0; e < tile_.per_word(); ++e) {
            RETURN_IF_ERROR(
                LoadChunk(hero, side, round, place, k + AffineExpr(e), e));
          }
          return absl::OkStatus();
        }));
  }
  return absl::OkStatus();
}

// `in_word`: which element of its word the place of the depth is; -1 where a
// chunk goes along the depth.
absl::Status MatrixEmitter::LoadChunk(const Hero& hero, const Side& side,
                                      const AffineExpr& round,
                                      const AffineExpr& place,
                                      const AffineExpr& k, int64_t in_word) {
  const int64_t width = tile_.vector();
  const int free_role = side.side == 0 ? DotShape::kRow : DotShape::kColumn;
  std::array<AffineExpr, 4> numbers;
  numbers[DotShape::kBatch] = batch_;
  numbers[free_role] = (side.side == 0 ? first_row_ : first_column_) + place;
  numbers[DotShape::kDepth] = k;
  const auto loaded = [&](const AffineExpr& j) {
    return At(side.loaded,
              {round, in_word < 0 ? j
                                  : j * AffineExpr(tile_.per_word()) +
                                        AffineExpr(in_word)});
  };
  RETURN_IF_ERROR(Each(width, [&](const AffineExpr& j) {
    builder_.EmitTo(loaded(j), "full", {0.0});
    return absl::OkStatus();
  }));
  const auto exists = [&] {
    return AffineExpr::Min(
        Inside(numbers[free_role], hero.shape.Count(free_role),
               builder_.ranges()),
        Inside(numbers[DotShape::kDepth], hero.shape.Count(DotShape::kDepth),
               builder_.ranges()));
  };
  // With the element that is that many behind the first one.
  const auto element = [&](Indices indices, const AffineExpr& more,
                           const AffineExpr& j) -> absl::Status {
    if (side.fast_dimension >= 0) {
      indices[side.fast_dimension] = indices[side.fast_dimension] + more;
    }
    ASSIGN_OR_RETURN(const Operand value,
                     emitter_.Element(*side.operand, indices));
    builder_.EmitTo(loaded(j), "copy", {value});
    return absl::OkStatus();
  };
  const auto where = [&](absl::FunctionRef<absl::Status(const Indices&)> body) {
    return frame_.Where(exists(), [&] {
      return NamePlaces(
          hero.shape, hero.shape.sides[side.side],
          hero.shape.Parts(numbers, builder_.ranges()), &builder_,
          [&](const Indices& values) {
            const ConditionalIndices at = hero.shape.Element(
                side.side, side.operand->shape(), values, builder_.ranges());
            return frame_.Where(at.condition, [&] { return body(at.indices); });
          });
    });
  };
  if (side.fast_dimension >= 0) {
    return where([&](const Indices& first) {
      return builder_.Vector(width, [&](const AffineExpr& j) {
        return emitter_.InScope([&] { return element(first, j, j); });
      });
    });
  }
  const AffineExpr first = numbers[side.fast_role];
  return Each(width, [&](const AffineExpr& j) {
    numbers[side.fast_role] = first + j;
    return where(
        [&](const Indices& indices) { return element(indices, 0, j); });
  });
}

absl::Status MatrixEmitter::Store(const Side& side, int slot) {
  return Chunks(
      side,
      [&](const AffineExpr& round, const AffineExpr& place,
          const AffineExpr& part) -> absl::Status {
        const int64_t vectors = side.depth_is_fast ? 1 : tile_.per_word();
        for (int64_t v = 0; v < vectors; ++v) {
          const AffineExpr begin(v * tile_.vector());
          RETURN_IF_ERROR(CopyVector(tile_.vector(), [&](const AffineExpr& j) {
            const Operand from = At(side.loaded, {round, begin + j});
            if (side.depth_is_fast) {
              return std::pair(
                  At(side.shared[slot],
                     {place, part * AffineExpr(tile_.vector()) + j}),
                  from);
            }
            const AffineExpr row = AffineExpr::Mod(part, 4) * AffineExpr(4) +
                                   AffineExpr::FloorDiv(part, 4);
            return std::pair(
                At(side.shared[slot],
                   {Simple(row),
                    place * AffineExpr(tile_.per_word()) + begin + j}),
                from);
          }));
        }
        return absl::OkStatus();
      });
}

absl::Status MatrixEmitter::ReadFragments(const Side& side, int slot) {
  const int64_t words = side.depth_is_fast ? 4 : 1;  // of an access
  const int64_t width = words * tile_.per_word();
  const auto read = [&](const AffineExpr& place, Indices fragment) {
    return Each(4 / words, [&](const AffineExpr& v) {
      return CopyVector(width, [&](const AffineExpr& j) {
        Indices to = fragment;
        to.push_back(v * AffineExpr(width) + j);
        if (side.depth_is_fast) {
          return std::pair(
              At(side.fragments, to),
              At(side.shared[slot], {place, quarter_ * AffineExpr(width) + j}));
        }
        return std::pair(
            At(side.fragments, to),
            At(side.shared[slot], {v * AffineExpr(4) + quarter_,
                                   place * AffineExpr(tile_.per_word()) + j}));
      });
    });
  };
  if (side.side == 1) {
    return Each(tile_.across(), [&](const AffineExpr& j) {
      return read(warp_column_ + j * AffineExpr(kir::WarpMma::kColumns) + line_,
                  {j});
    });
  }
  return Each(tile_.down(), [&](const AffineExpr& i) {
    return Each(2, [&](const AffineExpr& r) {
      return read(warp_row_ + i * AffineExpr(kir::WarpMma::kRows) +
                      r * AffineExpr(8) + line_,
                  {i, r});
    });
  });
}

absl::Status MatrixEmitter::Multiply(const Hero& hero, int slot) {
  for (const Side& side : hero.sides) {
    RETURN_IF_ERROR(ReadFragments(side, slot));
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
  const int64_t steps =
      CeilOfRatio(hero.shape.Count(DotShape::kDepth), tile_.depth());
  // The step's elements lie in its slot when the one before is multiplied.
  const auto advance = [&](const AffineExpr& step, int slot) -> absl::Status {
    RETURN_IF_ERROR(Load(hero, step));
    RETURN_IF_ERROR(Multiply(hero, 1 - slot));
    return Store(hero, slot);
  };
  RETURN_IF_ERROR(Load(hero, 0));
  RETURN_IF_ERROR(Store(hero, 0));
  if (const int64_t pairs = (steps - 1) / 2; pairs > 0) {
    RETURN_IF_ERROR(
        builder_.Loop("k", kir::LoopKind::kSerial, 0, pairs,
                      [&](const AffineExpr& pair) -> absl::Status {
                        const AffineExpr step = pair * AffineExpr(2);
                        RETURN_IF_ERROR(advance(step + AffineExpr(1), 1));
                        return advance(step + AffineExpr(2), 0);
                      }));
  }
  if (steps % 2 == 0) {
    RETURN_IF_ERROR(advance(steps - 1, 1));
  }
  RETURN_IF_ERROR(Multiply(hero, steps % 2 == 0 ? 1 : 0));
  builder_.EmitSync(kir::SyncScope::kBlock);
  return absl::OkStatus();
}

absl::Status MatrixEmitter::Store(const Hero& hero, int slot) {
  for (const Side& side : hero.sides) RETURN_IF_ERROR(Store(side, slot));
  builder_.EmitSync(kir::SyncScope::kBlock);
  return absl::OkStatus();
}

absl::Status MatrixEmitter::Write() {
  DotResults results(group_, &frame_);
  const DotShape& shape = heroes_[0].shape;
  const bool pairs = !shape.row_is_fast && group_.columns % 2 == 0;
  const auto place = [&](const AffineExpr& i, const AffineExpr& j,
                         const AffineExpr& r) -> absl::Status {
    const AffineExpr row = first_row_ + warp_row_ +
                           i * AffineExpr(kir::WarpMma::kRows) +
                           r * AffineExpr(8) + line_;
    const AffineExpr first = first_column_ + warp_column_ +
                             j * AffineExpr(kir::WarpMma::kColumns) +
                             quarter_ * AffineExpr(2);
    const auto exists = [&](const AffineExpr& column) {
      return AffineExpr::Min(Inside(row, group_.rows, builder_.ranges()),
                             Inside(column, group_.columns, builder_.ranges()));
    };
    const auto write = [&](const AffineExpr& q) {
      return NamePlaces(
          shape, shape.result,
          shape.Parts({batch_, row, first + q, 0}, builder_.ranges()),
          &builder_, [&](const Indices& indices) {
            std::vector<Operand> sums;
            for (const Hero& hero : heroes_) {
              sums.push_back(At(hero.sums, {i, j, r, q}));
            }
            return results.Write(shape.ResultElement(indices), sums);
          });
    };
    if (pairs) {
      return frame_.Where(exists(first),
                          [&] { return builder_.Vector(2, write); });
    }
    return Each(2, [&](const AffineExpr& q) {
      return frame_.Where(exists(first + q), [&] { return write(q); });
    });
  };
  return Each(tile_.down(), [&](const AffineExpr& i) {
    return Each(tile_.across(), [&](const AffineExpr& j) {
      return Each(2, [&](const AffineExpr& r) { return place(i, j, r); });
    });
  });
}

absl::Status MatrixEmitter::Emit() {
  for (const HloInstruction* hlo : group_.heroes) {
    heroes_.push_back(MakeHero(*hlo));
  }
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

}  // namespace

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
                                KernelFrame* frame) {
  return MatrixEmitter(group, tile, frame).Emit();
}

}  // namespace xla::gpu
