#include "xla/hlo/transforms/spmd/spmd_comparison.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/run/literal_difference.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/evaluator/run/sharded_meaning.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla::spmd {

RandomModuleOptions ModulesToPartition(uint64_t seed) {
  RandomModuleOptions options;
  options.steps = 4 + static_cast<int64_t>(seed % 9);
  options.exact = true;
  options.types = {F32, S32, PRED};
  // Opcodes that arise after partitioning, and random ones.
  options.without = {HloOpcode::kFusion, HloOpcode::kAsyncStart,
                     HloOpcode::kRng, HloOpcode::kRngBitGenerator,
                     HloOpcode::kRngGetAndUpdateState};
  return options;
}

int64_t RandomCases(int64_t standard) {
  const char* text = std::getenv("HLO_RANDOM_MODULES");
  const int64_t cases = text == nullptr ? 0 : std::atoll(text);
  return cases > 0 ? cases : standard;
}

uint64_t FirstRandomCase() {
  const char* text = std::getenv("HLO_RANDOM_FIRST");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

// The oracle of the random tests: partitions a copy, verifies it, runs it on
// all devices, and compares shards with a run of the whole module. Modules that
// the evaluator cannot run in reasonable time are reported as not run instead
// of failed.
Comparison PartitionAndCompare(const HloModule& whole, uint64_t seed,
                               int64_t devices, int64_t replicas,
                               SpmdPartitioner& pass, bool exact) {
  std::unique_ptr<HloModule> module = whole.Clone("");
  module->mutable_config().set_num_partitions(devices);
  module->mutable_config().set_replica_count(replicas);
  module->mutable_config().set_use_spmd_partitioning(true);
  MeaningOptions options;
  options.max_work = 200'000;
  if (exact) options.tolerance = Tolerance();
  // Small integers: sums are exact in any order.
  auto inputs = GenerateDeviceInputs(*module, replicas, seed,
                                     /*small_integers=*/exact);
  if (!inputs.ok()) return {Outcome::kFailed, inputs.status()};
  auto meaning = ShardedMeaning::MakeWithInputs(*module, devices,
                                                *std::move(inputs), options);
  if (!meaning.ok()) {
    return {absl::IsUnimplemented(meaning.status()) ? Outcome::kNotRun
                                                    : Outcome::kFailed,
            meaning.status()};
  }
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
  return {status.ok() ? Outcome::kCompared : Outcome::kFailed, status};
}

}  // namespace xla::spmd
