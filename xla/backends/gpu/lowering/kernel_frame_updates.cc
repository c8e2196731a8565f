// Parts of kernels that write an update where an operand lies, and leave the
// rest of it as it is.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
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

bool KernelFrame::IsUpdate(const Result& result, int64_t operand) const {
  const HloInstruction& hlo = *result.hlo;
  if (PackedBits(result.shape) > 0) return false;
  // Parameters begin with the operands.
  const bool is_of_operand =
      hlo.operand_count() > 0 &&
      emitter_.FindInput(*hlo.operand(0)) == operand &&
      ShapeUtil::Equal(hlo.operand(0)->shape(), result.shape);
  if (hlo.opcode() == HloOpcode::kScatter) {
    return is_of_operand && WayOfScatter(hlo) != ScatterWay::kSearch;
  }
  if (hlo.opcode() != HloOpcode::kDynamicUpdateSlice) return false;
  // As many elements are no less to write, and other parts may share them.
  if (ShapeUtil::ElementsIn(hlo.operand(1)->shape()) ==
      ShapeUtil::ElementsIn(result.shape)) {
    return false;
  }
  return is_of_operand;
}

// Neighboring threads write neighboring elements of the result.
absl::Status KernelFrame::EmitUpdate(const Result& result) {
  if (result.hlo->opcode() == HloOpcode::kScatter) return EmitScatter(result);
  const HloInstruction& update = *result.hlo->operand(1);
  Shape part = result.shape;
  for (size_t d = 0; d < part.dimensions().size(); ++d) {
    part.set_dimensions(d, update.shape().dimensions(d));
  }
  return Numbers(
      ShapeUtil::ElementsIn(part),
      [&](const AffineExpr& number) -> absl::Status {
        const Indices indices =
            IndicesInMemory(number, part, builder_.ranges());
        ASSIGN_OR_RETURN(const kir::Operand value,
                         emitter_.Element(update, indices));
        ASSIGN_OR_RETURN(const Indices places,
                         emitter_.UpdatedPlaces(*result.hlo, indices));
        return emitter_.StoreAt(result.buffer, result.shape, places, value);
      });
}

namespace {

// The operation of atomics that applies a scatter's computation.
std::string AtomicOp(const HloScatterInstruction& scatter) {
  switch (scatter.to_apply()->root_instruction()->opcode()) {
    case HloOpcode::kMaximum:
      return "atomic.max";
    case HloOpcode::kMinimum:
      return "atomic.min";
    default:  // There are no others.
      return "atomic.add";
  }
}

}  // namespace

absl::Status KernelFrame::EmitScatterUpdate(const Result& result,
                                            const Indices& indices) {
  const auto& scatter = *Cast<HloScatterInstruction>(result.hlo);
  ASSIGN_OR_RETURN(const kir::Operand value,
                   emitter_.Element(*scatter.scatter_updates()[0], indices));
  ASSIGN_OR_RETURN(const ElementEmitter::ScatterPlace at,
                   emitter_.PlaceOfUpdate(scatter, indices));
  const kir::Operand array = WholeArray(result.buffer, result.shape);
  if (WayOfScatter(scatter) == ScatterWay::kAtomic) {
    builder_.EmitTo(array, AtomicOp(scatter), {value, at.place, at.inside});
    return absl::OkStatus();
  }
  const kir::Operand before =
      builder_.Emit("gather", builder_.TypeOf(array), {array, at.place});
  ASSIGN_OR_RETURN(const std::vector<kir::Operand> combined,
                   emitter_.Apply(*scatter.to_apply(), {before, value}));
  builder_.EmitTo(array, "scatter", {combined[0], at.place, at.inside});
  return absl::OkStatus();
}

// A thread has one element of the updates.
absl::Status KernelFrame::EmitScatter(const Result& result) {
  const auto& scatter = *Cast<HloScatterInstruction>(result.hlo);
  if (WayOfScatter(scatter) == ScatterWay::kInOrder) {
    return EmitScatterInOrder(result);
  }
  const Shape& shape = scatter.scatter_updates()[0]->shape();
  return Numbers(ShapeUtil::ElementsIn(shape), [&](const AffineExpr& number) {
    const Indices indices = IndicesInMemory(number, shape, builder_.ranges());
    return emitter_.InScope([&] { return EmitScatterUpdate(result, indices); });
  });
}

}  // namespace xla::gpu
