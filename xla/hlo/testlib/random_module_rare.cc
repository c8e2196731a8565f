// Opcodes, places and types that programs rarely hold, for options.odd: each
// recipe reads an array and returns one of the same shape, within its range.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/hlo_sharding_metadata.h"
#include "xla/hlo/testlib/random_computation.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace random_module_internal {
namespace {

const Shape& Scalar() {
  static const Shape* const shape = new Shape(ShapeUtil::MakeShape(S32, {}));
  return *shape;
}

// Adds to one computation what the recipes need.
class Adder {
 public:
  Adder(ModuleState& state, HloComputation* computation)
      : state_(state), computation_(computation) {}

  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction) {
    return computation_->AddInstruction(std::move(instruction));
  }
  HloInstruction* Number(int32_t value) {
    return Add(
        HloInstruction::CreateConstant(LiteralUtil::CreateR0<int32_t>(value)));
  }
  HloInstruction* Element(HloInstruction* tuple, int64_t index) {
    return Add(HloInstruction::CreateGetTupleElement(tuple, index));
  }
  // An array of equal elements.
  HloInstruction* Fill(const Shape& shape, Literal element) {
    return Add(HloInstruction::CreateBroadcast(
        shape, Add(HloInstruction::CreateConstant(std::move(element))), {}));
  }

  HloInstruction* Domain(HloInstruction* x);
  HloInstruction* HighProduct(HloInstruction* x);
  HloInstruction* DynamicSizes(HloInstruction* x);
  HloInstruction* ScaledDot(HloInstruction* x);
  HloInstruction* RaggedAllToAll(HloInstruction* x);
  HloInstruction* TokensInCalls(HloInstruction* x);

 private:
  HloComputation* Embed(HloComputation::Builder& builder) {
    return state_.module->AddEmbeddedComputation(builder.Build());
  }
  HloComputation* TwoTrips(const Shape& shape);

  ModuleState& state_;
  HloComputation* computation_;
};

HloInstruction* Adder::Domain(HloInstruction* x) {
  const auto on = [](int64_t device) {
    return std::make_unique<ShardingMetadata>(
        std::make_shared<const HloSharding>(HloSharding::AssignDevice(device)));
  };
  return Add(HloInstruction::CreateDomain(x->shape(), x, on(0), on(1)));
}

// Only of types whose values may be anything.
HloInstruction* Adder::HighProduct(HloInstruction* x) {
  const PrimitiveType type = x->shape().element_type();
  if (!primitive_util::IsIntegralType(type) || type == PRED) return nullptr;
  return Add(HloInstruction::CreateBinary(x->shape(), HloOpcode::kMulhi, x, x));
}

// The sizes of an array that became shorter are where a slice of all of x
// begins, which is at 0 whatever they are.
HloInstruction* Adder::DynamicSizes(HloInstruction* x) {
  const int64_t size = x->shape().dimensions(0);
  Shape dynamic = x->shape();
  dynamic.set_dynamic_dimension(0, true);
  HloInstruction* length =
      Number(static_cast<int32_t>(state_.Between(0, size)));
  HloInstruction* shorter =
      Add(HloInstruction::CreateSetDimensionSize(dynamic, x, length, 0));
  if (dynamic.dimensions().size() == 1) {
    shorter =
        Add(HloInstruction::CreateDynamicReshape(dynamic, shorter, {length}));
  }
  HloInstruction* start =
      Add(HloInstruction::CreateGetDimensionSize(Scalar(), shorter, 0));
  const std::vector<HloInstruction*> starts(x->shape().dimensions().size(),
                                            start);
  return Add(HloInstruction::CreateDynamicSlice(x->shape(), x, starts,
                                                x->shape().dimensions()));
}

// The mean of each row, in each place of it.
HloInstruction* Adder::ScaledDot(HloInstruction* x) {
  const Shape& shape = x->shape();
  if (shape.element_type() != F32 || shape.dimensions().size() != 2 ||
      ShapeUtil::IsZeroElementArray(shape)) {
    return nullptr;
  }
  const int64_t k = shape.dimensions(1);
  DotDimensionNumbers numbers;
  numbers.add_lhs_contracting_dimensions(1);
  numbers.add_rhs_contracting_dimensions(0);
  PrecisionConfig precision;
  precision.mutable_operand_precision()->Resize(2, PrecisionConfig::DEFAULT);
  HloInstruction* weights =
      Fill(ShapeUtil::MakeShape(F32, {k, k}),
           LiteralUtil::CreateR0(1.0f / static_cast<float>(k)));
  HloInstruction* rows =
      Fill(ShapeUtil::MakeShape(F32, {shape.dimensions(0), 1}),
           LiteralUtil::One(F32));
  HloInstruction* all =
      Fill(ShapeUtil::MakeShape(F32, {}), LiteralUtil::One(F32));
  return Add(HloInstruction::CreateScaledDot(shape, x, weights, rows, all,
                                             numbers, precision));
}

// Nobody sends anything.
HloInstruction* Adder::RaggedAllToAll(HloInstruction* x) {
  // In the entry all devices meet.
  const int64_t replicas = state_.options.num_replicas;
  if (replicas < 2 || !computation_->IsEntryComputation()) return nullptr;
  ReplicaGroup group;
  for (int64_t i = 0; i < replicas; ++i) group.add_replica_ids(i);
  HloInstruction* none =
      Fill(ShapeUtil::MakeShape(S32, {replicas}), LiteralUtil::Zero(S32));
  return Add(HloInstruction::CreateRaggedAllToAll(
      x->shape(), {x, x, none, none, none, none},
      absl::Span<const ReplicaGroup>(&group, 1), std::nullopt));
}

HloComputation* Adder::TwoTrips(const Shape& shape) {
  HloComputation::Builder builder("two_trips");
  HloInstruction* in = builder.AddInstruction(
      HloInstruction::CreateParameter(0, shape, "state"));
  HloInstruction* trip =
      builder.AddInstruction(HloInstruction::CreateGetTupleElement(in, 0));
  HloInstruction* two = builder.AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::CreateR0<int32_t>(2)));
  builder.AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {}), trip, two, Comparison::Direction::kLt));
  return Embed(builder);
}

// A loop carries a tuple of a token and x beside another token; a call and a
// conditional take that one and return it.
HloInstruction* Adder::TokensInCalls(HloInstruction* x) {
  const Shape token = ShapeUtil::MakeTokenShape();
  const Shape pair = ShapeUtil::MakeTupleShape({token, x->shape()});
  const Shape state = ShapeUtil::MakeTupleShape({Scalar(), pair, token});

  HloComputation::Builder body("token_body");
  const auto add = [&](std::unique_ptr<HloInstruction> instruction) {
    return body.AddInstruction(std::move(instruction));
  };
  HloInstruction* in = add(HloInstruction::CreateParameter(0, state, "state"));
  HloInstruction* trip = add(HloInstruction::CreateGetTupleElement(in, 0));
  HloInstruction* old = add(HloInstruction::CreateGetTupleElement(in, 1));
  HloInstruction* first = add(HloInstruction::CreateGetTupleElement(old, 0));
  HloInstruction* value = add(HloInstruction::CreateGetTupleElement(old, 1));
  HloInstruction* second = add(HloInstruction::CreateGetTupleElement(in, 2));
  HloInstruction* both = add(HloInstruction::CreateAfterAll({first, second}));
  value = add(HloInstruction::CreateAddDependency(value, both));
  HloInstruction* one =
      add(HloInstruction::CreateConstant(LiteralUtil::CreateR0<int32_t>(1)));
  trip =
      add(HloInstruction::CreateBinary(Scalar(), HloOpcode::kAdd, trip, one));
  old = add(HloInstruction::CreateTuple({second, value}));
  add(HloInstruction::CreateTuple({trip, old, both}));

  HloInstruction* begin = Add(HloInstruction::CreateToken());
  HloInstruction* init = Add(HloInstruction::CreateTuple(
      {Number(0), Add(HloInstruction::CreateTuple({begin, x})), begin}));
  HloInstruction* loop = Add(
      HloInstruction::CreateWhile(state, TwoTrips(state), Embed(body), init));

  HloInstruction* end = Element(loop, 2);
  std::vector<HloComputation*> callees;
  for (const char* name : {"token_callee", "token_branch", "token_branch"}) {
    HloComputation::Builder builder(name);
    builder.AddInstruction(HloInstruction::CreateParameter(0, token, "token"));
    callees.push_back(Embed(builder));
  }
  end = Add(HloInstruction::CreateCall(token, {end}, callees[0]));
  HloInstruction* which = Add(
      HloInstruction::CreateConstant(LiteralUtil::CreateR0(state_.OneIn(2))));
  end = Add(HloInstruction::CreateConditional(token, which, end, callees[1],
                                              end, callees[2]));
  return Add(
      HloInstruction::CreateAddDependency(Element(Element(loop, 1), 1), end));
}

// What has one array as its result and calls nothing but reducers.
bool StandsAlone(const HloInstruction* instruction) {
  return instruction->shape().IsArray() &&
         !instruction->HasControlDependencies() &&
         ((instruction->IsElementwise() && !instruction->IsConstant()) ||
          HloPredicateIsOp<
              HloOpcode::kBitcastConvert, HloOpcode::kBroadcast,
              HloOpcode::kConvolution, HloOpcode::kDot,
              HloOpcode::kDynamicSlice, HloOpcode::kDynamicUpdateSlice,
              HloOpcode::kGather, HloOpcode::kIota, HloOpcode::kPad,
              HloOpcode::kReduce, HloOpcode::kReduceWindow, HloOpcode::kReshape,
              HloOpcode::kReverse, HloOpcode::kScatter,
              HloOpcode::kSelectAndScatter, HloOpcode::kSlice, HloOpcode::kSort,
              HloOpcode::kTranspose>(instruction));
}

}  // namespace

void WrapAlone(ModuleState& state, HloComputation* computation) {
  for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
    if (!StandsAlone(inst) || !state.OneIn(12)) continue;
    if (state.OneIn(3)) {
      CHECK_OK(
          computation
              ->CreateAsyncInstructions(inst, {ShapeUtil::MakeShape(U32, {})})
              .status());
    } else {
      computation->CreateFusionInstruction({inst},
                                           HloInstruction::FusionKind::kLoop);
    }
  }
}

void AddRareOpcodes(ModuleState& state, HloComputation* computation) {
  constexpr HloInstruction* (Adder::*kRecipes[])(HloInstruction*) = {
      &Adder::Domain,    &Adder::HighProduct,    &Adder::DynamicSizes,
      &Adder::ScaledDot, &Adder::RaggedAllToAll, &Adder::TokensInCalls};
  Adder adder(state, computation);
  for (HloInstruction* x : computation->MakeInstructionPostOrder()) {
    if (!x->shape().IsArray() || x->shape().dimensions().empty() ||
        x->shape().is_dynamic() || x->users().empty() || !state.OneIn(6)) {
      continue;
    }
    HloInstruction* reader = x->users()[state.Below(x->user_count())];
    // What is started is read by what finishes it.
    if (x->opcode() == HloOpcode::kAllReduceStart) continue;
    // Bitcasts and what is started read the bytes as they lie.
    if (HloPredicateIsOp<HloOpcode::kAsyncStart, HloOpcode::kBitcast,
                         HloOpcode::kCopyStart>(reader)) {
      continue;
    }
    const auto recipe = kRecipes[state.Below(std::size(kRecipes))];
    HloInstruction* result = (adder.*recipe)(x);
    if (result != nullptr) CHECK_OK(x->ReplaceUseWith(reader, result));
  }
}

}  // namespace random_module_internal
}  // namespace xla
