#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"

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

void ExpectUnimplemented(const SpmdPartitionerOptions& options,
                         const std::string& name) {
  const absl::Status status = Partition(options).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << name;
  EXPECT_THAT(std::string(status.message()), HasSubstr(name));
}

TEST(SpmdOptionsTest, DefaultsAreImplemented) {
  EXPECT_TRUE(Partition(Defaults()).status.ok());
}

TEST(SpmdOptionsTest, OtherValuesOfSomeAreNot){
#define EXPECT_NOT(field, value)           \
  {                                        \
    SpmdPartitionerOptions o = Defaults(); \
    o.field = value;                       \
    ExpectUnimplemented(o, #field);        \
  }
    EXPECT_NOT(conv_halo_exchange_always_on_lhs,
               false) EXPECT_NOT(bidirectional_windowed_einsum, true)
        EXPECT_NOT(allow_module_layout_signature_change,
                   true) EXPECT_NOT(choose_faster_windowed_einsum_over_mem,
                                    true)
            EXPECT_NOT(enable_dynamic_slice_collective_broadcast, true)
                EXPECT_NOT(max_dynamic_slice_collective_broadcast_partitions, 8)
                    EXPECT_NOT(partial_windowed_einsum, true)
                        EXPECT_NOT(preferred_gather_partition_methods, {})
                            EXPECT_NOT(preferred_scatter_partition_methods, {})
                                EXPECT_NOT(need_resolve_conflicts, false)
#undef EXPECT_NOT
}

TEST(SpmdOptionsTest, ReportHasTheLargestArrays) {
  const std::string report = Partition(Defaults()).report;
  EXPECT_THAT(report, HasSubstr("256B : %p = f32[8,8]"));
  EXPECT_THAT(report, HasSubstr("64B : %w = f32[8,2]"));
  // Of each device, after partitioning.
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
