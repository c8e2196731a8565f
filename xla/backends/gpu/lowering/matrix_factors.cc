#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/lowering/dot_results.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/matrix_emitter.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using kir::Operand;

}  // namespace

// Whether neighbors exist or do not as a whole, and can be copied as they are.
void MatrixEmitter::FindChunks(const Hero& hero, Side* side) {
  const std::vector<int64_t>& extents = hero.shape.extents[side->fast_role];
  side->fast_part = static_cast<int64_t>(extents.size()) - 1;
  while (side->fast_part > 0 && extents[side->fast_part] == 1) {
    --side->fast_part;
  }
  if (extents.empty() || extents[side->fast_part] % tile_.vector() != 0) {
    return;
  }
  // Dimensions that a window goes along have two entries, and no chunks;
  // those of groups have two, of which the second counts.
  size_t next = 0;
  const Shape& shape = side->operand->shape();
  for (size_t d = 0; d < shape.dimensions().size(); ++d) {
    const bool windowed = side->side == 0 && !hero.shape.windows.empty() &&
                          hero.shape.windows[d].has_value();
    if (static_cast<int64_t>(d) == hero.shape.grouped[side->side]) ++next;
    const auto [role, part] = hero.shape.sides[side->side][next];
    if (!windowed && role == side->fast_role && part == side->fast_part) {
      side->fast_dimension = static_cast<int64_t>(d);
    }
    next += windowed ? 2 : 1;
  }
  if (side->fast_dimension >= 0 &&
      MemoryOrder(shape).back() == side->fast_dimension &&
      shape.dimensions(side->fast_dimension) % tile_.vector() == 0) {
    side->source = emitter_.FindInput(*side->operand);
  }
}

absl::Status MatrixEmitter::Chunk(
    const Side& side, const AffineExpr& round,
    absl::FunctionRef<absl::Status(const AffineExpr&, const AffineExpr&,
                                   const Indices&)>
        body) {
  // Neighboring threads have neighboring chunks.
  const AffineExpr vector(tile_.vector());
  const AffineExpr fast(side.depth_is_fast ? kChunksOfPlace
                                           : side.places / tile_.vector());
  const AffineExpr number = round * AffineExpr(frame_.threads()) + thread_;
  const AffineExpr along = Simple(AffineExpr::Mod(number, fast)) * vector;
  const AffineExpr other = Simple(AffineExpr::FloorDiv(number, fast));
  const auto chunk = [&] {
    if (side.depth_is_fast) return body(other, along, {other, along});
    // Depth k = `other` is element v = k % vector of the lanes with quarter t =
    // k / vector, and belongs to row 4 * v + t.
    const AffineExpr row =
        Simple(AffineExpr::Mod(other, vector) * AffineExpr(4) +
               AffineExpr::FloorDiv(other, vector));
    return body(along, other, {row, along});
  };
  const int64_t chunks = kChunksOfPlace * side.places;
  return frame_.Where(chunks < frame_.threads()
                          ? Inside(thread_, chunks, builder_.ranges())
                          : AffineExpr(1),
                      chunk);
}

Indices MatrixEmitter::Numbers(const Side& side, const AffineExpr& place,
                               const AffineExpr& k) const {
  Indices numbers(4);
  numbers[DotShape::kBatch] = batch_;
  numbers[side.side == 0 ? DotShape::kRow : DotShape::kColumn] =
      (side.side == 0 ? first_row_ : first_column_) + place;
  numbers[DotShape::kDepth] = k;
  return numbers;
}

// Steps behind the last one have nothing.
AffineExpr MatrixEmitter::Exists(const Hero& hero, const Side& side,
                                 const Indices& numbers) const {
  const auto inside = [&](int role) {
    return Inside(numbers[role], hero.shape.Count(role), builder_.ranges());
  };
  return AffineExpr::Min(
      inside(side.side == 0 ? DotShape::kRow : DotShape::kColumn),
      inside(DotShape::kDepth));
}

absl::Status MatrixEmitter::CopyAhead(const Hero& hero,
                                      const AffineExpr& step) {
  const AffineExpr stage = StageOf(hero, step);
  for (const Side& side : hero.sides) {
    if (side.source < 0) continue;
    // Each round is a statement of its own, in which the planner of shared
    // memory sees which threads write where.
    for (int64_t round = 0; round < side.rounds; ++round) {
      RETURN_IF_ERROR(Chunk(
          side, round,
          [&](const AffineExpr& place, const AffineExpr& k, const Indices& to) {
            return CopyChunk(
                hero, side, {stage, to[0], to[1]},
                Numbers(side, place, step * AffineExpr(tile_.depth()) + k));
          }));
    }
  }
  return absl::OkStatus();
}

absl::Status MatrixEmitter::CopyChunk(const Hero& hero, const Side& side,
                                      const Indices& to,
                                      const Indices& numbers) {
  // Without names, which hide that vectors are aligned.
  const std::array<Indices, 4> parts = hero.shape.Parts(
      {numbers[0], numbers[1], numbers[2], numbers[3]}, builder_.ranges());
  Indices values;
  for (const auto& [role, part] : hero.shape.sides[side.side]) {
    values.push_back(parts[role][part]);
  }
  const Shape& shape = side.operand->shape();
  const ConditionalIndices at =
      hero.shape.Element(side.side, shape, values, builder_.ranges());
  const Indices first = MemoryIndices(shape, at.indices);
  const AffineExpr exists =
      Simple(AffineExpr::Min(Exists(hero, side, numbers), at.condition));
  // A copy whose condition fails writes zeros rather than nothing: the stage
  // holds values of an older step there, which would be multiplied.
  return builder_.Loop("j", kir::LoopKind::kVectorize, 0, tile_.vector(),
                       [&](const AffineExpr& j) {
                         Indices from = first;
                         from.back() = from.back() + j;
                         std::vector<kir::Argument> arguments = {
                             At(side.source, std::move(from))};
                         if (!exists.IsConstant(1)) arguments.push_back(exists);
                         builder_.EmitTo(
                             At(side.shared, {to[0], to[1], to[2] + j}), "copy",
                             std::move(arguments), kir::AsyncKind::kCp);
                         return absl::OkStatus();
                       });
}

absl::Status MatrixEmitter::Load(const Hero& hero, const AffineExpr& step) {
  for (const Side& side : hero.sides) {
    if (side.source >= 0) continue;
    RETURN_IF_ERROR(Each(side.rounds, [&](const AffineExpr& round) {
      return Chunk(
          side, round,
          [&](const AffineExpr& place, const AffineExpr& k, const Indices&) {
            return LoadChunk(
                hero, side, round,
                Numbers(side, place, step * AffineExpr(tile_.depth()) + k));
          });
    }));
  }
  return absl::OkStatus();
}

absl::Status MatrixEmitter::LoadChunk(const Hero& hero, const Side& side,
                                      const AffineExpr& round,
                                      const Indices& numbers) {
  const int64_t width = tile_.vector();
  RETURN_IF_ERROR(Each(width, [&](const AffineExpr& j) {
    builder_.EmitTo(At(side.loaded, {round, j}), "full", {0.0});
    return absl::OkStatus();
  }));
  // With the element that is that many behind the first one.
  const auto element = [&](Indices indices, const AffineExpr& more,
                           const AffineExpr& j) -> absl::Status {
    if (side.fast_dimension >= 0) {
      indices[side.fast_dimension] = indices[side.fast_dimension] + more;
    }
    ASSIGN_OR_RETURN(const Operand value,
                     emitter_.Element(*side.operand, indices));
    builder_.EmitTo(At(side.loaded, {round, j}), "copy", {value});
    return absl::OkStatus();
  };
  const auto where = [&](const Indices& at_numbers,
                         absl::FunctionRef<absl::Status(const Indices&)> body) {
    return frame_.Where(Exists(hero, side, at_numbers), [&] {
      return NamePlaces(
          hero.shape, hero.shape.sides[side.side],
          hero.shape.Parts(
              {at_numbers[0], at_numbers[1], at_numbers[2], at_numbers[3]},
              builder_.ranges()),
          &builder_, [&](const Indices& values) {
            const ConditionalIndices at = hero.shape.Element(
                side.side, side.operand->shape(), values, builder_.ranges());
            return frame_.Where(at.condition, [&] { return body(at.indices); });
          });
    });
  };
  if (side.fast_dimension >= 0) {
    return where(numbers, [&](const Indices& first) {
      return builder_.Vector(width, [&](const AffineExpr& j) {
        return emitter_.InScope([&] { return element(first, j, j); });
      });
    });
  }
  return Each(width, [&](const AffineExpr& j) {
    Indices next = numbers;
    next[side.fast_role] = next[side.fast_role] + j;
    return where(
        next, [&](const Indices& indices) { return element(indices, 0, j); });
  });
}

absl::Status MatrixEmitter::Store(const Hero& hero, const AffineExpr& step) {
  const AffineExpr stage = StageOf(hero, step);
  for (const Side& side : hero.sides) {
    if (side.source >= 0) continue;
    for (int64_t round = 0; round < side.rounds; ++round) {
      RETURN_IF_ERROR(
          Chunk(side, round,
                [&](const AffineExpr&, const AffineExpr&, const Indices& to) {
                  return CopyVector(tile_.vector(), [&](const AffineExpr& j) {
                    return std::pair(At(side.shared, {stage, to[0], to[1] + j}),
                                     At(side.loaded, {round, j}));
                  });
                }));
    }
  }
  return absl::OkStatus();
}

// Where the depth is not the fastest dimension, shared memory has row 4 * v + t
// for element v of quarter t (Chunk() writes it so). One read brings the places
// of `width` blocks for one such row, which then go to the fragments of these
// blocks one by one.
absl::Status MatrixEmitter::ReadFragments(const Side& side,
                                          const AffineExpr& stage) {
  const int64_t blocks = side.side == 0 ? 2 * tile_.down() : tile_.across();
  const AffineExpr first = side.side == 0 ? warp_row_ : warp_column_;
  const auto fragment = [&](const AffineExpr& block, const AffineExpr& k) {
    if (side.side == 1) return At(side.fragments, {block, k});
    return At(side.fragments, {Simple(AffineExpr::FloorDiv(block, 2)),
                               Simple(AffineExpr::Mod(block, 2)), k});
  };
  if (side.depth_is_fast) {
    const AffineExpr vector(tile_.vector());
    return Each(blocks, [&](const AffineExpr& block) {
      return CopyVector(tile_.vector(), [&](const AffineExpr& j) {
        return std::pair(
            fragment(block, j),
            At(side.shared, {stage, first + block * AffineExpr(8) + line_,
                             quarter_ * vector + j}));
      });
    });
  }
  const int64_t width = together_[side.side];
  const AffineExpr together(width);
  return Each(blocks / width, [&](const AffineExpr& group) {
    return Each(tile_.vector(), [&](const AffineExpr& k) -> absl::Status {
      RETURN_IF_ERROR(CopyVector(width, [&](const AffineExpr& j) {
        return std::pair(
            At(side.read, {j}),
            At(side.shared,
               {stage, k * AffineExpr(4) + quarter_,
                first + (group * AffineExpr(8) + line_) * together + j}));
      }));
      return Each(width, [&](const AffineExpr& j) {
        builder_.EmitTo(fragment(group * together + j, k), "copy",
                        {At(side.read, {j})});
        return absl::OkStatus();
      });
    });
  });
}

}  // namespace xla::gpu
