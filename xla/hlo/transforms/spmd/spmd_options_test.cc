#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_options.h"

namespace xla::spmd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SpmdPartitionerOptions Defaults() {
  SpmdPartitionerOptions options;
  options.allow_module_signature_change = true;
  return options;
}

struct Outcome {
  absl::Status status;
  std::string report;
};

// p of 256 bytes becomes two shards; w of 64 bytes is held whole.
Outcome Partition(const SpmdPartitionerOptions& options) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(R"(
HloModule m, num_partitions=2
ENTRY e {
  p = f32[8,8] parameter(0), sharding={devices=[2,1]<=[2]}
  w = f32[8,2] parameter(1), sharding={replicated}
  ROOT d = f32[8,2] dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={devices=[2,1]<=[2]}
}
)");
  if (!module.ok()) return {module.status(), ""};
  SpmdPartitioner partitioner(0, 0, options);
  const absl::Status status = partitioner.Run(module->get()).status();
  return {status, partitioner.report()};
}

std::string Partitioned(absl::string_view text,
                        const SpmdPartitionerOptions& options) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(text);
  if (!module.ok()) return std::string(module.status().message());
  SpmdPartitioner partitioner(0, 0, options);
  const absl::Status status = partitioner.Run(module->get()).status();
  return status.ok() ? (*module)->ToString() : std::string(status.message());
}

// Two ways: the rows of p that a device has, or p whole for its own indices.
constexpr absl::string_view kGather = R"(
HloModule m, num_partitions=2
ENTRY e {
  p = f32[4,64] parameter(0), sharding={devices=[2,1]<=[2]}
  i = s32[2,1] parameter(1), sharding={devices=[2,1]<=[2]}
  ROOT g = f32[2,64] gather(p, i), offset_dims={1}, collapsed_slice_dims={0},
      start_index_map={0}, index_vector_dim=1, slice_sizes={1,64},
      sharding={devices=[2,1]<=[2]}
}
)";

TEST(SpmdOptionsTest, PreferredMethodsOfGathersGoFirst) {
  SpmdPartitionerOptions options = Defaults();
  options.preferred_gather_partition_methods = {
      GatherScatterPartitioningMethod::kIndexPassthrough};
  EXPECT_THAT(Partitioned(kGather, options), HasSubstr("f32[4,64]{1,0} all-"));
  options.preferred_gather_partition_methods = {
      GatherScatterPartitioningMethod::kTrivialSlicedOperand};
  EXPECT_THAT(Partitioned(kGather, options), HasSubstr("select("));
}

constexpr absl::string_view kScatter = R"(
HloModule m, num_partitions=2
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}
ENTRY e {
  p = f32[4,64] parameter(0), sharding={devices=[2,1]<=[2]}
  i = s32[2,1] parameter(1), sharding={devices=[2,1]<=[2]}
  u = f32[2,64] parameter(2), sharding={devices=[2,1]<=[2]}
  ROOT s = f32[4,64] scatter(p, i, u), to_apply=add, update_window_dims={1},
      inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, sharding={devices=[2,1]<=[2]}
}
)";

TEST(SpmdOptionsTest, PreferredMethodsOfScattersGoFirst) {
  SpmdPartitionerOptions options = Defaults();
  options.preferred_scatter_partition_methods = {
      GatherScatterPartitioningMethod::kIndexPassthrough};
  EXPECT_THAT(Partitioned(kScatter, options), HasSubstr("reduce-scatter("));
  options.preferred_scatter_partition_methods = {
      GatherScatterPartitioningMethod::kTrivialSlicedOperand};
  EXPECT_THAT(Partitioned(kScatter, options),
              Not(HasSubstr("reduce-scatter(")));
}

// Many updates of few rows: to add these up is what takes least.
TEST(SpmdOptionsTest, PreferredMethodsOfScattersMayMoveMore) {
  const std::string text = absl::StrReplaceAll(
      kScatter, {{"s32[2,1]", "s32[32,1]"}, {"f32[2,64]", "f32[32,64]"}});
  SpmdPartitionerOptions options = Defaults();
  options.preferred_scatter_partition_methods = {};
  EXPECT_THAT(Partitioned(text, options),
              Not(HasSubstr("f32[32,64]{1,0} all-")));
  options.preferred_scatter_partition_methods = {
      GatherScatterPartitioningMethod::kTrivialSlicedOperand};
  EXPECT_THAT(Partitioned(text, options), HasSubstr("f32[32,64]{1,0} all-"));
}

// Two that need p whole.
TEST(SpmdOptionsTest, GatheredValuesAreKeptUnlessTheOptionSaysOtherwise) {
  constexpr absl::string_view text = R"(
HloModule m, num_partitions=2
ENTRY e {
  p = f32[8,8] parameter(0), sharding={devices=[2,1]<=[2]}
  f = f32[8,8] custom-call(p), custom_call_target="f", sharding={replicated}
  g = f32[8,8] custom-call(p), custom_call_target="g", sharding={replicated}
  ROOT t = (f32[8,8], f32[8,8]) tuple(f, g), sharding={{replicated}, {replicated}}
}
)";
  const auto gathers = [&](bool cache) {
    SpmdPartitionerOptions options = Defaults();
    options.cache_all_gather = cache;
    const std::vector<std::string> parts =
        absl::StrSplit(Partitioned(text, options), " all-gather(");
    return parts.size() - 1;
  };
  EXPECT_EQ(gathers(true), 1);
  EXPECT_EQ(gathers(false), 2);
}

TEST(SpmdOptionsTest, LayoutsOfTheEntryStayUnlessTheOptionSaysOtherwise) {
  constexpr absl::string_view text = R"(
HloModule m, num_partitions=2, entry_computation_layout={(f32[4,6]{0,1})->f32[4,6]{0,1}}
ENTRY e {
  p = f32[4,6]{0,1} parameter(0), sharding={devices=[2,1]<=[2]}
  ROOT c = f32[4,6]{0,1} copy(p), sharding={devices=[2,1]<=[2]}
}
)";
  SpmdPartitionerOptions options = Defaults();
  EXPECT_THAT(Partitioned(text, options), HasSubstr("{(f32[2,6]{0,1})->"));
  options.allow_module_layout_signature_change = true;
  EXPECT_THAT(Partitioned(text, options), HasSubstr("{(f32[2,6]{1,0})->"));
}

TEST(SpmdOptionsTest, ReportHasTheLargestArrays) {
  const std::string report = Partition(Defaults()).report;
  EXPECT_THAT(report, HasSubstr("256B : %p = f32[8,8]"));
  EXPECT_THAT(report, HasSubstr("64B : %w = f32[8,2]"));
  // Sizes per device, after partitioning.
  EXPECT_THAT(report, HasSubstr("128B : "));
}

TEST(SpmdOptionsTest, ReportIsAsLongAsTheOptionSays) {
  SpmdPartitionerOptions options = Defaults();
  options.report_instruction_count = 1;
  const std::string report = Partition(options).report;
  // The only line of arrays that are held whole is w.
  EXPECT_THAT(report, HasSubstr("256B : %p = f32[8,8]"));
  EXPECT_THAT(report, HasSubstr("64B : %w = f32[8,2]"));
  EXPECT_THAT(report, Not(HasSubstr("64B : %d = f32[8,2]")));
  EXPECT_THAT(Partition(Defaults()).report, HasSubstr("64B : %d = f32[8,2]"));
}

}  // namespace
}  // namespace xla::spmd
