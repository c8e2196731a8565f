// Reductions of rows and columns.

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/lowering/fusion_lowering_test_base.h"
#include "xla/backends/gpu/lowering/lowering_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/random_module.h"

namespace xla::gpu {
namespace {

using ::testing::ElementsAre;

using RowLoweringTest = FusionLoweringTestBase;

TEST_F(RowLoweringTest, RowsAreReadByLanesNextToEachOther) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[5,3,70] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[5,3] reduce(p, z), dimensions={2}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(RowLoweringTest, ColumnsAreReadByThreadsNextToEachOther) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[3,41,70] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[3,70] reduce(p, z), dimensions={1}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("column-reduction"));
}

// Scalars bound arrays of one element, and choose among them.
TEST_F(RowLoweringTest, ScalarsForArraysOfOneElement) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[70] parameter(0)
  q = f32[1,1] parameter(1)
  z = f32[] constant(0)
  s = f32[] reduce(p, z), dimensions={0}, to_apply=add
  ROOT c = f32[1,1] clamp(z, q, s)
})")),
            absl::OkStatus());
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[70] parameter(0)
  q = f32[1] parameter(1)
  r = f32[1] parameter(2)
  z = f32[] constant(0)
  s = f32[] reduce(p, z), dimensions={0}, to_apply=add
  b = pred[] compare(s, z), direction=GT
  ROOT c = f32[1] select(b, q, r)
})")),
            absl::OkStatus());
}

// What is reduced is read once, by whatever names its dimensions have.
TEST_F(RowLoweringTest, BitcastsOfAnArrayAreReducedTogether) {
  // Several neighbors, and one element at a time.
  for (int64_t columns : {1, 1024}) {
    min_vector_columns_ = columns;
    EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[2,3,12,10] parameter(0)
  b = f32[6,120] bitcast(p)
  low = f32[] constant(-inf)
  m = f32[6] reduce(b, low), dimensions={1}, to_apply=max
  mb = f32[6,120] broadcast(m), dimensions={0}
  d = f32[6,120] subtract(b, mb)
  c = f32[2,3,12,10] bitcast(d)
  x = f32[2,3,12,10] exponential(c)
  z = f32[] constant(0)
  s = f32[2,3] reduce(x, z), dimensions={2,3}, to_apply=add
  q = f32[2,3] reduce(p, z), dimensions={2,3}, to_apply=add
  ROOT t = (f32[6], f32[2,3], f32[2,3], f32[6,120]) tuple(m, s, q, d)
})")),
              absl::OkStatus());
    EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
    EXPECT_EQ(vectors_ > 0, columns == 1);
  }
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[3,41,7,12] parameter(0)
  b = f32[3,41,84] bitcast(p)
  z = f32[] constant(0)
  s = f32[3,84] reduce(b, z), dimensions={1}, to_apply=add
  q = f32[3,41,7,12] multiply(p, p)
  r = f32[3,7,12] reduce(q, z), dimensions={1}, to_apply=add
  ROOT t = (f32[3,84], f32[3,7,12]) tuple(s, r)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("column-reduction"));
  // Other rows.
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[6,12,10] parameter(0)
  b = f32[72,10] bitcast(p)
  z = f32[] constant(0)
  s = f32[6] reduce(p, z), dimensions={1,2}, to_apply=add
  r = f32[72] reduce(b, z), dimensions={1}, to_apply=add
  ROOT t = (f32[6], f32[72]) tuple(s, r)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction", "row-reduction"));
  // Rows that do not lie in the order of their numbers.
  for (absl::string_view reductions :
       {"s = f32[6] reduce(p, z), dimensions={1}, to_apply=add\n"
        "r = f32[3,2] reduce(b, z), dimensions={2}, to_apply=add",
        "r = f32[3,2] reduce(b, z), dimensions={2}, to_apply=add\n"
        "s = f32[6] reduce(p, z), dimensions={1}, to_apply=add"}) {
    EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[6,120] parameter(0)
  b = f32[3,2,120]{2,0,1} bitcast(p)
  z = f32[] constant(0)
)",
                                   reductions, R"(
  ROOT t = (f32[6], f32[3,2]) tuple(s, r)
})")),
              absl::OkStatus());
    EXPECT_THAT(kinds_, ElementsAre("row-reduction", "row-reduction"));
  }
}

TEST_F(RowLoweringTest, InitialValuesAreTakenOnce) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[4,33] parameter(0)
  z = f32[] constant(5)
  ROOT s = f32[4] reduce(p, z), dimensions={1}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(RowLoweringTest, SoftmaxIsOneKernelWithItsRowsResults) {
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

// As a normalization is left by what splits its rows into heads.
TEST_F(RowLoweringTest, RowsAreReadThroughBitcastsOfTheirNumbers) {
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = bf16[8,60] parameter(0)
  b = bf16[1,8,5,12] bitcast(p)
  f = f32[1,8,5,12] convert(b)
  q = f32[1,8,5,12] multiply(f, f)
  c = f32[40,12] bitcast(q)
  z = f32[] constant(0)
  s = f32[40] reduce(c, z), dimensions={1}, to_apply=add
  d = f32[1,8,5] bitcast(s)
  r = f32[1,8,5] rsqrt(d)
  m = f32[1,8,5,12] broadcast(r), dimensions={0,1,2}
  n = f32[1,8,5,12] multiply(f, m)
  ROOT o = bf16[1,8,5,12] convert(n)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
}

TEST_F(RowLoweringTest, SeveralReductionsShareOneSetOfBarriers) {
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

TEST_F(RowLoweringTest, ReductionsReadOutOfTheirRowsAreLoops) {
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
  EXPECT_THAT(why_, ::testing::HasSubstr("another thread computes"));
}

// Norms whose rows are counted through, and whose result has its dimensions in
// another order, but lies as the operand does.
TEST_F(RowLoweringTest, ResultsMayNameTheirDimensionsInAnotherOrder) {
  for (const char* rename :
       {"bitcast(m)", "transpose(m), dimensions={2,0,1}"}) {
    EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[2,3,64] parameter(0)
  g = f32[64] parameter(1)
  z = f32[] constant(0)
  v = f32[6,64] bitcast(p)
  r = f32[6] reduce(v, z), dimensions={1}, to_apply=add
  s = f32[2,3] bitcast(r)
  b = f32[2,3,64] broadcast(s), dimensions={0,1}
  m = f32[2,3,64] multiply(p, b)
  t = f32[64,2,3]{0,2,1} )",
                                   rename, R"(
  w = f32[64,2,3]{0,2,1} broadcast(g), dimensions={0}
  ROOT a = f32[64,2,3]{0,2,1} multiply(w, t)
})")),
              absl::OkStatus());
    EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
  }
}

TEST_F(RowLoweringTest, OperandsMayNameTheirDimensionsInAnotherOrder) {
  for (const char* rename :
       {"bitcast(m)", "transpose(m), dimensions={1,2,0}"}) {
    EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[64,2,3]{0,2,1} parameter(0)
  z = f32[] constant(0)
  v = f32[6,64] bitcast(p)
  r = f32[6] reduce(v, z), dimensions={1}, to_apply=add
  s = f32[2,3] bitcast(r)
  b = f32[64,2,3]{0,2,1} broadcast(s), dimensions={1,2}
  m = f32[64,2,3]{0,2,1} multiply(p, b)
  ROOT t = f32[2,3,64] )",
                                   rename, R"(
})")),
              absl::OkStatus());
    EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
  }
}

TEST_F(RowLoweringTest, RowsAreTakenInVectors) {
  min_vector_columns_ = 8;
  // 15 rows are not all rows of the last block.
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = bf16[5,3,136] parameter(0)
  f = f32[5,3,136] convert(p)
  low = f32[] constant(-inf)
  m = f32[5,3] reduce(f, low), dimensions={2}, to_apply=max
  mb = f32[5,3,136] broadcast(m), dimensions={0,1}
  d = f32[5,3,136] subtract(f, mb)
  x = f32[5,3,136] exponential(d)
  z = f32[] constant(0)
  s = f32[5,3] reduce(x, z), dimensions={2}, to_apply=add
  sb = f32[5,3,136] broadcast(s), dimensions={0,1}
  ROOT v = f32[5,3,136] divide(x, sb)
})")),
            absl::OkStatus());
  EXPECT_THAT(kinds_, ElementsAre("row-reduction"));
  // The input and the result: a step of all lanes, and one of some.
  EXPECT_EQ(vectors_, 4);
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[5,6,10] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[5] reduce(p, z), dimensions={1,2}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_EQ(vectors_, 2);
  // An initial value that counts is taken with the first column.
  EXPECT_EQ(Compare(absl::StrCat(kReducers, R"(
ENTRY e {
  p = f32[4,32] parameter(0)
  z = f32[] constant(5)
  ROOT s = f32[4] reduce(p, z), dimensions={1}, to_apply=add
})")),
            absl::OkStatus());
  EXPECT_EQ(vectors_, 0);
}

// In parts, which shards of the test share.
class RowLoweringPartTest : public RowLoweringTest,
                            public ::testing::WithParamInterface<int64_t> {};
constexpr int64_t kParts = 4;

INSTANTIATE_TEST_SUITE_P(Parts, RowLoweringPartTest,
                         ::testing::Range(int64_t{0}, kParts));

TEST_P(RowLoweringPartTest, RandomReductions) {
  const char* text = std::getenv("HLO_RANDOM_MODULES");
  const int64_t cases = text == nullptr ? 400 : std::atoll(text);
  std::map<std::string, int64_t> kinds;
  int64_t failed = 0;
  for (int64_t i = GetParam() * cases / kParts;
       i < (GetParam() + 1) * cases / kParts && failed < 3; ++i) {
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
    device_threads_ = i % 4 < 2 ? 1 : 1 << 18;
    min_vector_columns_ = i % 4 < 2 ? 2 : 1024;
    // Tiles are larger than all arrays, and machines run each place of them.
    min_transposed_ = i % 8 == 0 ? 2 : 16;
    std::unique_ptr<HloModule> module = RandomModule(i, options);
    const std::string before = module->ToString();
    const absl::Status status = CompareWithEvaluator(
        module.get(), i,
        [this](const HloInstruction& hlo) { return Lower(hlo); });
    if (absl::IsUnimplemented(status)) continue;
    for (const std::string& kind : kinds_) ++kinds[kind];
    kinds["vector"] += vectors_;
    if (status.ok()) continue;
    ++failed;
    ADD_FAILURE() << "seed " << i << ": " << status.message() << "\n" << before;
  }
  EXPECT_GT(kinds["row-reduction"], failed > 0 ? 0 : cases / kParts / 50);
  EXPECT_GT(kinds["column-reduction"], failed > 0 ? 0 : cases / kParts / 50);
  EXPECT_GT(kinds["vector"], failed > 0 ? 0 : cases / kParts / 50);
}

}  // namespace
}  // namespace xla::gpu
