// Which fusions are taken back when peaks are what the test says.
#include "xla/backends/gpu/fusion/fusion_memory_limit.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla::gpu {
namespace {

constexpr int kInstructions = 64;
constexpr int64_t kUnfused = 1000;

// A module of 64 instructions, of which `Fuse` makes "fusions" of one each.
class FusionMemoryLimitTest : public ::testing::Test {
 protected:
  FusionMemoryLimitTest() {
    std::string text = "HloModule m\nENTRY e {\n x = f32[8] parameter(0)\n";
    for (int i = 0; i < kInstructions; ++i) {
      absl::StrAppend(&text, i + 1 == kInstructions ? " ROOT n" : " n", i,
                      " = f32[8] negate(x)\n");
    }
    auto module = ParseAndReturnUnverifiedModule(absl::StrCat(text, "}\n"));
    CHECK_OK(module.status());
    module_ = *std::move(module);
  }

  FusionMemoryPlan Plan() {
    auto plan = PlanForMemoryLimit(
        module_.get(), "100%",
        [&](HloModule* module, int64_t limit) -> absl::StatusOr<FusionPeak> {
          FusionPeak peak;
          peak.bytes = kUnfused;
          if (module == module_.get()) return peak;
          for (const HloInstruction* hlo : made_) {
            const int number = std::stoi(std::string(hlo->name().substr(1)));
            peak.bytes += added_[number];
            if (holds_) peak.held.push_back({hlo, added_[number]});
          }
          return peak;
        },
        [&](HloModule* module, const absl::flat_hash_set<std::string>& banned,
            std::vector<FusionGroup>* groups) {
          ++tries_;
          made_.clear();
          for (HloInstruction* hlo :
               module->entry_computation()->instructions()) {
            if (hlo->opcode() != HloOpcode::kNegate ||
                banned.contains(hlo->name())) {
              continue;
            }
            made_.push_back(hlo);
            groups->push_back({hlo, {std::string(hlo->name())}});
          }
          return absl::OkStatus();
        });
    CHECK_OK(plan.status());
    EXPECT_LE(plan->fused_peak_bytes, kUnfused);
    EXPECT_EQ(plan->undone.size(), plan->banned.size());
    return *std::move(plan);
  }

  std::unique_ptr<HloModule> module_;
  // Bytes that the fusion of each instruction adds to the peak.
  std::vector<int64_t> added_ = std::vector<int64_t>(kInstructions, 0);
  bool holds_ = true;
  std::vector<const HloInstruction*> made_;
  int tries_ = 0;
};

TEST_F(FusionMemoryLimitTest, NothingIsTakenBackBelowTheLimit) {
  EXPECT_TRUE(Plan().banned.empty());
  EXPECT_EQ(tries_, 1);
}

TEST_F(FusionMemoryLimitTest, WhatHoldsTheMostAtThePeakGoesFirst) {
  added_[3] = 300;
  added_[40] = 500;
  const FusionMemoryPlan plan = Plan();
  EXPECT_EQ(plan.banned.size(), 2);
  EXPECT_TRUE(plan.banned.contains("n3"));
  EXPECT_TRUE(plan.banned.contains("n40"));
  EXPECT_EQ(plan.undone[0].held_bytes, 500);
}

// A schedule that is another one although nothing at the peak is a fusion's.
TEST_F(FusionMemoryLimitTest, FindsWhatNobodySeesAtThePeak) {
  holds_ = false;
  added_[17] = 8;
  added_[50] = 8;
  const FusionMemoryPlan plan = Plan();
  EXPECT_TRUE(plan.banned.contains("n17"));
  EXPECT_TRUE(plan.banned.contains("n50"));
  EXPECT_LE(plan.banned.size(), 4);
  EXPECT_LE(tries_, 40);
}

TEST_F(FusionMemoryLimitTest, TakesBackAllWhereEachOneIsTooMuch) {
  holds_ = false;
  for (int64_t& bytes : added_) bytes = 1;
  EXPECT_EQ(Plan().banned.size(), kInstructions);
}

// The peak that it would reach, against the limit or what nobody can go below.
TEST(ExplainUndoneTest, SaysWhatAFusionHeldAndReached) {
  FusionMemoryPlan plan;
  plan.undone.push_back({{"p", "c", "d"}, /*held_bytes=*/96, 2048});
  plan.limit_bytes = 512;
  plan.unfused_peak_bytes = 1024;
  FusionExplanation explanation("pass");
  ExplainUndone(plan, &explanation);
  EXPECT_EQ(FusionExplanationToText(explanation.proto()),
            "pass: 0 fused, 1 refused\n"
            "refused:\n"
            "  peak 2.0 KiB > 1.0 KiB (1)\n"
            "    undone p: c, d: holds 96 B\n");
}

}  // namespace
}  // namespace xla::gpu
