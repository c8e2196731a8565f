// Scatters whose updates are applied one after another: those of one place by
// one thread, those of others by others.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
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

namespace xla::gpu {
namespace {

using kir::Operand;

// Updates whose places and values are known before the first one is applied:
// their loads are on the way together.
constexpr int64_t kStepsAtOnce = 16;
constexpr int64_t kMost32 = (int64_t{1} << 31) - 1;

Operand At(kir::BufferId buffer, const AffineExpr& index) {
  Operand place;
  place.buffer = buffer;
  place.indices = {index};
  return place;
}

// Whether elements are read where they are asked for: reading one that nobody
// needs costs nothing if it is always the same.
bool IsRead(const HloInstruction& hlo, const ElementEmitter& emitter) {
  const HloInstruction* at = &hlo;
  while (emitter.FindInput(*at) < 0) {
    if (at->operand_count() != 1 ||
        (at->opcode() != HloOpcode::kReshape &&
         at->opcode() != HloOpcode::kBitcast && !at->IsElementwise())) {
      return false;
    }
    at = at->operand(0);
  }
  return true;
}

class OrderedScatter {
 public:
  OrderedScatter(const KernelFrame::Result& result, int64_t device_threads,
                 KernelBuilder* builder, ElementEmitter* emitter)
      : scatter_(*Cast<HloScatterInstruction>(result.hlo)),
        updates_(*scatter_.scatter_updates()[0]),
        windows_(updates_.shape()),
        groups_(ScatterGroups(scatter_, device_threads)),
        buffer_(result.buffer),
        shape_(result.shape),
        builder_(*builder),
        emitter_(*emitter) {
    const ScatterDimensionNumbers& numbers =
        scatter_.scatter_dimension_numbers();
    int64_t row = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(windows_.dimensions().size());
         ++d) {
      if (absl::c_linear_search(numbers.update_window_dims(), d)) continue;
      const int64_t of_indices =
          row < numbers.index_vector_dim() ? row : row + 1;
      ++row;
      if (absl::c_linear_search(numbers.scatter_indices_batching_dims(),
                                of_indices)) {
        continue;
      }
      steps_.push_back(d);
      extents_.push_back(windows_.dimensions(d));
      windows_.set_dimensions(d, 1);
    }
    total_ = ShapeUtil::ElementsIn(updates_.shape()) /
             std::max<int64_t>(ShapeUtil::ElementsIn(windows_), 1);
  }

  int64_t steps() const { return total_; }
  int64_t places() const { return ShapeUtil::ElementsIn(windows_); }
  int64_t groups() const { return groups_; }

  absl::Status Emit(const AffineExpr& number);

 private:
  Indices StepAt(const Indices& window, const AffineExpr& step) const {
    const Indices at = Delinearize(step, extents_, builder_.ranges());
    Indices indices = window;
    for (size_t k = 0; k < steps_.size(); ++k) indices[steps_[k]] = at[k];
    return indices;
  }
  absl::Status Find(const Indices& window, const AffineExpr& group,
                    const AffineExpr& step, const AffineExpr& slot);
  absl::Status Apply(const AffineExpr& slot);
  Operand Constant(int64_t value) {
    return builder_.Emit("copy", kir::ElementType::kS32, {AffineExpr(value)});
  }

  const HloScatterInstruction& scatter_;
  const HloInstruction& updates_;
  Shape windows_;               // of the updates, one step of each
  std::vector<int64_t> steps_;  // dimensions that a thread goes along
  std::vector<int64_t> extents_;
  int64_t total_ = 0;     // steps
  const int64_t groups_;  // that share the steps by their places
  const kir::BufferId buffer_;
  const Shape& shape_;
  KernelBuilder& builder_;
  ElementEmitter& emitter_;
  kir::BufferId place_ = -1, is_mine_ = -1, value_ = -1;  // of steps at once
};

// Where the update goes, whether that is for this thread to do, and its value.
// A group has the windows whose first elements have a number with its rest.
absl::Status OrderedScatter::Find(const Indices& window,
                                  const AffineExpr& group,
                                  const AffineExpr& step,
                                  const AffineExpr& slot) {
  Indices indices = StepAt(window, step);
  ASSIGN_OR_RETURN(const ElementEmitter::ScatterPlace at,
                   emitter_.PlaceOfUpdate(scatter_, indices));
  kir::Argument mine = at.inside;
  if (groups_ > 1) {
    Indices first = indices;
    for (int64_t d :
         scatter_.scatter_dimension_numbers().update_window_dims()) {
      first[d] = 0;
    }
    ASSIGN_OR_RETURN(const ElementEmitter::ScatterPlace start,
                     emitter_.PlaceOfUpdate(scatter_, first));
    // The lower 31 bits of the place: a remainder must not be negative.
    Operand number =
        builder_.Emit("cast", kir::ElementType::kS32, {start.place});
    if (ShapeUtil::ElementsIn(shape_) > kMost32) {
      number = builder_.Emit("and", kir::ElementType::kS32,
                             {number, Constant(kMost32)});
    }
    const Operand rest = builder_.Emit("rem", kir::ElementType::kS32,
                                       {number, Constant(groups_)});
    const Operand is_of_group =
        builder_.Emit("eq", kir::ElementType::kPred, {rest, group});
    mine =
        builder_.Emit("and", kir::ElementType::kPred, {is_of_group, at.inside});
    if (IsRead(updates_, emitter_)) {
      const Operand read =
          builder_.Emit("select", kir::ElementType::kS64, {mine, step, 0.});
      indices = StepAt(window, builder_.NameRegister(read, 0, total_ - 1));
    }
  }
  ASSIGN_OR_RETURN(const Operand value, emitter_.Element(updates_, indices));
  builder_.EmitTo(At(place_, slot), "copy", {at.place});
  builder_.EmitTo(At(is_mine_, slot), "copy", {mine});
  builder_.EmitTo(At(value_, slot), "copy", {value});
  return absl::OkStatus();
}

absl::Status OrderedScatter::Apply(const AffineExpr& slot) {
  const Operand array = WholeArray(buffer_, shape_);
  const Operand place = At(place_, slot), mine = At(is_mine_, slot);
  const Operand before =
      builder_.Emit("gather", builder_.TypeOf(array), {array, place, mine});
  ASSIGN_OR_RETURN(
      const std::vector<Operand> combined,
      emitter_.Apply(*scatter_.to_apply(), {before, At(value_, slot)}));
  builder_.EmitTo(array, "scatter", {combined[0], place, mine});
  return absl::OkStatus();
}

absl::Status OrderedScatter::Emit(const AffineExpr& number) {
  const auto& ranges = builder_.ranges();
  const AffineExpr group =
      AffineExpr::FloorDiv(number, AffineExpr(places())).SimplifyIn(ranges);
  const Indices window = IndicesInMemory(
      AffineExpr::Mod(number, AffineExpr(places())).SimplifyIn(ranges),
      windows_, ranges);
  const int64_t at_once = std::min(total_, kStepsAtOnce);
  ASSIGN_OR_RETURN(const kir::ElementType type,
                   KernelType(shape_.element_type()));
  place_ = builder_.AddLocal(kir::ElementType::kS64, {at_once});
  is_mine_ = builder_.AddLocal(kir::ElementType::kPred, {at_once});
  value_ = builder_.AddLocal(type, {at_once});
  const auto steps = [&](const AffineExpr& first,
                         int64_t count) -> absl::Status {
    RETURN_IF_ERROR(builder_.Loop(
        "j", kir::LoopKind::kUnroll, 0, count, [&](const AffineExpr& j) {
          return emitter_.InScope(
              [&] { return Find(window, group, first + j, j); });
        }));
    return builder_.Loop("j", kir::LoopKind::kUnroll, 0, count,
                         [&](const AffineExpr& j) {
                           return emitter_.InScope([&] { return Apply(j); });
                         });
  };
  const int64_t whole = total_ / at_once;
  if (whole == 1) {
    RETURN_IF_ERROR(steps(0, at_once));
  } else {
    RETURN_IF_ERROR(builder_.Loop(
        "r", kir::LoopKind::kSerial, 0, whole, [&](const AffineExpr& index) {
          return steps(index * AffineExpr(at_once), at_once);
        }));
  }
  return total_ % at_once == 0
             ? absl::OkStatus()
             : steps(AffineExpr(whole * at_once), total_ % at_once);
}

}  // namespace

// A thread has one place of all windows, and of them those whose places are its
// group's: it alone changes each of these elements.
absl::Status KernelFrame::EmitScatterInOrder(const Result& result) {
  OrderedScatter scatter(result, device_threads_, &builder_, &emitter_);
  if (scatter.steps() == 0) return absl::OkStatus();  // The operand stays.
  builder_.OwnElements(result.buffer);
  return Numbers(
      scatter.places() * scatter.groups(),
      [&](const AffineExpr& number) { return scatter.Emit(number); });
}

}  // namespace xla::gpu
