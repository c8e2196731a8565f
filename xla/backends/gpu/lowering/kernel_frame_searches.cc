// Scatters of which each thread computes an element of the result: it looks at
// all updates, in their order. Those of a block read them together, into shared
// memory, and the next ones while they look at these.
//
//   for j of all updates, some hundreds at a time
//     places[j] = where j goes, -1: nowhere      each thread some of them
//     values[column][j] = the update's elements
//     sync
//     for these j: if places[j] == own place: own = combine(own, values[j])
//     sync

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/backends/gpu/model/scatter_way.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

using kir::Operand;

class BlockSearch {
 public:
  BlockSearch(const KernelFrame::Result& result, const ScatterTile& tile,
              KernelFrame* frame)
      : scatter_(*Cast<HloScatterInstruction>(result.hlo)),
        array_(scatter_.scatter_operands()[0]->shape()),
        updates_(*scatter_.scatter_updates()[0]),
        row_dims_(ScatterDimensions(scatter_, false)),
        column_dims_(ScatterDimensions(scatter_, true)),
        tile_(tile),
        frame_(*frame),
        builder_(frame->builder()),
        emitter_(frame->emitter()) {
    const ScatterDimensionNumbers& numbers =
        scatter_.scatter_dimension_numbers();
    for (int64_t d = 0;
         d < static_cast<int64_t>(updates_.shape().dimensions().size()); ++d) {
      if (absl::c_linear_search(numbers.update_window_dims(), d)) continue;
      step_dims_.push_back(d);
      step_extents_.push_back(updates_.shape().dimensions(d));
      steps_ *= step_extents_.back();
    }
    int next = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(array_.dimensions().size());
         ++d) {
      const bool is_inserted =
          absl::c_linear_search(numbers.inserted_window_dims(), d);
      in_updates_.push_back(is_inserted ? -1
                                        : numbers.update_window_dims(next++));
    }
  }

  absl::Status Emit(const AffineExpr& block, const AffineExpr& thread);
  // The element of this thread, and the value that it has then.
  const Indices& own() const { return own_; }
  const AffineExpr& exists() const { return exists_; }
  const Operand& value() const { return value_; }

 private:
  static constexpr kir::ElementType kPlace = kir::ElementType::kS32;
  // Neighbors that are read at once: columns begin in other banks.
  static constexpr int64_t kPadding = 4;
  static constexpr int64_t kUnrolled = 16;

  static Operand At(kir::BufferId buffer, Indices indices) {
    Operand place;
    place.buffer = buffer;
    place.indices = std::move(indices);
    return place;
  }
  AffineExpr Simple(const AffineExpr& expr) const {
    return expr.SimplifyIn(builder_.ranges());
  }
  void FindOwn(const AffineExpr& block, const AffineExpr& thread);
  // The element of the update `step` that is in the column of this thread, or
  // in the first one.
  Indices ElementOf(const AffineExpr& step, bool is_first) const;
  // The updates from `first` on, into registers.
  absl::Status Read(const AffineExpr& first);
  absl::Status WriteShared();
  absl::Status Look(const AffineExpr& step);
  absl::Status Each(int64_t count,
                    absl::FunctionRef<absl::Status(const AffineExpr&)> body) {
    return builder_.Loop("u", kir::LoopKind::kUnroll, 0, count, body);
  }

  const HloScatterInstruction& scatter_;
  const Shape& array_;
  const HloInstruction& updates_;
  const std::vector<int64_t> row_dims_, column_dims_;
  const ScatterTile tile_;
  KernelFrame& frame_;
  KernelBuilder& builder_;
  ElementEmitter& emitter_;
  std::vector<int64_t> step_dims_, step_extents_;  // of the updates
  std::vector<int64_t> in_updates_;  // by dimension of the array, or -1
  int64_t steps_ = 1;
  AffineExpr thread_, slot_, column_in_tile_, exists_ = 1;
  Indices own_, columns_;  // indices into the array
  Operand own_place_, value_;
  kir::BufferId next_places_ = -1, next_values_ = -1;  // of a thread
  kir::BufferId places_ = -1, values_ = -1;            // of the block
};

void BlockSearch::FindOwn(const AffineExpr& block, const AffineExpr& thread) {
  const AffineExpr across(tile_.columns), blocks(tile_.column_blocks);
  thread_ = thread;
  slot_ = Simple(AffineExpr::FloorDiv(thread, across));
  column_in_tile_ = Simple(AffineExpr::Mod(thread, across));
  const AffineExpr row = Simple(
      AffineExpr::FloorDiv(block, blocks) * AffineExpr(tile_.rows) + slot_);
  const AffineExpr column =
      Simple(AffineExpr::Mod(block, blocks) * across + column_in_tile_);
  own_.assign(array_.dimensions().size(), 0);
  columns_ = own_;
  Indices begin = own_;
  const auto set = [&](const std::vector<int64_t>& dims,
                       const AffineExpr& number, bool clamp, Indices* indices) {
    std::vector<int64_t> extents;
    int64_t count = 1;
    for (int64_t d : dims) {
      extents.push_back(array_.dimensions(d));
      count *= extents.back();
    }
    const Indices at =
        Delinearize(clamp ? Clamp(number, count, builder_.ranges()) : number,
                    extents, builder_.ranges());
    for (size_t k = 0; k < dims.size(); ++k) (*indices)[dims[k]] = at[k];
    return Inside(number, count, builder_.ranges());
  };
  exists_ = Simple(AffineExpr::Min(set(row_dims_, row, false, &own_),
                                   set(column_dims_, column, false, &own_)));
  set(column_dims_, column, true, &columns_);
  set(row_dims_, row, false, &begin);
  own_place_ = builder_.Emit("copy", kPlace,
                             {Simple(Linearize(begin, MemoryStrides(array_)))});
}

Indices BlockSearch::ElementOf(const AffineExpr& step, bool is_first) const {
  const Indices at = Delinearize(Clamp(step, steps_, builder_.ranges()),
                                 step_extents_, builder_.ranges());
  Indices indices(updates_.shape().dimensions().size(), 0);
  for (size_t k = 0; k < step_dims_.size(); ++k) {
    indices[step_dims_[k]] = at[k];
  }
  if (is_first) return indices;
  for (int64_t d : column_dims_) {
    if (in_updates_[d] >= 0) indices[in_updates_[d]] = columns_[d];
  }
  return indices;
}

absl::Status BlockSearch::Read(const AffineExpr& first) {
  RETURN_IF_ERROR(
      Each(tile_.updates / frame_.threads(), [&](const AffineExpr& i) {
        return emitter_.InScope([&]() -> absl::Status {
          const AffineExpr step =
              first + i * AffineExpr(frame_.threads()) + thread_;
          ASSIGN_OR_RETURN(
              const ElementEmitter::ScatterPlace at,
              emitter_.PlaceOfUpdate(scatter_, ElementOf(step, true)));
          Operand place = builder_.Emit("cast", kPlace, {at.place});
          for (const kir::Argument& is_one :
               {at.inside,
                kir::Argument(Inside(step, steps_, builder_.ranges()))}) {
            place = builder_.Emit("select", kPlace,
                                  {is_one, place, AffineExpr(-1)});
          }
          builder_.EmitTo(At(next_places_, {i}), "copy", {place});
          return absl::OkStatus();
        });
      }));
  return Each(tile_.updates / tile_.rows, [&](const AffineExpr& i) {
    return emitter_.InScope([&]() -> absl::Status {
      const AffineExpr step = first + i * AffineExpr(tile_.rows) + slot_;
      ASSIGN_OR_RETURN(const Operand value,
                       emitter_.Element(updates_, ElementOf(step, false)));
      builder_.EmitTo(At(next_values_, {i}), "copy", {value});
      return absl::OkStatus();
    });
  });
}

absl::Status BlockSearch::WriteShared() {
  RETURN_IF_ERROR(
      Each(tile_.updates / frame_.threads(), [&](const AffineExpr& i) {
        builder_.EmitTo(
            At(places_, {i * AffineExpr(frame_.threads()) + thread_}), "copy",
            {At(next_places_, {i})});
        return absl::OkStatus();
      }));
  return Each(tile_.updates / tile_.rows, [&](const AffineExpr& i) {
    builder_.EmitTo(
        At(values_, {column_in_tile_, i * AffineExpr(tile_.rows) + slot_}),
        "copy", {At(next_values_, {i})});
    return absl::OkStatus();
  });
}

absl::Status BlockSearch::Look(const AffineExpr& step) {
  const Operand place = builder_.Emit("copy", kPlace, {At(places_, {step})});
  const Operand other = builder_.Emit("copy", builder_.TypeOf(value_),
                                      {At(values_, {column_in_tile_, step})});
  const Operand is_here =
      builder_.Emit("eq", kir::ElementType::kPred, {place, own_place_});
  ASSIGN_OR_RETURN(const std::vector<Operand> combined,
                   emitter_.Apply(*scatter_.to_apply(), {value_, other}));
  // Compilers add where the condition holds, instead of selecting a sum.
  builder_.EmitTo(value_, "select", {is_here, combined[0], value_});
  return absl::OkStatus();
}

absl::Status BlockSearch::Emit(const AffineExpr& block,
                               const AffineExpr& thread) {
  FindOwn(block, thread);
  ASSIGN_OR_RETURN(const kir::ElementType type,
                   KernelType(array_.element_type()));
  next_places_ = builder_.AddLocal(kPlace, {tile_.updates / frame_.threads()});
  next_values_ = builder_.AddLocal(type, {tile_.updates / tile_.rows});
  places_ = builder_.AddShared("s", kPlace, {tile_.updates});
  values_ =
      builder_.AddShared("s", type, {tile_.columns, tile_.updates + kPadding});
  value_ = builder_.Emit("full", type, {0.0});
  RETURN_IF_ERROR(frame_.Where(exists_, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Operand before,
                     emitter_.Element(*scatter_.scatter_operands()[0], own_));
    builder_.EmitTo(value_, "copy", {before});
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(Read(0));
  const int64_t turns = CeilOfRatio(steps_, tile_.updates);
  return builder_.Loop(
      "r", kir::LoopKind::kSerial, 0, turns,
      [&](const AffineExpr& turn) -> absl::Status {
        RETURN_IF_ERROR(WriteShared());
        builder_.EmitSync(kir::SyncScope::kBlock);
        const AffineExpr next = turn + AffineExpr(1);
        RETURN_IF_ERROR(frame_.Where(
            Inside(next, turns, builder_.ranges()),
            [&] { return Read(next * AffineExpr(tile_.updates)); }));
        RETURN_IF_ERROR(
            builder_.Loop("j", kir::LoopKind::kSerial, 0,
                          tile_.updates / kUnrolled, [&](const AffineExpr& j) {
                            return Each(kUnrolled, [&](const AffineExpr& i) {
                              return emitter_.InScope([&] {
                                return Look(j * AffineExpr(kUnrolled) + i);
                              });
                            });
                          }));
        builder_.EmitSync(kir::SyncScope::kBlock);
        return absl::OkStatus();
      });
}

}  // namespace

bool KernelFrame::IsSearchOfBlock(const Result& result) const {
  return result.hlo->opcode() == HloOpcode::kScatter && result.part < 0 &&
         TileOfScatter(*result.hlo, threads_).has_value();
}

absl::Status KernelFrame::EmitSearchOfBlock(const Result& result) {
  const ScatterTile tile = *TileOfScatter(*result.hlo, threads_);
  return Blocks(
      tile.row_blocks * tile.column_blocks,
      [&](const AffineExpr& block, const AffineExpr& thread) -> absl::Status {
        BlockSearch search(result, tile, this);
        RETURN_IF_ERROR(search.Emit(block, thread));
        return Where(search.exists(), [&] {
          Write(result, search.own(), search.value());
          return absl::OkStatus();
        });
      });
}

}  // namespace xla::gpu
