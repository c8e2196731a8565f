// Recipes for opcodes that combine elements by a computation.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/testlib/random_computation.h"
#include "xla/hlo/utils/scalar_computation.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace random_module_internal {
HloComputation* RandomComputation::Reducer(HloOpcode opcode,
                                           PrimitiveType type) {
  HloComputation*& reducer = state_.reducers[{opcode, type}];
  if (reducer == nullptr) {
    reducer = state_.module->AddEmbeddedComputation(MakeScalarComputation(
        opcode, type,
        absl::StrCat(HloOpcodeString(opcode), "_",
                     primitive_util::LowercasePrimitiveTypeName(type))));
  }
  return reducer;
}

void RandomComputation::ArithmeticReducers(
    const Value& value, int64_t count, std::vector<HloOpcode>* opcodes) const {
  const PrimitiveType type = value.type();
  if (type == PRED) {
    *opcodes = {HloOpcode::kAnd, HloOpcode::kOr};
    return;
  }
  for (HloOpcode opcode : {HloOpcode::kAdd, HloOpcode::kMultiply}) {
    if (Fits(type, ReducedRange(opcode, value, count))) {
      opcodes->push_back(opcode);
    }
  }
  if (!primitive_util::IsComplexType(type)) {
    opcodes->push_back(HloOpcode::kMaximum);
    opcodes->push_back(HloOpcode::kMinimum);
  }
  if (primitive_util::IsIntegralType(type)) {
    opcodes->push_back(HloOpcode::kXor);
  }
}

Range RandomComputation::ReducedRange(HloOpcode opcode, const Value& value,
                                      int64_t count) const {
  const double n = static_cast<double>(std::max<int64_t>(count, 1));
  const double top = value.range.magnitude();
  switch (opcode) {
    case HloOpcode::kAdd:
      return {-n * top, n * top};
    case HloOpcode::kMultiply: {
      // Both parts of complex products: |z| grows by sqrt(2) each.
      const double base = primitive_util::IsComplexType(value.type())
                              ? std::sqrt(2.0) * top
                              : top;
      const double product =
          base <= 1 ? std::max(base, 1.0) : std::pow(base, n);
      return {-product, product};
    }
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
      return value.range;
    default:  // What the type holds.
      return state_.Limit(value.type());
  }
}

HloOpcode RandomComputation::ReducerFor(const Value& value, int64_t count,
                                        Range* range, double* identity,
                                        bool* stable) {
  std::vector<HloOpcode> opcodes;
  ArithmeticReducers(value, count, &opcodes);
  // Complex values would grow too large; the sum is always possible.
  if (opcodes.empty()) opcodes.push_back(HloOpcode::kAdd);
  const HloOpcode opcode = opcodes[state_.Below(opcodes.size())];
  *range = ReducedRange(opcode, value, count);
  *stable =
      value.stable && (opcode == HloOpcode::kMaximum ||
                       opcode == HloOpcode::kMinimum || state_.options.exact);
  switch (opcode) {
    case HloOpcode::kMultiply:
    case HloOpcode::kAnd:
      *identity = 1;
      break;
    case HloOpcode::kMaximum:
      *identity = value.range.lo;
      break;
    case HloOpcode::kMinimum:
      *identity = value.range.hi;
      break;
    default:  // Sums and bit operations.
      *identity = 0;
  }
  // The ends of 64-bit types have no double.
  if (std::abs(*identity) > std::ldexp(1.0, 52)) {
    *identity = std::copysign(std::ldexp(1.0, 52), *identity);
  }
  return opcode;
}

bool RandomComputation::Reduce(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  std::vector<int64_t> dimensions, kept;
  int64_t count = 1;
  for (size_t i = 0; i < x.shape().dimensions().size(); ++i) {
    if (state_.OneIn(2)) {
      dimensions.push_back(i);
      count *= x.shape().dimensions(i);
    } else {
      kept.push_back(x.shape().dimensions(i));
    }
  }
  Range range;
  double identity = 0;
  bool stable = false;
  const HloOpcode by = ReducerFor(x, count + 1, &range, &identity, &stable);
  const Shape result = ShapeUtil::MakeShape(x.type(), kept);
  HloInstruction* init = ScalarConstant(x.type(), identity);
  if (!state_.OneIn(4) || depth_ >= state_.options.max_depth) {
    Publish(HloInstruction::CreateReduce(result, x.instruction, init,
                                         dimensions, Reducer(by, x.type())),
            Union(range, {identity, identity}), stable);
    return true;
  }
  // Variadic: two reductions in one, each with its own operation.
  Value y = PickLike(x);
  Range y_range;
  double y_identity = 0;
  bool y_stable = false;
  const HloOpcode y_by =
      ReducerFor(y, count + 1, &y_range, &y_identity, &y_stable);
  const Shape x_scalar = ShapeUtil::MakeShape(x.type(), {});
  const Shape y_scalar = ShapeUtil::MakeShape(y.type(), {});
  HloComputation::Builder builder("pairwise");
  HloInstruction* p[4];
  for (int i = 0; i < 4; ++i) {
    p[i] = builder.AddInstruction(HloInstruction::CreateParameter(
        i, i % 2 == 0 ? x_scalar : y_scalar, absl::StrCat("p", i)));
  }
  HloInstruction* first = builder.AddInstruction(
      HloInstruction::CreateBinary(x_scalar, by, p[0], p[2]));
  HloInstruction* second = builder.AddInstruction(
      HloInstruction::CreateBinary(y_scalar, y_by, p[1], p[3]));
  builder.AddInstruction(HloInstruction::CreateTuple({first, second}));
  HloComputation* computation =
      state_.module->AddEmbeddedComputation(builder.Build());
  HloInstruction* y_init = ScalarConstant(y.type(), y_identity);
  const Shape y_result = ShapeUtil::MakeShape(y.type(), kept);
  HloInstruction* reduce = Add(HloInstruction::CreateReduce(
      ShapeUtil::MakeTupleShape({result, y_result}),
      {x.instruction, y.instruction}, {init, y_init}, dimensions, computation));
  Publish(HloInstruction::CreateGetTupleElement(reduce, 0),
          Union(range, {identity, identity}), stable);
  Publish(HloInstruction::CreateGetTupleElement(reduce, 1),
          Union(y_range, {y_identity, y_identity}), y_stable);
  return true;
}

Window RandomComputation::RandomWindow(const Shape& shape, bool dilate_base,
                                       bool pad) {
  Window window;
  for (int64_t size : shape.dimensions()) {
    WindowDimension* dimension = window.add_dimensions();
    dimension->set_base_dilation(dilate_base && state_.OneIn(4) ? 2 : 1);
    const int64_t base =
        std::max<int64_t>((size - 1) * dimension->base_dilation() + 1, 0);
    dimension->set_size(state_.Between(1, std::clamp<int64_t>(base, 1, 3)));
    dimension->set_window_dilation(pad && state_.OneIn(4) ? 2 : 1);
    dimension->set_stride(state_.Between(1, 2));
    const int64_t span =
        (dimension->size() - 1) * dimension->window_dilation() + 1;
    int64_t low = pad ? state_.Between(-1, 2) : 0;
    int64_t high = pad ? state_.Between(-1, 2) : 0;
    if (base + low + high < span) {
      low = 0;
      high = std::max<int64_t>(span - base, 0);
    }
    dimension->set_padding_low(low);
    dimension->set_padding_high(high);
    dimension->set_window_reversal(false);
  }
  return window;
}

bool RandomComputation::ReduceWindow(HloOpcode opcode) {
  Value x = PickArray([](const Value& value) {
    return HasRank(value) && value.type() != PRED &&
           ShapeUtil::ElementsIn(value.shape()) > 0;
  });
  if (x.instruction == nullptr) return false;
  const Window window =
      RandomWindow(x.shape(), /*dilate_base=*/true, /*pad=*/true);
  int64_t count = 1;
  for (const WindowDimension& d : window.dimensions()) count *= d.size();
  Range range;
  double identity = 0;
  bool stable = false;
  const HloOpcode by = ReducerFor(x, count + 1, &range, &identity, &stable);
  HloInstruction* init = ScalarConstant(x.type(), identity);
  absl::StatusOr<Shape> shape =
      ShapeInference::InferReduceWindowShape(x.shape(), init->shape(), window);
  if (!shape.ok()) return false;
  Publish(HloInstruction::CreateReduceWindow(*shape, x.instruction, init,
                                             window, Reducer(by, x.type())),
          Union(range, {identity, identity}), stable);
  return true;
}

bool RandomComputation::SelectAndScatter(HloOpcode opcode) {
  Value x = PickArray([&](const Value& value) {
    return HasRank(value) && value.type() != PRED && MayDecide(value) &&
           !primitive_util::IsComplexType(value.type()) &&
           ShapeUtil::ElementsIn(value.shape()) > 0;
  });
  if (x.instruction == nullptr) return false;
  Window window = RandomWindow(x.shape(), /*dilate_base=*/false, /*pad=*/false);
  const Shape scalar = ShapeUtil::MakeShape(x.type(), {});
  absl::StatusOr<Shape> source_shape =
      ShapeInference::InferReduceWindowShape(x.shape(), scalar, window);
  if (!source_shape.ok()) return false;
  Value source = Make(*source_shape, state_.Limit(x.type()));
  HloComputation::Builder builder("ge");
  HloInstruction* a =
      builder.AddInstruction(HloInstruction::CreateParameter(0, scalar, "a"));
  HloInstruction* b =
      builder.AddInstruction(HloInstruction::CreateParameter(1, scalar, "b"));
  builder.AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {}), a, b, Comparison::Direction::kGe));
  HloComputation* select =
      state_.module->AddEmbeddedComputation(builder.Build());
  Value sum{source.instruction, source.range, source.stable};
  const int64_t count = ShapeUtil::ElementsIn(source.shape()) + 1;
  const Range range = ReducedRange(HloOpcode::kAdd, sum, count);
  if (!Fits(x.type(), range)) return false;
  Publish(HloInstruction::CreateSelectAndScatter(
              x.shape(), x.instruction, select, window, source.instruction,
              ScalarConstant(x.type(), 0), Reducer(HloOpcode::kAdd, x.type())),
          range, state_.options.exact && source.stable);
  return true;
}

bool RandomComputation::Sort(HloOpcode opcode) {
  Value x = PickArray([](const Value& value) {
    return HasRank(value) && !primitive_util::IsComplexType(value.type());
  });
  if (x.instruction == nullptr) return false;
  std::vector<Value> operands = {x};
  if (MayDecide(x)) {
    for (int64_t n = state_.Below(3); n > 0; --n) {
      const PrimitiveType type = state_.RandomType();
      operands.push_back(Make(ShapeUtil::ChangeElementType(x.shape(), type),
                              state_.Limit(type)));
    }
  }
  const int64_t dimension = state_.Below(x.shape().dimensions().size());
  HloComputation::Builder builder("comparator");
  std::vector<HloInstruction*> instructions, keys;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Shape scalar = ShapeUtil::MakeShape(operands[i].type(), {});
    for (int side = 0; side < 2; ++side) {
      HloInstruction* p =
          builder.AddInstruction(HloInstruction::CreateParameter(
              2 * i + side, scalar, absl::StrCat("p", 2 * i + side)));
      if (i == 0) keys.push_back(p);
    }
    instructions.push_back(operands[i].instruction);
    shapes.push_back(operands[i].shape());
  }
  builder.AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {}), keys[0], keys[1],
      state_.OneIn(2) ? Comparison::Direction::kLt
                      : Comparison::Direction::kGt));
  // The comparison is the root although parameters may follow in storage.
  HloComputation* compare =
      state_.module->AddEmbeddedComputation(builder.Build());
  if (operands.size() == 1) {
    Publish(HloInstruction::CreateSort(x.shape(), dimension, instructions,
                                       compare, /*is_stable=*/true),
            x.range, x.stable);
    return true;
  }
  HloInstruction* sort = Add(HloInstruction::CreateSort(
      ShapeUtil::MakeTupleShape(shapes), dimension, instructions, compare,
      /*is_stable=*/true));
  for (size_t i = 0; i < operands.size(); ++i) {
    Publish(HloInstruction::CreateGetTupleElement(sort, i), operands[i].range,
            operands[i].stable);
  }
  return true;
}

bool RandomComputation::TopK(HloOpcode opcode) {
  Value x = PickArray([](const Value& value) {
    return HasRank(value) && value.type() != PRED &&
           !primitive_util::IsComplexType(value.type()) &&
           value.shape().dimensions().back() > 0;
  });
  if (x.instruction == nullptr) return false;
  const int64_t last = x.shape().dimensions().back();
  const int64_t k = state_.Between(1, last);
  absl::StatusOr<Shape> shape = ShapeInference::InferTopKShape(x.shape(), k);
  if (!shape.ok()) return false;
  HloInstruction* topk = Add(HloInstruction::CreateTopK(
      *shape, x.instruction, k, /*largest=*/state_.OneIn(2)));
  Publish(HloInstruction::CreateGetTupleElement(topk, 0), x.range, x.stable);
  if (MayDecide(x)) {
    Publish(HloInstruction::CreateGetTupleElement(topk, 1), {0, last - 1.0},
            true);
  }
  return true;
}

bool RandomComputation::Scan(HloOpcode opcode) {
  Value x = PickArray([](const Value& value) {
    return HasRank(value) && value.type() != PRED &&
           ShapeUtil::ElementsIn(value.shape()) > 0;
  });
  if (x.instruction == nullptr) return false;
  const int64_t dimension = state_.Below(x.shape().dimensions().size());
  Range range;
  double identity = 0;
  bool stable = false;
  const HloOpcode by = ReducerFor(x, x.shape().dimensions(dimension) + 1,
                                  &range, &identity, &stable);
  // (slice, carry) -> (new carry as the output slice, new carry).
  std::vector<int64_t> slice_dims(x.shape().dimensions().begin(),
                                  x.shape().dimensions().end());
  slice_dims.erase(slice_dims.begin() + dimension);
  const Shape slice = ShapeUtil::MakeShape(x.type(), slice_dims);
  HloComputation::Builder builder("scan_body");
  HloInstruction* element =
      builder.AddInstruction(HloInstruction::CreateParameter(0, slice, "x"));
  HloInstruction* carry = builder.AddInstruction(
      HloInstruction::CreateParameter(1, slice, "carry"));
  HloInstruction* next = builder.AddInstruction(
      HloInstruction::CreateBinary(slice, by, carry, element));
  builder.AddInstruction(HloInstruction::CreateTuple({next, next}));
  HloComputation* body = state_.module->AddEmbeddedComputation(builder.Build());
  HloInstruction* init = BroadcastScalar(slice, identity);
  HloInstruction* scan = Add(HloInstruction::CreateScan(
      ShapeUtil::MakeTupleShape({x.shape(), slice}), {x.instruction}, {init},
      body, dimension, /*is_reverse=*/state_.OneIn(2), TRI_STATE_FALSE));
  range = Union(range, {identity, identity});
  Publish(HloInstruction::CreateGetTupleElement(scan, 0), range, stable);
  Publish(HloInstruction::CreateGetTupleElement(scan, 1), range, stable);
  return true;
}

}  // namespace random_module_internal
}  // namespace xla
