#include "xla/backends/gpu/lowering/complex_parts.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/complex_arithmetic.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

bool IsComplex(const Shape& shape) {
  return shape.IsArray() && primitive_util::IsComplexType(shape.element_type());
}

bool HasComplexArray(const Shape& shape) {
  return shape.IsTuple() ? absl::c_any_of(shape.tuple_shapes(), HasComplexArray)
                         : IsComplex(shape);
}

Shape PartShape(const Shape& shape) {
  return ShapeUtil::ChangeElementType(
      shape, primitive_util::ComplexComponentType(shape.element_type()));
}

// Complex arrays as arrays of pairs.
Shape PairShape(const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    for (const Shape& element : shape.tuple_shapes()) {
      elements.push_back(PairShape(element));
    }
    return ShapeUtil::MakeTupleShape(elements);
  }
  if (!IsComplex(shape)) return shape;
  Shape pairs = PartShape(shape);
  ShapeUtil::AppendMinorDimension(2, &pairs);
  return pairs;
}

Literal PartOf(const LiteralBase& pairs, int part) {
  Literal result(PartShape(pairs.shape()));
  const int64_t bytes =
      primitive_util::ByteWidth(result.shape().element_type());
  const char* from = static_cast<const char*>(pairs.untyped_data());
  char* to = static_cast<char*>(result.untyped_data());
  for (int64_t i = 0; i < ShapeUtil::ElementsIn(result.shape()); ++i) {
    std::memcpy(to + i * bytes, from + (2 * i + part) * bytes, bytes);
  }
  return result;
}

// A value of the kernel on real numbers: an array, an operand that is a tuple,
// the parts of a complex array, or the elements of a tuple.
struct PartsOf {
  HloInstruction* real = nullptr;
  ComplexParts parts;
  std::vector<PartsOf> elements;
};

// One computation.
class Splitter {
 public:
  Splitter(HloCloneContext* context, HloComputation::Builder* builder)
      : context_(*context), builder_(*builder), arithmetic_(builder) {}

  void SetValue(const HloInstruction& hlo, PartsOf value) {
    values_[&hlo] = std::move(value);
  }
  const PartsOf& Value(const HloInstruction* hlo) const {
    return values_.at(hlo);
  }

  // `shape`: of an operand of the kernel, which is arrays of pairs.
  PartsOf Operand(HloInstruction* operand, const Shape& shape) {
    PartsOf value;
    if (IsComplex(shape)) {
      value.parts = {PartOfPairs(operand, shape, 0),
                     PartOfPairs(operand, shape, 1)};
    } else {
      value.real = operand;
    }
    return value;
  }

  absl::Status Visit(const HloInstruction& hlo);

  // The parts of all arrays, next to each other.
  static void Flatten(const PartsOf& value, std::vector<HloInstruction*>* out) {
    if (value.real != nullptr) out->push_back(value.real);
    if (value.parts.re != nullptr) {
      out->push_back(value.parts.re);
      out->push_back(value.parts.im);
    }
    for (const PartsOf& element : value.elements) Flatten(element, out);
  }

  // As the result of a kernel.
  HloInstruction* Result(const PartsOf& value) {
    if (value.real != nullptr) return value.real;
    std::vector<HloInstruction*> elements;
    if (value.parts.re != nullptr) {
      elements = {value.parts.re, value.parts.im};
    }
    for (const PartsOf& element : value.elements) {
      elements.push_back(Result(element));
    }
    return Add(HloInstruction::CreateTuple(elements));
  }

 private:
  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction) {
    return builder_.AddInstruction(std::move(instruction));
  }
  HloInstruction* PartOfPairs(HloInstruction* pairs, const Shape& shape,
                              int part);
  // The array in the layout of that shape, as bitcasts of it take it for.
  HloInstruction* As(HloInstruction* array, const Shape& shape) {
    if (ShapeUtil::Equal(array->shape(), shape)) return array;
    return Add(HloInstruction::CreateUnary(shape, HloOpcode::kCopy, array));
  }
  // The instruction on that part of all complex operands.
  HloInstruction* Clone(const HloInstruction& hlo, const Shape& shape,
                        int part);
  absl::StatusOr<PartsOf> Complex(const HloInstruction& hlo);
  PartsOf Convert(const HloInstruction& hlo);
  absl::StatusOr<PartsOf> Reduce(const HloInstruction& hlo);
  // The sums of products, of all four parts; one operand may be real.
  PartsOf Product(const HloInstruction& hlo);

  HloCloneContext& context_;
  HloComputation::Builder& builder_;
  ComplexArithmetic arithmetic_;
  absl::flat_hash_map<const HloInstruction*, PartsOf> values_;  // looked up
};

HloInstruction* Splitter::PartOfPairs(HloInstruction* pairs, const Shape& shape,
                                      int part) {
  const Shape of_part = PartShape(shape);
  Shape slice = of_part;
  ShapeUtil::AppendMinorDimension(1, &slice);
  std::vector<int64_t> starts(slice.dimensions().size(), 0);
  std::vector<int64_t> limits(slice.dimensions().begin(),
                              slice.dimensions().end());
  const std::vector<int64_t> strides(starts.size(), 1);
  starts.back() = part;
  limits.back() = part + 1;
  HloInstruction* places =
      Add(HloInstruction::CreateSlice(slice, pairs, starts, limits, strides));
  return Add(HloInstruction::CreateReshape(of_part, places));
}

HloInstruction* Splitter::Clone(const HloInstruction& hlo, const Shape& shape,
                                int part) {
  std::vector<HloInstruction*> operands;
  for (const HloInstruction* operand : hlo.operands()) {
    const PartsOf& value = Value(operand);
    operands.push_back(value.real != nullptr ? value.real
                       : part == 0           ? value.parts.re
                                             : value.parts.im);
  }
  return Add(hlo.CloneWithNewOperands(shape, operands, &context_));
}

absl::Status Splitter::Visit(const HloInstruction& hlo) {
  if (hlo.opcode() == HloOpcode::kTuple) {
    PartsOf tuple;
    for (const HloInstruction* element : hlo.operands()) {
      tuple.elements.push_back(Value(element));
    }
    SetValue(hlo, std::move(tuple));
    return absl::OkStatus();
  }
  if (hlo.opcode() == HloOpcode::kGetTupleElement) {
    const PartsOf tuple = Value(hlo.operand(0));
    const int64_t index = hlo.tuple_index();
    SetValue(hlo, tuple.real == nullptr
                      ? tuple.elements[index]
                      : Operand(Add(HloInstruction::CreateGetTupleElement(
                                    tuple.real, index)),
                                hlo.shape()));
    return absl::OkStatus();
  }
  const bool is_complex =
      HasComplexArray(hlo.shape()) ||
      absl::c_any_of(hlo.operands(), [](const HloInstruction* operand) {
        return HasComplexArray(operand->shape());
      });
  for (const HloInstruction* operand : hlo.operands()) {
    if (!Value(operand).elements.empty()) {
      return NotLowered(hlo, "reads a tuple that the kernel makes");
    }
  }
  PartsOf value;
  if (is_complex) {
    ASSIGN_OR_RETURN(value, Complex(hlo));
  } else {
    value.real = Clone(hlo, hlo.shape(), 0);
  }
  SetValue(hlo, std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<PartsOf> Splitter::Complex(const HloInstruction& hlo) {
  PartsOf result;
  const auto operand = [&](int64_t i) { return Value(hlo.operand(i)).parts; };
  if (hlo.shape().IsArray()) arithmetic_.SetShape(hlo.shape());
  switch (hlo.opcode()) {
    case HloOpcode::kAbs:
      result.real = arithmetic_.Abs(operand(0));
      return result;
    case HloOpcode::kCompare:
      if (hlo.comparison_direction() == ComparisonDirection::kEq) {
        result.real = arithmetic_.Equal(operand(0), operand(1));
      } else if (hlo.comparison_direction() == ComparisonDirection::kNe) {
        result.real = arithmetic_.NotEqual(operand(0), operand(1));
      } else {
        break;
      }
      return result;
    case HloOpcode::kComplex:
      result.parts = {As(Value(hlo.operand(0)).real, PartShape(hlo.shape())),
                      As(Value(hlo.operand(1)).real, PartShape(hlo.shape()))};
      return result;
    case HloOpcode::kConstant:
      if (hlo.literal().is_elided()) return NotLowered(hlo, "elided");
      result.parts = {
          Add(HloInstruction::CreateConstant(PartOf(hlo.literal(), 0))),
          Add(HloInstruction::CreateConstant(PartOf(hlo.literal(), 1)))};
      return result;
    case HloOpcode::kConvert:
      if (!IsComplex(hlo.shape())) break;
      return Convert(hlo);
    case HloOpcode::kConvolution:
    case HloOpcode::kDot:
      if (hlo.operand_count() != 2 || !IsComplex(hlo.shape())) break;
      return Product(hlo);
    case HloOpcode::kImag:
      result.real = As(operand(0).im, hlo.shape());
      return result;
    case HloOpcode::kIota:
      result.parts.re = Clone(hlo, PartShape(hlo.shape()), 0);
      result.parts.im = arithmetic_.Number(0, result.parts.re);
      return result;
    case HloOpcode::kReal:
      result.real = As(operand(0).re, hlo.shape());
      return result;
    case HloOpcode::kReduce:
      return Reduce(hlo);
    // What becomes of a part depends on the same part of the operands.
    case HloOpcode::kAdd:
    case HloOpcode::kBitcast:
    case HloOpcode::kBroadcast:
    case HloOpcode::kConcatenate:
    case HloOpcode::kCopy:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kGather:
    case HloOpcode::kNegate:
    case HloOpcode::kPad:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSelect:
    case HloOpcode::kSlice:
    case HloOpcode::kSubtract:
    case HloOpcode::kTranspose: {
      if (!IsComplex(hlo.shape())) break;
      // The bits of a number of another type are not the parts of a pair.
      if (hlo.opcode() == HloOpcode::kBitcast &&
          hlo.operand(0)->shape().element_type() !=
              hlo.shape().element_type()) {
        break;
      }
      const Shape shape = PartShape(hlo.shape());
      result.parts.re = Clone(hlo, shape, 0);
      result.parts.im = Clone(hlo, shape, 1);
      return result;
    }
    default: {  // A formula of the parts.
      std::optional<ComplexParts> parts;
      if (hlo.operand_count() == 1 && IsComplex(hlo.operand(0)->shape())) {
        parts = arithmetic_.Unary(hlo.opcode(), operand(0));
      } else if (hlo.operand_count() == 2 && hlo.IsElementwise()) {
        parts = arithmetic_.Binary(hlo.opcode(), operand(0), operand(1));
      }
      if (!parts.has_value()) break;
      result.parts = *parts;
      return result;
    }
  }
  return NotLowered(hlo, "no formula on the parts of complex numbers");
}

// Nothing but real() and imag() makes real numbers of complex ones.
PartsOf Splitter::Convert(const HloInstruction& hlo) {
  PartsOf result;
  const PartsOf& from = Value(hlo.operand(0));
  const Shape shape = PartShape(hlo.shape());
  const auto convert = [&](HloInstruction* part) {
    return Add(HloInstruction::CreateConvert(shape, part));
  };
  result.parts.re = convert(from.real != nullptr ? from.real : from.parts.re);
  result.parts.im = from.real != nullptr
                        ? arithmetic_.Number(0, result.parts.re)
                        : convert(from.parts.im);
  return result;
}

PartsOf Splitter::Product(const HloInstruction& hlo) {
  const Shape shape = PartShape(hlo.shape());
  const PartsOf& a = Value(hlo.operand(0));
  const PartsOf& b = Value(hlo.operand(1));
  const auto product = [&](HloInstruction* left, HloInstruction* right) {
    return Add(hlo.CloneWithNewOperands(shape, {left, right}, &context_));
  };
  const auto both = [&](HloOpcode opcode, HloInstruction* x,
                        HloInstruction* y) {
    return Add(HloInstruction::CreateBinary(shape, opcode, x, y));
  };
  PartsOf result;
  // A real factor has an imaginary part of 0, whose product with an infinite
  // part is no number.
  const auto parts = [&](const PartsOf& factor) -> ComplexParts {
    if (factor.real == nullptr) return factor.parts;
    HloInstruction* zero = Add(HloInstruction::CreateConstant(
        LiteralUtil::Zero(factor.real->shape().element_type())));
    return {factor.real, Add(HloInstruction::CreateBroadcast(
                             factor.real->shape(), zero, {}))};
  };
  const ComplexParts x = parts(a), y = parts(b);
  result.parts.re =
      both(HloOpcode::kSubtract, product(x.re, y.re), product(x.im, y.im));
  result.parts.im =
      both(HloOpcode::kAdd, product(x.re, y.im), product(x.im, y.re));
  return result;
}

// What is applied has the parts of its accumulators, then those of the values.
// It remains one reduction: the product of two complex numbers needs both parts
// of both, so real and imaginary accumulators cannot be reduced one by one. As
// inputs and init values have the same parts, the first half of the flattened
// operands still is the inputs.
absl::StatusOr<PartsOf> Splitter::Reduce(const HloInstruction& hlo) {
  const HloComputation& applied = *hlo.to_apply();
  HloComputation::Builder builder(applied.name());
  Splitter body(&context_, &builder);
  int64_t number = 0;
  for (const HloInstruction* parameter : applied.parameter_instructions()) {
    const bool is_complex = IsComplex(parameter->shape());
    const Shape shape =
        is_complex ? PartShape(parameter->shape()) : parameter->shape();
    const auto add = [&] {
      const int64_t n = number++;
      return builder.AddInstruction(
          HloInstruction::CreateParameter(n, shape, absl::StrCat("p", n)));
    };
    PartsOf value;
    (is_complex ? value.parts.re : value.real) = add();
    if (is_complex) value.parts.im = add();
    body.SetValue(*parameter, std::move(value));
  }
  for (const HloInstruction* inner : applied.MakeInstructionPostOrder()) {
    if (inner->opcode() == HloOpcode::kParameter) continue;
    RETURN_IF_ERROR(body.Visit(*inner));
  }
  std::vector<HloInstruction*> results;
  Flatten(body.Value(applied.root_instruction()), &results);
  builder.AddInstruction(HloInstruction::CreateTuple(results));
  HloComputation* computation =
      context_.module()->AddEmbeddedComputation(builder.Build());

  std::vector<HloInstruction*> operands;
  for (const HloInstruction* operand : hlo.operands()) {
    Flatten(Value(operand), &operands);
  }
  const absl::Span<HloInstruction* const> all(operands);
  std::vector<Shape> shapes;
  std::vector<const Shape*> originals;
  if (hlo.shape().IsTuple()) {
    for (const Shape& shape : hlo.shape().tuple_shapes()) {
      originals.push_back(&shape);
    }
  } else {
    originals.push_back(&hlo.shape());
  }
  for (const Shape* shape : originals) {
    const bool is_complex = IsComplex(*shape);
    shapes.insert(shapes.end(), is_complex ? 2 : 1,
                  is_complex ? PartShape(*shape) : *shape);
  }
  HloInstruction* reduce = Add(HloInstruction::CreateReduce(
      ShapeUtil::MakeTupleShape(shapes), all.first(all.size() / 2),
      all.subspan(all.size() / 2), hlo.dimensions(), computation));
  int64_t next = 0;
  const auto element = [&] {
    return Add(HloInstruction::CreateGetTupleElement(reduce, next++));
  };
  PartsOf result;
  for (const Shape* shape : originals) {
    PartsOf one;
    if (IsComplex(*shape)) {
      one.parts.re = element();
      one.parts.im = element();
    } else {
      one.real = element();
    }
    if (!hlo.shape().IsTuple()) return one;
    result.elements.push_back(std::move(one));
  }
  return result;
}

}  // namespace

bool HasComplex(const HloInstruction& hlo) {
  const auto has = [](const HloInstruction* inner) {
    return HasComplexArray(inner->shape());
  };
  if (has(&hlo) || absl::c_any_of(hlo.operands(), has)) return true;
  return hlo.opcode() == HloOpcode::kFusion &&
         absl::c_any_of(hlo.fused_instructions_computation()->instructions(),
                        has);
}

absl::StatusOr<std::unique_ptr<HloModule>> WithoutComplex(
    const HloInstruction& hlo) {
  auto module = std::make_unique<HloModule>("parts", HloModuleConfig());
  HloCloneContext context(module.get());
  HloComputation::Builder body_builder("body"), entry_builder("entry");
  Splitter body(&context, &body_builder);
  std::vector<HloInstruction*> operands;
  for (int64_t i = 0; i < hlo.operand_count(); ++i) {
    const Shape shape = PairShape(hlo.operand(i)->shape());
    const std::string name = absl::StrCat("p", i);
    operands.push_back(entry_builder.AddInstruction(
        HloInstruction::CreateParameter(i, shape, name)));
    HloInstruction* inside = body_builder.AddInstruction(
        HloInstruction::CreateParameter(i, shape, name));
    const HloInstruction* outside =
        hlo.opcode() == HloOpcode::kFusion
            ? hlo.fused_instructions_computation()->parameter_instruction(i)
            : hlo.operand(i);
    body.SetValue(*outside, body.Operand(inside, outside->shape()));
  }
  const HloInstruction* root = &hlo;
  if (hlo.opcode() == HloOpcode::kFusion) {
    root = hlo.fused_instructions_computation()->root_instruction();
    for (const HloInstruction* inner :
         hlo.fused_instructions_computation()->MakeInstructionPostOrder()) {
      if (inner->opcode() == HloOpcode::kParameter) continue;
      RETURN_IF_ERROR(body.Visit(*inner));
    }
  } else {
    RETURN_IF_ERROR(body.Visit(hlo));
  }
  HloInstruction* result = body.Result(body.Value(root));
  HloComputation* computation =
      module->AddEmbeddedComputation(body_builder.Build(result));
  HloInstruction* fusion =
      entry_builder.AddInstruction(HloInstruction::CreateFusion(
          result->shape(), HloInstruction::FusionKind::kLoop, operands,
          computation));
  module->AddEntryComputation(entry_builder.Build(fusion));
  fusion->SetAndSanitizeName(hlo.name());
  return module;
}

}  // namespace xla::gpu
