// Random modules of which some values have random shardings: propagation gives
// shardings that fit, keeps what is given, does not change its mind when run
// again, and leaves a module that means the same on several devices.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/run/literal_difference.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/evaluator/run/sharded_meaning.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/testlib/random_shardings.h"
#include "xla/hlo/transforms/sharding_propagation/factor_propagation.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_propagation.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Shardings = absl::flat_hash_map<const HloInstruction*, HloSharding>;

// One value in `every` keeps its sharding.
Shardings Thin(uint64_t seed, uint64_t every, HloModule* module) {
  Shardings kept;
  uint64_t state = seed * 2 + 1;
  for (HloComputation* computation : module->computations()) {
    for (HloInstruction* inst : computation->instructions()) {
      if (!inst->has_sharding()) continue;
      state = state * 6364136223846793005u + 1442695040888963407u;
      if ((state >> 33) % every != 0) {
        inst->clear_sharding();
      } else {
        kept.insert({inst, inst->sharding()});
      }
    }
  }
  return kept;
}

Shardings AllShardings(const HloModule& module) {
  Shardings all;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      if (inst->has_sharding()) all.insert({inst, inst->sharding()});
    }
  }
  return all;
}

std::unique_ptr<HloModule> ModuleOf(uint64_t seed, int64_t devices) {
  RandomModuleOptions options;
  options.steps = 4 + static_cast<int64_t>(seed % 12);
  options.exact = true;
  options.types = {F32, S32, PRED};
  options.without = {HloOpcode::kFusion, HloOpcode::kAsyncStart,
                     HloOpcode::kRng, HloOpcode::kRngBitGenerator,
                     HloOpcode::kRngGetAndUpdateState};
  std::unique_ptr<HloModule> module = RandomModule(seed, options);
  AnnotateWithRandomShardings(seed, devices, *module);
  module->mutable_config().set_num_partitions(devices);
  module->mutable_config().set_use_spmd_partitioning(true);
  return module;
}

absl::Status CheckShardings(const HloModule& module, int64_t devices,
                            const Shardings& given, bool boundary_may_change) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      if (!inst->has_sharding()) continue;
      const absl::Status fits =
          inst->sharding().Validate(inst->shape(), devices);
      if (!fits.ok()) {
        return absl::InternalError(absl::StrCat(
            inst->name(), " got what does not fit: ", fits.message()));
      }
    }
  }
  const HloComputation* entry = module.entry_computation();
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      const auto it = given.find(inst);
      if (it == given.end()) continue;
      const bool boundary =
          computation == entry &&
          (inst->IsRoot() || inst->opcode() == HloOpcode::kParameter);
      if (boundary && boundary_may_change) continue;
      if (!inst->has_sharding() || inst->sharding() != it->second) {
        return absl::InternalError(absl::StrCat(
            inst->name(), " had ", it->second.ToString(), ", has ",
            inst->has_sharding() ? inst->sharding().ToString() : "nothing"));
      }
    }
  }
  return absl::OkStatus();
}

// Whether the partitioned module gives the shards of the whole one's result;
// false if it cannot be evaluated.
absl::StatusOr<bool> Compare(const HloModule& whole, uint64_t seed,
                             int64_t devices) {
  MeaningOptions options;
  options.max_work = 200'000;
  options.tolerance = Tolerance();
  ASSIGN_OR_RETURN(auto inputs, GenerateDeviceInputs(whole, 1, seed,
                                                     /*small_integers=*/true));
  auto meaning = ShardedMeaning::MakeWithInputs(whole, devices,
                                                std::move(inputs), options);
  if (absl::IsUnimplemented(meaning.status())) return false;
  RETURN_IF_ERROR(meaning.status());
  std::unique_ptr<HloModule> module = whole.Clone("");
  RETURN_IF_ERROR(spmd::SpmdPartitioner(spmd::SpmdPartitioningPassOptions())
                      .Run(module.get())
                      .status());
  ASSIGN_OR_RETURN(auto difference, (*meaning)->DifferenceFrom(*module));
  if (difference.has_value()) return absl::InternalError(*difference);
  return true;
}

class PropagationRandomTest : public ::testing::TestWithParam<int> {};

TEST_P(PropagationRandomTest, LevelByLevel) {
  const int64_t devices = GetParam();
  constexpr int64_t kCases = 60;
  int64_t compared = 0;
  for (int64_t i = 0; i < kCases; ++i) {
    const uint64_t seed = static_cast<uint64_t>(devices) * 1'000'000 + i;
    std::unique_ptr<HloModule> module = ModuleOf(seed, devices);
    const Shardings given = Thin(seed, 2 + i % 4, module.get());
    const std::string before = module->ToString();
    const bool boundary = i % 3 == 0;
    ShardingPropagationOptions options;
    options.is_spmd = i % 5 != 0;
    options.to_output = boundary;
    options.to_parameters = boundary;
    auto run = [&]() -> absl::Status {
      RETURN_IF_ERROR(ShardingPropagation(options).Run(module.get()).status());
      RETURN_IF_ERROR(VerifyHloModule(module.get(), HloVerifierOpts()));
      RETURN_IF_ERROR(CheckShardings(*module, devices, given, boundary));
      ASSIGN_OR_RETURN(const bool same, Compare(*module, seed, devices));
      compared += same;
      return absl::OkStatus();
    };
    const absl::Status status = run();
    ASSERT_TRUE(status.ok()) << status << "\nseed " << seed << "\n"
                             << before << "\nbecame\n"
                             << module->ToString();
    // A second run may tell more values that they are replicated, no more.
    const Shardings first = AllShardings(*module);
    auto again = ShardingPropagation(options).Run(module.get());
    ASSERT_TRUE(again.ok()) << again.status();
    const absl::Status kept = CheckShardings(*module, devices, first, boundary);
    EXPECT_TRUE(kept.ok()) << kept << "\nseed " << seed << "\n" << before;
  }
  EXPECT_GT(compared, kCases * 3 / 4);
}

TEST_P(PropagationRandomTest, AlongFactors) {
  const int64_t devices = GetParam();
  constexpr int64_t kCases = 60;
  int64_t compared = 0;
  for (int64_t i = 0; i < kCases; ++i) {
    const uint64_t seed = static_cast<uint64_t>(devices) * 1'000'000 + i;
    std::unique_ptr<HloModule> module = ModuleOf(seed, devices);
    const Shardings given = Thin(seed, 2 + i % 4, module.get());
    const std::string before = module->ToString();
    auto run = [&]() -> absl::Status {
      RETURN_IF_ERROR(FactorPropagation().Run(module.get()).status());
      RETURN_IF_ERROR(VerifyHloModule(module.get(), HloVerifierOpts()));
      RETURN_IF_ERROR(CheckShardings(*module, devices, given,
                                     /*boundary_may_change=*/false));
      ASSIGN_OR_RETURN(const bool same, Compare(*module, seed, devices));
      compared += same;
      return absl::OkStatus();
    };
    const absl::Status status = run();
    ASSERT_TRUE(status.ok()) << status << "\nseed " << seed << "\n"
                             << before << "\nbecame\n"
                             << module->ToString();
  }
  EXPECT_GT(compared, kCases * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, PropagationRandomTest,
                         ::testing::Values(2, 3, 4, 8));

}  // namespace
}  // namespace xla
