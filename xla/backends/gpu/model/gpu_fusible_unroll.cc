// How many elements a thread of a loop computes.

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/hlo_traversal.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace gpu {
namespace {

constexpr int64_t kUnrollFactor = 4;
constexpr int64_t kMaxVectorElements = 16;
constexpr int64_t kMaxLongVectorElements = 32;
constexpr int64_t kMinLongVectorElements = 8;
constexpr int64_t kMaxUnrollFactorWithPad = 8;
constexpr int64_t kVectorBits = 128;
constexpr int64_t kLongVectorBits = 256;

constexpr int64_t kMaxUnrolledWindow = 8;
constexpr int64_t kMaxUnrolledConcatenateOperands = 10;

int64_t ElementBits(const Shape& shape) {
  const PrimitiveType type = shape.element_type();
  return primitive_util::IsSubByteNonPredType(type)
             ? primitive_util::BitWidth(type)
             : 8 * ShapeUtil::ByteSizeOfPrimitiveType(type);
}

void WidenTo(const Shape& shape, int64_t* bits) {
  ShapeUtil::ForEachLeafShape(shape, [&](const Shape& leaf, const ShapeIndex&) {
    if (leaf.IsArray()) *bits = std::max(*bits, ElementBits(leaf));
  });
}

int64_t WidestBits(const HloFusionAnalysis& analysis) {
  int64_t bits = 1;
  for (const HloInstruction* parameter : analysis.fusion().GetParameters()) {
    // Scalars are loaded once.
    if (ShapeUtil::IsEffectiveScalar(parameter->shape())) continue;
    WidenTo(parameter->shape(), &bits);
  }
  for (const HloInstructionAdaptor& root : analysis.fusion_roots()) {
    WidenTo(root.shape(), &bits);
  }
  return bits;
}

int64_t MinorDimension(const Shape& shape) {
  if (!shape.IsArray() || shape.dimensions().empty()) return 1;
  return shape.dimensions(shape.has_layout()
                              ? LayoutUtil::Minor(shape.layout(), 0)
                              : shape.dimensions().size() - 1);
}

bool MayCostIfUnrolled(const HloInstruction& hlo) {
  switch (hlo.opcode()) {
    case HloOpcode::kDot:
    case HloOpcode::kSort:
      return true;
    case HloOpcode::kReduce:
      return hlo.shape().IsTuple();
    case HloOpcode::kConcatenate:
      return hlo.operand_count() > kMaxUnrolledConcatenateOperands;
    case HloOpcode::kReduceWindow: {
      int64_t elements = 1;
      for (const WindowDimension& dim : hlo.window().dimensions()) {
        elements *= dim.size();
        if (elements > kMaxUnrolledWindow) return true;
      }
      return false;
    }
    default:  // Cheap enough to be unrolled.
      return false;
  }
}

// Elements of one vector access, if that is worth it; otherwise 0.
int64_t LongUnrollFactor(const HloFusionAnalysis& analysis) {
  const se::DeviceDescription& device = analysis.device_info();
  if (!device.cuda_compute_capability().IsAtLeastBlackwell() ||
      analysis.fusion_root_count() != 1) {
    return 0;
  }
  const bool has_long_vectors = device.compile_time_toolkit_version() >=
                                stream_executor::SemanticVersion(12, 9, 0);
  int64_t factor =
      has_long_vectors
          ? std::min(kMaxLongVectorElements,
                     kLongVectorBits / WidestBits(analysis))
          : std::min(kMaxVectorElements, kVectorBits / WidestBits(analysis));
  bool has_reduce = false;
  analysis.fusion().ForEach([&](HloInstructionAdaptor node) {
    const HloInstruction& hlo = node.instruction();
    if (hlo.opcode() == HloOpcode::kReduce) has_reduce = true;
    if (hlo.opcode() == HloOpcode::kPad) {
      factor = std::min(factor, kMaxUnrollFactorWithPad);
    }
    if (hlo.opcode() == HloOpcode::kTranspose) {
      const int64_t minor = std::min(MinorDimension(hlo.shape()),
                                     MinorDimension(hlo.operand(0)->shape()));
      while (factor > 1 && minor < factor) factor /= 2;
    }
  });
  return has_reduce || factor < kMinLongVectorElements ? 0 : factor;
}

}  // namespace

bool MayCausePerformanceDropIfUnrolled(const HloFusionAdaptor& fusion) {
  return HloAnyOf(fusion, [](const HloInstructionAdaptor& node) {
    return MayCostIfUnrolled(node.instruction());
  });
}

int64_t MaxUnrollFactor(const HloFusionAnalysis* analysis) {
  if (analysis == nullptr) return kUnrollFactor;
  const int64_t factor = std::max(kUnrollFactor, LongUnrollFactor(*analysis));
  const int64_t bound = analysis->fusion_root(0)
                            .instruction()
                            .GetModule()
                            ->config()
                            .debug_options()
                            .xla_gpu_experimental_max_unroll_factor();
  return bound > 0 ? std::min(factor, bound) : factor;
}

int ComputeLoopFusionConfig(const HloFusionAnalysis& analysis) {
  return ComputeLoopFusionConfig(analysis, analysis.first_result_shape());
}

// The number of elements for each thread. Unrolling saves index computations
// and widens memory accesses, but small arrays need their parallelism more:
// there must be at least as many elements as the device can have threads. The
// factor divides the number of elements, so no thread has to check bounds.
// Elements of less than a byte are always unrolled to whole bytes, since
// threads must not write into one byte together.
int ComputeLoopFusionConfig(const HloFusionAnalysis& analysis,
                            const Shape& shape) {
  const se::DeviceDescription& device = analysis.device_info();
  const int64_t elements = shape.IsArray() ? ShapeUtil::ElementsIn(shape) : 0;
  const int64_t threads = device.threads_per_core_limit() * device.core_count();
  int64_t factor = 1;
  if (elements >= threads && elements > 0 &&
      !MayCausePerformanceDropIfUnrolled(analysis.fusion())) {
    factor = std::gcd(elements, MaxUnrollFactor(&analysis));
  }
  const int64_t output_bits =
      analysis.input_output_info().smallest_output_dtype_bits;
  if (output_bits < 8)
    factor = std::max(factor, (7 + output_bits) / output_bits);
  return static_cast<int>(factor);
}

}  // namespace gpu
}  // namespace xla
