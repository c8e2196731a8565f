// Random modules under random shardings: the program of one device is valid,
// and run on all devices it gives the shards of what the whole module gives,
// with poison wherever a shard has no elements.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/testlib/random_shardings.h"
#include "xla/hlo/transforms/spmd/spmd_comparison.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"

namespace xla::spmd {
namespace {

Outcome PartitionAndCompare(std::unique_ptr<HloModule> whole, uint64_t seed,
                            int64_t devices, int64_t replicas) {
  AnnotateWithRandomShardings(seed, devices, *whole);
  SpmdPartitioner pass((SpmdPartitioningPassOptions()));
  const Comparison comparison =
      PartitionAndCompare(*whole, seed, devices, replicas, pass);
  if (comparison.outcome == Outcome::kFailed) {
    ADD_FAILURE() << comparison.status << "\nseed " << seed << "\n"
                  << whole->ToString();
  }
  return comparison.outcome;
}

class SpmdRandomTest : public ::testing::TestWithParam<int> {};

TEST_P(SpmdRandomTest, DevicesGiveTheShardsOfTheResult) {
  const int64_t devices = GetParam();
  int64_t compared = 0, failed = 0;
  const int64_t cases = RandomCases(60);
  for (int64_t i = 0; i < cases && failed < 4; ++i) {
    const uint64_t seed =
        static_cast<uint64_t>(devices) * 1'000'000 + FirstRandomCase() + i;
    const Outcome outcome = PartitionAndCompare(
        RandomModule(seed, ModulesToPartition(seed)), seed, devices,
        /*replicas=*/i % 8 == 0 ? 2 : 1);
    compared += outcome == Outcome::kCompared;
    failed += outcome == Outcome::kFailed;
  }
  EXPECT_GT(compared, failed > 0 ? 0 : cases * 3 / 4);
}

// Few instructions of one opcode each, so that none is rare.
TEST_P(SpmdRandomTest, EveryOpcode) {
  const int64_t devices = GetParam();
  int64_t compared = 0, failed = 0;
  const int64_t cases = RandomCases(4);
  const std::vector<HloOpcode> opcodes = RandomModuleOpcodes();
  for (size_t k = 0; k < opcodes.size(); ++k) {
    for (int64_t i = 0; i < cases && failed < 4; ++i) {
      const uint64_t seed =
          (static_cast<uint64_t>(devices) * 1000 + k) * 1'000'000 +
          FirstRandomCase() + i;
      RandomModuleOptions options = ModulesToPartition(seed);
      if (options.without.contains(opcodes[k])) continue;
      options.opcodes = {opcodes[k]};
      options.steps = 2 + i % 3;
      options.max_dimension = 7;
      const Outcome outcome = PartitionAndCompare(
          RandomModule(seed, options), seed, devices, /*replicas=*/1);
      compared += outcome == Outcome::kCompared;
      failed += outcome == Outcome::kFailed;
    }
  }
  EXPECT_GT(compared, failed > 0 ? 0 : cases * 50);
}

INSTANTIATE_TEST_SUITE_P(Devices, SpmdRandomTest,
                         ::testing::Values(2, 3, 4, 6, 8));

}  // namespace
}  // namespace xla::spmd
