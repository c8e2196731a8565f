// What stands before computations: the header of a module and its tables.

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/stack_frames.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/parser/parser_test_util.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- Header ------------------------------------------------------------------

TEST(HloParserHeaderTest, HeaderAttributes) {
  auto module = Parse(absl::StrCat(
      "HloModule jit_f, is_scheduled=true, "
      "input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, must-alias) "
      "}, buffer_donor={ (1, {}) }, alias_passthrough_params=true, "
      "entry_computation_layout={(f32[4]{0}, f32[4]{0})->(f32[4]{0}, "
      "f32[4]{0})}, "
      "allow_spmd_sharding_propagation_to_parameters={true,false}, "
      "allow_spmd_sharding_propagation_to_output=true, replica_count=2, "
      "num_partitions=8, "
      "frontend_attributes={xla.sdy.meshes={mesh = "
      "#sdy.mesh<[\"a\"=2, \"b\"=4]>}}\n",
      kBody));
  EXPECT_EQ(module->name(), "jit_f");
  EXPECT_TRUE(module->has_schedule());
  const HloInputOutputAliasConfig& aliases =
      module->input_output_alias_config();
  EXPECT_FALSE(aliases.GetAliasedParameter({0})->must_alias());
  EXPECT_TRUE(aliases.GetAliasedParameter({1})->must_alias());
  EXPECT_TRUE(module->buffer_donor_config().ParameterIsBufferDonor(1, {}));
  const HloModuleConfig& config = module->config();
  EXPECT_TRUE(config.alias_passthrough_params());
  EXPECT_THAT(config.allow_spmd_sharding_propagation_to_parameters(),
              ElementsAre(true, false));
  EXPECT_THAT(config.allow_spmd_sharding_propagation_to_output(),
              ElementsAre(true));
  EXPECT_EQ(config.replica_count(), 2);
  EXPECT_EQ(config.num_partitions(), 8);
  EXPECT_TRUE(config.use_spmd_partitioning());
  EXPECT_EQ(module->frontend_attributes().map().at("xla.sdy.meshes"),
            "{mesh = #sdy.mesh<[\"a\"=2, \"b\"=4]>}");
  // And it prints as a text that means the same.
  const std::string text = module->ToString();
  EXPECT_EQ(Parse(text)->ToString(), text);
}

TEST(HloParserHeaderTest, ShardingsThatAPartitionerRecorded) {
  auto module = Parse(
      absl::StrCat("HloModule m, num_partitions=4, "
                   "spmd_output_sharding={{devices=[4]<=[4]}, {replicated}}, "
                   "spmd_parameters_shardings={{devices=[2,2]<=[4] "
                   "last_tile_dim_replicate}, {maximal device=3}}",
                   kBody));
  ASSERT_TRUE(module->has_spmd_output_sharding());
  EXPECT_EQ(module->spmd_output_sharding().ToString(),
            "{{devices=[4]<=[4]}, {replicated}}");
  ASSERT_TRUE(module->has_spmd_parameters_shardings());
  ASSERT_EQ(module->spmd_parameters_shardings().size(), 2);
  EXPECT_EQ(module->spmd_parameters_shardings()[1].ToString(),
            "{maximal device=3}");
  const std::string text = module->ToString();
  EXPECT_EQ(Parse(text)->ToString(), text);
  module =
      Parse(absl::StrCat("HloModule m, spmd_parameters_shardings={}", kBody));
  EXPECT_TRUE(module->has_spmd_parameters_shardings());
  EXPECT_FALSE(module->has_spmd_output_sharding());
  const std::string none = module->ToString();
  EXPECT_EQ(Parse(none)->ToString(), none);
}

TEST(HloParserHeaderTest, OnePartitionIsNoSpmd) {
  auto module = Parse(absl::StrCat("HloModule m, num_partitions=1", kBody));
  EXPECT_FALSE(module->config().use_spmd_partitioning());
}

TEST(HloParserHeaderTest, AliasesMayLeaveOutTheirKind) {
  auto module = Parse(absl::StrCat(
      "HloModule m, input_output_alias={ {0}: (1, {}), {1}: (0, {}) }", kBody));
  EXPECT_EQ(module->input_output_alias_config()
                .GetAliasedParameter({0})
                ->parameter_number,
            1);
}

TEST(HloParserHeaderTest, TheConfigOfTheCallerStays) {
  HloModuleConfig config;
  config.set_seed(7);
  config.set_replica_count(3);
  auto module =
      Parse(absl::StrCat("HloModule m", kBody), HloParserOptions(), config);
  EXPECT_EQ(module->config().seed(), 7);
  EXPECT_EQ(module->config().replica_count(), 3);
  module = Parse(absl::StrCat("HloModule m, replica_count=4", kBody),
                 HloParserOptions(), config);
  EXPECT_EQ(module->config().replica_count(), 4);
}

TEST(HloParserHeaderTest, RecoveryTables) {
  auto module = Parse(absl::StrCat(R"(HloModule m, origin_recovery_table={
  {"old"} : {"new" {1}},
  "
    ENTRY recovery (p: f32[4]) -> f32[2,2] {
      p = f32[4]{0} parameter(0)
      ROOT r = f32[2,2]{1,0} reshape(p)
    }
  "
  {"a"} : {"b"}, ""
})",
                                   kBody));
  const auto& table = module->original_value_recovery_table();
  ASSERT_EQ(table.size(), 2);
  for (const auto& [old_array, entry] : table) {
    if (old_array.instruction_name == "old") {
      EXPECT_EQ(entry.first.shape_index, ShapeIndex({1}));
      ASSERT_NE(entry.second, nullptr);
      EXPECT_EQ(entry.second->entry_computation()->instruction_count(), 2);
    } else {
      EXPECT_EQ(entry.second, nullptr);
    }
  }
}

TEST(HloParserHeaderTest, DebugAttributesComeBack) {
  const std::string attributes =
      "debug_attributes={ {\"a\"}:({log_mode=default,callback_id=123,"
      "partitioned=true}), {\"b\"{1}}:({callback_id=1}, {log_mode=default}) }";
  auto module = Parse(absl::StrCat("HloModule m, ", attributes, kBody));
  ASSERT_NE(module, nullptr);
  EXPECT_THAT(module->ToString(),
              HasSubstr("{\"a\"}:({log_mode=default,callback_id=123,"
                        "partitioned=true})"));
  EXPECT_EQ(Parse(module->ToString())->ToString(), module->ToString());
}

// --- Stack frames ------------------------------------------------------------

TEST(HloParserHeaderTest, StackFrameTables) {
  const std::string text = absl::StrCat(R"(HloModule m

FileNames
1 "a.py"
2 "dir/b\"c.py"

FunctionNames
1 "main"
2 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=10 end_line=11 column=2 end_column=3}
2 {file_name_id=2 function_name_id=2 line=20 end_line=21 column=4 end_column=5}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

)",
                                        kBody);
  auto module = Parse(text);
  // In the text a parent is one more than its row; 1 is none.
  HloStackFrame inner = module->get_stack_frame(StackFrameId{2});
  EXPECT_EQ(inner.file_name, "dir/b\"c.py");
  EXPECT_EQ(inner.function_name, "f");
  EXPECT_EQ(inner.line, 20);
  EXPECT_EQ(inner.end_column, 5);
  EXPECT_EQ(inner.parent_frame_id, StackFrameId{1});
  EXPECT_FALSE(
      module->get_stack_frame(StackFrameId{1}).parent_frame_id.valid());
  const std::string printed = module->ToString();
  EXPECT_THAT(printed, HasSubstr("2 {file_location_id=2 parent_frame_id=2}"));
  EXPECT_EQ(Parse(printed)->ToString(), printed);
}

TEST(HloParserHeaderTest, TheNameMayBeMissingBeforeAttributes) {
  auto module = Parse(absl::StrCat("HloModule, replica_count=2\n", kBody));
  EXPECT_EQ(module->name(), "module_e");
  EXPECT_EQ(module->config().replica_count(), 2);
  auto unnamed =
      ParseAndReturnUnverifiedModule(absl::StrCat("HloModule = m\n", kBody));
  EXPECT_THAT(std::string(unnamed.status().message()),
              HasSubstr("expected the name of the module"));
}

TEST(HloParserHeaderTest, MetadataThatIsReadButNotPrinted) {
  auto module = Parse(R"(HloModule m
ENTRY e {
  ROOT a = f32[] parameter(0), metadata={size_of_generated_code_in_bytes=5 size_of_memory_working_set_in_bytes=7}
})");
  const OpMetadata& metadata =
      module->entry_computation()->root_instruction()->metadata();
  EXPECT_EQ(metadata.size_of_generated_code_in_bytes(), 5);
  EXPECT_EQ(metadata.size_of_memory_working_set_in_bytes(), 7);
}

TEST(HloParserHeaderTest, AFusionSharesTheOriginOfItsRoot) {
  auto module = Parse(R"(HloModule m
f {
  a = f32[] parameter(0)
  ROOT b = f32[] negate(a), origin={{"x"}}
}
ENTRY e {
  a = f32[] parameter(0)
  ROOT c = f32[] fusion(a), kind=kLoop, calls=f, origin={{"x"}}
})");
  const HloInstruction* fusion =
      module->entry_computation()->root_instruction();
  EXPECT_EQ(fusion->original_value(),
            fusion->fused_expression_root()->original_value());
}

TEST(HloParserHeaderTest, TheModeThatFollowsMakesNoDifference) {
  auto module = Parse(R"(HloModule m, replica_count=2
ENTRY e {
  a = f32[] parameter(0)
  p = f32[] collective-permute(a), source_target_pairs={{0,1}}, mode=cross_replica
  q = f32[] collective-permute(a), source_target_pairs={{0,1}}
  r = f32[] collective-permute(a), source_target_pairs={{0,1}}, mode=flattened_id
  ROOT t = (f32[], f32[], f32[]) tuple(p, q, r)
})");
  const HloInstruction* t = module->entry_computation()->root_instruction();
  EXPECT_TRUE(t->operand(0)->Identical(*t->operand(1)));
  EXPECT_FALSE(t->operand(0)->Identical(*t->operand(2)));
}

TEST(HloParserHeaderTest, DebugOptionsLeaveThingsOutOfToString) {
  auto module = Parse(R"(HloModule m
ENTRY e {
  a = (f32[], f32[]) parameter(0), metadata={op_name="here"}
  b = f32[] get-tuple-element(a), index=1
  s = ((f32[]), f32[], u32[]) negate-start(b)
  ROOT c = f32[] negate-done(s)
})");
  using ::testing::HasSubstr;
  using ::testing::Not;
  EXPECT_THAT(module->ToString(), HasSubstr("here"));
  EXPECT_THAT(module->ToString(), HasSubstr("async-start"));
  EXPECT_THAT(module->ToString(), Not(HasSubstr("%a#1")));
  DebugOptions& options = module->mutable_config().mutable_debug_options();
  options.set_xla_dump_disable_metadata(true);
  options.set_xla_syntax_sugar_async_ops(true);
  options.set_xla_dump_compact_gte(true);
  EXPECT_THAT(module->ToString(), Not(HasSubstr("here")));
  EXPECT_THAT(module->ToString(), HasSubstr("negate-start"));
  EXPECT_THAT(module->ToString(), HasSubstr("%a#1"));
}

TEST(HloParserHeaderTest, StackFramesMustExist) {
  EXPECT_FALSE(ParseAndReturnUnverifiedModule(
                   absl::StrCat("HloModule m\nFileNames\n1 \"a\"\n"
                                "FunctionNames\n1 \"f\"\nFileLocations\n"
                                "StackFrames\n"
                                "1 {file_location_id=1 parent_frame_id=1}\n",
                                kBody))
                   .ok());
}

}  // namespace
}  // namespace xla
