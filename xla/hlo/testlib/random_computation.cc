#include "xla/hlo/testlib/random_computation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace random_module_internal {
namespace {

// Operands come from this many recent values, so that growth is linear.
constexpr int64_t kWindow = 48;

bool IsIntegerLike(PrimitiveType type) {
  return type == PRED || primitive_util::IsIntegralType(type);
}

}  // namespace

absl::Span<const RandomComputation::Row> RandomComputation::Rows() {
  using R = RandomComputation;
  using K = RandomComputation::Kind;
  static constexpr Row kRows[] = {
      {HloOpcode::kAbs, 2, &R::Unary, K::kScalar},
      {HloOpcode::kAcos, 1, &R::Unary, K::kScalar},
      {HloOpcode::kAcosh, 1, &R::Unary, K::kScalar},
      {HloOpcode::kAdd, 8, &R::Arithmetic, K::kScalar},
      {HloOpcode::kAddDependency, 1, &R::AfterAll},
      {HloOpcode::kAfterAll, 1, &R::AfterAll},
      {HloOpcode::kAllGather, 4, &R::AllGather},
      {HloOpcode::kAllReduce, 4, &R::AllReduce},
      {HloOpcode::kAllToAll, 4, &R::AllToAll},
      {HloOpcode::kAnd, 2, &R::Bitwise, K::kScalar},
      {HloOpcode::kAsin, 1, &R::Unary, K::kScalar},
      {HloOpcode::kAsinh, 1, &R::Unary, K::kScalar},
      {HloOpcode::kAsyncStart, 1, &R::AsyncStart},
      {HloOpcode::kAtan2, 1, &R::Arithmetic, K::kScalar},
      {HloOpcode::kAtanh, 1, &R::Unary, K::kScalar},
      {HloOpcode::kBatchNormGrad, 1, &R::BatchNorm},
      {HloOpcode::kBatchNormInference, 1, &R::BatchNorm},
      {HloOpcode::kBatchNormTraining, 1, &R::BatchNorm},
      {HloOpcode::kBitcast, 1, &R::Reshape, K::kFused},
      {HloOpcode::kBitcastConvert, 2, &R::Convert},
      {HloOpcode::kBroadcast, 4, &R::Broadcast, K::kFused},
      {HloOpcode::kCall, 2, &R::Call},
      {HloOpcode::kCbrt, 1, &R::Unary, K::kScalar},
      {HloOpcode::kCeil, 1, &R::Unary, K::kScalar},
      {HloOpcode::kCholesky, 1, &R::Cholesky},
      {HloOpcode::kClamp, 2, &R::Clamp, K::kScalar},
      {HloOpcode::kClz, 1, &R::Unary, K::kScalar},
      {HloOpcode::kCollectiveBroadcast, 3, &R::CollectiveBroadcast},
      {HloOpcode::kCollectivePermute, 4, &R::CollectivePermute},
      {HloOpcode::kCompare, 4, &R::Compare, K::kScalar},
      {HloOpcode::kComplex, 1, &R::Complex, K::kScalar},
      {HloOpcode::kConcatenate, 3, &R::Concatenate, K::kFused},
      {HloOpcode::kConditional, 2, &R::Conditional},
      {HloOpcode::kConstant, 2, &R::Constant, K::kFused},
      {HloOpcode::kConvert, 6, &R::Convert, K::kScalar},
      {HloOpcode::kConvolution, 2, &R::Convolution},
      {HloOpcode::kCopy, 1, &R::Copy, K::kFused},
      {HloOpcode::kCopyStart, 1, &R::CopyStart},
      {HloOpcode::kCos, 1, &R::Unary, K::kScalar},
      {HloOpcode::kCosh, 1, &R::Unary, K::kScalar},
      {HloOpcode::kDivide, 3, &R::Arithmetic, K::kScalar},
      {HloOpcode::kDot, 5, &R::Dot, K::kFused},
      {HloOpcode::kDynamicSlice, 3, &R::DynamicSlice, K::kFused},
      {HloOpcode::kDynamicUpdateSlice, 3, &R::DynamicUpdateSlice, K::kFused},
      {HloOpcode::kErf, 1, &R::Unary, K::kScalar},
      {HloOpcode::kExp, 2, &R::Unary, K::kScalar},
      {HloOpcode::kExpm1, 1, &R::Unary, K::kScalar},
      {HloOpcode::kFft, 1, &R::Fft},
      {HloOpcode::kFloor, 1, &R::Unary, K::kScalar},
      {HloOpcode::kFusion, 2, &R::Call},
      {HloOpcode::kGather, 3, &R::Gather, K::kFused},
      {HloOpcode::kGetDimensionSize, 1, &R::GetDimensionSize},
      {HloOpcode::kImag, 1, &R::Parts, K::kScalar},
      {HloOpcode::kIota, 3, &R::Iota, K::kFused},
      {HloOpcode::kIsFinite, 1, &R::Unary, K::kScalar},
      {HloOpcode::kLog, 1, &R::Unary, K::kScalar},
      {HloOpcode::kLog1p, 1, &R::Unary, K::kScalar},
      {HloOpcode::kLogistic, 1, &R::Unary, K::kScalar},
      {HloOpcode::kMap, 1, &R::Map},
      {HloOpcode::kMaximum, 3, &R::Arithmetic, K::kScalar},
      {HloOpcode::kMinimum, 3, &R::Arithmetic, K::kScalar},
      {HloOpcode::kMultiply, 6, &R::Arithmetic, K::kScalar},
      {HloOpcode::kNegate, 2, &R::Unary, K::kScalar},
      {HloOpcode::kNot, 1, &R::Unary, K::kScalar},
      {HloOpcode::kOptimizationBarrier, 1, &R::OptimizationBarrier},
      {HloOpcode::kOr, 2, &R::Bitwise, K::kScalar},
      {HloOpcode::kPad, 3, &R::Pad, K::kFused},
      {HloOpcode::kPartitionId, 2, &R::DeviceId},
      {HloOpcode::kPopulationCount, 1, &R::Unary, K::kScalar},
      {HloOpcode::kPower, 1, &R::Arithmetic, K::kScalar},
      {HloOpcode::kRaggedDot, 1, &R::RaggedDot},
      {HloOpcode::kReal, 1, &R::Parts, K::kScalar},
      {HloOpcode::kReduce, 6, &R::Reduce, K::kFused},
      {HloOpcode::kReducePrecision, 1, &R::ReducePrecision, K::kScalar},
      {HloOpcode::kReduceScatter, 4, &R::ReduceScatter},
      {HloOpcode::kReduceWindow, 2, &R::ReduceWindow},
      {HloOpcode::kRemainder, 2, &R::Arithmetic, K::kScalar},
      {HloOpcode::kReplicaId, 2, &R::DeviceId},
      {HloOpcode::kReshape, 4, &R::Reshape, K::kFused},
      {HloOpcode::kReverse, 2, &R::Reverse, K::kFused},
      {HloOpcode::kRngBitGenerator, 1, &R::RngBitGenerator},
      {HloOpcode::kRoundNearestAfz, 1, &R::Unary, K::kScalar},
      {HloOpcode::kRoundNearestEven, 1, &R::Unary, K::kScalar},
      {HloOpcode::kRsqrt, 1, &R::Unary, K::kScalar},
      {HloOpcode::kScan, 1, &R::Scan},
      {HloOpcode::kScatter, 2, &R::Scatter},
      {HloOpcode::kSelect, 4, &R::Select, K::kScalar},
      {HloOpcode::kSelectAndScatter, 1, &R::SelectAndScatter},
      {HloOpcode::kShiftLeft, 1, &R::Bitwise, K::kScalar},
      {HloOpcode::kShiftRightArithmetic, 1, &R::Bitwise, K::kScalar},
      {HloOpcode::kShiftRightLogical, 1, &R::Bitwise, K::kScalar},
      {HloOpcode::kSign, 1, &R::Unary, K::kScalar},
      {HloOpcode::kSin, 1, &R::Unary, K::kScalar},
      {HloOpcode::kSinh, 1, &R::Unary, K::kScalar},
      {HloOpcode::kSlice, 4, &R::Slice, K::kFused},
      {HloOpcode::kSort, 2, &R::Sort},
      {HloOpcode::kSqrt, 1, &R::Unary, K::kScalar},
      {HloOpcode::kStochasticConvert, 1, &R::StochasticConvert},
      {HloOpcode::kSubtract, 5, &R::Arithmetic, K::kScalar},
      {HloOpcode::kTan, 1, &R::Unary, K::kScalar},
      {HloOpcode::kTanh, 2, &R::Unary, K::kScalar},
      {HloOpcode::kTopK, 1, &R::TopK},
      {HloOpcode::kTranspose, 4, &R::Transpose, K::kFused},
      {HloOpcode::kTriangularSolve, 1, &R::TriangularSolve},
      {HloOpcode::kTuple, 2, &R::Tuple},
      {HloOpcode::kWhile, 2, &R::While},
      {HloOpcode::kXor, 2, &R::Bitwise, K::kScalar},
  };
  return kRows;
}

RandomComputation::RandomComputation(ModuleState& state, int64_t depth,
                                     std::string name, Kind kind)
    : state_(state), depth_(depth), kind_(kind), builder_(name) {}

Shape RandomComputation::NewShape(PrimitiveType type) {
  return kind_ == Kind::kScalar ? ShapeUtil::MakeShape(type, {})
                                : state_.RandomShape(type);
}

Value RandomComputation::AddParameter(const Shape& shape, Range range,
                                      bool stable) {
  const int64_t number = parameters_++;
  Value value{Add(HloInstruction::CreateParameter(number, shape,
                                                  absl::StrCat("p", number))),
              range, stable};
  if (shape.IsArray()) Publish(value);
  return value;
}

Value RandomComputation::Publish(std::unique_ptr<HloInstruction> instruction,
                                 Range range, bool stable) {
  const PrimitiveType type = instruction->shape().element_type();
  const Range limit = state_.Limit(type);
  if (!range.Within(limit)) {
    range = IsIntegerLike(type) ? limit
                                : Range{std::max(range.lo, limit.lo),
                                        std::min(range.hi, limit.hi)};
  }
  Value value{Add(std::move(instruction)), range,
              stable || IsIntegerLike(type)};
  Publish(value);
  return value;
}

Value RandomComputation::Pick(absl::FunctionRef<bool(const Value&)> wanted) {
  const int64_t size = values_.size();
  const int64_t window = std::min(size, kWindow);
  if (window == 0) return Value();
  const int64_t first = state_.Below(window);
  const bool prefer_unread = !state_.OneIn(3);
  Value found;
  for (int64_t i = 0; i < window; ++i) {
    const Value& value = values_[size - window + (first + i) % window];
    if (!wanted(value)) continue;
    if (!prefer_unread || value.instruction->users().empty()) return value;
    if (found.instruction == nullptr) found = value;
  }
  return found;
}

Value RandomComputation::PickArray(
    absl::FunctionRef<bool(const Value&)> wanted) {
  if (depth_ == 0 && state_.OneIn(6)) {
    Value source = NewSource(NewShape(state_.RandomType()));
    if (wanted(source)) return source;
  }
  return Pick(wanted);
}

Value RandomComputation::PickOfType(
    absl::FunctionRef<bool(PrimitiveType)> wanted) {
  Value value =
      PickArray([&](const Value& value) { return wanted(value.type()); });
  if (value.instruction != nullptr) return value;
  std::vector<PrimitiveType> types;
  for (PrimitiveType type : state_.types) {
    if (wanted(type)) types.push_back(type);
  }
  if (types.empty()) return Value();
  return NewSource(NewShape(types[state_.Below(types.size())]));
}

Value RandomComputation::PickLike(const Value& like) {
  Value value = Pick([&](const Value& value) {
    return value.instruction != like.instruction &&
           ShapeUtil::Compatible(value.shape(), like.shape());
  });
  if (value.instruction != nullptr && !state_.OneIn(5)) return value;
  if (state_.OneIn(8)) return like;
  return Make(like.shape(), state_.Limit(like.type()));
}

Value RandomComputation::NewSource(const Shape& shape) {
  const PrimitiveType type = shape.element_type();
  if (depth_ == 0 &&
      parameters_ < 4 + static_cast<int64_t>(values_.size()) / 6) {
    Range range = state_.Limit(type);
    if (!IsIntegerLike(type)) {
      const double bound = state_.options.exact ? std::min(4.0, range.hi) : 1;
      range = {-bound, bound};
    }
    return AddParameter(shape, range, /*stable=*/true);
  }
  Value value = Pick([&](const Value& value) {
    return value.type() == type && ShapeUtil::ElementsIn(value.shape()) > 0;
  });
  if (value.instruction != nullptr && !state_.OneIn(3)) {
    return Refit(value, shape);
  }
  Range range = state_.Limit(type);
  return NewConstant(shape,
                     {std::max(range.lo, -4.0), std::min(range.hi, 4.0)});
}

Value RandomComputation::NewConstant(const Shape& shape, Range range) {
  const PrimitiveType type = shape.element_type();
  // Eighths where the type has room for them; integers else.
  const double step = IsIntegerLike(type) || state_.options.exact ? 1 : 0.125;
  const int64_t first = static_cast<int64_t>(std::ceil(range.lo / step));
  const int64_t last = std::max(
      first, static_cast<int64_t>(std::floor(std::min(range.hi / step, 1e15))));
  const bool splat = ShapeUtil::ElementsIn(shape) > 16;
  Literal literal(splat ? ShapeUtil::MakeShape(type, {}) : shape);
  ShapeUtil::ForEachIndex(
      literal.shape(), [&](absl::Span<const int64_t> index) {
        const double value = state_.Between(first, last) * step;
        absl::Status status =
            IsIntegerLike(type)
                ? literal.SetIntegralAsS64(index, static_cast<int64_t>(value))
                : literal.SetFromDouble(index, value);
        CHECK_OK(status);
        return true;
      });
  const Range values = {first * step, last * step};
  HloInstruction* constant =
      Add(HloInstruction::CreateConstant(std::move(literal)));
  if (!splat) {
    Value value{constant, values, true};
    Publish(value);
    return value;
  }
  return Publish(HloInstruction::CreateBroadcast(shape, constant, {}), values,
                 true);
}

HloInstruction* RandomComputation::ScalarConstant(PrimitiveType type,
                                                  double value) {
  Literal literal(ShapeUtil::MakeShape(type, {}));
  CHECK_OK(IsIntegerLike(type)
               ? literal.SetIntegralAsS64({}, static_cast<int64_t>(value))
               : literal.SetFromDouble({}, value));
  return Add(HloInstruction::CreateConstant(std::move(literal)));
}

HloInstruction* RandomComputation::BroadcastScalar(const Shape& shape,
                                                   double value) {
  HloInstruction* scalar = ScalarConstant(shape.element_type(), value);
  if (shape.dimensions().empty()) return scalar;
  return Add(HloInstruction::CreateBroadcast(shape, scalar, {}));
}

Value RandomComputation::Bounded(const Value& value, Range range) {
  if (value.range.Within(range) || value.type() == PRED) return value;
  if (primitive_util::IsComplexType(value.type())) {
    return NewConstant(value.shape(), range);
  }
  if (IsIntegerLike(value.type()) || state_.options.exact) {
    range = {std::ceil(range.lo), std::floor(range.hi)};
  }
  HloInstruction* lo = ScalarConstant(value.type(), range.lo);
  HloInstruction* hi = ScalarConstant(value.type(), range.hi);
  return Publish(HloInstruction::CreateTernary(value.shape(), HloOpcode::kClamp,
                                               lo, value.instruction, hi),
                 range, value.stable);
}

Value RandomComputation::Refit(const Value& value, const Shape& shape) {
  const int64_t have = ShapeUtil::ElementsIn(value.shape());
  const int64_t want = ShapeUtil::ElementsIn(shape);
  if (ShapeUtil::Compatible(value.shape(), shape)) return value;
  if (value.shape().dimensions().empty()) {
    return Publish(
        HloInstruction::CreateBroadcast(shape, value.instruction, {}),
        value.range, value.stable);
  }
  HloInstruction* flat = value.instruction;
  Range range = value.range;
  if (have != want) {
    const Shape have_flat = ShapeUtil::MakeShape(value.type(), {have});
    const Shape want_flat = ShapeUtil::MakeShape(value.type(), {want});
    if (value.shape().dimensions().size() != 1) {
      flat = Add(HloInstruction::CreateReshape(have_flat, flat));
    }
    if (have > want) {
      flat =
          Add(HloInstruction::CreateSlice(want_flat, flat, {0}, {want}, {1}));
    } else {
      PaddingConfig padding;
      padding.add_dimensions()->set_edge_padding_high(want - have);
      flat = Add(HloInstruction::CreatePad(
          want_flat, flat, ScalarConstant(value.type(), 0), padding));
      range = Union(range, {0, 0});
    }
    if (shape.dimensions().size() == 1) {
      Value result{flat, range, value.stable};
      Publish(result);
      return result;
    }
  }
  return Publish(HloInstruction::CreateReshape(shape, flat), range,
                 value.stable);
}

Value RandomComputation::Make(const Shape& shape, Range range) {
  Value value = Pick([&](const Value& value) {
    return ShapeUtil::Compatible(value.shape(), shape) &&
           (value.range.Within(range) ||
            !primitive_util::IsComplexType(value.type()));
  });
  if (value.instruction == nullptr || state_.OneIn(6)) {
    value = NewSource(shape);
  }
  return Bounded(value, range);
}

Value RandomComputation::MakeIndices(const Shape& shape, int64_t bound) {
  const PrimitiveType type = shape.element_type();
  const double top = static_cast<double>(std::max<int64_t>(bound - 1, 0));
  Value value = Pick([&](const Value& value) {
    return value.type() == type && ShapeUtil::Compatible(value.shape(), shape);
  });
  if (value.instruction == nullptr || state_.OneIn(2)) {
    return NewConstant(shape, {0, top});
  }
  // The low bits of any integer, then down to the bound.
  HloInstruction* mask = BroadcastScalar(shape, 7);
  value = Publish(HloInstruction::CreateBinary(shape, HloOpcode::kAnd,
                                               value.instruction, mask),
                  {0, 7}, true);
  return Bounded(value, {0, top});
}

bool RandomComputation::MayDecide(const Value& value) const {
  return value.stable || !state_.options.stable_decisions ||
         state_.options.exact;
}

bool RandomComputation::Fits(PrimitiveType type, Range range) const {
  return IsIntegerLike(type) || state_.options.undefined_numerics ||
         range.Within(state_.Limit(type));
}

std::vector<Value> RandomComputation::Unread() const {
  std::vector<Value> unread;
  for (const Value& value : values_) {
    if (value.instruction->users().empty()) unread.push_back(value);
  }
  return unread;
}

HloInstruction* RandomComputation::TupleOf(absl::Span<const Value> values) {
  std::vector<HloInstruction*> elements;
  for (const Value& value : values) elements.push_back(value.instruction);
  return Add(HloInstruction::CreateTuple(elements));
}

HloInstruction* RandomComputation::MakeEntryRoot() {
  std::vector<Value> unread = Unread();
  if (unread.empty()) {
    unread.push_back(NewConstant(state_.RandomShape(state_.types[0]), {0, 1}));
  }
  // A part that stays dead.
  if (unread.size() > 1 && state_.OneIn(8)) unread.pop_back();
  if (unread.size() == 1 && !state_.OneIn(4)) return unread[0].instruction;
  if (!state_.options.tuples || unread.size() < 3 || state_.OneIn(2)) {
    return TupleOf(unread);
  }
  const int64_t split = state_.Between(1, unread.size() - 1);
  HloInstruction* inner = TupleOf(absl::MakeConstSpan(unread).first(split));
  std::vector<HloInstruction*> elements = {inner};
  for (size_t i = split; i < unread.size(); ++i) {
    elements.push_back(unread[i].instruction);
  }
  return Add(HloInstruction::CreateTuple(elements));
}

HloComputation* RandomComputation::Finish(HloInstruction* root, bool is_entry) {
  std::unique_ptr<HloComputation> computation = builder_.Build(root);
  return is_entry
             ? state_.module->AddEntryComputation(std::move(computation))
             : state_.module->AddEmbeddedComputation(std::move(computation));
}

}  // namespace random_module_internal
}  // namespace xla
