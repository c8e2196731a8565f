#include "xla/hlo/memory/limit/memory_limit.h"

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int64_t BytesOf(absl::string_view text, int64_t peak_bytes) {
  absl::StatusOr<MemoryLimit> limit = MemoryLimit::Parse(text);
  EXPECT_TRUE(limit.ok()) << limit.status();
  return limit.ok() ? limit->BytesOf(peak_bytes) : -1;
}

std::string Error(absl::string_view text) {
  absl::StatusOr<MemoryLimit> limit = MemoryLimit::Parse(text);
  EXPECT_EQ(limit.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(limit.status().message());
}

TEST(MemoryLimitTest, BytesDoNotDependOnThePeak) {
  EXPECT_EQ(BytesOf("0", 7), 0);
  EXPECT_EQ(BytesOf("1300KiB", 7), 1300 << 10);
  EXPECT_EQ(BytesOf(" 1.5e9 ", 7), 1'500'000'000);
  EXPECT_FALSE(MemoryLimit::Parse("16GiB")->is_share());
}

TEST(MemoryLimitTest, SharesAreOfThePeak) {
  EXPECT_EQ(BytesOf("80%", 1000), 800);
  EXPECT_EQ(BytesOf("0%", 1000), 0);
  EXPECT_EQ(BytesOf("12.5%", 1001), 125);
  // No overflow: 10^6 % of the largest peak.
  EXPECT_GT(BytesOf("1000000%", int64_t{1} << 62), int64_t{1} << 62);
  EXPECT_TRUE(MemoryLimit::Parse("80%")->is_share());
}

TEST(MemoryLimitTest, DriverAndRuntimeKeepAShareOfADevice) {
  EXPECT_EQ(BytesOf("h100", 7), (int64_t{80} << 30) / 100 * 98);
  EXPECT_EQ(BytesOf("H100", 7), BytesOf("h100", 7));
  EXPECT_EQ(BytesOf("v100", 7), (int64_t{32} << 30) / 100 * 98);
  EXPECT_EQ(MemoryLimit::Parse("H100")->origin(),
            "h100: 80.0 GiB less 2 % for driver and runtime");
  EXPECT_EQ(MemoryLimit::Parse("80GiB")->origin(), "");
}

TEST(MemoryLimitTest, ADescriptionSaysAllThatThereIs) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/small.txtpb");
  std::ofstream(path)
      << "core_count: 1 fpus_per_core: 1 clock_rate_ghz: 1 memory_bandwidth: 1 "
         "threads_per_warp: 1 threads_per_block_limit: 1 "
         "threads_per_core_limit: 1 device_memory_size: 1000";
  EXPECT_EQ(BytesOf(path, 7), 1000);
  EXPECT_EQ(MemoryLimit::Parse(path)->origin(), "");
}

TEST(MemoryLimitTest, ErrorsNameTheText) {
  EXPECT_THAT(Error(""), HasSubstr("no memory limit"));
  EXPECT_THAT(Error("12GX"), HasSubstr("memory limit '12GX' is not a size"));
  EXPECT_THAT(Error("-1"), HasSubstr("memory limit '-1'"));
  EXPECT_THAT(Error("0.8"), HasSubstr("'0.8' is less than a byte"));
  EXPECT_THAT(Error("-5%"), HasSubstr("'-5%' is not a share of the peak"));
  EXPECT_THAT(Error("nan%"), HasSubstr("is not a share of the peak"));
  EXPECT_THAT(Error("%"), HasSubstr("is not a share of the peak"));
  EXPECT_THAT(Error("h101"), HasSubstr("h100"));
  EXPECT_THAT(Error("no/such/file.textproto"), HasSubstr("no/such/file"));
}

TEST(MemoryLimitTest, PowersOf1000AreToldFromThoseOf1024) {
  EXPECT_EQ(DecimalLimit("16GB"), "16GB");
  EXPECT_EQ(DecimalLimit(" 80 MB "), "80 MB");
  for (const char* other : {"", "16GiB", "16G", "1000", "1000B", "80%", "h100",
                            "nob", "no/such/file.b"}) {
    EXPECT_EQ(DecimalLimit(other), "") << other;
  }
  EXPECT_THAT(UnmetLimitError("step", 16'000'000'000, int64_t{20} << 30,
                              MemoryAccounting::kOurs, "16GB")
                  .message(),
              HasSubstr("does not fit in 14.9 GiB (16GB): it needs 20.0 GiB"));
}

TEST(MemoryLimitTest, AnUnmetLimitSaysWhatIsCounted) {
  const absl::Status status = UnmetLimitError(
      "step", 16 << 10, 20 << 10, MemoryAccounting::kUpstream, "16KiB");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "step does not fit in 16.0 KiB: it needs 20.0 KiB (accounting: "
            "upstream)");
  EXPECT_THAT(UnmetLimitError("step", 1300000, 1300001, MemoryAccounting::kOurs,
                              "1300000")
                  .message(),
              HasSubstr("fit in 1300000 B: it needs 1300001 B"));
}

TEST(MemoryLimitTest, SmallNumbersMayBeShares) {
  const auto message = [](int64_t bytes, absl::string_view given) {
    return std::string(
        UnmetLimitError("step", bytes, 4096, MemoryAccounting::kOurs, given)
            .message());
  };
  EXPECT_THAT(
      message(80, "80"),
      HasSubstr("(accounting: ours); for a share of the peak, write 80%"));
  EXPECT_THAT(message(0, "0"), Not(HasSubstr("share")));
  EXPECT_THAT(message(101, "101"), Not(HasSubstr("share")));
  // 2 % of the peak are 80 bytes, which nobody wrote.
  EXPECT_THAT(message(80, "2%"), Not(HasSubstr("share")));
  EXPECT_THAT(message(80, "80B"), Not(HasSubstr("share")));
}

// Arguments count in ours only; the result at all times only in upstream's; the
// array on the host in neither.
TEST(MemoryAccountingTest, PeaksDiffer) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
ENTRY main {
  p = f32[1000]{0} parameter(0)
  h = f32[1000]{0:S(5)} copy(p)
  a = f32[4,1000]{1,0} broadcast(p), dimensions={1}
  b = f32[1,10]{1,0} slice(a), slice={[0:1], [0:10]}
  ROOT r = f32[1,10]{1,0} negate(b)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(ScheduledPeakBytes(**module, MemoryAccounting::kOurs).value(),
            4000 + 16000 + 40);
  EXPECT_EQ(ScheduledPeakBytes(**module, MemoryAccounting::kUpstream).value(),
            16000 + 40 + 40);
}

// q and the table are one of each; a is passed on and counts as argument only;
// b takes the memory of p, from which it is computed, so that this is never
// free; e takes that of s, which is free until then.
TEST(MemoryAccountingTest, ArgumentsAndResultsAreAlwaysThere) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true, input_output_alias={ {1}: (0, {}, must-alias), {4}: (3, {}, must-alias) }
ENTRY main {
  p = f32[100]{0} parameter(0)
  q = f32[1000]{0} parameter(1)
  a = f32[10]{0} parameter(2)
  s = f32[50]{0} parameter(3)
  b = f32[100]{0} negate(p)
  c = f32[1000]{0} exponential(q)
  e = f32[50]{0} slice(q), slice={[0:50]}
  zero = f32[7]{0} constant({0, 0, 0, 0, 0, 0, 0})
  ROOT r = (f32[10]{0}, f32[100]{0}, f32[1000]{0}, f32[7]{0}, f32[50]{0}) tuple(a, b, c, zero, e)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  absl::StatusOr<MemoryAlwaysThere> ours =
      BytesAlwaysThere(**module, MemoryAccounting::kOurs);
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_EQ(ours->argument_bytes, 400 + 4000 + 40 + 200);
  EXPECT_EQ(ours->total_bytes, 400 + 4000 + 40 + 200 + 4000 + 5 * 8);
  EXPECT_EQ(ours->throughout_bytes, 4000 + 400 + 40);
  EXPECT_EQ(ScheduledPeakBytes(**module, MemoryAccounting::kOurs).value(),
            ours->total_bytes);
  absl::StatusOr<MemoryAlwaysThere> upstream =
      BytesAlwaysThere(**module, MemoryAccounting::kUpstream);
  ASSERT_TRUE(upstream.ok()) << upstream.status();
  EXPECT_EQ(upstream->argument_bytes, 0);
  EXPECT_EQ(upstream->total_bytes, 40 + 400 + 4000 + 28 + 200 + 5 * 8);
  EXPECT_EQ(upstream->throughout_bytes, upstream->total_bytes);
}

// The result in p's memory is made by way of a and c, each of which is as large
// as p; nothing as large as q is there beside d, and s has no way of its own.
TEST(MemoryAccountingTest, SomethingIsThereBetweenAnArgumentAndItsResult) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias), {1}: (1, {}, must-alias), {2}: (2, {}, must-alias) }
ENTRY main {
  p = f32[100]{0} parameter(0)
  q = f32[1000]{0} parameter(1)
  s = f32[50]{0} parameter(2)
  a = f32[100]{0} negate(p)
  w = f32[50]{0} slice(a), slice={[0:50]}
  v = f32[50]{0} add(w, s)
  c = f32[200]{0} concatenate(a, v, v), dimensions={0}
  e = f32[100]{0} slice(c), slice={[0:100]}
  d = f32[10]{0} slice(q), slice={[0:10]}
  w0 = f32[] constant(0)
  f = f32[1000]{0} pad(d, w0), padding=0_990
  g = f32[50]{0} slice(c), slice={[0:50]}
  ROOT r = (f32[100]{0}, f32[1000]{0}, f32[50]{0}) tuple(e, f, g)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  absl::StatusOr<MemoryAlwaysThere> there =
      BytesAlwaysThere(**module, MemoryAccounting::kOurs);
  ASSERT_TRUE(there.ok()) << there.status();
  EXPECT_EQ(there->total_bytes, 400 + 4000 + 200 + 3 * 8);
  EXPECT_EQ(there->throughout_bytes, 400);
  ASSERT_EQ(there->in_between.size(), 2);
  EXPECT_EQ(there->in_between[0]->name(), "a");
  EXPECT_EQ(there->in_between[1]->name(), "c");
}

// Offsets are rounded up; the argument counts at all times, though its last
// reader comes first; the result has memory of its own from the start, where
// nothing of its size waits.
TEST(MemoryAccountingTest, AllocationsLastAsLongAsTheModule) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
ENTRY main {
  p = f32[1000]{0} parameter(0)
  a = f32[3,1000]{1,0} broadcast(p), dimensions={1}
  b = f32[3,1000]{0,1} copy(a)
  c = f32[10]{0} constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  ROOT r = f32[2000]{0} custom-call(b, c), custom_call_target="f"
})");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(ScheduledPeakBytes(**module, MemoryAccounting::kOurs).value(),
            4000 + 12000 + 12000);
  EXPECT_EQ(ScheduledPeakBytes(**module, MemoryAccounting::kAllocated).value(),
            4000 + 8000 + 12032 + 12000);
}

// y is written over x, but x not over the result of a library call, which is
// an element of a tuple. The workspace takes memory of x.
TEST(MemoryAccountingTest, ElementsOfTuplesAreNotWrittenOver) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
twice {
  a = f32[1024]{0} parameter(0)
  ROOT s = f32[1024]{0} add(a, a)
}
twice_more {
  a = f32[1024]{0} parameter(0)
  ROOT s = f32[1024]{0} add(a, a)
}
ENTRY main {
  p = f32[64]{0} parameter(0)
  call = (f32[1024]{0}, s8[512]{0}) custom-call(p), custom_call_target="f"
  result = f32[1024]{0} get-tuple-element(call), index=0
  x = f32[1024]{0} fusion(result), kind=kLoop, calls=twice
  y = f32[1024]{0} fusion(x), kind=kLoop, calls=twice_more
  ROOT r = f32[64]{0} slice(y), slice={[0:64]}
})");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(ScheduledPeakBytes(**module, MemoryAccounting::kAllocated).value(),
            256 + 2 * 4096 + 256 + 16);
}

// In memory of results they are: the element of `call` lies where r is written.
TEST(MemoryAccountingTest, ElementsOfTuplesAreInMemoryOfResults) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
twice {
  a = f32[1024]{0} parameter(0)
  ROOT s = f32[1024]{0} add(a, a)
}
ENTRY main {
  p = f32[64]{0} parameter(0)
  call = (f32[1024]{0}, s8[512]{0}) custom-call(p), custom_call_target="f"
  result = f32[1024]{0} get-tuple-element(call), index=0
  ROOT r = f32[1024]{0} fusion(result), kind=kLoop, calls=twice
})");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(ScheduledPeakBytes(**module, MemoryAccounting::kAllocated).value(),
            256 + 4096 + 512 + 16);
}

// The allocation of temporaries ends with their tables of pointers, the largest
// last: each starts at a multiple of 256 bytes.
TEST(MemoryAccountingTest, TablesOfPointersAreTemporaries) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
ENTRY main {
  p = f32[64]{0} parameter(0)
  three = (f32[64]{0}, f32[64]{0}, f32[64]{0}) custom-call(p), custom_call_target="f"
  a = f32[64]{0} get-tuple-element(three), index=2
  two = (f32[64]{0}, f32[64]{0}) custom-call(a), custom_call_target="g"
  b = f32[64]{0} get-tuple-element(two), index=1
  ROOT r = f32[1]{0} slice(b), slice={[0:1]}
})");
  ASSERT_TRUE(module.ok()) << module.status();
  // p, r, a beside those of two and three, two's table, three's table.
  EXPECT_EQ(ScheduledPeakBytes(**module, MemoryAccounting::kAllocated).value(),
            256 + 4 + 3 * 256 + 256 + 24);
}

// XLA:GPU's all-reduce writes over its operand, XLA:CPU's does not; XLA:CPU's
// modules are known by their backend configs, or by the device type.
TEST(MemoryAccountingTest, AllReducesOfCpuKeepTheirOperands) {
  const auto bytes = [](absl::string_view backend_config,
                        const std::string& device_type = "") {
    auto module = ParseAndReturnUnverifiedModule(absl::StrCat(R"(
HloModule m, is_scheduled=true
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT add = f32[] add(x, y)
}
product {
  u = f32[64,64]{1,0} parameter(0)
  ROOT d = f32[64,64]{1,0} dot(u, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
ENTRY main {
  p = f32[64,64]{1,0} parameter(0)
  a = f32[64,64]{1,0} fusion(p), kind=kCustom, calls=product)",
                                                              backend_config,
                                                              R"(
  b = f32[64,64]{1,0} all-reduce(a), replica_groups={}, to_apply=sum
  ROOT r = f32[1,64]{1,0} slice(b), slice={[0:1], [0:64]}
})"));
    EXPECT_TRUE(module.ok()) << module.status();
    if (!module.ok()) return int64_t{-1};
    (*module)->mutable_config().set_device_type(device_type);
    const int64_t bytes =
        ScheduledPeakBytes(**module, MemoryAccounting::kAllocated).value();
    // Plans count by the same rules.
    const HloInstruction* all_reduce =
        (*module)->entry_computation()->root_instruction()->operand(0);
    EXPECT_EQ(MakeAliasInfo(MemoryAccounting::kAllocated, **module)
                  ->MayAlias(all_reduce->operand(0), {}, all_reduce, {})
                  .value_or(false),
              bytes < 3 * 64 * 64 * 4);
    return bytes;
  };
  constexpr int64_t kMatrix = 64 * 64 * 4;
  EXPECT_EQ(bytes(""), 256 + 2 * kMatrix);
  EXPECT_EQ(bytes(R"(, backend_config={"fusion_config":{"kind":"__triton"}})"),
            256 + 2 * kMatrix);
  EXPECT_EQ(
      bytes(R"(, backend_config={"fusion_config":{"kind":"__ynn_fusion"}})"),
      256 + 3 * kMatrix);
  EXPECT_EQ(bytes(R"(, backend_config={"outer_dimension_partitions":["2"]})"),
            256 + 3 * kMatrix);
  EXPECT_EQ(bytes("", "cpu"), 256 + 3 * kMatrix);
  EXPECT_EQ(bytes("", "gpu"), 256 + 2 * kMatrix);
}

// Temporaries lie where best fit puts them, the largest or longest first: b
// where a was, which leaves too little for c below `over`, though all would fit
// in 11 KiB.
TEST(MemoryAccountingTest, TemporariesArePackedNoBetterThanByBestFit) {
  auto module = ParseAndReturnUnverifiedModule(R"(
HloModule m, is_scheduled=true
ENTRY main {
  a = s8[6144]{0} custom-call(), custom_call_target="make"
  t = s8[256]{0} custom-call(), custom_call_target="make"
  read_t = token[] custom-call(t), custom_call_target="read"
  u = s8[256]{0} custom-call(), custom_call_target="make"
  read_u = token[] custom-call(u), custom_call_target="read"
  over = s8[4096]{0} custom-call(), custom_call_target="make"
  read_a = token[] custom-call(a), custom_call_target="read"
  b = s8[4096]{0} custom-call(), custom_call_target="make"
  c = s8[3072]{0} custom-call(), custom_call_target="make"
  read_over = token[] custom-call(over), custom_call_target="read"
  read_c = token[] custom-call(c), custom_call_target="read"
  read_b = token[] custom-call(b), custom_call_target="read"
  ROOT r = () tuple()
})");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(ScheduledPeakBytes(**module, MemoryAccounting::kAllocated).value(),
            13 << 10);
}

TEST(MemoryAccountingTest, NamesAreReadAgain) {
  for (const auto accounting :
       {MemoryAccounting::kAuto, MemoryAccounting::kOurs,
        MemoryAccounting::kUpstream, MemoryAccounting::kAllocated}) {
    MemoryAccounting read = MemoryAccounting::kOurs;
    std::string error;
    EXPECT_TRUE(AbslParseFlag(AbslUnparseFlag(accounting), &read, &error));
    EXPECT_EQ(read, accounting);
  }
  MemoryAccounting read;
  std::string error;
  EXPECT_FALSE(AbslParseFlag("both", &read, &error));
  EXPECT_EQ(error, "'both' is not one of auto, ours, upstream and allocated");
}

}  // namespace
}  // namespace xla
