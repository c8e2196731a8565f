#include "xla/hlo/testlib/mutator/module_detours.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace module_mutator_internal {
namespace {

HloInstruction* OddValue(HloInstruction* beside, Picker& pick) {
  switch (pick.Below(4)) {
    case 0:
      return Add(beside, HloInstruction::CreateToken());
    case 1:
      return Constant(beside, Literal(ShapeUtil::MakeShape(F32, {0, 3})));
    case 2:
      return Add(beside, HloInstruction::CreateTuple({}));
    default:
      return Constant(beside, LiteralUtil::CreateR0<bool>(true));
  }
}

// Element 0 of (x, odd values); the tuple may be copied or nested before.
HloInstruction* ThroughTuple(HloInstruction* inst, Picker& pick) {
  std::vector<HloInstruction*> parts = {inst};
  for (size_t n = pick.Below(3); n > 0; --n) {
    parts.push_back(pick.OneIn(3) ? inst : OddValue(inst, pick));
  }
  HloInstruction* tuple = Add(inst, HloInstruction::CreateTuple(parts));
  if (pick.OneIn(2)) {
    tuple = Add(inst, HloInstruction::CreateUnary(
                          tuple->shape(),
                          pick.OneIn(3) ? HloOpcode::kCopy
                                        : HloOpcode::kOptimizationBarrier,
                          tuple));
  }
  if (pick.OneIn(3)) {
    HloInstruction* outer =
        Add(inst, HloInstruction::CreateTuple({tuple, tuple, inst}));
    tuple = Add(inst, HloInstruction::CreateGetTupleElement(
                          outer, pick.OneIn(2) ? 0 : 1));
  }
  return Add(inst, HloInstruction::CreateGetTupleElement(tuple, 0));
}

// { ROOT x = parameter(0) }, maybe with a copy.
HloComputation* Identity(HloInstruction* inst, Picker& pick, bool just_root) {
  HloComputation::Builder builder("odd_identity");
  HloInstruction* parameter = builder.AddInstruction(
      HloInstruction::CreateParameter(0, inst->shape(), "odd_p"));
  if (just_root || pick.OneIn(2)) {
    builder.AddInstruction(HloInstruction::CreateUnary(
        inst->shape(), HloOpcode::kCopy, parameter));
  }
  return inst->GetModule()->AddEmbeddedComputation(builder.Build());
}

HloInstruction* ThroughCall(HloInstruction* inst, Picker& pick) {
  return Add(inst, HloInstruction::CreateCall(inst->shape(), {inst},
                                              Identity(inst, pick, false)));
}

HloInstruction* ThroughFusion(HloInstruction* inst, Picker& pick) {
  if (!inst->shape().IsArray()) return nullptr;
  return Add(inst, HloInstruction::CreateFusion(
                       inst->shape(), HloInstruction::FusionKind::kLoop, {inst},
                       Identity(inst, pick, true)));
}

HloInstruction* ThroughConditional(HloInstruction* inst, Picker& pick) {
  HloInstruction* selector =
      Constant(inst, LiteralUtil::CreateR0<bool>(pick.OneIn(2)));
  HloComputation* first = Identity(inst, pick, false);
  HloComputation* second = pick.OneIn(3) ? first : Identity(inst, pick, false);
  return Add(inst, HloInstruction::CreateConditional(
                       inst->shape(), selector, inst, first, inst, second));
}

// while (i < n) { ++i } that carries the value, and maybe an odd one.
HloInstruction* ThroughLoop(HloInstruction* inst, Picker& pick) {
  HloInstruction* zero = Constant(inst, LiteralUtil::CreateR0<int32_t>(0));
  std::vector<HloInstruction*> parts = {zero, inst};
  if (pick.OneIn(2)) parts.push_back(OddValue(inst, pick));
  if (pick.OneIn(2)) parts.push_back(inst);
  HloInstruction* init = Add(inst, HloInstruction::CreateTuple(parts));
  const Shape& state = init->shape();

  HloComputation::Builder body("odd_body");
  HloInstruction* in = body.AddInstruction(
      HloInstruction::CreateParameter(0, state, "odd_state"));
  std::vector<HloInstruction*> out;
  for (size_t i = 0; i < parts.size(); ++i) {
    out.push_back(
        body.AddInstruction(HloInstruction::CreateGetTupleElement(in, i)));
  }
  HloInstruction* one = body.AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::CreateR0<int32_t>(1)));
  out[0] = body.AddInstruction(HloInstruction::CreateBinary(
      zero->shape(), HloOpcode::kAdd, out[0], one));
  body.AddInstruction(HloInstruction::CreateTuple(out));

  HloComputation::Builder condition("odd_condition");
  in = condition.AddInstruction(
      HloInstruction::CreateParameter(0, state, "odd_state"));
  HloInstruction* i =
      condition.AddInstruction(HloInstruction::CreateGetTupleElement(in, 0));
  HloInstruction* trips =
      condition.AddInstruction(HloInstruction::CreateConstant(
          LiteralUtil::CreateR0<int32_t>(pick.Below(4))));
  condition.AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {}), i, trips, Comparison::Direction::kLt));

  HloModule* module = inst->GetModule();
  HloInstruction* loop =
      Add(inst, HloInstruction::CreateWhile(
                    state, module->AddEmbeddedComputation(condition.Build()),
                    module->AddEmbeddedComputation(body.Build()), init));
  return Add(inst, HloInstruction::CreateGetTupleElement(
                       loop, parts.back() == inst ? parts.size() - 1 : 1));
}

HloInstruction* ThroughAsync(HloInstruction* inst, Picker& pick) {
  const Shape& shape = inst->shape();
  const Shape context = ShapeUtil::MakeShape(U32, {});
  if (pick.OneIn(2) && shape.IsArray()) {
    HloInstruction* start = Add(
        inst, HloInstruction::CreateCopyStart(
                  ShapeUtil::MakeTupleShape({shape, shape, context}), inst));
    return Add(inst,
               HloInstruction::CreateUnary(shape, HloOpcode::kCopyDone, start));
  }
  HloComputation* callee = Identity(inst, pick, false);
  HloComputation::Builder wrapper("odd_async");
  HloInstruction* parameter = wrapper.AddInstruction(
      HloInstruction::CreateParameter(0, shape, "odd_p"));
  wrapper.AddInstruction(
      HloInstruction::CreateCall(shape, {parameter}, callee));
  HloInstruction* start =
      Add(inst, HloInstruction::CreateAsyncStart(
                    ShapeUtil::MakeTupleShape(
                        {ShapeUtil::MakeTupleShape({shape}), shape, context}),
                    {inst},
                    inst->GetModule()->AddEmbeddedComputation(wrapper.Build()),
                    pick.OneIn(2) ? "main" : "odd_thread"));
  return Add(inst, HloInstruction::CreateAsyncDone(shape, start));
}

// An instruction that gives the array that it reads.
HloInstruction* ThroughArray(HloInstruction* inst, Picker& pick) {
  const Shape& shape = inst->shape();
  if (!shape.IsArray() || shape.is_dynamic()) return nullptr;
  const int64_t rank = shape.dimensions().size();
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  const std::vector<int64_t> zeros(rank, 0);
  const std::vector<int64_t> ones(rank, 1);
  const std::vector<int64_t> sizes(shape.dimensions().begin(),
                                   shape.dimensions().end());
  switch (pick.Below(12)) {
    case 0:
      return Add(inst, HloInstruction::CreateBitcast(shape, inst));
    case 1:
      return Add(inst, HloInstruction::CreateReshape(shape, inst));
    case 2:
      return Add(inst, HloInstruction::CreateTranspose(shape, inst, axes));
    case 3:
      return Add(inst, HloInstruction::CreateConvert(shape, inst));
    case 4:
      return Add(inst, HloInstruction::CreateBroadcast(shape, inst, axes));
    case 5:
      return Add(inst, HloInstruction::CreateReverse(shape, inst, {}));
    case 6:
      return Add(inst,
                 HloInstruction::CreateSlice(shape, inst, zeros, sizes, ones));
    case 7: {
      if (rank == 0) return nullptr;
      return Add(inst, HloInstruction::CreateConcatenate(shape, {inst},
                                                         pick.Below(rank)));
    }
    case 8: {
      const std::vector<HloInstruction*> starts(
          rank, Constant(inst, LiteralUtil::CreateR0<int32_t>(0)));
      return Add(
          inst, HloInstruction::CreateDynamicSlice(shape, inst, starts, sizes));
    }
    case 9: {
      const std::vector<HloInstruction*> starts(
          rank, Constant(inst, LiteralUtil::CreateR0<int32_t>(0)));
      return Add(inst, HloInstruction::CreateDynamicUpdateSlice(shape, inst,
                                                                inst, starts));
    }
    case 10: {
      HloInstruction* yes =
          Constant(inst, LiteralUtil::CreateR0<bool>(pick.OneIn(2)));
      HloInstruction* which =
          Add(inst, HloInstruction::CreateBroadcast(
                        ShapeUtil::ChangeElementType(shape, PRED), yes, {}));
      return Add(inst, HloInstruction::CreateTernary(shape, HloOpcode::kSelect,
                                                     which, inst, inst));
    }
    default:
      if (!primitive_util::IsFloatingPointType(shape.element_type())) {
        return nullptr;
      }
      return Add(inst, HloInstruction::CreateReducePrecision(
                           shape, inst, /*exponent_bits=*/11,
                           /*mantissa_bits=*/52));
  }
}

}  // namespace

HloInstruction* Add(HloInstruction* beside,
                    std::unique_ptr<HloInstruction> instruction) {
  return beside->parent()->AddInstruction(std::move(instruction));
}

HloInstruction* Constant(HloInstruction* beside, Literal literal) {
  return Add(beside, HloInstruction::CreateConstant(std::move(literal)));
}

absl::flat_hash_set<const HloInstruction*> AsyncStateHolders(
    const HloModule& module) {
  absl::flat_hash_set<const HloInstruction*> holders;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* start : computation->instructions()) {
      if (!start->IsAsyncProducer() &&
          !HloPredicateIsOp<
              HloOpcode::kAllGatherStart, HloOpcode::kAllReduceStart,
              HloOpcode::kCollectivePermuteStart, HloOpcode::kCopyStart,
              HloOpcode::kRecv, HloOpcode::kSend>(start)) {
        continue;
      }
      for (const AsyncStatePlace& place : AsyncStatePlaces(start)) {
        holders.insert(place.inst);
      }
    }
  }
  return holders;
}

HloInstruction* Detour(HloInstruction* inst, bool holds_state, Picker& pick) {
  // Those that hand a state on, whole.
  constexpr size_t kPassOn[] = {0, 1, 2, 3, 4, 8, 9, 10};
  switch (holds_state ? kPassOn[pick.Below(std::size(kPassOn))]
                      : pick.Below(14)) {
    case 0:
    case 1:
      return ThroughTuple(inst, pick);
    case 2:
      return ThroughCall(inst, pick);
    case 3:
      return ThroughConditional(inst, pick);
    case 4:
      return ThroughLoop(inst, pick);
    case 5:
      return ThroughAsync(inst, pick);
    case 6:
      return ThroughFusion(inst, pick);
    case 7: {
      HloInstruction* token = Add(inst, HloInstruction::CreateToken());
      return Add(inst, HloInstruction::CreateAddDependency(inst, token));
    }
    case 8:
      return Add(inst,
                 HloInstruction::CreateUnary(
                     inst->shape(), HloOpcode::kOptimizationBarrier, inst));
    case 9:
      return Add(inst, HloInstruction::CreateCustomCall(inst->shape(), {inst},
                                                        "Sharding"));
    case 10:
      return Add(inst, HloInstruction::CreateUnary(inst->shape(),
                                                   HloOpcode::kCopy, inst));
    default:
      return ThroughArray(inst, pick);
  }
}

}  // namespace module_mutator_internal
}  // namespace xla
