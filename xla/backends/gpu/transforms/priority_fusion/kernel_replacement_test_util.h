#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_KERNEL_REPLACEMENT_TEST_UTIL_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_KERNEL_REPLACEMENT_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/transforms/priority_fusion/priority_fusion.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/verifier_pass.h"

namespace xla::gpu {

// Fuses the module, which must then be valid and compute the same as before.
// Returns whether it has no instruction of that opcode any more.
inline bool BecomesFusion(const std::string& text, absl::string_view opcode) {
  auto original = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(original.ok()) << original.status() << text;
  if (!original.ok()) return false;
  const std::unique_ptr<HloModule> module = (*original)->Clone("");
  auto changed = PriorityFusion().Run(module.get());
  EXPECT_TRUE(changed.ok()) << changed.status() << text;
  const std::string fused = module->ToString();
  HloVerifier verifier(/*layout_sensitive=*/false,
                       /*allow_mixed_precision=*/true);
  auto valid = verifier.Run(module.get());
  EXPECT_TRUE(valid.ok()) << valid.status() << text << fused;
  auto meaning = ModuleMeaning::Make(**original, MeaningOptions());
  EXPECT_TRUE(meaning.ok()) << meaning.status() << text;
  if (!meaning.ok()) return false;
  auto difference = (*meaning)->DifferenceFrom(*module);
  EXPECT_TRUE(difference.ok()) << difference.status() << text << fused;
  if (difference.ok()) {
    EXPECT_FALSE(difference->has_value()) << **difference << text << fused;
  }
  return !absl::StrContains(fused, absl::StrCat(" ", opcode, "("));
}

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_KERNEL_REPLACEMENT_TEST_UTIL_H_
