// Random modules under random shardings: the program of one device is valid,
// and run on all devices it gives the shards of what the whole module gives,
// with poison wherever a shard has no elements.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/run/literal_difference.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/evaluator/run/sharded_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/testlib/random_shardings.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

RandomModuleOptions Modules(uint64_t seed) {
  RandomModuleOptions options;
  options.steps = 4 + static_cast<int64_t>(seed % 9);
  options.exact = true;
  options.types = {F32, S32, PRED};
  // What is made after partitioning, and what is another program each time.
  options.without = {HloOpcode::kFusion, HloOpcode::kAsyncStart,
                     HloOpcode::kRng, HloOpcode::kRngBitGenerator,
                     HloOpcode::kRngGetAndUpdateState};
  return options;
}

// The number of cases per test: HLO_RANDOM_MODULES, else `standard`.
int64_t Cases(int64_t standard) {
  const char* text = std::getenv("HLO_RANDOM_MODULES");
  const int64_t cases = text == nullptr ? 0 : std::atoll(text);
  return cases > 0 ? cases : standard;
}

// What became of one module.
enum class Outcome { kNotRun, kCompared, kFailed };

Outcome PartitionAndCompare(std::unique_ptr<HloModule> whole, uint64_t seed,
                            int64_t devices, int64_t replicas) {
  AnnotateWithRandomShardings(seed, devices, *whole);
  whole->mutable_config().set_num_partitions(devices);
  whole->mutable_config().set_replica_count(replicas);
  whole->mutable_config().set_use_spmd_partitioning(true);
  MeaningOptions options;
  options.max_work = 200'000;
  options.tolerance = Tolerance();
  // Small integers: sums are exact in any order.
  auto inputs = GenerateDeviceInputs(*whole, replicas, seed,
                                     /*small_integers=*/true);
  EXPECT_TRUE(inputs.ok()) << inputs.status();
  if (!inputs.ok()) return Outcome::kFailed;
  auto meaning = ShardedMeaning::MakeWithInputs(*whole, devices,
                                                *std::move(inputs), options);
  if (!meaning.ok()) {
    EXPECT_EQ(meaning.status().code(), absl::StatusCode::kUnimplemented)
        << meaning.status();
    return Outcome::kNotRun;
  }
  std::unique_ptr<HloModule> module = whole->Clone("");
  SpmdPartitioner pass((SpmdPartitioningPassOptions()));
  absl::Status status = pass.Run(module.get()).status();
  if (status.ok()) status = VerifyHloModule(module.get(), HloVerifierOpts());
  if (status.ok()) {
    auto difference = (*meaning)->DifferenceFrom(*module);
    status = difference.status();
    if (status.ok() && difference->has_value()) {
      status = absl::FailedPreconditionError(
          absl::StrCat(**difference, "\n", module->ToString()));
    }
  }
  if (status.ok()) return Outcome::kCompared;
  ADD_FAILURE() << status << "\nseed " << seed << "\n" << whole->ToString();
  return Outcome::kFailed;
}

class SpmdRandomTest : public ::testing::TestWithParam<int> {};

TEST_P(SpmdRandomTest, DevicesGiveTheShardsOfTheResult) {
  const int64_t devices = GetParam();
  int64_t compared = 0, failed = 0;
  const int64_t cases = Cases(60);
  for (int64_t i = 0; i < cases && failed < 4; ++i) {
    const uint64_t seed = static_cast<uint64_t>(devices) * 1'000'000 + i;
    const Outcome outcome =
        PartitionAndCompare(RandomModule(seed, Modules(seed)), seed, devices,
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
  const int64_t cases = Cases(4);
  const std::vector<HloOpcode> opcodes = RandomModuleOpcodes();
  for (size_t k = 0; k < opcodes.size(); ++k) {
    for (int64_t i = 0; i < cases && failed < 4; ++i) {
      const uint64_t seed =
          (static_cast<uint64_t>(devices) * 1000 + k) * 1'000'000 + i;
      RandomModuleOptions options = Modules(seed);
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
