#include "xla/hlo/analysis/logical_buffer_analysis.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/tests/analysis_test_util.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Places(const LogicalBufferAnalysis& analysis) {
  std::vector<std::string> places;
  for (const auto& buffer : analysis.logical_buffers()) {
    places.push_back(absl::StrCat(buffer->instruction()->name(),
                                  buffer->index().ToString()));
  }
  return places;
}

TEST(LogicalBufferAnalysisTest, WhatIsPassedOnHasNoBuffer) {
  const std::unique_ptr<HloModule> module = ParseForTest(R"(HloModule m
  ENTRY e {
    p = (f32[4], (f32[4], token[])) parameter(0)
    g = (f32[4], token[]) get-tuple-element(p), index=1
    x = f32[4] get-tuple-element(g), index=0
    n = f32[4] negate(x)
    b = f32[2,2] bitcast(n)
    t = (f32[4], f32[2,2]) tuple(n, b)
    ROOT c = (f32[4], f32[2,2]) copy(t)
  })");
  const auto analysis = LogicalBufferAnalysis::Run(module.get());
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_THAT(Places(**analysis), ElementsAre("p{}", "p{0}", "p{1}", "p{1,0}",
                                              "p{1,1}", "n{}", "t{}", "c{}"));
  EXPECT_EQ((*analysis)->num_logical_buffers(), 8);
  for (LogicalBuffer::Id id = 0; id < 8; ++id) {
    const auto buffer = (*analysis)->GetBuffer(id);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ((*buffer)->id(), id);
    EXPECT_EQ(
        *(*analysis)->GetBuffer((*buffer)->instruction(), (*buffer)->index()),
        *buffer);
  }
  EXPECT_EQ((*analysis)->GetBuffer(8).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ((*analysis)->GetBuffer(-1).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(
      (*analysis)->GetBuffer(FindForTest(*module, "x"), {}).status().code(),
      absl::StatusCode::kNotFound);
}

TEST(LogicalBufferAnalysisTest, OutputsInOperandsAreBuffersUnlessAliased) {
  const std::unique_ptr<HloModule> module = ParseForTest(R"(HloModule m
  fused {
    q = f32[4] parameter(0)
    n = f32[4] negate(q)
    ROOT t = (f32[4], f32[4]) tuple(q, n)
  }
  ENTRY e {
    p = f32[4] parameter(0)
    f = (f32[4], f32[4]) fusion(p), kind=kLoop, calls=fused, output_to_operand_aliasing={{0}: (0, {})}
    ROOT c = f32[4] custom-call(p), custom_call_target="f", output_to_operand_aliasing={{}: (0, {})}
  })");
  const auto own = LogicalBufferAnalysis::Run(module.get());
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_THAT(Places(**own), ElementsAre("q{}", "n{}", "t{}", "p{}", "f{}",
                                         "f{0}", "f{1}", "c{}"));
  const auto aliased = LogicalBufferAnalysis::Run(
      module.get(), /*alias_buffer_across_dataflow=*/true);
  ASSERT_TRUE(aliased.ok()) << aliased.status();
  EXPECT_THAT(Places(**aliased),
              ElementsAre("q{}", "n{}", "t{}", "p{}", "f{}", "f{1}"));
}

}  // namespace
}  // namespace xla
