// Modules as a whole: headers, tables, computations, order, layouts, and text
// that is less than a module.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/stack_frames.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<HloModule> Parse(
    absl::string_view text,
    const HloParserOptions& options = HloParserOptions(),
    const HloModuleConfig& config = HloModuleConfig()) {
  auto module = ParseAndReturnUnverifiedModule(text, config, options);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? *std::move(module) : nullptr;
}

std::vector<std::string> Names(const HloComputation& computation) {
  std::vector<std::string> names;
  for (const HloInstruction* instruction : computation.instructions()) {
    names.emplace_back(instruction->name());
  }
  return names;
}

constexpr absl::string_view kBody = R"(
ENTRY e {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
  ROOT t = (f32[4], f32[4]) tuple(p, q)
}
)";

// --- Header ------------------------------------------------------------------

TEST(HloParserModuleTest, HeaderAttributes) {
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

TEST(HloParserModuleTest, ShardingsThatAPartitionerRecorded) {
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

TEST(HloParserModuleTest, OnePartitionIsNoSpmd) {
  auto module = Parse(absl::StrCat("HloModule m, num_partitions=1", kBody));
  EXPECT_FALSE(module->config().use_spmd_partitioning());
}

TEST(HloParserModuleTest, AliasesMayLeaveOutTheEnd) {
  auto module = Parse(absl::StrCat(
      "HloModule m, input_output_alias={ {0}: (1), {1}: (0, {}) }", kBody));
  EXPECT_EQ(module->input_output_alias_config()
                .GetAliasedParameter({0})
                ->parameter_number,
            1);
}

TEST(HloParserModuleTest, TheConfigOfTheCallerStays) {
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

TEST(HloParserModuleTest, RecoveryTables) {
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

TEST(HloParserModuleTest, DebugAttributesComeBack) {
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

TEST(HloParserModuleTest, StackFrameTables) {
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

TEST(HloParserModuleTest, AFusionSharesTheOriginOfItsRoot) {
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

TEST(HloParserModuleTest, TheModeThatFollowsMakesNoDifference) {
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

TEST(HloParserModuleTest, DebugOptionsLeaveThingsOutOfToString) {
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

TEST(HloParserModuleTest, StackFramesMustExist) {
  EXPECT_FALSE(ParseAndReturnUnverifiedModule(
                   absl::StrCat("HloModule m\nFileNames\n1 \"a\"\n"
                                "FunctionNames\n1 \"f\"\nFileLocations\n"
                                "StackFrames\n"
                                "1 {file_location_id=1 parent_frame_id=1}\n",
                                kBody))
                   .ok());
}

// --- Computations ------------------------------------------------------------

TEST(HloParserModuleTest, TheLastComputationIsTheEntryIfNoneIsMarked) {
  auto module = Parse(
      "HloModule m\na {\n ROOT x = f32[] parameter(0)\n}\n"
      "b {\n x = f32[] parameter(0)\n}\n");
  EXPECT_EQ(module->entry_computation()->name(), "b");
  module = Parse(
      "HloModule m\nENTRY a {\n x = f32[] parameter(0)\n}\n"
      "b {\n x = f32[] parameter(0)\n}\n");
  EXPECT_EQ(module->entry_computation()->name(), "a");
}

TEST(HloParserModuleTest, TheLastInstructionIsTheRootIfNoneIsMarked) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n x = f32[] parameter(0)\n"
      " ROOT y = negate(x)\n z = f32[] negate(x)\n}\n");
  EXPECT_EQ(module->entry_computation()->root_instruction()->name(), "y");
  module = Parse(
      "HloModule m\nENTRY e {\n x = f32[] parameter(0)\n"
      " y = negate(x)\n z = f32[] negate(x)\n}\n");
  EXPECT_EQ(module->entry_computation()->root_instruction()->name(), "z");
}

// The names of the instructions, computation by computation.
std::vector<std::vector<std::string>> AllNames(const HloModule& module) {
  std::vector<std::vector<std::string>> names;
  for (const HloComputation* computation : module.computations()) {
    names.push_back(Names(*computation));
  }
  return names;
}

// As XLA itself names them: in the order of the text.
TEST(HloParserModuleTest, NamesBecomeUniqueInTheModule) {
  auto module = Parse(
      "HloModule m\na { x = f32[] parameter(0)\n x.1 = negate(x)\n"
      " ROOT y = negate(x.1) }\n"
      "b { x = f32[] parameter(0)\n ROOT x.07 = add(x, negate(x)) }\n"
      "ENTRY e { x = f32[] parameter(0)\n y = call(x), to_apply=a\n"
      " x.7 = negate(y)\n negate.anon = f32[] negate(x.7)\n"
      " ROOT y.2 = call(negate.anon), to_apply=b,"
      " control-predecessors={x.7} }");
  EXPECT_THAT(
      AllNames(*module),
      ElementsAre(ElementsAre("x", "x.1", "y"),
                  ElementsAre("x.2", "negate.anon", "x.7"),
                  ElementsAre("x.3", "y.1", "x.4", "negate.anon.1", "y.2")));
  const HloInstruction* root = module->entry_computation()->root_instruction();
  EXPECT_EQ(root->operand(0)->name(), "negate.anon.1");
  EXPECT_EQ(root->control_predecessors()[0]->name(), "x.4");
  // Once unique, they stay, as no short form hides names here.
  const std::string text = module->ToString();
  EXPECT_EQ(Parse(text)->ToString(), text);
}

TEST(HloParserModuleTest, NamesFollowTheTextWhereComputationsAreReadAhead) {
  auto module = Parse(
      "HloModule m\nENTRY e { x = f32[] parameter(0)\n"
      " y = call(x), to_apply=a\n ROOT z = call(y), to_apply={\n"
      "  x = f32[] parameter(0) } }\n"
      "a { x = f32[] parameter(0)\n ROOT y = negate(x) }\n");
  HloComputation* body = module->GetComputationWithName("_");
  ASSERT_NE(body, nullptr);
  EXPECT_THAT(Names(*body), ElementsAre("x"));
  EXPECT_THAT(Names(*module->entry_computation()),
              ElementsAre("x.1", "y", "z"));
  EXPECT_THAT(Names(*module->GetComputationWithName("a")),
              ElementsAre("x.2", "y.1"));
}

TEST(HloParserModuleTest, NamesOfComputationsBecomeUnique) {
  auto module = Parse(
      "HloModule m\na.01 { x = f32[] parameter(0) }\n"
      "a.1 { y = f32[] parameter(0) }\n"
      "ENTRY a { z = f32[] parameter(0)\n u = call(z), to_apply=a.01\n"
      " v = call(u), to_apply={ w = f32[] parameter(0) }\n"
      " ROOT r = call(v), to_apply={ t = f32[] parameter(0) } }");
  std::vector<std::string> names;
  for (const HloComputation* computation : module->computations()) {
    names.emplace_back(computation->name());
  }
  EXPECT_THAT(names, ElementsAre("a.1", "a.0", "_", "_.1", "a.2"));
}

// Messages have the names of the text.
TEST(HloParserModuleTest, ErrorsHaveTheNamesOfTheText) {
  auto module = ParseAndReturnUnverifiedModule(
      "HloModule m\na { x = f32[] parameter(0) }\n"
      "ENTRY e { x = f32[] parameter(0)\n ROOT y = f32[] negate(f32[2] x) }");
  EXPECT_THAT(module.status().message(), HasSubstr("operand 'x' has shape"));
}

TEST(HloParserModuleTest, ForwardReferences) {
  auto module = Parse(R"(HloModule m
ENTRY %main (p: f32[4]) -> (f32[], f32[]) {
  p = f32[4]{0} parameter(0)
  z = f32[] constant(0)
  a = f32[] reduce(p, z), dimensions={0}, to_apply=%add
  b = f32[] call(a), to_apply=%later
  ROOT t = (f32[], f32[]) tuple(a, b)
}

%later (x: f32[]) -> f32[] {
  x = f32[] parameter(0)
  ROOT y = f32[] map(x, x), to_apply=%add
} // later

%add (x: f32[], y: f32[]) -> f32[] {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}, execution_thread="side"
)");
  EXPECT_EQ(module->computation_count(), 3);
  EXPECT_EQ(module->entry_computation()->name(), "main");
  const HloInstruction* a =
      module->entry_computation()->GetInstructionWithName("a");
  EXPECT_EQ(a->to_apply()->name(), "add");
  EXPECT_EQ(a->to_apply()->execution_thread(), "side");
  EXPECT_EQ(module->entry_computation()
                ->GetInstructionWithName("b")
                ->to_apply()
                ->root_instruction()
                ->to_apply(),
            a->to_apply());
}

TEST(HloParserModuleTest, InlineBodies) {
  auto module = Parse(R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  z = f32[] constant(0)
  r = reduce(p, z), dimensions={0}, to_apply={
    x = f32[] parameter(0)
    y = f32[] parameter(1)
    ROOT s = call(x, y), to_apply={ a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = add(a, b) }
  }
  i = s32[] constant(1)
  ROOT d = f32[] conditional(i, r, r), branch_computations={
    { x = f32[] parameter(0) }, {x = f32[] parameter(0) ROOT y = negate(x)} }
})");
  EXPECT_EQ(module->computation_count(), 5);
  EXPECT_NE(module->GetComputationWithName("_.1"), nullptr);
  const std::string text = module->ToString();
  EXPECT_EQ(Parse(text)->ToString(), text);
  // Canonical text has all bodies in place.
  const std::string canonical = module->ToString(HloPrintOptions::Canonical());
  EXPECT_EQ(Parse(text)->ToString(HloPrintOptions::Canonical()), canonical);
}

TEST(HloParserModuleTest, CommentsOfAllKinds) {
  auto module = Parse(
      "/* a\n * b */ HloModule m // c\r\n\r\n"
      "ENTRY e { // {\r\n  p = f32[4] /*{{*/ parameter(0)\r\n"
      "  ROOT t = tuple(p, /*index=1*/p) // }\n}// e\n// end");
  EXPECT_THAT(Names(*module->entry_computation()), ElementsAre("p", "t"));
}

// --- Operands ----------------------------------------------------------------

TEST(HloParserModuleTest, NestedOperands) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n x = f32[] parameter(0)\n"
      " y = f32[] parameter(1)\n"
      " ROOT r = add(maximum(x, negate(y)), f32[] maximum(y, "
      "x))\n}\n");
  EXPECT_THAT(Names(*module->entry_computation()),
              ElementsAre("x", "y", "negate.anon", "maximum.anon",
                          testing::StartsWith("maximum.anon."), "r"));
}

TEST(HloParserModuleTest, CompactTupleElements) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n"
      " p = ((f32[2], f32[3]), f32[4]) parameter(0)\n"
      " a = negate(p#1)\n b = negate(p#0#1)\n"
      " c = negate(p#0#1)\n"
      " ROOT t = tuple(a, b, c, p#0)\n}\n");
  const HloComputation* entry = module->entry_computation();
  EXPECT_THAT(Names(*entry),
              ElementsAre("p", "p_1", "a", "p_0", "p_0_1", "b", "c", "t"));
  EXPECT_EQ(entry->root_instruction()->shape().tuple_shapes(1).dimensions(0),
            3);
  const HloPrintOptions compact = HloPrintOptions().set_compact_gte(true);
  const std::string text = module->ToString(compact);
  EXPECT_THAT(text, HasSubstr("negate(%p#0#1)"));
  EXPECT_EQ(Parse(text)->ToString(compact), text);
}

TEST(HloParserModuleTest, OperandsWithShapes) {
  auto module = Parse(
      "HloModule m\nENTRY %e (p: f32[4]) -> f32[4] {\n"
      " %p = f32[4]{0} parameter(0)\n"
      " ROOT %r = f32[4]{0} add(f32[4]{0} %p, f32[4]{0} %p)\n"
      "}\n");
  EXPECT_EQ(module->entry_computation()->root_instruction()->operand_count(),
            2);
}

TEST(HloParserModuleTest, ImpliedShapes) {
  auto module = Parse(R"(HloModule m
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = add(x, y) }
ENTRY e {
  p = f32[4,8] parameter(0)
  s = f32[] constant(1)
  a = negate(p)
  b = multiply(a, p)
  c = compare(a, b), direction=LT
  d = select(c, a, b)
  e = reduce(d, s), dimensions={1}, to_apply=add
  f = transpose(p), dimensions={1,0}
  g = dot(p, f), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = concatenate(p, p), dimensions={0}
  i = pad(p, s), padding=1_1x0_0
  j = tuple(e, g)
  k = get-tuple-element(j), index=1
  l = map(p, p), dimensions={0,1}, to_apply=add
  m = clamp(s, p, s)
  n = after-all()
  o = replica-id()
  ROOT t = tuple(d, e, f, g, h, i, k, l, m, n, o)
})");
  EXPECT_EQ(ShapeUtil::HumanStringWithLayout(
                module->entry_computation()->root_instruction()->shape()),
            "(f32[4,8]{1,0}, f32[4]{0}, f32[8,4]{0,1}, f32[4,4]{1,0}, "
            "f32[8,8]{1,0}, /*index=5*/f32[6,8]{1,0}, f32[4,4]{1,0}, "
            "f32[4,8]{1,0}, f32[4,8]{1,0}, token[], /*index=10*/u32[])");
}

// --- Layouts -----------------------------------------------------------------

TEST(HloParserModuleTest, MissingLayoutsAreFilledOrNot) {
  const std::string text =
      "HloModule m\nENTRY e {\n ROOT p = f32[4,8] parameter(0)\n}\n";
  auto filled = Parse(text);
  EXPECT_TRUE(
      filled->entry_computation()->root_instruction()->shape().has_layout());
  auto bare = Parse(text, HloParserOptions().set_fill_missing_layouts(false));
  EXPECT_FALSE(
      bare->entry_computation()->root_instruction()->shape().has_layout());
}

TEST(HloParserModuleTest, OutfeedShapesHaveLayoutsAsOthersDo) {
  const std::string text =
      "HloModule m\nENTRY e {\n p = (f32[4,8], s32[]) parameter(0)\n"
      " t = token[] after-all()\n"
      " ROOT o = token[] outfeed(p, t), outfeed_shape=(f32[4,8], s32[])\n}\n";
  EXPECT_THAT(Parse(text)->ToString(),
              HasSubstr("outfeed_shape=(f32[4,8]{1,0}, s32[])"));
  EXPECT_THAT(Parse(text, HloParserOptions().set_fill_missing_layouts(false))
                  ->ToString(),
              HasSubstr("outfeed_shape=(f32[4,8], s32[])"));
}

TEST(HloParserModuleTest, EntryLayoutsComeFromTheHeader) {
  auto module = Parse(
      "HloModule m, entry_computation_layout={(f32[4,8]{0,1})->f32[4,8]{1,0}}\n"
      "ENTRY e {\n ROOT p = f32[4,8]{1,0} parameter(0)\n}\n");
  EXPECT_EQ(module->entry_computation_layout().ToString(),
            "(f32[4,8]{0,1})->f32[4,8]{1,0}");
}

TEST(HloParserModuleTest, WithoutAHeaderEntryLayoutsComeFromTheShapes) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n p = f32[4,8]{0,1} parameter(0)\n"
      " ROOT c = f32[4,8]{1,0} copy(p)\n}\n");
  EXPECT_EQ(module->entry_computation_layout().ToString(),
            "(f32[4,8]{0,1})->f32[4,8]{1,0}");
}

TEST(HloParserModuleTest, AutomaticEntryLayouts) {
  const std::string text =
      "HloModule m, entry_computation_layout={(f32[4,8])->f32[4,8]{0,1}}\n"
      "ENTRY e {\n ROOT p = f32[4,8]{1,0} parameter(0)\n}\n";
  EXPECT_EQ(Parse(text)->entry_computation_layout().ToString(),
            "(f32[4,8]{1,0})->f32[4,8]{0,1}");
  auto kept =
      Parse(text, HloParserOptions().set_keep_module_auto_layouts(true));
  EXPECT_FALSE(
      kept->entry_computation_layout().parameter_layout(0).LayoutIsSet());
}

// --- Schedules ---------------------------------------------------------------

TEST(HloParserModuleTest, ScheduledModulesKeepTheOrderOfTheText) {
  const std::string body =
      "\nadd {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
      " ROOT s = add(x, y)\n}\n"
      "fused {\n x = f32[4] parameter(0)\n ROOT n = negate(x)\n}\n"
      "ENTRY e {\n p = f32[4] parameter(0)\n z = f32[] constant(0)\n"
      " late = negate(p)\n early = f32[4] fusion(p), kind=kLoop, calls=fused\n"
      " r = reduce(early, z), dimensions={0}, to_apply=add\n"
      " ROOT t = tuple(late, r)\n}\n";
  auto module = Parse(absl::StrCat("HloModule m, is_scheduled=true", body));
  ASSERT_TRUE(module->has_schedule());
  std::vector<std::string> order;
  for (const HloInstruction* instruction :
       module->schedule()
           .sequence(module->entry_computation())
           .instructions()) {
    order.emplace_back(instruction->name());
  }
  EXPECT_THAT(order, ElementsAre("p", "z", "late", "early", "r", "t"));
  EXPECT_TRUE(module->schedule().Verify().ok());
  EXPECT_FALSE(module->schedule().is_computation_scheduled(
      module->GetComputationWithName("fused")));
  EXPECT_FALSE(Parse(absl::StrCat("HloModule m, is_scheduled=false", body))
                   ->has_schedule());
  EXPECT_FALSE(Parse(absl::StrCat("HloModule m", body))->has_schedule());
}

// --- Constants ---------------------------------------------------------------

TEST(HloParserModuleTest, ElidedConstants) {
  const std::string text =
      "HloModule m\nENTRY e {\n a = f32[100]{0} constant({...})\n"
      " b = s32[100]{0} constant({...})\n ROOT t = tuple(a, b, a)\n}\n";
  auto kept = Parse(text);
  EXPECT_TRUE(kept->entry_computation()
                  ->GetInstructionWithName("a")
                  ->literal()
                  .is_elided());
  const std::string printed = kept->ToString();
  EXPECT_THAT(printed, HasSubstr("constant({...})"));
  EXPECT_EQ(Parse(printed)->ToString(), printed);

  HloParserOptions fill;
  fill.set_fill_shortform_constants_with_random_values(true);
  auto filled = Parse(text, fill);
  auto again = Parse(text, fill);
  auto literal = [](const std::unique_ptr<HloModule>& module,
                    absl::string_view name) -> const Literal& {
    return module->entry_computation()->GetInstructionWithName(name)->literal();
  };
  EXPECT_FALSE(literal(filled, "a").is_elided());
  EXPECT_EQ(literal(filled, "a"), literal(again, "a"));
  EXPECT_FALSE(literal(filled, "a").IsAllFirst());
  for (int32_t value : literal(filled, "b").data<int32_t>()) {
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 100);
  }
}

// --- Less than a module ------------------------------------------------------

TEST(HloParserModuleTest, OneComputation) {
  auto module = Parse("f {\n x = f32[] parameter(0)\n ROOT y = negate(x)\n}");
  EXPECT_EQ(module->name(), "module_f");
  EXPECT_EQ(module->entry_computation()->name(), "f");
  module = Parse("%f (x: f32[]) -> f32[] {\n %x = f32[] parameter(0)\n}");
  EXPECT_EQ(module->name(), "module_f");
}

TEST(HloParserModuleTest, SeveralComputations) {
  auto module = Parse(
      "f {\n x = f32[] parameter(0)\n}\n"
      "ENTRY g {\n x = f32[] parameter(0)\n"
      " ROOT y = call(x), to_apply=f\n}");
  EXPECT_EQ(module->computation_count(), 2);
  EXPECT_EQ(module->name(), "module_g");
}

TEST(HloParserModuleTest, OneInstruction) {
  auto module = Parse("%r = f32[4]{0} add(f32[4]{0} %p, f32[4]{0} %q)");
  const HloComputation* entry = module->entry_computation();
  EXPECT_EQ(entry->num_parameters(), 2);
  EXPECT_EQ(entry->parameter_instruction(1)->name(), "q");
  EXPECT_EQ(entry->root_instruction()->name(), "r");
  // With shapes instead of operands.
  module = Parse("r = f32[4]{0} subtract(f32[4]{0}, f32[4]{0})");
  entry = module->entry_computation();
  EXPECT_EQ(entry->num_parameters(), 2);
  EXPECT_EQ(entry->root_instruction()->opcode(), HloOpcode::kSubtract);
  // One operand twice.
  module = Parse("ROOT r = f32[4] add(f32[4] x, f32[4] x)");
  EXPECT_EQ(module->entry_computation()->num_parameters(), 1);
  module = Parse(
      "r = f32[8] fusion(f32[8] p), kind=kLoop, calls={\n"
      " x = f32[8] parameter(0)\n ROOT n = negate(x)\n}");
  EXPECT_EQ(module->computation_count(), 2);
}

TEST(HloParserModuleTest, NestedOperandsInOneInstruction) {
  auto module = Parse(
      "r = f32[4] add(f32[4] x, f32[4] multiply(f32[4] x, "
      "f32[4] y))");
  EXPECT_EQ(module->entry_computation()->num_parameters(), 2);
  EXPECT_EQ(module->entry_computation()->instruction_count(), 4);
}

TEST(HloParserModuleTest, RunFillsAnEmptyModule) {
  const std::string text = absl::StrCat("HloModule m", kBody);
  HloModule module("other", HloModuleConfig());
  EXPECT_TRUE(HloParser::Create(text)->Run(&module).ok());
  EXPECT_EQ(module.name(), "m");
  EXPECT_EQ(HloParser::Create(text)->Run(&module).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(HloParserModuleTest, FailedParsesLeaveNothingBehind) {
  // Computations, calls and control edges of every state of completion.
  for (absl::string_view tail :
       {"}", "ROOT x = f32[] bogus(p)\n}", "x = call(p), to_apply=f, z=1",
        "c = call(p), to_apply=f\n d = negate(c), control-predecessors={c}"}) {
    const std::string text = absl::StrCat(
        "HloModule m\nf {\n p = f32[] parameter(0)\n}\n"
        "g {\n p = f32[] parameter(0)\n ROOT c = call(p), to_apply=f\n}\n"
        "ENTRY e {\n p = f32[] parameter(0)\n a = call(p), to_apply=g\n",
        tail, "\n bad");
    EXPECT_FALSE(ParseAndReturnUnverifiedModule(text).ok());
  }
}

// --- Printing ----------------------------------------------------------------

// An instruction, as it is printed once it has been read.
std::string Printed(absl::string_view instruction,
                    const HloPrintOptions& options) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      "HloModule m\nf {\n c = f32[] parameter(0)\n x = f32[] parameter(1)\n"
      " s = add(c, x)\n ROOT t = tuple(s, s)\n}\nENTRY e {\n"
      "  a = f32[4] parameter(0)\n  z = f32[] parameter(1)\n"
      "  k = f32[3,3,8,3] parameter(2)\n  ROOT r = ",
      instruction, "\n}\n"));
  return module.ok()
             ? (*module)->entry_computation()->root_instruction()->ToString(
                   options)
             : std::string(module.status().message());
}

TEST(HloParserModuleTest, PrintedForms) {
  const HloPrintOptions plain = HloPrintOptions::Default();
  EXPECT_THAT(
      Printed("tuple(a, a, a, a, a, a, a)", HloPrintOptions::ShortParsable()),
      HasSubstr("tuple(a, a, a, a, a, a, a)"));
  EXPECT_THAT(
      Printed("f32[4] collective-broadcast(a), replica_groups={{0}}", plain),
      HasSubstr("has_dynamic_root=false"));
  EXPECT_THAT(Printed("(f32[4], f32[]) scan(a, z), to_apply=f, "
                      "is_associative=true, is_reverse=true, num_carries=1, "
                      "dimensions={0}",
                      plain),
              HasSubstr("dimensions={0}, num_carries=1, is_reverse=true, "
                        "is_associative=true, to_apply=%f"));
  for (absl::string_view type : {"f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz"}) {
    EXPECT_THAT(Printed(absl::StrCat(type, "[] constant(nan)"), plain),
                HasSubstr("constant(-nan)"));
  }
  for (absl::string_view labels : {"b0?f_?0?io->?b?0?f", "b01f_01io->b01f"}) {
    EXPECT_THAT(Printed(absl::StrCat("f32[4] custom-call(a, k), "
                                     "custom_call_target=\"t\", dim_labels=",
                                     labels),
                        plain),
                HasSubstr(absl::StrCat("dim_labels=", labels)));
  }
  EXPECT_THAT(
      Printed("f32[1,2,2,3] convolution(f32[1,4,4,16] broadcast(z), k), "
              "window={size=3x3}, dim_labels=b01f_01io->b01f, "
              "sparsity_config={rhs={sparsity=2x4 dimension=2 stride=1 idx=2}}",
              plain),
      HasSubstr("sparsity_config={rhs={sparsity=2x4 dimension=2 stride=1 "
                "idx=2}}"));
  EXPECT_THAT(
      Printed("f32[1,2,2,3] convolution(f32[1,4,4,16] broadcast(z), k, a), "
              "window={size=3x3}, dim_labels=b01f_01io->b01f, "
              "sparsity_config={rhs={sparsity=2x4 dimension=2 stride=1 idx=2}}",
              plain),
      HasSubstr("a), window={size=3x3}"));
}

TEST(HloParserModuleTest, CanonicalForms) {
  auto module = Parse(R"(HloModule m
f {
  x = f32[4] parameter(0)
  n = f32[4] negate(x)
  ROOT t = (f32[4], f32[4]) tuple(x, n)
}, execution_thread="t"
ENTRY e {
  p = f32[4] parameter(0)
  s = ((f32[4]), (f32[4], f32[4]), u32[]) async-start(p), calls=f
  d = (f32[4], f32[4]) async-done(s)
  g = f32[4] get-tuple-element(d), index=1
  ROOT r = f32[4] abs(g)
})");
  const HloPrintOptions canonical = HloPrintOptions::Canonical();
  EXPECT_THAT(module->ToString(canonical),
              HasSubstr("}, execution_thread=\"t\""));
  EXPECT_THAT(
      module->ToString(HloPrintOptions::Canonical().set_compact_gte(true)),
      testing::ContainsRegex("abs\\(.*tmp_[0-9]+#1"));
}

TEST(HloParserModuleTest, EntryLayoutsStayUnsetWithTheShapes) {
  auto bare =
      Parse("HloModule m\nENTRY e {\n ROOT p = f32[4,8] parameter(0)\n}\n",
            HloParserOptions().set_fill_missing_layouts(false));
  EXPECT_FALSE(bare->entry_computation_layout().result_layout().LayoutIsSet());
  EXPECT_FALSE(
      bare->entry_computation_layout().parameter_layout(0).LayoutIsSet());
}

TEST(HloParserModuleTest, NamesOfElementsAndNestedOperands) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n p = (f32[2], f32[3]) parameter(0)\n"
      " p_0 = f32[2] get-tuple-element(p), index=0\n"
      " ROOT r = add(p#0, p_0)\n}\n");
  EXPECT_THAT(Names(*module->entry_computation()),
              ElementsAre("p", "p_0", "p_0.1", "r"));
  module = Parse(
      "HloModule m\nENTRY e {\n ROOT r = add(f32[] add(f32[] parameter(0), "
      "f32[] parameter(1)), f32[] parameter(2))\n}\n");
  EXPECT_THAT(Names(*module->entry_computation()),
              ElementsAre("parameter.anon", "parameter.anon.1", "add.anon",
                          "parameter.anon.2", "r"));
}

TEST(HloParserModuleTest, TopKTakesTheLargestWhereNothingElseIsWritten) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n p = f32[5] parameter(0)\n"
      " ROOT r = (f32[3], s32[3]) topk(p), k=3\n}\n");
  EXPECT_THAT(module->entry_computation()->root_instruction()->ToString(),
              ::testing::HasSubstr("topk(%p), k=3, largest=true"));
}

TEST(HloParserModuleTest, AccuracyIsTheDefaultOneWhereNoneIsWritten) {
  auto module = Parse(
      "HloModule m\nENTRY e {\n p = f32[] parameter(0)\n"
      " ROOT r = exponential(p)\n}\n");
  const ResultAccuracy& accuracy =
      module->entry_computation()->root_instruction()->result_accuracy();
  EXPECT_TRUE(accuracy.has_mode());
  EXPECT_EQ(accuracy.mode(), ResultAccuracy::DEFAULT);
}

// --- Files -------------------------------------------------------------------

// order= is how later versions write what type= says of floats.
TEST(HloParserModuleTest, OrdersOfComparisonsAreTypes) {
  const auto compare = [](absl::string_view type,
                          absl::string_view attributes) {
    return ParseAndReturnUnverifiedModule(absl::StrCat(
        "HloModule m\nENTRY e {\n  a = ", type,
        "[4] parameter(0)\n  ROOT c = pred[4] compare(a, a), direction=LT",
        attributes, "\n}\n"));
  };
  const auto text = [&](absl::string_view type, absl::string_view attributes) {
    const auto module = compare(type, attributes);
    return module.ok()
               ? (*module)->entry_computation()->root_instruction()->ToString(
                     HloPrintOptions::ShortParsable())
               : std::string(module.status().message());
  };
  EXPECT_THAT(text("f32", ", order=TOTAL"), HasSubstr("LT, type=TOTALORDER"));
  EXPECT_EQ(text("f32", ", order=PARTIAL"), text("f32", ""));
  EXPECT_EQ(text("c64", ", order=PARTIAL"), text("c64", ""));
  EXPECT_EQ(text("s32", ", order=TOTAL"), text("s32", ""));
  EXPECT_EQ(text("f32", ", type=TOTALORDER, order=TOTAL"),
            text("f32", ", type=TOTALORDER"));
  EXPECT_FALSE(compare("s32", ", order=PARTIAL").ok());
  EXPECT_FALSE(compare("f32", ", type=FLOAT, order=TOTAL").ok());
  EXPECT_THAT(text("f32", ", order=ANY"),
              HasSubstr("4:55: error: unknown order"));
}

TEST(SplitInputTest, PiecesKnowTheirLines) {
  auto pieces = SplitInput(
      "// RUN: x\nHloModule a\n// -----\n// only a comment\n  // -----  \n"
      "HloModule b\nmore\n");
  ASSERT_EQ(pieces.size(), 2);
  EXPECT_EQ(pieces[0].text, "// RUN: x\nHloModule a\n");
  EXPECT_EQ(pieces[0].first_line, 1);
  EXPECT_EQ(pieces[1].text, "HloModule b\nmore\n");
  EXPECT_EQ(pieces[1].first_line, 6);
  EXPECT_TRUE(SplitInput("").empty());
  EXPECT_EQ(SplitInput("HloModule a // -----").size(), 1);
}

TEST(StripLogHeadersTest, RemovesWhatLoggingAdds) {
  const std::string log =
      "I0822 10:00:00.000000   123 file.cc:45] something else\n"
      "I0822 10:00:00.000000   123 file.cc:45] HloModule m\n"
      "I0822 10:00:00.000001   123 file.cc:45] ENTRY e {\n"
      "I0822 10:00:00.000001   123 file.cc:45]   ROOT p = f32[] parameter(0)\n"
      "I0822 10:00:00.000001   123 file.cc:45] }\n";
  EXPECT_NE(Parse(StripLogHeaders(log)), nullptr);
  const std::string text = absl::StrCat("HloModule m", kBody);
  EXPECT_EQ(StripLogHeaders(text), text);
}

}  // namespace
}  // namespace xla
