// Fused modules are valid and compute what they did, and fusing twice the same
// module gives the same text.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/transforms/priority_fusion/priority_fusion.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/verifier_pass.h"
#include "xla/hlo/testlib/random_module.h"

namespace xla::gpu {
namespace {

struct Changes {
  // Modules; and those that have a custom fusion with several results then.
  int64_t changed = 0;
  int64_t several_results = 0;
};

void CheckRandomModules(const PriorityFusionOptions& fusion, int64_t modules,
                        Changes* changes) {
  for (uint64_t seed = 0; seed < modules; ++seed) {
    RandomModuleOptions options;
    options.steps = 18;
    options.max_elements = 64;
    const std::unique_ptr<HloModule> original = RandomModule(seed, options);
    const std::unique_ptr<HloModule> module = RandomModule(seed, options);
    auto changed = PriorityFusion(fusion).Run(module.get());
    const std::string where = absl::StrCat("seed ", seed, "\n");
    ASSERT_TRUE(changed.ok()) << where << changed.status();
    const std::string text = module->ToString();
    EXPECT_EQ(*changed, text != original->ToString()) << where;
    if (!*changed) continue;
    ++changes->changed;
    for (const HloInstruction* hlo :
         module->entry_computation()->instructions()) {
      if (!hlo->IsMultiOutputFusion() || !hlo->IsCustomFusion()) continue;
      ++changes->several_results;
      break;
    }
    HloVerifier verifier(/*layout_sensitive=*/false,
                         /*allow_mixed_precision=*/true);
    auto valid = verifier.Run(module.get());
    ASSERT_TRUE(valid.ok()) << where << valid.status() << text;
    MeaningOptions meaning_options;
    meaning_options.max_work = 20000;
    auto meaning = ModuleMeaning::Make(*original, meaning_options);
    if (meaning.ok()) {
      auto difference = (*meaning)->DifferenceFrom(*module);
      ASSERT_TRUE(difference.ok()) << where << difference.status() << text;
      ASSERT_FALSE(difference->has_value())
          << where << **difference << original->ToString() << text;
    }
    const std::unique_ptr<HloModule> again = RandomModule(seed, options);
    ASSERT_TRUE(PriorityFusion(fusion).Run(again.get()).ok());
    EXPECT_EQ(again->ToString(), text) << where;
  }
}

TEST(PriorityFusionRandomTest, ValidAndEqual) {
  Changes changes;
  CheckRandomModules({}, 30, &changes);
  EXPECT_GT(changes.changed, 20);
  EXPECT_EQ(changes.several_results, 0);
}

TEST(PriorityFusionRandomTest, TiledValidAndEqual) {
  PriorityFusionOptions options;
  options.triton_heroless = true;
  options.triton_multi_output = true;
  Changes changes;
  CheckRandomModules(options, 60, &changes);
  EXPECT_GT(changes.changed, 40);
  EXPECT_GT(changes.several_results, 10);
}

}  // namespace
}  // namespace xla::gpu
