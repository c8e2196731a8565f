#include "xla/backends/gpu/model/cost/instruction_flops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

// Minimal cost of applying a reducer: shuffles and a select besides.
constexpr double kMinFlopsPerReducedElement = 3;

double ElementsOf(const Shape& shape) {
  if (shape.IsArray()) return ShapeUtil::ElementsIn(shape);
  if (!shape.IsTuple()) return 0;
  double elements = 0;
  for (const Shape& part : shape.tuple_shapes()) {
    if (part.IsArray()) elements += ShapeUtil::ElementsIn(part);
  }
  return elements;
}

double FirstElementsOf(const Shape& shape) {
  const bool tuple = shape.IsTuple() && !shape.tuple_shapes().empty();
  return ElementsOf(tuple ? shape.tuple_shapes(0) : shape);
}

double RealFlops(HloOpcode opcode, bool is_integer) {
  switch (opcode) {
    case HloOpcode::kDivide:
      return is_integer ? 30 : 9;
    case HloOpcode::kRemainder:
      return 35;
    case HloOpcode::kSqrt:
    case HloOpcode::kRsqrt:
      return 8;
    case HloOpcode::kCbrt:
    case HloOpcode::kLogistic:
      return 25;
    case HloOpcode::kExp:
      return 10;
    case HloOpcode::kExpm1:
    case HloOpcode::kLog:
    case HloOpcode::kLog1p:
    case HloOpcode::kTanh:
    case HloOpcode::kErf:
      return 20;
    case HloOpcode::kSin:
    case HloOpcode::kCos:
    case HloOpcode::kTan:
    case HloOpcode::kAtan2:
      return 40;
    case HloOpcode::kPower:
      return is_integer ? 60 : 40;
    case HloOpcode::kClamp:
    case HloOpcode::kReducePrecision:
    case HloOpcode::kSign:
      return 2;
    case HloOpcode::kPopulationCount:
    case HloOpcode::kClz:
      return 4;
    case HloOpcode::kStochasticConvert:
      return 8;
    case HloOpcode::kRoundNearestAfz:
    case HloOpcode::kRoundNearestEven:
      return 2;
    case HloOpcode::kCopy:
    case HloOpcode::kReal:
    case HloOpcode::kBitcastConvert:
      return 0;
    default:  // One operation, or none where nothing is computed.
      return HloInstruction::IsOpElementwise(opcode) ? 1 : 0;
  }
}

// What XLA counts for operations on real floats of 16, 32 and 64 bits.
struct FloatFlops {
  double f16;
  double f32;
  double f64;
};

constexpr FloatFlops XlaFlops(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAdd:
    case HloOpcode::kSubtract:
      return {7, 7, 15};
    case HloOpcode::kMultiply:
      return {7, 3, 15};
    case HloOpcode::kDivide:
      return {43, 19, 526};
    case HloOpcode::kSqrt:
      return {95, 75, 332};
    case HloOpcode::kRsqrt:
      return {95, 75, 317};
    case HloOpcode::kCbrt:
      return {201, 178, 586};
    case HloOpcode::kExp:
      return {102, 79, 376};
    case HloOpcode::kExpm1:
      return {217, 190, 712};
    case HloOpcode::kLog:
      return {182, 166, 815};
    case HloOpcode::kLog1p:
      return {245, 229, 1259};
    case HloOpcode::kLogistic:  // As a negation, exp, an addition and a
                                // division.
      return {155, 108, 920};
    case HloOpcode::kTanh:
      return {502, 467, 431};
    case HloOpcode::kCos:
      return {997, 978, 558};
    case HloOpcode::kSin:
      return {993, 958, 554};
    case HloOpcode::kAtan2:
      return {451, 431, 930};
    case HloOpcode::kPower:
      return {526, 510, 2205};
    default:  // What XLA has no figure for.
      return {3, 3, 3};
  }
}

bool IsBf16InXla(HloOpcode opcode) {
  return opcode == HloOpcode::kAdd || opcode == HloOpcode::kSubtract ||
         opcode == HloOpcode::kMultiply || opcode == HloOpcode::kExp ||
         opcode == HloOpcode::kLog;
}

double XlaIntegerDivision(PrimitiveType type) {
  const bool wide = primitive_util::BitWidth(type) > 32;
  if (primitive_util::IsUnsignedIntegralType(type)) return wide ? 629 : 122;
  return wide ? 685 : 297;
}

}  // namespace

double WindowElements(const Window& window) {
  double elements = 1;
  for (const WindowDimension& d : window.dimensions()) elements *= d.size();
  return elements;
}

double FlopsPerElement(HloOpcode opcode, PrimitiveType type) {
  const double flops =
      RealFlops(opcode, primitive_util::IsIntegralType(type) || type == PRED);
  if (!primitive_util::IsArrayType(type)) return flops;
  // Consumer boards do 64-bit arithmetic at 1/64, data center boards at 1/2 of
  // the rate.
  const double width = type == F64 || type == C128 ? 2 : 1;
  const double complex = primitive_util::IsComplexType(type) ? 4 : 1;
  return flops * width * complex;
}

double FlopsPerElementInXla(HloOpcode opcode, PrimitiveType type) {
  // XLA makes transposes and bitcasts of these, which compute nothing.
  if (opcode == HloOpcode::kCopy || opcode == HloOpcode::kBitcastConvert) {
    return 0;
  }
  if (HloInstruction::IsOpElementwise(opcode)) {
    if (type == F16) return XlaFlops(opcode).f16;
    // What XLA does not compute in bf16 it converts.
    if (type == BF16) return IsBf16InXla(opcode) ? 3 : XlaFlops(opcode).f32;
    if (type == F32) return XlaFlops(opcode).f32;
    if (type == F64) return XlaFlops(opcode).f64;
    if (opcode == HloOpcode::kDivide && primitive_util::IsIntegralType(type)) {
      return XlaIntegerDivision(type);
    }
    // Of these types, only where something is computed; a real part, which is
    // of those above, counts as much as any other operation.
    if (FlopsPerElement(opcode, type) > 0) return XlaFlops(HloOpcode::kMap).f32;
  }
  return 0;
}

double InstructionFlops::OfComputation(const HloComputation& computation) {
  auto known = computations_.find(&computation);
  if (known != computations_.end()) return known->second;
  // Reducers call nothing that costs; what nests deeper counts nothing.
  double flops = 0;
  for (const HloInstruction* instruction : computation.instructions()) {
    if (instruction->has_called_computations()) continue;
    flops += Of(*instruction);
  }
  computations_[&computation] = flops;
  return flops;
}

// Counts of the usual algorithms: a reduction of n elements to m applies its
// computation n - m times, a sort takes n * log2(n) comparisons, a triangular
// solve n per element of the result, a Cholesky decomposition n³ / 3, and a
// fast Fourier transform 5 * n * log2(n) (radix 2, complex).
double InstructionFlops::Of(const HloInstruction& hlo) {
  const double elements = FirstElementsOf(hlo.shape());
  switch (hlo.opcode()) {
    case HloOpcode::kReduce: {
      const double applied = FirstElementsOf(hlo.operand(0)->shape());
      return std::max(applied - elements, 0.0) *
             std::max(OfComputation(*hlo.to_apply()),
                      kMinFlopsPerReducedElement);
    }
    case HloOpcode::kReduceWindow:
      return elements * (WindowElements(hlo.window()) - 1) *
             std::max(OfComputation(*hlo.to_apply()), 1.0);
    case HloOpcode::kSelectAndScatter:
      return FirstElementsOf(hlo.operand(1)->shape()) *
             (WindowElements(hlo.window()) - 1) *
             std::max(OfComputation(*hlo.select()), 1.0);
    case HloOpcode::kMap:
      return elements * OfComputation(*hlo.to_apply());
    case HloOpcode::kScatter:
      return FirstElementsOf(
                 hlo.operand(hlo.operand_count() / 2 + 1)->shape()) *
             std::max(OfComputation(*hlo.to_apply()), 1.0);
    case HloOpcode::kScan:
      return FirstElementsOf(hlo.operand(0)->shape()) *
             std::max(OfComputation(*hlo.to_apply()), 1.0);
    case HloOpcode::kSort: {
      const double n = FirstElementsOf(hlo.operand(0)->shape());
      return n * std::ceil(std::log2(std::max(n, 2.0)));
    }
    case HloOpcode::kDot:
      return HloCostAnalysis::GetDotFlops(hlo.operand(0)->shape(), hlo.shape(),
                                          hlo.dot_dimension_numbers());
    case HloOpcode::kConvolution:
      return HloCostAnalysis::GetConvolutionFlops(&hlo);
    case HloOpcode::kRng:
    case HloOpcode::kRngBitGenerator:
      // Ten rounds of Philox for four words.
      return ElementsOf(hlo.shape()) * 20;
    case HloOpcode::kTriangularSolve:
      return elements * hlo.operand(0)->shape().dimensions().back();
    case HloOpcode::kCholesky:
      return elements * hlo.shape().dimensions().back() / 3.0;
    case HloOpcode::kFft:
      return 5 * elements * std::ceil(std::log2(std::max(elements, 2.0)));
    case HloOpcode::kBatchNormTraining:
    case HloOpcode::kBatchNormInference:
    case HloOpcode::kBatchNormGrad:
      return 9 * FirstElementsOf(hlo.operand(0)->shape());
    case HloOpcode::kBitcast:
    case HloOpcode::kCopy:
    case HloOpcode::kCustomCall:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kFusion:
    case HloOpcode::kGather:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kRaggedDot:
    case HloOpcode::kRngGetAndUpdateState:
    case HloOpcode::kScaledDot:
    case HloOpcode::kTopK:
    case HloOpcode::kTuple:
    case XLA_ANY_COMMUNICATION:
    case XLA_ANY_ELEMENTWISE:
    case XLA_ANY_REARRANGEMENT:
    case XLA_ANY_DYNAMIC_SIZE:
    case XLA_ANY_SOURCE:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  const PrimitiveType type = hlo.opcode() == HloOpcode::kCompare
                                 ? hlo.operand(0)->shape().element_type()
                                 : hlo.shape().element_type();
  return elements * (prices_ == OperationPrices::kXla
                         ? FlopsPerElementInXla(hlo.opcode(), type)
                         : FlopsPerElement(hlo.opcode(), type));
}

}  // namespace xla::gpu
