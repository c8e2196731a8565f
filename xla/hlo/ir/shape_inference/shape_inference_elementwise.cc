#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/ir/shape_inference/shape_inference_internal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {

using namespace shape_inference_internal;  // NOLINT: its own helpers

namespace {

// Sets of element types, as bits.
enum TypeSet : int {
  kPred = 1,
  kUnsigned = 2,
  kSigned = 4,
  kFloat = 8,
  kComplexTypes = 16,
  kIntegral = kUnsigned | kSigned,
  kReal = kIntegral | kFloat,
  kInexact = kFloat | kComplexTypes,
  kNumber = kReal | kComplexTypes,
  kAny = kNumber | kPred,
};

int TypeSetOf(PrimitiveType type) {
  if (type == PRED) return kPred;
  if (primitive_util::IsUnsignedIntegralType(type)) return kUnsigned;
  if (primitive_util::IsSignedIntegralType(type)) return kSigned;
  if (primitive_util::IsFloatingPointType(type)) return kFloat;
  if (primitive_util::IsComplexType(type)) return kComplexTypes;
  return 0;
}

std::string TypeSetName(int set) {
  if (set == kAny) return "of any array type";
  std::string name;
  const auto add = [&](int bits, absl::string_view text) {
    if ((set & bits) != bits) return;
    absl::StrAppend(&name, name.empty() ? "" : " or ", text);
    set &= ~bits;
  };
  add(kPred, "pred");
  add(kIntegral, "integral");
  add(kUnsigned, "unsigned");
  add(kSigned, "signed");
  add(kFloat, "floating point");
  add(kComplexTypes, "complex");
  return name;
}

// The operand types that a unary or binary opcode accepts; 0 for all other
// opcodes.
int OperandTypes(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kCopy:
    case HloOpcode::kCompare:
    // What bits are shifted is for the verifier to say; sizes do not depend on
    // it.
    case HloOpcode::kShiftLeft:
    case HloOpcode::kShiftRightArithmetic:
    case HloOpcode::kShiftRightLogical:
      return kAny;
    case HloOpcode::kAdd:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kMultiply:
      return kAny;
    case HloOpcode::kNegate:
    case HloOpcode::kSubtract:
    case HloOpcode::kDivide:
    case HloOpcode::kPower:
    case HloOpcode::kRemainder:
      return kNumber;
    case HloOpcode::kSign:
    case HloOpcode::kAbs:
      return kSigned | kInexact;
    case HloOpcode::kNot:
    case HloOpcode::kAnd:
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return kPred | kIntegral;
    case HloOpcode::kClz:
    case HloOpcode::kPopulationCount:
    case HloOpcode::kMulhi:
      return kIntegral;
    case HloOpcode::kCbrt:
    case HloOpcode::kCeil:
    case HloOpcode::kFloor:
    case HloOpcode::kRoundNearestAfz:
    case HloOpcode::kRoundNearestEven:
    case HloOpcode::kErf:
    case HloOpcode::kIsFinite:
    case HloOpcode::kComplex:
      return kFloat;
    case HloOpcode::kAcos:
    case HloOpcode::kAcosh:
    case HloOpcode::kAsin:
    case HloOpcode::kAsinh:
    case HloOpcode::kAtan2:
    case HloOpcode::kAtanh:
    case HloOpcode::kCos:
    case HloOpcode::kCosh:
    case HloOpcode::kExp:
    case HloOpcode::kExpm1:
    case HloOpcode::kImag:
    case HloOpcode::kLog:
    case HloOpcode::kLog1p:
    case HloOpcode::kLogistic:
    case HloOpcode::kReal:
    case HloOpcode::kRsqrt:
    case HloOpcode::kSin:
    case HloOpcode::kSinh:
    case HloOpcode::kSqrt:
    case HloOpcode::kTan:
    case HloOpcode::kTanh:
      return kInexact;
    case HloOpcode::kBitcast:
    case HloOpcode::kClamp:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kSelect:
    case HloOpcode::kTuple:
    case XLA_ANY_COMMUNICATION:
    case XLA_ANY_LARGE_KERNEL:
    case XLA_ANY_MOVEMENT:
    case XLA_ANY_CONVERSION:
    case XLA_ANY_SOURCE:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return 0;
}

absl::Status ExpectTypes(HloOpcode opcode, const Shape& shape) {
  TF_RETURN_IF_ERROR(ExpectArray(shape, absl::StrCat("operand of ", opcode)));
  const int wanted = OperandTypes(opcode);
  if ((TypeSetOf(shape.element_type()) & wanted) != 0) return absl::OkStatus();
  return InvalidArgumentStrCat("element type of an operand of ", opcode,
                               " must be ", TypeSetName(wanted), "; got ",
                               Str(shape));
}

// Sizes of two shapes of one rank, where 1 gives way to any other size.
absl::StatusOr<Shape> MergeSameRank(HloOpcode opcode, const Shape& lhs,
                                    const Shape& rhs, PrimitiveType type) {
  if (lhs.dimensions() == rhs.dimensions() && lhs.is_static() &&
      rhs.is_static()) {
    return lhs.element_type() == type ? lhs
                                      : ShapeUtil::ChangeElementType(lhs, type);
  }
  Shape result = ShapeUtil::ChangeElementType(lhs, type);
  for (int64_t i = 0; i < static_cast<int64_t>(lhs.dimensions().size()); ++i) {
    const Size a = SizeOf(lhs, i);
    const Size b = SizeOf(rhs, i);
    Size size;
    if (a.size == 1 && !a.dynamic) {
      size = b;
    } else if (b.size == 1 && !b.dynamic) {
      size = a;
    } else if (Agree(a.size, b.size)) {
      size = Merge(a, b);
    } else if (a.size == 1 || b.size == 1) {
      size = a.size == 1 ? b : a;  // A bound of 1 gives way last.
    } else {
      return InvalidArgumentStrCat("operands of ", opcode,
                                   " differ in dimension ", i, ": ", Str(lhs),
                                   " and ", Str(rhs));
    }
    result.set_dimensions(i, size.size, size.dynamic);
  }
  return result;
}

// The smaller operand put at `dims` of the larger one, which has the type and
// the other sizes. Sizes there are equal or 1: a size never meets ?, whose
// value may be another one.
absl::StatusOr<Shape> BroadcastInto(HloOpcode opcode, const Shape& smaller,
                                    const Shape& larger,
                                    absl::Span<const int64_t> dims,
                                    PrimitiveType type) {
  const int64_t rank = smaller.dimensions().size();
  if (static_cast<int64_t>(dims.size()) != rank) {
    return InvalidArgumentStrCat(
        "broadcast dimensions ", Str(dims), " of ", opcode, " must name the ",
        rank, " dimensions of ", Str(smaller), " in ", Str(larger));
  }
  TF_RETURN_IF_ERROR(ExpectDimensions(dims, larger.dimensions().size(),
                                      "broadcast dimension"));
  TF_RETURN_IF_ERROR(ExpectSorted(dims, "broadcast dimensions"));
  Shape result = ShapeUtil::ChangeElementType(larger, type);
  for (int64_t i = 0; i < rank; ++i) {
    const Size a = SizeOf(smaller, i);
    const Size b = SizeOf(larger, dims[i]);
    if (a.size == 1 && !a.dynamic) continue;
    if (a.size != b.size && b.size != 1) {
      return InvalidArgumentStrCat("dimension ", i, " of ", Str(smaller),
                                   " does not match dimension ", dims[i],
                                   " of ", Str(larger), " in ", opcode);
    }
    const Size size = b.size == 1 ? a : Merge(a, b);
    result.set_dimensions(dims[i], size.size, size.dynamic);
  }
  return result;
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferUnaryOpShape(HloOpcode opcode,
                                                        const Shape& shape) {
  switch (opcode) {
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kDomain:
      return shape;
    case HloOpcode::kCopy:
      // Tuples are copied as a whole.
      return shape;
    default:  // By element types, below.
      break;
  }
  if (OperandTypes(opcode) == 0 || !HloOpcodeIsElementwiseUnary(opcode)) {
    return InvalidArgumentStrCat(opcode, " is not a unary operation");
  }
  TF_RETURN_IF_ERROR(ExpectTypes(opcode, shape));
  const PrimitiveType type = shape.element_type();
  switch (opcode) {
    case HloOpcode::kAbs:
    case HloOpcode::kReal:
    case HloOpcode::kImag:
      return primitive_util::IsComplexType(type)
                 ? ShapeUtil::ChangeElementType(
                       shape, primitive_util::ComplexComponentType(type))
                 : shape;
    case HloOpcode::kIsFinite:
      return ShapeUtil::ChangeElementType(shape, PRED);
    default:  // The type of the operand.
      return shape;
  }
}

absl::StatusOr<Shape> ShapeInference::InferBinaryOpShape(
    HloOpcode opcode, const Shape& lhs, const Shape& rhs,
    absl::Span<const int64_t> broadcast_dimensions) {
  if (opcode == HloOpcode::kAddDependency) {
    if (!rhs.IsToken()) {
      return InvalidArgumentStrCat(
          "second operand of add-dependency must be a token, not ", Str(rhs));
    }
    return lhs;
  }
  if (!HloOpcodeIsElementwiseBinary(opcode)) {
    return InvalidArgumentStrCat(opcode, " is not a binary operation");
  }
  TF_RETURN_IF_ERROR(ExpectTypes(opcode, lhs));
  TF_RETURN_IF_ERROR(ExpectTypes(opcode, rhs));
  TF_ASSIGN_OR_RETURN(PrimitiveType type,
                      CommonType(lhs, rhs, HloOpcodeString(opcode)));
  if (opcode == HloOpcode::kCompare) {
    type = PRED;
  } else if (opcode == HloOpcode::kComplex) {
    type = primitive_util::ComplexType(type);
    if (type == PRIMITIVE_TYPE_INVALID ||
        lhs.element_type() != rhs.element_type()) {
      return InvalidArgumentStrCat(
          "operands of complex must be f32 or f64, both the same; got ",
          Str(lhs), " and ", Str(rhs));
    }
  }
  if (lhs.dimensions().size() == rhs.dimensions().size()) {
    if (!broadcast_dimensions.empty() &&
        (broadcast_dimensions.size() != lhs.dimensions().size() ||
         ExpectDimensions(broadcast_dimensions, lhs.dimensions().size(), "")
                 .ok() == false ||
         !std::is_sorted(broadcast_dimensions.begin(),
                         broadcast_dimensions.end()))) {
      return InvalidArgumentStrCat(
          "broadcast dimensions ", Str(broadcast_dimensions), " of ", opcode,
          " are of no use between ", Str(lhs), " and ", Str(rhs));
    }
    return MergeSameRank(opcode, lhs, rhs, type);
  }
  return lhs.dimensions().size() < rhs.dimensions().size()
             ? BroadcastInto(opcode, lhs, rhs, broadcast_dimensions, type)
             : BroadcastInto(opcode, rhs, lhs, broadcast_dimensions, type);
}

namespace {

// `a` with each size made specific by `b`; same rank.
Shape MergeSizes(const Shape& a, const Shape& b) {
  Shape result = a;
  for (size_t i = 0; i < a.dimensions().size(); ++i) {
    const Size size = Merge(SizeOf(a, i), SizeOf(b, i));
    result.set_dimensions(i, size.size, size.dynamic);
  }
  return result;
}

absl::StatusOr<Shape> ClampShape(const Shape& min, const Shape& operand,
                                 const Shape& max) {
  TF_RETURN_IF_ERROR(ExpectArray(operand, "operand of clamp"));
  if (primitive_util::IsComplexType(operand.element_type())) {
    return InvalidArgumentStrCat("clamp cannot compare elements of ",
                                 Str(operand));
  }
  for (const Shape* bound : {&min, &max}) {
    TF_RETURN_IF_ERROR(ExpectArray(*bound, "bound of clamp"));
    TF_RETURN_IF_ERROR(CommonType(operand, *bound, "clamp").status());
    if (!ShapeUtil::IsScalar(*bound)) {
      TF_RETURN_IF_ERROR(ExpectSameSizes(
          *bound, operand, "bound (no scalar) and operand of clamp"));
    }
  }
  // Each may agree with a ? of the operand without agreeing with the other.
  if (!ShapeUtil::IsScalar(min) && !ShapeUtil::IsScalar(max)) {
    TF_RETURN_IF_ERROR(ExpectSameSizes(min, max, "bounds of clamp"));
  }
  return operand;
}

absl::StatusOr<Shape> SelectShape(const Shape& pred, const Shape& on_true,
                                  const Shape& on_false) {
  TF_RETURN_IF_ERROR(ExpectArray(pred, "predicate of select"));
  if (pred.element_type() != PRED) {
    return InvalidArgumentStrCat("predicate of select must be pred, not ",
                                 Str(pred));
  }
  TF_RETURN_IF_ERROR(ExpectArray(on_true, "operand of select"));
  TF_RETURN_IF_ERROR(ExpectArray(on_false, "operand of select"));
  TF_RETURN_IF_ERROR(ExpectSameSizes(on_true, on_false, "operands of select"));
  TF_ASSIGN_OR_RETURN(PrimitiveType type,
                      CommonType(on_true, on_false, "select"));
  Shape result =
      MergeSizes(ShapeUtil::ChangeElementType(on_true, type), on_false);
  if (ShapeUtil::IsScalar(pred)) return result;
  TF_RETURN_IF_ERROR(
      ExpectSameSizes(pred, result, "predicate and operands of select"));
  return MergeSizes(result, pred);
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferTernaryOpShape(HloOpcode opcode,
                                                          const Shape& lhs,
                                                          const Shape& rhs,
                                                          const Shape& ehs) {
  switch (opcode) {
    case HloOpcode::kClamp:
      return ClampShape(lhs, rhs, ehs);
    case HloOpcode::kSelect:
      return SelectShape(lhs, rhs, ehs);
    default:  // An error.
      return InvalidArgumentStrCat(opcode, " is not a ternary operation");
  }
}

absl::StatusOr<Shape> ShapeInference::InferVariadicOpShape(
    HloOpcode opcode, absl::Span<const Shape* const> operand_shapes) {
  switch (opcode) {
    case HloOpcode::kTuple:
      return ShapeUtil::MakeTupleShapeWithPtrs(operand_shapes);
    case HloOpcode::kAfterAll:
      for (const Shape* shape : operand_shapes) {
        if (!shape->IsToken()) {
          return InvalidArgumentStrCat(
              "operands of after-all must be tokens, not ", Str(*shape));
        }
      }
      return ShapeUtil::MakeTokenShape();
    case HloOpcode::kSort: {
      if (operand_shapes.empty()) {
        return InvalidArgument("sort needs an operand");
      }
      for (const Shape* shape : operand_shapes) {
        TF_RETURN_IF_ERROR(ExpectArray(*shape, "operand of sort"));
        TF_RETURN_IF_ERROR(
            ExpectSameSizes(*operand_shapes[0], *shape, "operands of sort"));
      }
      return operand_shapes.size() == 1
                 ? *operand_shapes[0]
                 : ShapeUtil::MakeTupleShapeWithPtrs(operand_shapes);
    }
    default:  // An error.
      return InvalidArgumentStrCat(opcode, " is not a variadic operation");
  }
}

absl::StatusOr<std::optional<Shape>> ShapeInference::InferScalarBroadcastShape(
    absl::Span<const Shape> shapes) {
  const Shape* common = nullptr;
  bool has_scalar = false;
  for (const Shape& shape : shapes) {
    if (ShapeUtil::IsScalar(shape)) {
      has_scalar = true;
    } else if (common == nullptr) {
      common = &shape;
    } else if (!ShapeUtil::CompatibleIgnoringElementType(*common, shape)) {
      return InvalidArgumentStrCat("shapes differ, and neither is a scalar: ",
                                   Str(*common), " and ", Str(shape));
    }
  }
  if (common == nullptr || !has_scalar) return std::optional<Shape>();
  return std::optional<Shape>(*common);
}

absl::StatusOr<Shape> ShapeInference::InferMapShape(
    absl::Span<const Shape* const> arg_shapes, const ProgramShape& to_apply,
    absl::Span<const int64_t> dimensions) {
  if (arg_shapes.empty()) return InvalidArgument("map needs an operand");
  const Shape& sizes = *arg_shapes[0];
  for (const Shape* shape : arg_shapes) {
    TF_RETURN_IF_ERROR(ExpectArray(*shape, "operand of map"));
    TF_RETURN_IF_ERROR(
        ExpectSameSizes(*arg_shapes[0], *shape, "operands of map"));
  }
  const int64_t rank = sizes.dimensions().size();
  bool all_in_order = static_cast<int64_t>(dimensions.size()) == rank;
  for (int64_t i = 0; all_in_order && i < rank; ++i) {
    all_in_order = dimensions[i] == i;
  }
  if (!all_in_order) {
    return InvalidArgumentStrCat("map must name all ", rank,
                                 " dimensions in order, not ", Str(dimensions));
  }
  if (to_apply.parameters_size() != static_cast<int>(arg_shapes.size())) {
    return InvalidArgumentStrCat(
        "computation of map takes ", to_apply.parameters_size(),
        " parameters, but there are ", arg_shapes.size(), " operands");
  }
  TF_RETURN_IF_ERROR(
      ExpectScalar(to_apply.result(), "result of the computation of map"));
  for (size_t i = 0; i < arg_shapes.size(); ++i) {
    const Shape& parameter = to_apply.parameters(i);
    TF_RETURN_IF_ERROR(
        ExpectScalar(parameter, "parameter of the computation of map"));
    if (!ShapeUtil::SameElementTypeIgnoringFpPrecision(parameter,
                                                       *arg_shapes[i])) {
      return InvalidArgumentStrCat(
          "parameter ", i, " of the computation of map is ", Str(parameter),
          ", the operand ", Str(*arg_shapes[i]));
    }
  }
  return ShapeUtil::ChangeElementType(sizes, to_apply.result().element_type());
}

}  // namespace xla
