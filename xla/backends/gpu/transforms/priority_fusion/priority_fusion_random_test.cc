// Fused modules are valid and compute what they did, and fusing twice the same
// module gives the same text.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/transforms/priority_fusion/priority_fusion.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/verifier_pass.h"
#include "xla/hlo/testlib/random_module.h"

namespace xla::gpu {
namespace {

TEST(PriorityFusionRandomTest, ValidAndEqual) {
  int64_t changes = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    RandomModuleOptions options;
    options.steps = 18;
    options.max_elements = 64;
    const std::unique_ptr<HloModule> original = RandomModule(seed, options);
    const std::unique_ptr<HloModule> module = RandomModule(seed, options);
    auto changed = PriorityFusion().Run(module.get());
    const std::string where = absl::StrCat("seed ", seed, "\n");
    ASSERT_TRUE(changed.ok()) << where << changed.status();
    const std::string text = module->ToString();
    EXPECT_EQ(*changed, text != original->ToString()) << where;
    if (!*changed) continue;
    ++changes;
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
    ASSERT_TRUE(PriorityFusion().Run(again.get()).ok());
    EXPECT_EQ(again->ToString(), text) << where;
  }
  EXPECT_GT(changes, 20);
}

}  // namespace
}  // namespace xla::gpu
