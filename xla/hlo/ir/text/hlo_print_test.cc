#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_op_metadata.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/hlo_test_modules.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// The printed lines by instruction name, without the name.
absl::flat_hash_map<std::string, std::string> LinesByName(
    const HloComputation& computation, const HloPrintOptions& options) {
  absl::flat_hash_map<std::string, std::string> lines;
  for (const HloInstruction* instruction : computation.instructions()) {
    std::pair<std::string, std::string> parts = absl::StrSplit(
        instruction->ToString(options), absl::MaxSplits(" = ", 1));
    lines[instruction->name()] = parts.second;
  }
  return lines;
}

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines DimensionAndIndexLines() {
  return {
      {"a", "f32[8,4]{1,0} parameter(0), parameter_replication={true}"},
      {"broadcast", "f32[2,8,4]{2,1,0} broadcast(%a), dimensions={1,2}"},
      {"concatenate", "f32[8,8]{1,0} concatenate(%a, %a), dimensions={1}"},
      {"reduce",
       "f32[8]{0} reduce(%a, %scalar), dimensions={1}, to_apply=%sum"},
      {"sort",
       "f32[8,4]{1,0} sort(%a), dimensions={1}, is_stable=true, "
       "to_apply=%greater"},
      {"map", "f32[8,4]{1,0} map(%a, %a), dimensions={0,1}, to_apply=%sum"},
      {"iota", "f32[8,4]{1,0} iota(), iota_dimension=1"},
      {"reshape", "f32[32]{0} reshape(%a), inferred_dimension=0"},
      {"get-dimension-size", "s32[] get-dimension-size(%a), dimensions={1}"},
      {"topk",
       "(f32[8,2]{1,0}, s32[8,2]{1,0}) topk(%a), k=2, largest=true, "
       "is_stable=false"},
      {"scan",
       "(f32[8,4]{1,0}, f32[4]{0}) scan(%a, %scalar), dimensions={0}, "
       "num_carries=1, "
       "is_reverse=true, is_associative=true, to_apply=%sum"},
      {"slice", "f32[2,4]{1,0} slice(%a), slice={[0:2], [0:4]}"},
      {"slice.1", "f32[4,4]{1,0} slice(%a), slice={[0:8:2], [0:4:1]}"},
      {"dynamic-slice",
       "f32[2,4]{1,0} dynamic-slice(%a, %index, %index), "
       "dynamic_slice_sizes={2,4}"},
      {"pad", "f32[9,5]{1,0} pad(%a, %scalar), padding=0_1x2_-1"},
      {"pad.1", "f32[9,14]{1,0} pad(%a, %scalar), padding=0_1_0x2_-1_3"},
      {"gather",
       "f32[3,4]{1,0} gather(%a, %indices), offset_dims={1}, "
       "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
       "slice_sizes={1,4}, indices_are_sorted=true"},
      {"scatter",
       "f32[8,4]{1,0} scatter(%a, %indices, %updates), "
       "update_window_dims={1}, inserted_window_dims={0}, "
       "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
       "indices_are_sorted=true, to_apply=%sum"},
  };
}

Lines KernelLines() {
  return {
      {"dot",
       "f32[8,8]{1,0} dot(%a, %a), lhs_contracting_dims={1}, "
       "rhs_contracting_dims={1}, operand_precision={highest,default}, "
       "algorithm=dot_bf16_bf16_f32"},
      {"dot.1",
       "f32[8]{0} dot(%a, %a), lhs_batch_dims={0}, lhs_contracting_dims={1}, "
       "rhs_batch_dims={0}, rhs_contracting_dims={1}"},
      {"ragged-dot",
       "f32[8]{0} ragged-dot(%a, %a, %index), lhs_batch_dims={0}, "
       "lhs_contracting_dims={1}, rhs_batch_dims={0}, "
       "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={1}"},
      {"fft", "f32[8,4]{1,0} fft(%a), fft_type=RFFT, fft_length={4}"},
      {"triangular-solve",
       "f32[8,4]{1,0} triangular-solve(%a, %a), left_side=true, lower=true, "
       "transpose_a=NO_TRANSPOSE"},
      {"cholesky", "f32[8,4]{1,0} cholesky(%a), lower=true"},
      {"batch-norm-training",
       "(f32[8,4]{1,0}, f32[4]{0}, f32[4]{0}) batch-norm-training(%a, "
       "%scalar, %scalar), epsilon=1e-05, feature_index=1"},
      {"reduce-precision",
       "f32[8,4]{1,0} reduce-precision(%a), exponent_bits=5, "
       "mantissa_bits=10"},
      {"rng", "f32[8]{0} rng(%scalar, %scalar), distribution=rng_uniform"},
      {"rng-bit-generator",
       "f32[8,4]{1,0} rng-bit-generator(%a), algorithm=rng_philox"},
      {"rng-get-and-update-state",
       "s32[2]{0} rng-get-and-update-state(), delta=4096"},
      {"reduce-window",
       "f32[8,2]{1,0} reduce-window(%a, %scalar), window={size=2x2 "
       "stride=1x2 pad=1_0x0_0}, to_apply=%sum"},
      {"select-and-scatter",
       "f32[8,4]{1,0} select-and-scatter(%a, %a, %scalar), window={size=2x2 "
       "stride=1x2 pad=1_0x0_0}, select=%greater, scatter=%sum"},
      {"convolution",
       "f32[8,4,1]{2,1,0} convolution(%a, %a), window={size=3}, "
       "dim_labels=b0f_0io->b0f, feature_group_count=2, batch_group_count=3, "
       "convolution_kind=dgrad, sparsity_config={lhs={sparsity=2x4 "
       "dimension=0 stride=0 idx=0}}"},
  };
}

Lines CallAndCommunicationLines() {
  return {
      {"while", "s32[] while(%index), condition=%condition, body=%body"},
      {"conditional",
       "f32[] conditional(%flag, %scalar, %scalar), "
       "true_computation=%branch_a, false_computation=%branch_b"},
      {"conditional.1",
       "f32[] conditional(%index, %scalar, %scalar), "
       "branch_computations={%branch_a, %branch_b}"},
      {"fusion",
       "f32[8,4]{1,0} fusion(%a), kind=kLoop, "
       "output_to_operand_aliasing={{}: (0, {})}, calls=%fused"},
      {"call", "f32[8,4]{1,0} call(%a), to_apply=%called, is_composite=true"},
      {"custom-call.1",
       "f32[8,4]{1,0} custom-call(%a), window={size=3}, "
       "padding_type=PADDING_SAME, custom_call_target=\"do \\\"it\\\"\", "
       "operand_layout_constraints={f32[8,4]{1,0}}, "
       "custom_call_has_side_effect=true, literal=s32[] 7, "
       "schedule=SCHEDULE_EARLIEST, api_version=API_VERSION_TYPED_FFI, "
       "called_computations={%sum}, backend_config=\"opaque\""},
      {"all-gather",
       "f32[16,4]{1,0} all-gather(%a), channel_id=1, "
       "replica_groups={{0,1},{2,3}}, constrain_layout=true, "
       "dimensions={0}, use_global_device_ids=true"},
      {"all-reduce",
       "f32[8,4]{1,0} all-reduce(%a), channel_id=2, "
       "replica_groups=[2,4]<=[8], use_global_device_ids=true, "
       "to_apply=%sum"},
      {"reduce-scatter",
       "f32[4,4]{1,0} reduce-scatter(%a), channel_id=3, "
       "replica_groups={{0,1},{2,3}}, use_global_device_ids=true, "
       "dimensions={0}, to_apply=%sum"},
      {"all-to-all",
       "f32[8,4]{1,0} all-to-all(%a), replica_groups={{0,1},{2,3}}, "
       "dimensions={0}"},
      {"collective-permute",
       "f32[8,4]{1,0} collective-permute(%a), channel_id=5, "
       "source_target_pairs={{0,1},{1,0}}"},
      {"all-reduce-done", "f32[8,4]{1,0} all-reduce-done(%all-reduce-start)"},
      {"send",
       "(f32[8,4]{1,0}, u32[], token[]) send(%a, %after-all), channel_id=7, "
       "is_host_transfer=true"},
      {"recv-done", "(f32[8,4]{1,0}, token[]) recv-done(%recv), channel_id=8"},
      {"infeed",
       "(f32[8]{0}, token[]) infeed(%after-all), infeed_config=\"in\""},
      {"outfeed",
       "token[] outfeed(%a, %after-all), outfeed_shape=f32[8,4]{1,0}, "
       "outfeed_config=\"out\""},
      {"copy-start",
       "(f32[8,4]{1,0}, f32[8,4]{1,0}, u32[]) copy-start(%a), "
       "cross_program_prefetch_index=3"},
      {"custom-call-start",
       "((f32[8,4]{1,0}), f32[8,4]{1,0}, s32[]) async-start(%a), "
       "async_execution_thread=\"host\", calls=%wrapped"},
      {"custom-call-update",
       "((f32[8,4]{1,0}), f32[8,4]{1,0}, s32[]) "
       "async-update(%custom-call-start)"},
      {"custom-call-done", "f32[8,4]{1,0} async-done(%custom-call-update)"},
      {"constant", "f32[] constant(1.5)"},
      {"constant.1", "s32[11]{0} constant({...})"},
      {"constant.2", "f32[2,3]{1,0} constant({...})"},
      {"compare.2",
       "pred[8,4]{1,0} compare(%a, %a), direction=LT, type=TOTALORDER"},
      {"exponential",
       "f32[8,4]{1,0} exponential(%a), "
       "result_accuracy={tolerance={atol=0,rtol=0.5,ulps=2}}"},
      {"domain",
       "f32[8,4]{1,0} domain(%a), domain={kind=\"sharding\", "
       "entry={maximal device=1}, exit={replicated}}"},
      {"get-tuple-element", "f32[] get-tuple-element(%tuple), index=1"},
  };
}

TEST(HloPrintTest, AttributesOfAllFamilies) {
  std::unique_ptr<HloModule> module = MakeModuleOfAllFamilies();
  const auto lines =
      LinesByName(*module->entry_computation(),
                  HloPrintOptions().set_syntax_sugar_async_ops(false));
  for (const Lines& expected :
       {DimensionAndIndexLines(), KernelLines(), CallAndCommunicationLines()}) {
    for (const auto& [name, line] : expected) {
      auto found = lines.find(name);
      ASSERT_NE(found, lines.end()) << name;
      EXPECT_EQ(found->second, line);
    }
  }
}

// What is taken out of a module has a text, too, for messages.
TEST(HloPrintTest, InstructionsWithoutOperandsOfAllFamilies) {
  std::unique_ptr<HloModule> module = MakeModuleOfAllFamilies();
  HloComputation* entry = module->entry_computation();
  std::vector<HloInstruction*> order = entry->MakeInstructionPostOrder();
  int removed = 0;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    HloInstruction* inst = *it;
    inst->DetachFromOperandsAndUsers();
    EXPECT_TRUE(absl::StrContains(inst->ToString(), inst->name()));
    if (inst->IsRoot() || inst->opcode() == HloOpcode::kParameter) continue;
    ASSERT_TRUE(inst->DropAllControlDeps().ok());
    ASSERT_TRUE(entry->ForceRemoveInstruction(inst).ok()) << inst->name();
    EXPECT_TRUE(absl::StrContains(inst->ToString(), inst->name()));
    ++removed;
  }
  EXPECT_GT(removed, 50);
}

TEST(HloPrintTest, ComparesOfWhatCannotBeComparedHaveAText) {
  std::unique_ptr<HloInstruction> token = HloInstruction::CreateToken();
  std::unique_ptr<HloInstruction> compare = HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {}), token.get(), token.get(),
      Comparison::Direction::kLt, Comparison::Type::kSigned);
  EXPECT_TRUE(absl::StrContains(compare->ToString(), "type=SIGNED"));
}

TEST(HloPrintTest, AsyncSugarHidesTheWrappedComputation) {
  std::unique_ptr<HloModule> module = MakeModuleOfAllFamilies();
  const auto lines =
      LinesByName(*module->entry_computation(), HloPrintOptions());
  EXPECT_EQ(lines.at("custom-call-start"),
            "((f32[8,4]{1,0}), f32[8,4]{1,0}, s32[]) custom-call-start(%a), "
            "async_execution_thread=\"host\", custom_call_target=\"go\"");
  EXPECT_EQ(lines.at("custom-call-done"),
            "f32[8,4]{1,0} custom-call-done(%custom-call-update)");
  EXPECT_FALSE(
      absl::StrContains(module->ToString(HloPrintOptions()), "%wrapped"));
  EXPECT_TRUE(
      absl::StrContains(module->ToString(), "}, execution_thread=\"host\"\n"));
  const HloInstruction* start =
      module->entry_computation()->GetInstructionWithName("custom-call-start");
  ASSERT_NE(start, nullptr);
  EXPECT_TRUE(absl::StrContains(
      start->ToString(
          HloPrintOptions::Canonical().set_syntax_sugar_async_ops(false)),
      "}, execution_thread=\"host\""));
  EXPECT_FALSE(absl::StrContains(
      module->ToString(HloPrintOptions().set_print_ids(false)),
      "}, execution_thread="));
  EXPECT_TRUE(absl::EndsWith(
      start->ToString(HloPrintOptions().set_print_extra_attributes(false)),
      ")"));
}

TEST(HloPrintTest, SmallModule) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  EXPECT_EQ(
      module->ToString(),
      R"(HloModule small, entry_computation_layout={(f32[4]{0}, f32[4]{0})->(f32[4]{0}, f32[])}

%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %add = f32[] add(%x, %y)
}

ENTRY %main (p0: f32[4], p1: f32[4]) -> (f32[4], f32[]) {
  %p0 = f32[4]{0} parameter(0)
  %p1 = f32[4]{0} parameter(1)
  %add.1 = f32[4]{0} add(%p0, %p1)
  %constant = f32[] constant(0)
  %reduce = f32[] reduce(%add.1, %constant), dimensions={0}, to_apply=%sum
  ROOT %tuple = (f32[4]{0}, f32[]) tuple(%add.1, %reduce)
}

)");
}

TEST(HloPrintTest, HeaderAttributesInOrder) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  HloSchedule schedule(module.get());
  for (HloComputation* computation : module->computations()) {
    schedule.set_sequence(computation, computation->MakeInstructionPostOrder());
  }
  ASSERT_TRUE(module->set_schedule(schedule).ok());
  HloInputOutputAliasConfig aliases(module->result_shape());
  ASSERT_TRUE(aliases.SetUpAlias({0}, 0, {}).ok());
  module->set_input_output_alias_config(aliases);
  ASSERT_TRUE(module->buffer_donor_config().AddBufferDonor(1, {}).ok());
  HloModuleConfig& config = module->mutable_config();
  config.set_alias_passthrough_params(true);
  config.set_allow_spmd_sharding_propagation_to_parameters({true, false});
  config.set_allow_spmd_sharding_propagation_to_output({true});
  config.set_replica_count(2);
  config.set_num_partitions(8);
  module->add_frontend_attribute("meshes", "{mesh = #sdy.mesh<[\"x\"=8]>}");
  module->add_frontend_attribute("a", "text");
  const std::string text = module->ToString();
  EXPECT_EQ(
      text.substr(0, text.find('\n')),
      "HloModule small, is_scheduled=true, "
      "input_output_alias={ {0}: (0, {}, may-alias) }, "
      "buffer_donor={ (1, {}) }, alias_passthrough_params=true, "
      "entry_computation_layout={(f32[4]{0}, f32[4]{0})->(f32[4]{0}, f32[])}, "
      "allow_spmd_sharding_propagation_to_parameters={true,false}, "
      "allow_spmd_sharding_propagation_to_output={true}, replica_count=2, "
      "num_partitions=8, frontend_attributes={a=\"text\","
      "meshes={mesh = #sdy.mesh<[\"x\"=8]>}}");
}

TEST(HloPrintTest, ScheduleGivesTheOrder) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  HloComputation* entry = module->entry_computation();
  HloSchedule schedule(module.get());
  for (HloComputation* computation : module->computations()) {
    schedule.set_sequence(computation, computation->MakeInstructionPostOrder());
  }
  std::vector<HloInstruction*> order = entry->MakeInstructionPostOrder();
  std::swap(order[0], order[1]);
  schedule.set_sequence(entry, order);
  ASSERT_TRUE(module->set_schedule(schedule).ok());
  const std::string text = module->ToString();
  EXPECT_LT(text.find("%p1 = "), text.find("%p0 = "));
}

TEST(HloPrintTest, StackFrameTables) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  StackFrameIndexProto index;
  index.add_file_names("it's.py");
  index.add_function_names("f");
  auto* location = index.add_file_locations();
  location->set_file_name_id(1);
  location->set_function_name_id(1);
  location->set_line(3);
  location->set_end_line(4);
  location->set_column(5);
  location->set_end_column(6);
  index.add_stack_frames()->set_file_location_id(1);
  auto* callee = index.add_stack_frames();
  callee->set_file_location_id(1);
  callee->set_parent_frame_id(1);
  absl::StatusOr<StackFrames> frames = StackFrames::FromProto(index);
  ASSERT_TRUE(frames.ok()) << frames.status();
  module->set_stack_frames(*frames);
  OpMetadata metadata;
  metadata.set_op_name("jit(f)/add");
  metadata.set_stack_frame_id(2);
  HloInstruction* root = module->entry_computation()->root_instruction();
  root->set_metadata(metadata);

  EXPECT_TRUE(absl::StrContains(module->ToString(), R"(

FileNames
1 "it\'s.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=4 column=5 end_column=6}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}


%sum )"));
  EXPECT_TRUE(
      absl::EndsWith(root->ToString(),
                     R"(, metadata={op_name="jit(f)/add" stack_frame_id=2})"));
  EXPECT_TRUE(absl::EndsWith(
      root->ToString(HloPrintOptions().set_print_inline_stack_frames(true)),
      R"(, metadata={op_name="jit(f)/add" source_file="it\'s.py" source_line=3 source_end_line=4 source_column=5 source_end_column=6})"));
  EXPECT_TRUE(absl::EndsWith(
      root->ToString(HloPrintOptions().set_print_metadata_only_op_name(true)),
      R"(, metadata={op_name="add"})"));
  // Text has no word for this field, and none for no fields.
  metadata.Clear();
  metadata.set_size_of_generated_code_in_bytes(5);
  root->set_metadata(metadata);
  EXPECT_FALSE(absl::StrContains(root->ToString(), "metadata"));
}

TEST(HloPrintTest, OpMetadataFields) {
  OpMetadata metadata;
  metadata.set_op_type("T");
  metadata.set_op_name("state['x']");
  metadata.set_source_file("f.py");
  metadata.set_source_line(12);
  metadata.set_deduplicated_name("fusion.1");
  metadata.set_scheduling_name("s");
  metadata.mutable_metadata_payload()->set_value("p");
  EXPECT_EQ(OpMetadataToString(metadata),
            R"(op_type="T" op_name="state[\'x\']" source_file="f.py" )"
            R"(source_line=12 deduplicated_name="fusion.1" )"
            R"(scheduling_name="s" metadata_payload="p")");
  EXPECT_EQ(OpMetadataToString(OpMetadata()), "");
}

TEST(HloPrintTest, AttributesOfAnyOpcodeInOrder) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  HloComputation* entry = module->entry_computation();
  HloInstruction* root = entry->root_instruction();
  HloInstruction* p0 = entry->parameter_instruction(0);
  HloInstruction* p1 = entry->parameter_instruction(1);
  HloInstruction* add = p0->users()[0];
  add->set_sharding(HloSharding::Replicate());
  add->set_frontend_attribute("b", "{raw}");
  add->set_frontend_attribute("a", "quo\"ted");
  ASSERT_TRUE(p0->AddControlDependencyTo(add).ok());
  ASSERT_TRUE(p1->AddControlDependencyTo(add).ok());
  StatisticsViz statistics;
  statistics.set_stat_index_to_visualize(1);
  statistics.add_statistics()->set_stat_name("time");
  statistics.mutable_statistics(0)->set_stat_val(2.5);
  add->set_statistics_viz(statistics);
  add->set_original_value(OriginalValue::FromProto([] {
    OriginalValueProto proto;
    proto.add_elements()->mutable_original_array()->set_instruction_name("o");
    return proto;
  }()));
  add->set_metadata_op_name("n");
  add->set_raw_backend_config_string(R"({"b":1,"a":"}"})");
  add->add_unknown_attribute("new_attribute", "{1,2}");
  EXPECT_EQ(add->ToString(),
            "%add.1 = f32[4]{0} add(%p0, %p1), sharding={replicated}, "
            "frontend_attributes={a=\"quo\\\"ted\",b={raw}}, "
            "control-predecessors={%p0, %p1}, "
            "statistics={visualizing_index=1,time=2.5}, origin={{\"o\"}}, "
            "metadata={op_name=\"n\"}, backend_config={\"b\":1,\"a\":\"}\"}, "
            "new_attribute={1,2}");
  EXPECT_TRUE(absl::StrContains(
      add->ToString(HloPrintOptions().set_sort_backend_config(true)),
      R"(backend_config={"a":"}","b":1})"));
  EXPECT_EQ(add->ToString(HloPrintOptions()
                              .set_print_extra_attributes(false)
                              .set_print_original_value(false)
                              .set_print_metadata(false)
                              .set_print_backend_config(false)),
            "%add.1 = f32[4]{0} add(%p0, %p1), sharding={replicated}, "
            "frontend_attributes={a=\"quo\\\"ted\",b={raw}}, "
            "control-predecessors={%p0, %p1}, "
            "statistics={visualizing_index=1,time=2.5}");
  EXPECT_EQ(root->ToShortString(), "%tuple = tuple(%add.1, %reduce)");
  EXPECT_EQ(add->SignatureString(), "(f32[4], f32[4]) -> f32[4]");
  const std::vector<std::string> attributes =
      add->ExtraAttributesToString(HloPrintOptions());
  ASSERT_EQ(attributes.size(), 4);
  EXPECT_EQ(attributes[0], "sharding={replicated}");
}

}  // namespace
}  // namespace xla
