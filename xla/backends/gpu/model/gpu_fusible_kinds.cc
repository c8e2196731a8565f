// The kind of kernel that an instruction requires.

#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/model/fusion_hero.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/fused_instructions.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace gpu {
namespace {

// The innermost dimension in memory that is not of size 1; -1 if there is none.
int64_t MostMinorDimension(const Shape& shape) {
  const int64_t rank = shape.dimensions().size();
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t dim = shape.has_layout()
                            ? LayoutUtil::Minor(shape.layout(), i)
                            : rank - 1 - i;
    if (shape.dimensions(dim) != 1) return dim;
  }
  return -1;
}

// Whether neighbors in memory stop being neighbors, so that reads or writes are
// not coalesced. Dimension d of a transpose is dimension dimensions(d) of its
// operand; a copy keeps the numbers and changes the layout.
bool MovesMinorDimension(const HloInstruction& hlo) {
  if (hlo.opcode() != HloOpcode::kCopy &&
      hlo.opcode() != HloOpcode::kTranspose) {
    return false;
  }
  if (!hlo.shape().IsArray()) return false;
  const int64_t before = MostMinorDimension(hlo.operand(0)->shape());
  const int64_t after = MostMinorDimension(hlo.shape());
  if (after < 0) return false;
  return before !=
         (hlo.opcode() == HloOpcode::kCopy ? after : hlo.dimensions(after));
}

bool HasUnnestedReductionRoot(const HloInstruction& fusion,
                              const se::DeviceDescription& device_info) {
  return absl::c_any_of(
      GetFusionRoots(*fusion.fused_instructions_computation()),
      [&](const HloInstruction* root) {
        return IsRealReductionHero(*root, FindNonTrivialHero(*root),
                                   device_info);
      });
}

// Loop-fusible as producer and consumer alike.
bool IsUniversallyLoopFusible(const HloInstruction& instr) {
  if (instr.opcode() == HloOpcode::kFusion) return instr.IsLoopFusion();
  if (IsElementwiseInKernels(instr) && instr.operand_count() > 0) return true;
  if (instr.opcode() == HloOpcode::kBitcast) return KeepsElementWidth(instr);
  return MovesElements(instr.opcode());
}

}  // namespace

bool MovesElements(HloOpcode opcode) {
  return HloOpcodeIsOneOf<
      HloOpcode::kBroadcast, HloOpcode::kConcatenate, HloOpcode::kDynamicSlice,
      HloOpcode::kDynamicUpdateSlice, HloOpcode::kGather, HloOpcode::kPad,
      HloOpcode::kReduceWindow, HloOpcode::kReshape, HloOpcode::kReverse,
      HloOpcode::kSlice, HloOpcode::kTranspose>(opcode);
}

bool IsElementwiseInKernels(const HloInstruction& instr) {
  return instr.IsElementwise() &&
         instr.opcode() != HloOpcode::kStochasticConvert;
}

bool KeepsElementWidth(const HloInstruction& bitcast) {
  const Shape& from = bitcast.operand(0)->shape();
  return from.IsArray() && bitcast.shape().IsArray() &&
         ShapeUtil::ElementSizeInBits(from) ==
             ShapeUtil::ElementSizeInBits(bitcast.shape());
}

bool IsPhysicallyTransposing(const HloInstruction& instr) {
  return AnyInside(instr, [](const HloInstruction& hlo) {
    return hlo.opcode() == HloOpcode::kCopy ||
           (hlo.opcode() == HloOpcode::kTranspose &&
            TransposeMovesElements(hlo));
  });
}

bool TransposesMinorDimension(const HloInstruction* instr) {
  return AnyInside(*instr, MovesMinorDimension);
}

bool IsReduceInputFusion(const HloInstruction& instr,
                         const se::DeviceDescription& device_info) {
  return instr.opcode() == HloOpcode::kFusion && !instr.IsCustomFusion() &&
         HasUnnestedReductionRoot(instr, device_info);
}

bool IsInputFusibleReduction(const HloInstruction& instr,
                             const se::DeviceDescription& device_info) {
  return IsReduceInputFusion(instr, device_info) ||
         IsReductionFromOrToContiguousDimensions(instr, device_info);
}

bool IsNestableVariadicReduction(const HloInstruction& instr,
                                 const se::DeviceDescription& device_info) {
  if (!instr.shape().IsTuple()) return false;
  if (instr.opcode() == HloOpcode::kReduce) {
    return !IsReductionFromOrToContiguousDimensions(instr, device_info);
  }
  return instr.IsLoopFusion() &&
         instr.fused_expression_root()->opcode() == HloOpcode::kReduce;
}

bool IsNestableVariadicReduceWindow(const HloInstruction& instr) {
  if (!instr.shape().IsTuple()) return false;
  return instr.opcode() == HloOpcode::kReduceWindow ||
         (instr.IsLoopFusion() &&
          instr.fused_expression_root()->opcode() == HloOpcode::kReduceWindow);
}

bool IsInputFusibleScatter(const HloInstruction& instr) {
  return instr.opcode() == HloOpcode::kScatter ||
         (instr.IsInputFusion() &&
          instr.fused_expression_root()->opcode() == HloOpcode::kScatter);
}

bool IsInputFusibleTranspose(const HloInstruction& instr) {
  if (instr.opcode() != HloOpcode::kFusion) {
    return GetDescriptionForTiledTransposeEmitter(instr).has_value();
  }
  if (instr.IsCustomFusion()) return false;
  return absl::c_any_of(
      GetFusionRoots(*instr.fused_instructions_computation()),
      [](const HloInstruction* root) {
        return GetDescriptionForTiledTransposeEmitter(FindNonTrivialHero(*root))
            .has_value();
      });
}

bool IsInputFusible(const HloInstruction& instr,
                    const se::DeviceDescription& device_info) {
  return instr.IsFusible() &&
         (IsInputFusibleReduction(instr, device_info) ||
          IsInputFusibleScatter(instr) || IsInputFusibleTranspose(instr));
}

bool IsLoopFusibleAsProducer(const HloInstruction& instr) {
  if (!instr.IsFusible()) return false;
  switch (instr.opcode()) {
    case HloOpcode::kIota:
    case HloOpcode::kConstant:
      return true;
    case HloOpcode::kReduce:
      return !instr.shape().IsTuple();
    default:  // Whatever is fusible in both roles.
      return IsUniversallyLoopFusible(instr);
  }
}

HloInstruction::FusionKind ChooseFusionKind(
    const HloInstruction& producer, const HloInstruction& consumer,
    const se::DeviceDescription& device_info) {
  return IsInputFusible(consumer, device_info) ||
                 IsInputFusible(producer, device_info)
             ? HloInstruction::FusionKind::kInput
             : HloInstruction::FusionKind::kLoop;
}

bool IsGenericTritonFusion(const HloInstruction& instr) {
  return IsGpuFusionKind(instr, kTritonFusionKind);
}

}  // namespace gpu
}  // namespace xla
