// One instruction of every opcode: made, visited, cloned, compared.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/dfs_hlo_visitor_with_default.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/hlo_sharding_metadata.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

class CreateTest : public ::testing::Test {
 protected:
  CreateTest() : module_("test", HloModuleConfig()) {
    add_ = AddScalarAdd("add");
    HloComputation::Builder body("body");
    body.AddInstruction(HloInstruction::CreateParameter(0, shape_, "p"));
    body_ = module_.AddEmbeddedComputation(body.Build());
    HloComputation::Builder condition("condition");
    condition.AddInstruction(HloInstruction::CreateParameter(0, shape_, "p"));
    condition.AddInstruction(
        HloInstruction::CreateConstant(LiteralUtil::CreateR0<bool>(true)));
    condition_ = module_.AddEmbeddedComputation(condition.Build());

    HloComputation::Builder builder("entry");
    auto add_parameter = [&](const Shape& shape) {
      const int64_t i = next_parameter_++;
      return builder.AddInstruction(
          HloInstruction::CreateParameter(i, shape, absl::StrCat("p", i)));
    };
    a_ = add_parameter(shape_);
    b_ = add_parameter(shape_);
    c_ = add_parameter(shape_);
    f_ = add_parameter(scalar_);
    i_ = add_parameter(ShapeUtil::MakeShape(S32, {}));
    pred_ = add_parameter(ShapeUtil::MakeShape(PRED, {}));
    indices_ = add_parameter(ShapeUtil::MakeShape(S32, {3, 1}));
    updates_ = add_parameter(ShapeUtil::MakeShape(F32, {3, 8}));
    tuple_ = builder.AddInstruction(HloInstruction::CreateTuple({a_, b_}));
    token_ = builder.AddInstruction(HloInstruction::CreateToken());
    entry_ = module_.AddEntryComputation(builder.Build());
    MakeAll();
  }

  HloComputation* AddScalarAdd(const char* name) {
    HloComputation::Builder builder(name);
    auto* x = builder.AddInstruction(
        HloInstruction::CreateParameter(0, scalar_, "x"));
    auto* y = builder.AddInstruction(
        HloInstruction::CreateParameter(1, scalar_, "y"));
    builder.AddInstruction(
        HloInstruction::CreateBinary(scalar_, HloOpcode::kAdd, x, y));
    return module_.AddEmbeddedComputation(builder.Build());
  }

  HloInstruction* Keep(std::unique_ptr<HloInstruction> inst) {
    made_.push_back(entry_->AddInstruction(std::move(inst)));
    return made_.back();
  }

  void MakeElementwise() {
    for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
      const HloOpcode opcode = static_cast<HloOpcode>(i);
      if (opcode == HloOpcode::kReducePrecision ||
          opcode == HloOpcode::kCompare) {
        continue;
      }
      if (HloOpcodeIsElementwiseUnary(opcode)) {
        Keep(HloInstruction::CreateUnary(shape_, opcode, a_));
      } else if (HloOpcodeIsElementwiseBinary(opcode)) {
        Keep(HloInstruction::CreateBinary(shape_, opcode, a_, b_));
      }
    }
    Keep(HloInstruction::CreateTernary(shape_, HloOpcode::kClamp, a_, b_, c_));
    Keep(HloInstruction::CreateTernary(shape_, HloOpcode::kSelect, a_, b_, c_));
    Keep(HloInstruction::CreateStochasticConvert(shape_, a_, b_));
    Keep(HloInstruction::CreateReducePrecision(shape_, a_, 5, 10));
    Keep(HloInstruction::CreateCompare(ShapeUtil::MakeShape(PRED, {4, 8}), a_,
                                       b_, ComparisonDirection::kLt));
    Keep(HloInstruction::CreateBitcast(shape_, a_));
    Keep(HloInstruction::CreateVariadic(tuple_->shape(), HloOpcode::kTuple,
                                        {a_, b_}));
    Keep(HloInstruction::CreateUnary(shape_, HloOpcode::kOptimizationBarrier,
                                     a_));
    Keep(HloInstruction::CreateAfterAll({token_}));
    Keep(HloInstruction::CreateAddDependency(a_, token_));
    Keep(HloInstruction::CreateReplicaId());
    Keep(HloInstruction::CreatePartitionId());
  }

  void MakeShapeChanging() {
    const Shape row = ShapeUtil::MakeShape(F32, {4});
    Keep(HloInstruction::CreateConstant(LiteralUtil::CreateR0<float>(1)));
    Keep(HloInstruction::CreateIota(shape_, 1));
    Keep(HloInstruction::CreateGetTupleElement(tuple_, 1));
    Keep(HloInstruction::CreateBroadcast(shape_, f_, {}));
    Keep(HloInstruction::CreateReshape(ShapeUtil::MakeShape(F32, {32}), a_));
    Keep(HloInstruction::CreateDynamicReshape(shape_, a_, {i_, i_}));
    Keep(HloInstruction::CreateTranspose(ShapeUtil::MakeShape(F32, {8, 4}), a_,
                                         {1, 0}));
    Keep(HloInstruction::CreateReverse(shape_, a_, {0}));
    Keep(HloInstruction::CreateConcatenate(ShapeUtil::MakeShape(F32, {8, 8}),
                                           {a_, b_}, 0));
    Keep(HloInstruction::CreateSlice(ShapeUtil::MakeShape(F32, {2, 4}), a_,
                                     {0, 0}, {4, 8}, {2, 2}));
    Keep(HloInstruction::CreateDynamicSlice(ShapeUtil::MakeShape(F32, {1, 8}),
                                            a_, {i_, i_}, {1, 8}));
    Keep(HloInstruction::CreateDynamicUpdateSlice(shape_, a_, b_, {i_, i_}));
    PaddingConfig padding;
    padding.add_dimensions()->set_edge_padding_low(1);
    padding.add_dimensions();
    Keep(HloInstruction::CreatePad(ShapeUtil::MakeShape(F32, {5, 8}), a_, f_,
                                   padding));
    Keep(HloInstruction::CreateGather(
        ShapeUtil::MakeShape(F32, {3, 8}), a_, indices_,
        HloGatherInstruction::MakeGatherDimNumbers({1}, {0}, {0}, 1), {1, 8},
        /*indices_are_sorted=*/true));
    Keep(HloInstruction::CreateScatter(
        shape_, a_, indices_, updates_, add_,
        HloScatterInstruction::MakeScatterDimNumbers({1}, {0}, {0}, 1),
        /*indices_are_sorted=*/false, /*unique_indices=*/true));
    Keep(HloInstruction::CreateGetDimensionSize(ShapeUtil::MakeShape(S32, {}),
                                                a_, 1));
    Keep(HloInstruction::CreateSetDimensionSize(shape_, a_, i_, 1));
    Keep(HloInstruction::CreateReduce(row, a_, f_, {1}, add_));
    Window window;
    for (int i = 0; i < 2; ++i) {
      WindowDimension* dim = window.add_dimensions();
      dim->set_size(1);
      dim->set_stride(1);
      dim->set_window_dilation(1);
      dim->set_base_dilation(1);
    }
    Keep(HloInstruction::CreateReduceWindow(shape_, a_, f_, window, add_));
    Keep(HloInstruction::CreateSelectAndScatter(shape_, a_, add_, window, b_,
                                                f_, add_));
    Keep(HloInstruction::CreateScan(ShapeUtil::MakeTupleShape({shape_, row}),
                                    {a_}, {f_}, add_, 1, true, TRI_STATE_TRUE));
    Keep(HloInstruction::CreateSort(shape_, 1, {a_}, add_, true));
    Keep(HloInstruction::CreateTopK(
        ShapeUtil::MakeTupleShape({ShapeUtil::MakeShape(F32, {4, 2}),
                                   ShapeUtil::MakeShape(S32, {4, 2})}),
        a_, 2, true));
    Keep(HloInstruction::CreateMap(shape_, {a_, b_}, add_));
    ConvolutionDimensionNumbers conv;
    conv.set_input_feature_dimension(1);
    Keep(HloInstruction::CreateConvolve(shape_, {a_, b_}, 2, 1, window, conv,
                                        PrecisionConfig()));
  }

  void MakeAlgebra() {
    DotDimensionNumbers dnums;
    dnums.add_lhs_contracting_dimensions(1);
    dnums.add_rhs_contracting_dimensions(1);
    const Shape square = ShapeUtil::MakeShape(F32, {4, 4});
    PrecisionConfig precision;
    precision.add_operand_precision(PrecisionConfig::HIGHEST);
    precision.add_operand_precision(PrecisionConfig::DEFAULT);
    Keep(HloInstruction::CreateDot(square, a_, b_, dnums, precision));
    RaggedDotDimensionNumbers ragged;
    *ragged.mutable_dot_dimension_numbers() = dnums;
    Keep(HloInstruction::CreateRaggedDot(square, a_, b_, indices_, ragged,
                                         precision));
    Keep(HloInstruction::CreateScaledDot(square, a_, b_, a_, b_, dnums,
                                         precision));
    TriangularSolveOptions solve;
    solve.set_lower(true);
    Keep(HloInstruction::CreateTriangularSolve(shape_, a_, b_, solve));
    CholeskyOptions cholesky;
    cholesky.set_lower(true);
    Keep(HloInstruction::CreateCholesky(shape_, a_, cholesky));
    Keep(HloInstruction::CreateFft(shape_, a_, FftType::FFT, {8}));
    Keep(HloInstruction::CreateBatchNormTraining(shape_, a_, b_, c_, 0.5f, 1));
    Keep(HloInstruction::CreateBatchNormInference(shape_, a_, b_, c_, a_, b_,
                                                  0.5f, 1));
    Keep(HloInstruction::CreateBatchNormGrad(shape_, a_, b_, c_, a_, b_, 0.5f,
                                             1));
    Keep(HloInstruction::CreateRng(shape_, RNG_UNIFORM, {f_, f_}));
    Keep(HloInstruction::CreateRngBitGenerator(shape_, a_, RNG_PHILOX));
    Keep(HloInstruction::CreateRngGetAndUpdateState(shape_, 3));
  }

  void MakeCommunication() {
    const auto groups = std::make_shared<CollectiveDeviceList>(
        std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}});
    Keep(HloInstruction::CreateAllGather(ShapeUtil::MakeShape(F32, {8, 8}),
                                         {a_}, 0, groups, false, 1, true));
    HloInstruction* gather = Keep(HloInstruction::CreateAllGatherStart(
        tuple_->shape(), {a_}, 0, groups, false, 1, true));
    Keep(
        HloInstruction::CreateUnary(shape_, HloOpcode::kAllGatherDone, gather));
    Keep(HloInstruction::CreateAllReduce(shape_, {a_}, add_, groups, false, 1,
                                         false));
    HloInstruction* reduce = Keep(HloInstruction::CreateAllReduceStart(
        shape_, {a_}, add_, groups, false, 1, false));
    Keep(
        HloInstruction::CreateUnary(shape_, HloOpcode::kAllReduceDone, reduce));
    Keep(HloInstruction::CreateReduceScatter(ShapeUtil::MakeShape(F32, {2, 8}),
                                             {a_}, add_, groups, false, 1, true,
                                             0));
    Keep(HloInstruction::CreateAllToAll(shape_, {a_}, groups, false,
                                        std::nullopt, 1));
    Keep(HloInstruction::CreateRaggedAllToAll(
        shape_, {a_, b_, indices_, indices_, indices_, indices_}, groups, 1));
    Keep(HloInstruction::CreateCollectiveBroadcast(shape_, {a_}, groups, false,
                                                   std::nullopt));
    const std::vector<std::pair<int64_t, int64_t>> pairs = {{0, 1}, {1, 0}};
    Keep(HloInstruction::CreateCollectivePermute(shape_, a_, pairs,
                                                 std::nullopt));
    HloInstruction* permute = Keep(HloInstruction::CreateCollectivePermuteStart(
        shape_, a_, b_, i_, i_, pairs, {{1, 8}}, std::nullopt));
    Keep(HloInstruction::CreateUnary(shape_, HloOpcode::kCollectivePermuteDone,
                                     permute));
    HloInstruction* copy = Keep(HloInstruction::CreateCopyStart(
        ShapeUtil::MakeTupleShape(
            {shape_, shape_, ShapeUtil::MakeShape(U32, {})}),
        a_, 2));
    Keep(HloInstruction::CreateUnary(shape_, HloOpcode::kCopyDone, copy));
    HloInstruction* send =
        Keep(HloInstruction::CreateSend(a_, token_, 1, false));
    Keep(HloInstruction::CreateSendDone(send, 1, false));
    HloInstruction* recv =
        Keep(HloInstruction::CreateRecv(shape_, token_, 2, true));
    Keep(HloInstruction::CreateRecvDone(recv, 2, true));
    Keep(HloInstruction::CreateInfeed(shape_, token_, "in"));
    Keep(HloInstruction::CreateOutfeed(shape_, a_, token_, "out"));
    Keep(HloInstruction::CreateDomain(
        shape_, a_,
        std::make_unique<ShardingMetadata>(
            std::make_shared<const HloSharding>(HloSharding::Replicate())),
        std::make_unique<ShardingMetadata>(nullptr)));
  }

  void MakeCalls() {
    made_.push_back(a_);
    Keep(HloInstruction::CreateWhile(shape_, condition_, body_, a_));
    Keep(
        HloInstruction::CreateConditional(shape_, pred_, a_, body_, b_, body_));
    Keep(HloInstruction::CreateCall(shape_, {a_}, body_));
    Keep(HloInstruction::CreateFusion(
        shape_, HloInstruction::FusionKind::kInput, made_[0]));
    HloInstruction* call = Keep(HloInstruction::CreateCustomCall(
        shape_, {a_}, body_, "target", {shape_}, "opaque",
        API_VERSION_TYPED_FFI));
    Cast<HloCustomCallInstruction>(call)->set_literal(
        LiteralUtil::CreateR0<int32_t>(7));
    const Shape state =
        ShapeUtil::MakeTupleShape({ShapeUtil::MakeTupleShape({shape_}), shape_,
                                   ShapeUtil::MakeShape(U32, {})});
    HloInstruction* start =
        Keep(HloInstruction::CreateAsyncStart(state, {a_}, body_, "thread"));
    HloInstruction* update =
        Keep(HloInstruction::CreateAsyncUpdate(state, start));
    Keep(HloInstruction::CreateAsyncDone(shape_, update));
  }

  void MakeAll() {
    MakeElementwise();
    MakeShapeChanging();
    MakeAlgebra();
    MakeCommunication();
    MakeCalls();
  }

  static bool SameText(const HloComputation* a, const HloComputation* b) {
    return a == b || *a == *b;
  }

  const Shape scalar_ = ShapeUtil::MakeShape(F32, {});
  const Shape shape_ = ShapeUtil::MakeShape(F32, {4, 8});
  HloModule module_;
  int64_t next_parameter_ = 0;
  HloComputation *entry_, *add_, *body_, *condition_;
  HloInstruction *a_, *b_, *c_, *f_, *i_, *pred_, *indices_, *updates_;
  HloInstruction *tuple_, *token_;
  std::vector<HloInstruction*> made_;
};

TEST_F(CreateTest, EveryOpcodeIsMade) {
  std::set<HloOpcode> opcodes;
  for (const HloInstruction* inst : made_) opcodes.insert(inst->opcode());
  for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
    EXPECT_EQ(opcodes.count(static_cast<HloOpcode>(i)), 1)
        << static_cast<HloOpcode>(i);
  }
}

TEST_F(CreateTest, EveryOpcodeIsVisited) {
  for (HloInstruction* inst : made_) {
    HloInstruction* handled = nullptr;
    FunctionVisitor visitor([&](HloInstruction* visited) {
      handled = visited;
      return absl::OkStatus();
    });
    ASSERT_TRUE(inst->Visit(&visitor).ok()) << inst->name();
    EXPECT_EQ(handled, inst) << inst->name();
  }
}

TEST_F(CreateTest, EveryCloneIsIdentical) {
  const std::equal_to<const HloInstruction*> same_operands;
  for (HloInstruction* inst : made_) {
    std::unique_ptr<HloInstruction> clone = inst->Clone();
    EXPECT_TRUE(inst->Identical(*clone, same_operands, SameText))
        << inst->name();
    EXPECT_TRUE(clone->Identical(*inst, same_operands, SameText))
        << inst->name();
    EXPECT_TRUE(inst->SameOp(*clone)) << inst->name();
    EXPECT_EQ(inst->shape(), clone->shape()) << inst->name();
    EXPECT_EQ(absl::HashOf(*inst), absl::HashOf(*clone)) << inst->name();
    EXPECT_EQ(inst->ToCategory(), clone->ToCategory());
    EXPECT_EQ(inst->HasSideEffect(), clone->HasSideEffect()) << inst->name();
    EXPECT_EQ(inst->IsElementwise(), clone->IsElementwise()) << inst->name();
    EXPECT_EQ(inst->called_computations().size(),
              clone->called_computations().size());
  }
}

TEST_F(CreateTest, ClonesForAnotherModuleCallItsComputations) {
  HloModule target("target", HloModuleConfig());
  HloCloneContext context(&target);
  std::vector<std::unique_ptr<HloInstruction>> clones;
  for (HloInstruction* inst : made_) {
    clones.push_back(inst->Clone("clone", &context));
    EXPECT_EQ(context.FindInstruction(inst), clones.back().get());
    for (HloComputation* callee : clones.back()->called_computations()) {
      EXPECT_EQ(callee->parent(), &target) << inst->name();
    }
  }
  // Each once: add, body, condition and the fused computation.
  EXPECT_EQ(target.computation_count(), 4);
}

TEST_F(CreateTest, ReplacedComputationsMakeADifference) {
  // A computation that differs is told by the comparison of computations.
  for (HloInstruction* inst : made_) {
    if (!inst->has_called_computations()) continue;
    std::unique_ptr<HloInstruction> clone = inst->Clone();
    EXPECT_FALSE(inst->Identical(
        *clone, std::equal_to<const HloInstruction*>(),
        [](const HloComputation*, const HloComputation*) { return false; }))
        << inst->name();
  }
}

TEST_F(CreateTest, ShapesOfHostTransfers) {
  for (const HloInstruction* inst : made_) {
    switch (inst->opcode()) {
      case HloOpcode::kSend:
      case HloOpcode::kRecv:
        EXPECT_EQ(inst->shape().tuple_shapes().size(), 3);
        EXPECT_TRUE(inst->shape().tuple_shapes(2).IsToken());
        break;
      case HloOpcode::kRecvDone:
      case HloOpcode::kInfeed:
        EXPECT_EQ(inst->shape().tuple_shapes().size(), 2);
        EXPECT_EQ(inst->shape().tuple_shapes(0), shape_);
        break;
      case HloOpcode::kSendDone:
      case HloOpcode::kOutfeed:
        EXPECT_TRUE(inst->shape().IsToken());
        break;
      default:
        break;
    }
  }
}

TEST_F(CreateTest, UniqueIdsHoldComputationAndSlot) {
  std::set<int64_t> ids;
  for (const HloInstruction* inst : made_) {
    EXPECT_TRUE(ids.insert(inst->unique_id()).second);
    EXPECT_EQ(HloInstruction::CalculateLocalId(inst->unique_id()),
              inst->local_id());
    EXPECT_EQ(HloInstruction::CalculateParentId(inst->unique_id()),
              entry_->unique_id());
  }
  EXPECT_EQ(HloInstruction::CreateToken()->unique_id(), -1);
}

}  // namespace
}  // namespace xla
