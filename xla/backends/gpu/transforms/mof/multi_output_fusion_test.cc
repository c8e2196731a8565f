// Modules that are too long for text tests.

#include "xla/backends/gpu/transforms/mof/multi_output_fusion.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/fusion/wide_root.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/literal.h"

namespace xla::gpu {
namespace {

std::unique_ptr<HloModule> Parse(const std::string& text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

// Runs the pass and verifies.
absl::StatusOr<bool> Fuse(HloModule* module, MultiOutputFusionOptions options) {
  if (options.device == "h100") options.device = "a6000";
  absl::StatusOr<bool> changed = MultiOutputFusion(options).Run(module);
  if (!changed.ok()) return changed;
  module->Cleanup();
  absl::Status status = VerifyHloModule(module, HloVerifierOpts());
  if (!status.ok()) return status;
  return changed;
}

struct Counts {
  int64_t fusions = 0;
  int64_t multi_output = 0;
  int64_t most_arguments = 0;  // operands and outputs
};

Counts Count(const HloModule& module) {
  Counts counts;
  for (const HloInstruction* inst :
       module.entry_computation()->instructions()) {
    if (inst->opcode() != HloOpcode::kFusion) continue;
    ++counts.fusions;
    int64_t outputs = 1;
    if (inst->IsMultiOutputFusion()) {
      ++counts.multi_output;
      outputs = inst->shape().tuple_shapes_size();
    }
    counts.most_arguments =
        std::max(counts.most_arguments, inst->operand_count() + outputs);
  }
  return counts;
}

// Ten reductions of products of neighbors in a ring of parameters.
std::string Ring(int reduced_dimension) {
  constexpr int kSize = 10;
  std::string text = R"(HloModule ring
    add { a = f32[] parameter(0)  b = f32[] parameter(1)
          ROOT s = f32[] add(a, b) }
  )";
  std::string entry = "ENTRY e {\n";
  std::string fusions, names, shapes;
  for (int i = 0; i < kSize; ++i) {
    absl::StrAppend(&text, "fn", i, R"( { p = f32[64,64] parameter(0)
      q = f32[64,64] parameter(1)  z = f32[] constant(0)
      m = f32[64,64] multiply(p, q)
      ROOT r = f32[64] reduce(m, z), dimensions={)",
                    reduced_dimension, "}, to_apply=add }\n");
    absl::StrAppend(&entry, "p", i, " = f32[64,64] parameter(", i, ")\n");
    absl::StrAppend(&fusions, "fn", i, " = f32[64] fusion(p", i, ", p",
                    (i + 1) % kSize, "), kind=kInput, calls=fn", i, "\n");
    absl::StrAppend(&names, i == 0 ? "" : ", ", "fn", i);
    absl::StrAppend(&shapes, i == 0 ? "" : ", ", "f32[64]");
  }
  return absl::StrCat(text, entry, fusions, "ROOT t = (", shapes, ") tuple(",
                      names, ") }\n");
}

// `count` loops that read one parameter.
std::string Wide(int count) {
  std::string text = "HloModule wide\n";
  std::string fusions, names, shapes;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, "fn", i,
                    " { p = f32[64] parameter(0)  c = f32[] constant(", i,
                    ")  b = f32[64] broadcast(c), dimensions={}  ROOT a = "
                    "f32[64] add(p, b) }\n");
    absl::StrAppend(&fusions, "fn", i, " = f32[64] fusion(p), kind=kLoop, ",
                    "calls=fn", i, "\n");
    absl::StrAppend(&names, i == 0 ? "" : ", ", "fn", i);
    absl::StrAppend(&shapes, i == 0 ? "" : ", ", "f32[64]");
  }
  return absl::StrCat(text, "ENTRY e { p = f32[64] parameter(0)\n", fusions,
                      "ROOT t = (", shapes, ") tuple(", names, ") }\n");
}

class MultiOutputFusionTest : public ::testing::TestWithParam<MofOrder> {
 protected:
  MultiOutputFusionOptions Options() const {
    MultiOutputFusionOptions options;
    options.order = GetParam();
    return options;
  }
};

TEST_P(MultiOutputFusionTest, SharedMemoryHoldsTwoColumnReductions) {
  std::unique_ptr<HloModule> module = Parse(Ring(0));
  absl::StatusOr<bool> changed = Fuse(module.get(), Options());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(Count(*module).multi_output, 5);
  EXPECT_EQ(Count(*module).fusions, 5);
}

TEST_P(MultiOutputFusionTest, EightRowReductionsFitInAFusion) {
  std::unique_ptr<HloModule> module = Parse(Ring(1));
  absl::StatusOr<bool> changed = Fuse(module.get(), Options());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(Count(*module).fusions, 2);
}

TEST_P(MultiOutputFusionTest, ArgumentsOfAFusionAreLimited) {
  const int kParameters = GetParam() == MofOrder::kFirstCome ? 200 : 110;
  std::string text = "HloModule chain\n", fusions, sums, entry;
  for (int i = 0; i < kParameters; ++i) {
    absl::StrAppend(&entry, "p", i, " = f32[4096] parameter(", i, ")\n");
    if (i == 0) continue;
    absl::StrAppend(&text, "fn", i, R"( { p = f32[4096] parameter(0)
      q = f32[4096] parameter(1)  ROOT m = f32[4096] multiply(p, q) })",
                    "\n");
    absl::StrAppend(&fusions, "fn", i, " = f32[4096] fusion(p", i - 1, ", p", i,
                    "), kind=kLoop, calls=fn", i, "\n");
    absl::StrAppend(&sums, i + 1 == kParameters ? "ROOT " : "", "sum", i,
                    " = f32[4096] add(fn", i, ", ",
                    i == 1 ? "p0" : absl::StrCat("sum", i - 1), ")\n");
  }
  std::unique_ptr<HloModule> module =
      Parse(absl::StrCat(text, "ENTRY e {\n", entry, fusions, sums, "}\n"));
  absl::StatusOr<bool> changed = Fuse(module.get(), Options());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
  EXPECT_LE(Count(*module).most_arguments, 96);
  EXPECT_GT(Count(*module).most_arguments, 48);
}

// A parameter with many readers: most of them are refused, because the fusions
// are full; the work stays near-linear.
TEST_P(MultiOutputFusionTest, ManyReadersOfOneValue) {
  constexpr int kReaders = 150;
  std::unique_ptr<HloModule> module = Parse(Wide(kReaders));
  absl::StatusOr<bool> changed = Fuse(module.get(), Options());
  ASSERT_TRUE(changed.ok()) << changed.status();
  const Counts counts = Count(*module);
  EXPECT_LE(counts.most_arguments, 96);
  EXPECT_LE(counts.fusions, 2 * (kReaders / 95 + 1));
}

// A kernel that does `length` sines ten times, with one more result if
// `two_results`, and one of as many that reads the last one.
std::string TwoChains(int length, bool two_results) {
  constexpr char kShape[] = "f32[64,128]{1,0}";
  std::string sines = "v0 = f32[] parameter(0)\n";
  for (int i = 1; i <= length; ++i) {
    absl::StrAppend(&sines, i < length ? "" : "ROOT ", "v", i,
                    " = f32[] sine(v", i - 1, ")\n");
  }
  std::string body = absl::StrCat("v0 = ", kShape, " parameter(0)\n");
  for (int i = 1; i <= 10; ++i) {
    absl::StrAppend(&body, i < 10 ? "" : "ROOT ", "v", i, " = ", kShape,
                    " map(v", i - 1, "), dimensions={0,1}, to_apply=sines\n");
  }
  std::string first = body;
  if (two_results) {
    first.erase(first.rfind("ROOT "), 5);
    absl::StrAppend(&first, "n = ", kShape, " negate(v0)\nROOT t = (", kShape,
                    ", ", kShape, ") tuple(v10, n)\n");
  }
  const std::string fusion =
      two_results
          ? absl::StrCat("f = (", kShape, ", ", kShape,
                         ") fusion(p), kind=kLoop, calls=f1\nb = ", kShape,
                         " get-tuple-element(f), index=1\na = ", kShape,
                         " get-tuple-element(f), index=0\n")
          : absl::StrCat("a = ", kShape, " fusion(p), kind=kLoop, calls=f1\n",
                         "b = ", kShape, " custom-call(a),",
                         " custom_call_target=\"f\"\n");
  return absl::StrCat(
      "HloModule chains\nsines {\n", sines, "}\nf1 {\n", first, "}\nf2 {\n",
      body, "}\nENTRY e {\np = ", kShape, " parameter(0)\n", fusion,
      "c = ", kShape, " fusion(a), kind=kLoop, calls=f2\n", "ROOT t = (",
      kShape, ", ", kShape, ", ", kShape, ") tuple(a, b, c)\n}\n");
}

// A kernel of more than 10,000 instructions is not made.
TEST_P(MultiOutputFusionTest, CodeIsLimited) {
  for (bool two_results : {false, true}) {
    // First come, a kernel with several results takes in siblings alone.
    const bool fits = !two_results || GetParam() == MofOrder::kSavings;
    for (const auto& [length, fuses] :
         {std::make_pair(300, fits), std::make_pair(510, false)}) {
      std::unique_ptr<HloModule> module = Parse(TwoChains(length, two_results));
      absl::StatusOr<bool> changed = Fuse(module.get(), Options());
      ASSERT_TRUE(changed.ok()) << changed.status();
      EXPECT_EQ(*changed, fuses) << length << two_results;
    }
  }
}

// Two long kernels that compute the same: each value is compared with those
// that are computed from the same ones only.
TEST_P(MultiOutputFusionTest, LongKernelsThatAreEqual) {
  constexpr int kLength = 2000;
  std::string body = "v0 = f32[64] parameter(0)\n";
  for (int i = 1; i <= kLength; ++i) {
    absl::StrAppend(&body, i < kLength ? "" : "ROOT ", "v", i,
                    " = f32[64] sine(v", i - 1, ")\n");
  }
  std::unique_ptr<HloModule> module =
      Parse(absl::StrCat("HloModule equal\nf1 {\n", body, "}\nf2 {\n", body,
                         "}\nENTRY e {\np = f32[64] parameter(0)\n",
                         "a = f32[64] fusion(p), kind=kLoop, calls=f1\n",
                         "b = f32[64] fusion(p), kind=kLoop, calls=f2\n",
                         "ROOT t = (f32[64], f32[64]) tuple(a, b)\n}\n"));
  absl::StatusOr<bool> changed = Fuse(module.get(), Options());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(Count(*module).fusions, 1);
  EXPECT_EQ(Count(*module).multi_output, 0);
}

TEST_P(MultiOutputFusionTest, TwoRunsGiveEqualModules) {
  for (int dimension : {0, 1}) {
    std::unique_ptr<HloModule> a = Parse(Ring(dimension));
    std::unique_ptr<HloModule> b = Parse(Ring(dimension));
    ASSERT_TRUE(Fuse(a.get(), Options()).ok());
    ASSERT_TRUE(Fuse(b.get(), Options()).ok());
    EXPECT_EQ(a->ToString(), b->ToString());
  }
}

// Results keep their places though their tuple is taken apart for the time.
TEST_P(MultiOutputFusionTest, WideRoot) {
  constexpr int kResults = WideRoot::kMaxResults + 300;
  std::unique_ptr<HloModule> module = Parse(Wide(kResults));
  absl::StatusOr<bool> changed = Fuse(module.get(), Options());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
  const HloInstruction* root = module->entry_computation()->root_instruction();
  EXPECT_EQ(root->name(), "t");
  ASSERT_EQ(root->operand_count(), kResults);
  for (int i = 0; i < kResults; ++i) {
    const HloInstruction* element = root->operand(i);
    ASSERT_EQ(element->opcode(), HloOpcode::kGetTupleElement);
    const HloInstruction* sum =
        element->operand(0)->fused_expression_root()->operand(
            element->tuple_index());
    EXPECT_EQ(sum->operand(1)->operand(0)->literal().GetFirstElement<float>(),
              static_cast<float>(i));
  }
}

// Nothing is fused, and the schedule, which knows no other tuples, stays valid.
TEST_P(MultiOutputFusionTest, WideRootOfAScheduledModule) {
  std::string names = "p";
  std::string shapes = "f32[64]";
  for (int i = 1; i < WideRoot::kMaxResults + 300; ++i) {
    absl::StrAppend(&names, ", p");
    absl::StrAppend(&shapes, ", f32[64]");
  }
  std::unique_ptr<HloModule> module = Parse(
      absl::StrCat("HloModule m, is_scheduled=true\nENTRY e { p = f32[64] "
                   "parameter(0)\nROOT t = (",
                   shapes, ") tuple(", names, ") }\n"));
  const std::string before = module->ToString();
  absl::StatusOr<bool> changed = Fuse(module.get(), Options());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_FALSE(*changed);
  ASSERT_TRUE(module->has_schedule());
  EXPECT_TRUE(module->schedule().Verify().ok());
  EXPECT_EQ(module->ToString(), before);
}

INSTANTIATE_TEST_SUITE_P(Orders, MultiOutputFusionTest,
                         ::testing::Values(MofOrder::kFirstCome,
                                           MofOrder::kSavings));

TEST(MultiOutputFusionErrorTest, BadOptionsAreErrors) {
  std::unique_ptr<HloModule> module = Parse(Ring(1));
  MultiOutputFusionOptions options;
  options.device = "abacus";
  EXPECT_EQ(Fuse(module.get(), options).status().code(),
            absl::StatusCode::kNotFound);
  options = {};
  options.memory_limit = "much";
  EXPECT_EQ(Fuse(module.get(), options).status().code(),
            absl::StatusCode::kInvalidArgument);
  options = {};
  options.memory_weight = -1;
  EXPECT_EQ(Fuse(module.get(), options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// The constructor that other compilers call knows no narrow outputs.
TEST(MultiOutputFusionErrorTest, ConstructorOfOthersWritesNoNarrowOutputs) {
  constexpr absl::string_view kText = R"(
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
f1 {
  p = f32[64,128] parameter(0)
  ROOT m = f32[64,128] exponential(p)
}
f2 {
  p = f32[64,128] parameter(0)
  q = f32[64,128] parameter(1)
  z = f32[] constant(0)
  zeros = f32[64,128] broadcast(z), dimensions={}
  c = pred[64,128] compare(p, zeros), direction=GT
  ROOT s = f32[64,128] select(c, q, zeros)
}
ENTRY e {
  x = f32[64,128] parameter(0)
  early = f32[64,128] fusion(x), kind=kLoop, calls=f1
  r = f32[64,128] all-reduce(early), to_apply=add
  late = f32[64,128] fusion(x, r), kind=kLoop, calls=f2
  ROOT out = f32[64,128] all-reduce(late), to_apply=add
})";
  std::unique_ptr<HloModule> module = Parse(std::string(kText));
  auto device = LoadGpuDevice("h200");
  ASSERT_TRUE(device.ok()) << device.status();
  const GpuAliasInfo alias_info;
  auto changed =
      MultiOutputFusion(*device, &alias_info, nullptr).Run(module.get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_FALSE(*changed);
  changed = Fuse(module.get(), MultiOutputFusionOptions());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_TRUE(*changed);
}

// A device without shared memory or with no room in it fuses loops only.
TEST(MultiOutputFusionErrorTest, NoSharedMemoryMeansNoReductions) {
  auto device = se::DeviceDescription();
  device.set_core_count(1);
  device.set_fpus_per_core(1);
  device.set_clock_rate_ghz(1);
  device.set_memory_bandwidth(1'000'000'000);
  device.set_threads_per_warp(32);
  device.set_threads_per_block_limit(1024);
  device.set_threads_per_core_limit(1024);
  const GpuAliasInfo alias_info;
  std::unique_ptr<HloModule> module = Parse(Ring(1));
  absl::StatusOr<bool> changed =
      MultiOutputFusion(device, &alias_info, nullptr).Run(module.get());
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_FALSE(*changed);
}

}  // namespace
}  // namespace xla::gpu
