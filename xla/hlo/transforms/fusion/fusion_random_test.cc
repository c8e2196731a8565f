// Fused modules are valid and compute what they did, and fusions of random
// graphs never make cycles.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/pass/verifier_pass.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/fusion/instruction_fusion.h"
#include "xla/hlo/transforms/fusion/multi_output_fusion.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// From the environment, for long runs of optimized builds.
int64_t CountFrom(const char* variable, int64_t default_count) {
  const char* text = std::getenv(variable);
  int64_t count;
  return text != nullptr && absl::SimpleAtoi(text, &count) ? count
                                                           : default_count;
}

TEST(FusionRandomTest, ValidAndEqual) {
  const int64_t modules = CountFrom("FUSION_RANDOM_MODULES", 30);
  int64_t fused = 0, multi_output = 0, compared = 0;
  for (int64_t seed = 0; seed < modules; ++seed) {
    RandomModuleOptions options;
    options.steps = 30;
    const std::unique_ptr<HloModule> original = RandomModule(seed, options);
    std::unique_ptr<HloModule> module = RandomModule(seed, options);
    InstructionFusionOptions fusion_options;
    fusion_options.may_duplicate = seed % 2 == 0;
    InstructionFusion fusion(fusion_options);
    MultiOutputFusion mof;
    absl::StatusOr<bool> changed = fusion.Run(module.get());
    ASSERT_TRUE(changed.ok()) << seed << changed.status();
    fused += *changed;
    changed = mof.Run(module.get());
    ASSERT_TRUE(changed.ok()) << seed << changed.status();
    multi_output += *changed;

    HloVerifier verifier(/*layout_sensitive=*/false,
                         /*allow_mixed_precision=*/true);
    auto valid = verifier.Run(module.get());
    ASSERT_TRUE(valid.ok()) << seed << valid.status() << module->ToString();
    MeaningOptions meaning_options;
    meaning_options.max_work = 20000;
    auto meaning = ModuleMeaning::Make(*original, meaning_options);
    if (!meaning.ok()) continue;
    ++compared;
    auto difference = (*meaning)->DifferenceFrom(*module);
    ASSERT_TRUE(difference.ok()) << seed << difference.status();
    ASSERT_FALSE(difference->has_value())
        << seed << **difference << original->ToString() << module->ToString();
  }
  EXPECT_GT(fused, modules / 2);
  EXPECT_GT(multi_output, modules / 8);
  EXPECT_GT(compared, modules / 3);
}

// Everything may fuse with everything, so that only cycles decide.
class EagerMultiOutputFusion : public MultiOutputFusion {
 protected:
  bool IsFusible(HloInstruction* instr) override {
    return instr->opcode() == HloOpcode::kFusion;
  }
  bool IsProfitableOperand(HloInstruction* instr) override { return true; }
  int64_t GetProfit(HloInstruction* a, HloInstruction* b) override { return 1; }
};

class EagerInstructionFusion : public InstructionFusion {
 public:
  EagerInstructionFusion() : InstructionFusion(InstructionFusionOptions{}) {}

 protected:
  FusionDecision ShouldFuse(HloInstruction* consumer, int64_t index) override {
    return FusionDecision::Forbid("only with several outputs");
  }
  FusionDecision ShouldFuseIntoMultiOutput(HloInstruction* consumer,
                                           int64_t index) override {
    const HloInstruction* producer = consumer->operand(index);
    const bool fits = consumer->opcode() != HloOpcode::kTuple &&
                      producer->opcode() != HloOpcode::kParameter &&
                      producer->opcode() != HloOpcode::kGetTupleElement &&
                      !producer->HasControlDependencies();
    return fits ? FusionDecision::Allow() : FusionDecision::Forbid("");
  }
};

// Additions of earlier values, single or as fusions, some held by control
// dependencies; every value that nothing reads is part of the result.
std::unique_ptr<HloModule> RandomGraph(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto draw = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  const Shape shape = ShapeUtil::MakeShape(F32, {16});
  auto module = std::make_unique<HloModule>("graph", HloModuleConfig());
  HloComputation::Builder builder("main");
  std::vector<HloInstruction*> values;
  const int64_t parameters = 1 + draw(4);
  for (int64_t i = 0; i < parameters; ++i) {
    values.push_back(builder.AddInstruction(
        HloInstruction::CreateParameter(i, shape, absl::StrCat("p", i))));
  }
  const int64_t count = 4 + draw(28);
  const int64_t window = 2 + draw(12);
  for (int64_t i = 0; i < count; ++i) {
    auto operand = [&] {
      const int64_t size = static_cast<int64_t>(values.size());
      return draw(4) == 0 ? values[draw(parameters)]
                          : values[size - 1 - draw(std::min(size, window))];
    };
    HloInstruction* lhs = operand();
    values.push_back(builder.AddInstruction(
        HloInstruction::CreateBinary(shape, HloOpcode::kAdd, lhs, operand())));
  }
  std::vector<HloInstruction*> results;
  for (HloInstruction* value : values) {
    if (value->user_count() == 0) results.push_back(value);
  }
  HloInstruction* root =
      builder.AddInstruction(HloInstruction::CreateTuple(results));
  HloComputation* entry = module->AddEntryComputation(builder.Build(root));
  std::vector<HloInstruction*> nodes = entry->MakeInstructionPostOrder();
  for (HloInstruction* node : nodes) {
    if (node->opcode() == HloOpcode::kAdd && draw(2) == 0) {
      entry->CreateFusionInstruction({node}, HloInstruction::FusionKind::kLoop);
    }
  }
  nodes = entry->MakeInstructionPostOrder();
  for (int64_t i = draw(4); i > 0; --i) {
    const int64_t size = static_cast<int64_t>(nodes.size());
    const int64_t from = draw(size), to = draw(size);
    if (from >= to) continue;
    EXPECT_TRUE(nodes[from]->AddControlDependencyTo(nodes[to]).ok());
  }
  return module;
}

bool HasCycle(const HloComputation& computation) {
  std::vector<int64_t> waiting(
      computation.next_unique_instruction_internal_id());
  std::vector<const HloInstruction*> ready;
  for (const HloInstruction* hlo : computation.instructions()) {
    waiting[hlo->local_id()] =
        hlo->unique_operands().size() + hlo->control_predecessors().size();
    if (waiting[hlo->local_id()] == 0) ready.push_back(hlo);
  }
  int64_t done = 0;
  while (!ready.empty()) {
    const HloInstruction* hlo = ready.back();
    ready.pop_back();
    ++done;
    auto release = [&](const HloInstruction* successor) {
      if (--waiting[successor->local_id()] == 0) ready.push_back(successor);
    };
    for (const HloInstruction* user : hlo->users()) release(user);
    for (const HloInstruction* next : hlo->control_successors()) release(next);
  }
  return done != computation.instruction_count();
}

TEST(FusionRandomTest, NoCycles) {
  const int64_t graphs = CountFrom("FUSION_RANDOM_GRAPHS", 500);
  int64_t fused = 0;
  for (int64_t seed = 0; seed < graphs; ++seed) {
    std::unique_ptr<HloModule> module = RandomGraph(seed);
    absl::StatusOr<bool> changed;
    if (seed % 4 == 0) {
      EagerInstructionFusion fusion;
      changed = fusion.Run(module.get());
    } else {
      EagerMultiOutputFusion fusion;
      changed = fusion.Run(module.get());
    }
    ASSERT_TRUE(changed.ok()) << seed << changed.status();
    fused += *changed;
    ASSERT_FALSE(HasCycle(*module->entry_computation())) << seed;
    if (seed % 100 != 0) continue;
    HloVerifier verifier(/*layout_sensitive=*/false,
                         /*allow_mixed_precision=*/true);
    auto valid = verifier.Run(module.get());
    ASSERT_TRUE(valid.ok()) << seed << valid.status() << module->ToString();
  }
  EXPECT_GT(fused, graphs / 2);
}

}  // namespace
}  // namespace xla
