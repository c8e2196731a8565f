// Modules of loops and conditionals stay valid and compute what they did.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/verifier_pass.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/control_flow/conditional_simplifier.h"
#include "xla/hlo/transforms/control_flow/while_loop_constant_sinking.h"
#include "xla/hlo/transforms/control_flow/while_loop_invariant_code_motion.h"
#include "xla/hlo/transforms/control_flow/while_loop_simplifier.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"

namespace xla {
namespace {

// From the environment, for long runs of optimized builds.
int64_t Modules() {
  const char* text = std::getenv("CONTROL_FLOW_RANDOM_MODULES");
  int64_t count;
  return text != nullptr && absl::SimpleAtoi(text, &count) ? count : 60;
}

std::unique_ptr<HloModule> Module(uint64_t seed) {
  RandomModuleOptions options;
  options.steps = 15 + static_cast<int64_t>(seed % 10);
  options.max_depth = 3;
  options.max_trips = 1 + static_cast<int64_t>(seed % 3);
  options.opcodes = {HloOpcode::kWhile,       HloOpcode::kWhile,
                     HloOpcode::kConditional, HloOpcode::kConditional,
                     HloOpcode::kAdd,         HloOpcode::kDot,
                     HloOpcode::kReduce,      HloOpcode::kConvert,
                     HloOpcode::kTanh,        HloOpcode::kSlice};
  options.tuples = seed % 2 == 0;
  return RandomModule(seed, options);
}

// A loop over a flat state: elements that start as parameters, zeros or
// constants, of which half are handed through; the others step by sums and
// products of what the state holds.
std::unique_ptr<HloModule> Loop(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto draw = [&](size_t limit) { return random() % limit; };
  const size_t size = 3 + draw(4);
  std::vector<std::string> types(size, "f32[2,2]"), starts, body, root;
  for (size_t i = 0; i < size; ++i) {
    constexpr const char* kStarts[] = {"a", "b", "zeros", "c"};
    starts.push_back(kStarts[draw(4)]);
    body.push_back(absl::StrFormat(
        "x%d = f32[2,2] get-tuple-element(s), index=%d", i, i + 1));
  }
  std::vector<std::string> values;
  for (size_t i = 0; i < size; ++i) values.push_back(absl::StrCat("x", i));
  values.push_back("k");
  for (size_t i = 0; i < 6; ++i) {
    const std::string& lhs = values[draw(values.size())];
    const std::string& rhs = values[draw(values.size())];
    const std::string name = absl::StrCat("v", i);
    const size_t kind = draw(3);
    body.push_back(absl::StrCat(
        name, " = f32[2,2] ",
        kind == 0   ? "add"
        : kind == 1 ? "maximum"
                    : "dot",
        "(", lhs, ", ", rhs, ")",
        kind == 2 ? ", lhs_contracting_dims={1}, rhs_contracting_dims={0}"
                  : ""));
    values.push_back(name);
  }
  for (size_t i = 0; i < size; ++i) {
    root.push_back(draw(2) == 0 ? absl::StrCat("x", i)
                                : absl::StrCat("v", draw(6)));
  }
  const std::string state =
      absl::StrCat("(s32[], ", absl::StrJoin(types, ", "), ")");
  const std::string text = absl::StrCat(
      "HloModule loop\nbody {\n s = ", state, " parameter(0)\n",
      " i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n"
      " k = f32[2,2] constant({{1, 0}, {0, 1}})\n n = s32[] add(i, one)\n ",
      absl::StrJoin(body, "\n "), "\n ROOT r = ", state, " tuple(n, ",
      absl::StrJoin(root, ", "), ")\n}\ncond {\n s = ", state,
      " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
      " n = s32[] constant(",
      draw(4), ")\n ROOT l = pred[] compare(i, n), direction=LT\n}\n",
      "ENTRY e {\n z = s32[] constant(0)\n f = f32[] constant(0)\n"
      " zeros = f32[2,2] broadcast(f), dimensions={}\n"
      " c = f32[2,2] constant({{1, 2}, {3, 4}})\n a = f32[2,2] parameter(0)\n"
      " b = f32[2,2] parameter(1)\n t = ",
      state, " tuple(z, ", absl::StrJoin(starts, ", "), ")\n w = ", state,
      " while(t), condition=cond, body=body\n"
      " y = f32[2,2] get-tuple-element(w), index=1\n"
      " y2 = f32[2,2] get-tuple-element(w), index=2\n"
      " ROOT o = (f32[2,2], f32[2,2]) tuple(y, y2)\n}\n");
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << text;
  return *std::move(module);
}

using MakePass = std::function<std::unique_ptr<HloPassInterface>()>;

// Runs the pass, behind what forwards elements of tuples.
void RunOnModules(const MakePass& make_pass, int64_t at_least) {
  // Half of them are single loops.
  int64_t changed_count = 0, compared = 0;
  const int64_t modules = Modules();
  for (int64_t seed = 0; seed < modules; ++seed) {
    std::unique_ptr<HloModule> module =
        seed % 2 == 0 ? Module(seed / 2) : Loop(seed / 2);
    ASSERT_TRUE(TupleSimplifier().Run(module.get()).ok());
    ASSERT_TRUE(HloDCE().Run(module.get()).ok());
    const std::unique_ptr<HloModule> original = module->Clone();
    absl::StatusOr<bool> changed = make_pass()->Run(module.get());
    ASSERT_TRUE(changed.ok()) << seed << changed.status();
    changed_count += *changed;
    HloVerifier verifier(/*layout_sensitive=*/false,
                         /*allow_mixed_precision=*/true);
    auto valid = verifier.Run(module.get());
    ASSERT_TRUE(valid.ok())
        << seed << valid.status() << original->ToString() << module->ToString();
    if (!*changed) continue;
    MeaningOptions options;
    options.max_work = 20000;
    auto meaning = ModuleMeaning::Make(*original, options);
    if (!meaning.ok()) continue;
    ++compared;
    auto difference = (*meaning)->DifferenceFrom(*module);
    ASSERT_TRUE(difference.ok()) << seed << difference.status();
    ASSERT_FALSE(difference->has_value())
        << seed << **difference << original->ToString() << module->ToString();
  }
  EXPECT_GE(changed_count, at_least * modules / 60);
  EXPECT_GE(compared, at_least * modules / 120);
}

TEST(ControlFlowRandomTest, WhileLoopSimplifier) {
  RunOnModules([] { return std::make_unique<WhileLoopSimplifier>(); }, 20);
}

TEST(ControlFlowRandomTest, WhileLoopConstantSinking) {
  RunOnModules([] { return std::make_unique<WhileLoopConstantSinking>(); }, 10);
}

TEST(ControlFlowRandomTest, WhileLoopInvariantCodeMotion) {
  WhileLoopInvariantCodeMotionOptions options;
  options.expensive_only = false;
  options.size_inflation_ratio = -1;
  RunOnModules(
      [&] { return std::make_unique<WhileLoopInvariantCodeMotion>(options); },
      5);
}

TEST(ControlFlowRandomTest, ConditionalSimplifier) {
  RunOnModules([] { return std::make_unique<ConditionalSimplifier>(); }, 8);
}

}  // namespace
}  // namespace xla
