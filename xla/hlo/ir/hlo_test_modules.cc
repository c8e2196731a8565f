#include "xla/hlo/ir/hlo_test_modules.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/hlo_sharding_metadata.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/literal_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/window_util.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using Instruction = std::unique_ptr<HloInstruction>;

Shape Floats(absl::Span<const int64_t> dims) {
  return ShapeUtil::MakeShapeWithDescendingLayout(PrimitiveType::F32, dims);
}
Shape Ints(absl::Span<const int64_t> dims) {
  return ShapeUtil::MakeShapeWithDescendingLayout(PrimitiveType::S32, dims);
}
Shape Pred() { return ShapeUtil::MakeShape(PRED, {}); }

// `op` of two scalars.
std::unique_ptr<HloComputation> Binary(absl::string_view name, HloOpcode op,
                                       const Shape& result) {
  HloComputation::Builder b(name);
  HloInstruction* x =
      b.AddInstruction(HloInstruction::CreateParameter(0, Floats({}), "x"));
  HloInstruction* y =
      b.AddInstruction(HloInstruction::CreateParameter(1, Floats({}), "y"));
  if (op == HloOpcode::kCompare) {
    b.AddInstruction(
        HloInstruction::CreateCompare(result, x, y, ComparisonDirection::kGt,
                                      Comparison::Type::kFloatTotalOrder));
  } else {
    b.AddInstruction(HloInstruction::CreateBinary(result, op, x, y));
  }
  return b.Build();
}

std::unique_ptr<HloComputation> Identity(absl::string_view name,
                                         const Shape& shape) {
  HloComputation::Builder b(name);
  HloInstruction* x =
      b.AddInstruction(HloInstruction::CreateParameter(0, shape, "x"));
  b.AddInstruction(HloInstruction::CreateUnary(shape, HloOpcode::kCopy, x));
  return b.Build();
}

// Builds the entry computation of the module of all families.
class FamiliesBuilder {
 public:
  explicit FamiliesBuilder(HloModule* module) : module_(module), b_("entry") {
    sum_ = module->AddEmbeddedComputation(
        Binary("sum", HloOpcode::kAdd, Floats({})));
    greater_ = module->AddEmbeddedComputation(
        Binary("greater", HloOpcode::kCompare, Pred()));
    condition_ = module->AddEmbeddedComputation(LoopCondition());
    body_ = module->AddEmbeddedComputation(Identity("body", Ints({})));
    branch_a_ =
        module->AddEmbeddedComputation(Identity("branch_a", Floats({})));
    branch_b_ =
        module->AddEmbeddedComputation(Identity("branch_b", Floats({})));
    fused_ = module->AddEmbeddedComputation(Identity("fused", Floats({8, 4})));
    called_ =
        module->AddEmbeddedComputation(Identity("called", Floats({8, 4})));
    wrapped_ = module->AddEmbeddedComputation(Wrapped());
    wrapped_->SetExecutionThread("host");
  }

  void Build() {
    a_ = Add(HloInstruction::CreateParameter(0, Floats({8, 4}), "a"));
    scalar_ = Add(HloInstruction::CreateParameter(1, Floats({}), "scalar"));
    index_ = Add(HloInstruction::CreateParameter(2, Ints({}), "index"));
    pred_ = Add(HloInstruction::CreateParameter(3, Pred(), "flag"));
    token_ = Add(HloInstruction::CreateToken());
    AddDimensional();
    AddIndexing();
    AddKernels();
    AddWindows();
    AddCalls();
    AddCollectives();
    AddTransfers();
    AddAsync();
    AddOthers();
    b_.AddInstruction(HloInstruction::CreateTuple(results_));
    module_->AddEntryComputationWithLayouts(b_.Build());
  }

 private:
  static std::unique_ptr<HloComputation> LoopCondition() {
    HloComputation::Builder b("condition");
    HloInstruction* x =
        b.AddInstruction(HloInstruction::CreateParameter(0, Ints({}), "x"));
    b.AddInstruction(
        HloInstruction::CreateCompare(Pred(), x, x, ComparisonDirection::kLt));
    return b.Build();
  }

  static std::unique_ptr<HloComputation> Wrapped() {
    HloComputation::Builder b("wrapped");
    HloInstruction* x = b.AddInstruction(
        HloInstruction::CreateParameter(0, Floats({8, 4}), "x"));
    b.AddInstruction(
        HloInstruction::CreateCustomCall(Floats({8, 4}), {x}, "go"));
    return b.Build();
  }

  HloInstruction* Add(Instruction instruction) {
    HloInstruction* added = b_.AddInstruction(std::move(instruction));
    // The root keeps everything alive.
    results_.push_back(added);
    return added;
  }

  void AddDimensional() {
    Add(HloInstruction::CreateBroadcast(Floats({2, 8, 4}), a_, {1, 2}));
    Add(HloInstruction::CreateTranspose(Floats({4, 8}), a_, {1, 0}));
    Add(HloInstruction::CreateReverse(Floats({8, 4}), a_, {0}));
    Add(HloInstruction::CreateConcatenate(Floats({8, 8}), {a_, a_}, 1));
    Add(HloInstruction::CreateReduce(Floats({8}), a_, scalar_, {1}, sum_));
    Add(HloInstruction::CreateSort(Floats({8, 4}), 1, {a_}, greater_, true));
    Add(HloInstruction::CreateMap(Floats({8, 4}), {a_, a_}, sum_));
    Add(HloInstruction::CreateIota(Floats({8, 4}), 1));
    Add(HloInstruction::CreateReshape(Floats({32}), a_, 0));
    Add(HloInstruction::CreateGetDimensionSize(Ints({}), a_, 1));
    Add(HloInstruction::CreateSetDimensionSize(Floats({8, 4}), a_, index_, 1));
    Add(HloInstruction::CreateTopK(
        ShapeUtil::MakeTupleShape({Floats({8, 2}), Ints({8, 2})}), a_, 2, true,
        false));
    Add(HloInstruction::CreateScan(
        ShapeUtil::MakeTupleShape({Floats({8, 4}), Floats({4})}), {a_},
        {scalar_}, sum_, 0, true, TRI_STATE_TRUE));
  }

  void AddIndexing() {
    Add(HloInstruction::CreateSlice(Floats({2, 4}), a_, {0, 0}, {2, 4},
                                    {1, 1}));
    Add(HloInstruction::CreateSlice(Floats({4, 4}), a_, {0, 0}, {8, 4},
                                    {2, 1}));
    Add(HloInstruction::CreateDynamicSlice(Floats({2, 4}), a_, {index_, index_},
                                           {2, 4}));
    Add(HloInstruction::CreateDynamicUpdateSlice(Floats({8, 4}), a_, a_,
                                                 {index_, index_}));
    PaddingConfig padding = MakeEdgePaddingConfig({{0, 1}, {2, -1}});
    Add(HloInstruction::CreatePad(Floats({9, 5}), a_, scalar_, padding));
    padding.mutable_dimensions(1)->set_interior_padding(3);
    Add(HloInstruction::CreatePad(Floats({9, 14}), a_, scalar_, padding));
    HloInstruction* indices =
        Add(HloInstruction::CreateParameter(4, Ints({3, 1}), "indices"));
    HloInstruction* updates =
        Add(HloInstruction::CreateParameter(5, Floats({3, 4}), "updates"));
    Add(HloInstruction::CreateGather(
        Floats({3, 4}), a_, indices,
        HloGatherInstruction::MakeGatherDimNumbers({1}, {0}, {0}, 1), {1, 4},
        true));
    Add(HloInstruction::CreateScatter(
        Floats({8, 4}), a_, indices, updates, sum_,
        HloScatterInstruction::MakeScatterDimNumbers({1}, {0}, {0}, 1), true,
        false));
  }

  void AddKernels() {
    DotDimensionNumbers dot;
    dot.add_lhs_contracting_dimensions(1);
    dot.add_rhs_contracting_dimensions(1);
    PrecisionConfig precision;
    precision.add_operand_precision(PrecisionConfig::HIGHEST);
    precision.add_operand_precision(PrecisionConfig::DEFAULT);
    precision.set_algorithm(PrecisionConfig::ALG_DOT_BF16_BF16_F32);
    Add(HloInstruction::CreateDot(Floats({8, 8}), a_, a_, dot, precision));
    dot.add_lhs_batch_dimensions(0);
    dot.add_rhs_batch_dimensions(0);
    Add(HloInstruction::CreateDot(Floats({8}), a_, a_, dot, PrecisionConfig()));
    Add(HloInstruction::CreateScaledDot(Floats({8}), a_, a_, scalar_, scalar_,
                                        dot, PrecisionConfig()));
    RaggedDotDimensionNumbers ragged;
    *ragged.mutable_dot_dimension_numbers() = dot;
    ragged.add_lhs_ragged_dimensions(0);
    ragged.add_rhs_group_dimensions(1);
    Add(HloInstruction::CreateRaggedDot(Floats({8}), a_, a_, index_, ragged,
                                        PrecisionConfig()));
    Add(HloInstruction::CreateFft(Floats({8, 4}), a_, RFFT, {4}));
    TriangularSolveOptions solve;
    solve.set_left_side(true);
    solve.set_lower(true);
    solve.set_transpose_a(TriangularSolveOptions::NO_TRANSPOSE);
    Add(HloInstruction::CreateTriangularSolve(Floats({8, 4}), a_, a_, solve));
    CholeskyOptions cholesky;
    cholesky.set_lower(true);
    Add(HloInstruction::CreateCholesky(Floats({8, 4}), a_, cholesky));
    Add(HloInstruction::CreateBatchNormTraining(
        ShapeUtil::MakeTupleShape({Floats({8, 4}), Floats({4}), Floats({4})}),
        a_, scalar_, scalar_, 1e-5f, 1));
    Add(HloInstruction::CreateReducePrecision(Floats({8, 4}), a_, 5, 10));
    Add(HloInstruction::CreateRng(Floats({8}), RNG_UNIFORM,
                                  {scalar_, scalar_}));
    Add(HloInstruction::CreateRngBitGenerator(Floats({8, 4}), a_, RNG_PHILOX));
    Add(HloInstruction::CreateRngGetAndUpdateState(Ints({2}), 4096));
  }

  void AddWindows() {
    Window window = window_util::MakeWindow({2, 2}, {1, 2});
    window.mutable_dimensions(0)->set_padding_low(1);
    Add(HloInstruction::CreateReduceWindow(Floats({8, 2}), a_, scalar_, window,
                                           sum_));
    Add(HloInstruction::CreateSelectAndScatter(Floats({8, 4}), a_, greater_,
                                               window, a_, scalar_, sum_));
    ConvolutionDimensionNumbers dims;
    dims.set_input_batch_dimension(0);
    dims.set_input_feature_dimension(2);
    dims.add_input_spatial_dimensions(1);
    dims.set_kernel_input_feature_dimension(1);
    dims.set_kernel_output_feature_dimension(2);
    dims.add_kernel_spatial_dimensions(0);
    dims.set_output_batch_dimension(0);
    dims.set_output_feature_dimension(2);
    dims.add_output_spatial_dimensions(1);
    SparsityConfig sparsity;
    sparsity.mutable_lhs()->set_num_non_zero(2);
    sparsity.mutable_lhs()->set_block_size(4);
    Add(HloInstruction::CreateConvolve(
        Floats({8, 4, 1}), {a_, a_}, /*feature_group_count=*/2,
        /*batch_group_count=*/3, window_util::MakeWindow({3}), dims,
        PrecisionConfig(), sparsity, CONVOLUTION_KIND_DGRAD));
  }

  void AddCalls() {
    Add(HloInstruction::CreateWhile(Ints({}), condition_, body_, index_));
    Add(HloInstruction::CreateConditional(Floats({}), pred_, scalar_, branch_a_,
                                          scalar_, branch_b_));
    Add(HloInstruction::CreateConditional(
        Floats({}), index_, {branch_a_, branch_b_}, {scalar_, scalar_}));
    HloInstruction* fusion = Add(HloInstruction::CreateFusion(
        Floats({8, 4}), HloInstruction::FusionKind::kLoop, {a_}, fused_));
    fusion->set_output_to_operand_aliasing({{{}, {0, {}}}});
    HloInstruction* call =
        Add(HloInstruction::CreateCall(Floats({8, 4}), {a_}, called_));
    call->set_is_composite(true);
    auto* custom =
        Cast<HloCustomCallInstruction>(Add(HloInstruction::CreateCustomCall(
            Floats({8, 4}), {a_}, absl::Span<HloComputation* const>({sum_}),
            "do \"it\"", "opaque", API_VERSION_TYPED_FFI)));
    custom->set_operand_shapes_with_layout({Floats({8, 4})});
    custom->set_custom_call_has_side_effect(true);
    custom->set_literal(LiteralUtil::CreateR0<int32_t>(7));
    custom->set_custom_call_schedule(SCHEDULE_EARLIEST);
    custom->set_padding_type(PADDING_SAME);
    custom->set_window(window_util::MakeWindow({3}));
  }

  std::shared_ptr<CollectiveDeviceListBase> Groups() {
    return std::make_shared<CollectiveDeviceList>(
        std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}});
  }

  void AddCollectives() {
    Add(HloInstruction::CreateAllGather(Floats({16, 4}), {a_}, 0, Groups(),
                                        true, 1, true));
    Add(HloInstruction::CreateAllReduce(
        Floats({8, 4}), {a_}, sum_,
        std::make_shared<IotaReplicaGroupList>(2, 4), false, 2, true));
    Add(HloInstruction::CreateReduceScatter(Floats({4, 4}), {a_}, sum_,
                                            Groups(), false, 3, true, 0));
    Add(HloInstruction::CreateAllToAll(Floats({8, 4}), {a_}, Groups(), false,
                                       std::nullopt, 0));
    Add(HloInstruction::CreateCollectiveBroadcast(Floats({8, 4}), {a_},
                                                  Groups(), false, 4));
    Add(HloInstruction::CreateCollectivePermute(
        Floats({8, 4}), a_,
        std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 0}}, 5));
    HloInstruction* start = Add(HloInstruction::CreateAllReduceStart(
        Floats({8, 4}), {a_}, sum_, Groups(), false, 6, true));
    Add(HloInstruction::CreateUnary(Floats({8, 4}), HloOpcode::kAllReduceDone,
                                    start));
    Add(HloInstruction::CreateReplicaId());
    Add(HloInstruction::CreatePartitionId());
  }

  void AddTransfers() {
    HloInstruction* send = Add(HloInstruction::CreateSend(a_, token_, 7, true));
    Add(HloInstruction::CreateSendDone(send, 7, true));
    HloInstruction* recv =
        Add(HloInstruction::CreateRecv(Floats({8, 4}), token_, 8, false));
    Add(HloInstruction::CreateRecvDone(recv, 8, false));
    Add(HloInstruction::CreateInfeed(Floats({8}), token_, "in"));
    Add(HloInstruction::CreateOutfeed(Floats({8, 4}), a_, token_, "out"));
    HloInstruction* copy = Add(HloInstruction::CreateCopyStart(
        ShapeUtil::MakeTupleShape(
            {Floats({8, 4}), Floats({8, 4}), ShapeUtil::MakeShape(U32, {})}),
        a_, 3));
    Add(HloInstruction::CreateUnary(Floats({8, 4}), HloOpcode::kCopyDone,
                                    copy));
  }

  void AddAsync() {
    const Shape chain =
        ShapeUtil::MakeTupleShape({ShapeUtil::MakeTupleShape({Floats({8, 4})}),
                                   Floats({8, 4}), Ints({})});
    HloInstruction* start =
        Add(HloInstruction::CreateAsyncStart(chain, {a_}, wrapped_, "host"));
    HloInstruction* update =
        Add(HloInstruction::CreateAsyncUpdate(chain, start));
    Add(HloInstruction::CreateAsyncDone(Floats({8, 4}), update));
  }

  void AddOthers() {
    Add(HloInstruction::CreateConstant(LiteralUtil::CreateR0<float>(1.5f)));
    Add(HloInstruction::CreateConstant(
        LiteralUtil::CreateR1<int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})));
    Add(HloInstruction::CreateConstant(Literal::CreateElided(Floats({2, 3}))));
    Add(HloInstruction::CreateCompare(
        ShapeUtil::MakeShapeWithDescendingLayout(PRED, {8, 4}), a_, a_,
        ComparisonDirection::kLt, Comparison::Type::kFloatTotalOrder));
    ResultAccuracy accuracy;
    accuracy.mutable_tolerance()->set_rtol(0.5);
    accuracy.mutable_tolerance()->set_ulps(2);
    Add(HloInstruction::CreateUnary(Floats({8, 4}), HloOpcode::kExp, a_,
                                    accuracy));
    Add(HloInstruction::CreateDomain(
        Floats({8, 4}), a_,
        std::make_unique<ShardingMetadata>(
            std::make_shared<HloSharding>(HloSharding::Replicate())),
        std::make_unique<ShardingMetadata>(
            std::make_shared<HloSharding>(HloSharding::SingleDevice(1)))));
    Add(HloInstruction::CreateAddDependency(a_, token_));
    HloInstruction* tuple = Add(HloInstruction::CreateTuple({a_, scalar_}));
    Add(HloInstruction::CreateGetTupleElement(tuple, 1));
    Cast<HloParameterInstruction>(a_)->set_parameter_replicated_at_leaf_buffers(
        std::vector<bool>{true});
  }

  HloModule* module_;
  HloComputation::Builder b_;
  std::vector<HloInstruction*> results_;
  HloComputation *sum_, *greater_, *condition_, *body_, *branch_a_, *branch_b_,
      *fused_, *called_, *wrapped_;
  HloInstruction *a_, *scalar_, *index_, *pred_, *token_;
};

}  // namespace

std::unique_ptr<HloModule> MakeModuleOfAllFamilies() {
  auto module = std::make_unique<HloModule>("families", HloModuleConfig());
  FamiliesBuilder(module.get()).Build();
  return module;
}

void Decorate(HloModule* module) {
  HloSchedule schedule(module);
  for (HloComputation* computation : module->computations()) {
    if (computation->IsFusionComputation()) continue;
    schedule.set_sequence(computation, computation->MakeInstructionPostOrder());
  }
  CHECK_OK(module->set_schedule(schedule));
  CHECK_OK(module->input_output_alias_config().SetUpAlias(
      {0}, 0, {}, HloInputOutputAliasConfig::kMustAlias));
  CHECK_OK(module->buffer_donor_config().AddBufferDonor(1, {}));
  module->add_frontend_attribute("k", "{v}");
  module->AddCrossProgramPrefetch(1, {}, 64);
  module->set_spmd_output_sharding(HloSharding::Replicate());
  module->set_spmd_parameters_shardings(
      {HloSharding::Replicate(), HloSharding::SingleDevice(1)});
  module->set_is_dynamic(true);
  HloModule::DebugAttributes debug;
  debug.log_mode = HloModule::DebugAttributes::DebugLogMode::kFusionDebugger;
  debug.callback_id = 3;
  module->AddDebugAttributes({"x", {1}}, debug);
  HloModuleConfig& config = module->mutable_config();
  config.set_num_partitions(4);
  config.set_replica_count(2);
  config.set_use_spmd_partitioning(true);
  config.set_allow_spmd_sharding_propagation_to_parameters({true, false});

  HloInstruction* root = module->entry_computation()->root_instruction();
  OpMetadata metadata;
  metadata.set_op_name("jit(f)/op");
  metadata.set_stack_frame_id(
      module->mutable_stack_frames()
          .AddStackFrame({"f.py", "f", 1, 2, 3, 4, StackFrameId()})
          .value);
  root->set_metadata(metadata);
  root->set_raw_backend_config_string("{\"a\":1}");
  root->set_frontend_attribute("b", "text");
  root->add_unknown_attribute("new_attribute", "{1}");
  root->set_original_value(std::make_shared<OriginalValue>(root->shape()));
  StatisticsViz statistics;
  statistics.add_statistics()->set_stat_name("time");
  root->set_statistics_viz(statistics);
  HloInstruction* p0 = module->entry_computation()->parameter_instruction(0);
  p0->set_sharding(HloSharding::IotaTile({2, 2}, {2, 2}, {1, 0}));
  CHECK_OK(p0->AddControlDependencyTo(root));
}

std::unique_ptr<HloModule> MakeSmallModule() {
  auto module = std::make_unique<HloModule>("small", HloModuleConfig());
  HloComputation* sum = module->AddEmbeddedComputation(
      Binary("sum", HloOpcode::kAdd, Floats({})));
  HloComputation::Builder b("main");
  HloInstruction* x =
      b.AddInstruction(HloInstruction::CreateParameter(0, Floats({4}), "p0"));
  HloInstruction* y =
      b.AddInstruction(HloInstruction::CreateParameter(1, Floats({4}), "p1"));
  HloInstruction* add = b.AddInstruction(
      HloInstruction::CreateBinary(Floats({4}), HloOpcode::kAdd, x, y));
  HloInstruction* zero = b.AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::CreateR0<float>(0)));
  HloInstruction* reduce = b.AddInstruction(
      HloInstruction::CreateReduce(Floats({}), add, zero, {0}, sum));
  b.AddInstruction(HloInstruction::CreateTuple({add, reduce}));
  module->AddEntryComputationWithLayouts(b.Build());
  return module;
}

absl::StatusOr<std::unique_ptr<HloModule>> ModuleFromProto(
    const HloModuleProto& proto) {
  absl::StatusOr<HloModuleConfig> config =
      HloModule::CreateModuleConfigFromProto(proto, DebugOptions());
  if (!config.ok()) return config.status();
  return HloModule::CreateFromProto(proto, *config);
}

}  // namespace xla
