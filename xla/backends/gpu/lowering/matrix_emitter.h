#ifndef XLA_BACKENDS_GPU_LOWERING_MATRIX_EMITTER_H_
#define XLA_BACKENDS_GPU_LOWERING_MATRIX_EMITTER_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/warp_mma.h"
#include "xla/backends/gpu/lowering/dot_lowering.h"
#include "xla/backends/gpu/lowering/dot_shape.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/backends/gpu/lowering/matrix_tile.h"

// What matrix_lowering.h emits: matrix_lowering.cc the steps, the products and
// the results, matrix_factors.cc the way of factors from memory to the warps.

namespace xla::gpu {

class MatrixEmitter {
 public:
  MatrixEmitter(const DotGroup& group, const MatrixTile& tile,
                int64_t shared_bytes, KernelFrame* frame)
      : group_(group),
        tile_(tile),
        frame_(*frame),
        builder_(frame->builder()),
        emitter_(frame->emitter()),
        shared_bytes_(shared_bytes) {}

  absl::Status Emit();

 private:
  // Vectors of a step that a row or column has.
  static constexpr int64_t kChunksOfPlace = 4;

  // An operand of a product.
  struct Side {
    const HloInstruction* operand = nullptr;
    int side = 0;
    bool depth_is_fast = false;
    int64_t places = 0;  // of the tile
    int64_t rounds = 0;  // in which all threads load one chunk each
    // The array that chunks are copied from without a detour by registers, or
    // else -1 and the registers.
    kir::BufferId source = -1, loaded = -1;
    kir::BufferId shared = -1, fragments = -1;
    kir::BufferId read = -1;  // registers for what lies together
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
    int64_t stages = 2;  // that shared memory holds
    std::array<Side, 2> sides;
    kir::BufferId sums = -1;
    bool is_exact = false;
  };

  Hero MakeHero(const HloInstruction& hlo);
  absl::Status EmitHero(const Hero& hero);
  void FindChunks(const Hero& hero, Side* side);
  // Elements of a step to shared memory: copies that are complete some steps
  // later, or into registers, and from there.
  absl::Status CopyAhead(const Hero& hero, const AffineExpr& step);
  absl::Status CopyChunk(const Hero& hero, const Side& side, const Indices& to,
                         const Indices& numbers);
  absl::Status Load(const Hero& hero, const AffineExpr& step);
  absl::Status LoadChunk(const Hero& hero, const Side& side,
                         const AffineExpr& round, const Indices& numbers);
  absl::Status Store(const Hero& hero, const AffineExpr& step);
  absl::Status Multiply(const Hero& hero, const AffineExpr& step);
  absl::Status ReadFragments(const Side& side, const AffineExpr& stage);
  absl::Status Write();

  // Calls `body` with the first place and the place of the depth, relative to
  // the step, of the thread's chunk in a round, and where in a stage it lies.
  absl::Status Chunk(
      const Side& side, const AffineExpr& round,
      absl::FunctionRef<absl::Status(const AffineExpr& place,
                                     const AffineExpr& k, const Indices& to)>
          body);
  // The numbers of an element, by role.
  Indices Numbers(const Side& side, const AffineExpr& place,
                  const AffineExpr& k) const;
  AffineExpr Exists(const Hero& hero, const Side& side,
                    const Indices& numbers) const;
  // The lane's line of a block of eight, in the warp's part of the tile.
  AffineExpr Line(int side, const AffineExpr& block) const {
    const AffineExpr together(together_[side]);
    return Simple(
        (AffineExpr::FloorDiv(block, together) * AffineExpr(8) + line_) *
            together +
        AffineExpr::Mod(block, together));
  }
  AffineExpr StageOf(const Hero& hero, const AffineExpr& step) const {
    return Simple(AffineExpr::Mod(step, hero.stages));
  }
  bool CopiesAhead(const Hero& hero) const {
    return absl::c_any_of(hero.sides,
                          [](const Side& side) { return side.source >= 0; });
  }

  absl::Status Each(int64_t count,
                    absl::FunctionRef<absl::Status(const AffineExpr&)> body) {
    if (count == 1) return body(0);
    return builder_.Loop("u", kir::LoopKind::kUnroll, 0, count, body);
  }
  // As one access.
  absl::Status CopyVector(
      int64_t width, absl::FunctionRef<std::pair<kir::Operand, kir::Operand>(
                         const AffineExpr&)>
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
  kir::Operand At(kir::BufferId buffer, Indices indices) const {
    kir::Operand place;
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
  const int64_t shared_bytes_;
  // How many blocks of eight rows, and columns, interleave their places, so
  // that those of a lane lie next to one another.
  std::array<int64_t, 2> together_ = {1, 1};
  AffineExpr thread_, batch_, first_row_, first_column_;
  // The lane's row or column in a block of the units and the quarter of the
  // words that it has; the warp's part of the tile.
  AffineExpr line_, quarter_, warp_row_, warp_column_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_MATRIX_EMITTER_H_
