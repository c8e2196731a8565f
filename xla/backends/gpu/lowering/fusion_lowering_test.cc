#include "xla/backends/gpu/lowering/fusion_lowering.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/lowering/lowering_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/random_module.h"

namespace xla::gpu {
namespace {

using ::testing::ElementsAre;

// Kinds of the parts of the last kernel that was lowered.
class FusionLoweringTest : public ::testing::Test {
 protected:
  absl::StatusOr<LoweredKernel> Lower(const HloInstruction& hlo) {
    FusionLoweringOptions options;
    options.threads_per_block = 32;
    options.threads_of_tiles = threads_;
    options.min_reduced = 2;
    absl::StatusOr<LoweredKernel> lowered = LowerFusion(hlo, options);
    kinds_.clear();
    if (!lowered.ok()) return lowered;
    for (const KernelPart& part : lowered->parts) {
      kinds_.push_back(std::string(part.kind));
      why_ = part.why;
    }
    return lowered;
  }
  absl::Status Compare(absl::string_view text) {
    return CompareWithEvaluator(
        text, [this](const HloInstruction& hlo) { return Lower(hlo); });
  }

  int64_t threads_ = 128;
  std::vector<std::string> kinds_;
  std::string why_;
};

constexpr absl::string_view kReducers = R"(
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
largest {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  same = pred[] compare(a, b), direction=EQ
  less = pred[] compare(i, j), direction=LT
  first = pred[] and(same, less)
  g = pred[] or(more, first)
  x = f32[] select(g, a, b)
  k = s32[] select(g, i, j)
  ROOT t = (f32[], s32[]) tuple(x, k)
}
)";

TEST_F(FusionLoweringTest, RowsAreReadByLanesNextToEachOther) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[5,3,70] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[5,3] reduce(p, z), dimensions={2}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(FusionLoweringTest, ColumnsAreReadByThreadsNextToEachOther) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[3,41,70] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[3,70] reduce(p, z), dimensions={1}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("column-reduction"));
}

TEST_F(FusionLoweringTest, InitialValuesAreTakenOnce) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[4,33] parameter(0)
  z = f32[] constant(5)
  ROOT s = f32[4] reduce(p, z), dimensions={1}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(FusionLoweringTest, SoftmaxIsOneKernelWithItsRowsResults) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[2,3,90] parameter(0)
  low = f32[] constant(-inf)
  m = f32[2,3] reduce(p, low), dimensions={2}, to_apply=max
  mb = f32[2,3,90] broadcast(m), dimensions={0,1}
  d = f32[2,3,90] subtract(p, mb)
  x = f32[2,3,90] exponential(d)
  z = f32[] constant(0)
  s = f32[2,3] reduce(x, z), dimensions={2}, to_apply=add
  sb = f32[2,3,90] broadcast(s), dimensions={0,1}
  q = f32[2,3,90] divide(x, sb)
  r = f32[6,90] reshape(q)
  ROOT t = (f32[6,90], f32[2,3], f32[2,3,90]) tuple(r, s, d)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(FusionLoweringTest, SeveralReductionsShareOneSetOfBarriers) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[4,9] parameter(0)
  z = f32[] constant(0)
  s = f32[4] reduce(p, z), dimensions={1}, to_apply=add
  n = s32[4,9] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  none = s32[] constant(0)
  l = (f32[4], s32[4]) reduce(p, n, low, none), dimensions={1}, to_apply=largest
  m = f32[4] get-tuple-element(l), index=0
  k = s32[4] get-tuple-element(l), index=1
  g = f32[4,9] negate(p)
  ROOT t = (f32[4], f32[4], s32[4], f32[4,9]) tuple(s, m, k, g)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(FusionLoweringTest, ReductionsReadOutOfTheirRowsAreLoops) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[8,8] parameter(0)
  z = f32[] constant(0)
  s = f32[8] reduce(p, z), dimensions={1}, to_apply=add
  b = f32[8,8] broadcast(s), dimensions={1}
  ROOT a = f32[8,8] add(p, b)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("loop"));
  EXPECT_THAT(why_, ::testing::HasSubstr("in another order"));
}

TEST_F(FusionLoweringTest, RandomReductions) {
  const char* text = std::getenv("HLO_RANDOM_MODULES");
  const int64_t cases = text == nullptr ? 400 : std::atoll(text);
  std::map<std::string, int64_t> kinds;
  int64_t failed = 0;
  for (int64_t i = 0; i < cases && failed < 3; ++i) {
    RandomModuleOptions options;
    options.steps = 2 + i % 9;
    options.max_dimension = i % 3 == 0 ? 40 : 7;
    options.max_elements = 400;
    options.types = {F32, S32, PRED, BF16, U8};
    options.opcodes = {
        HloOpcode::kAdd,     HloOpcode::kBroadcast, HloOpcode::kConvert,
        HloOpcode::kMaximum, HloOpcode::kMultiply,  HloOpcode::kNegate,
        HloOpcode::kReduce,  HloOpcode::kReduce,    HloOpcode::kReshape,
        HloOpcode::kSelect,  HloOpcode::kSubtract,  HloOpcode::kTranspose};
    options.tuples = false;
    options.exact = true;
    threads_ = i % 2 == 0 ? 32 : 128;
    std::unique_ptr<HloModule> module = RandomModule(i, options);
    const std::string before = module->ToString();
    const absl::Status status = CompareWithEvaluator(
        module.get(), i,
        [this](const HloInstruction& hlo) { return Lower(hlo); });
    if (absl::IsUnimplemented(status)) continue;
    for (const std::string& kind : kinds_) ++kinds[kind];
    if (status.ok()) continue;
    ++failed;
    ADD_FAILURE() << "seed " << i << ": " << status.message() << "\n" << before;
  }
  EXPECT_GT(kinds["row-reduction"], failed > 0 ? 0 : cases / 20);
  EXPECT_GT(kinds["column-reduction"], failed > 0 ? 0 : cases / 20);
}

}  // namespace
}  // namespace xla::gpu
