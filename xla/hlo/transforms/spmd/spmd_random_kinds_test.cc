// Random modules of kinds that rarely come up by chance: all element types,
// empty and long dimensions, shardings by names of axes, addends, manual
// regions over all devices or some, nested control flow, numbers that are not
// exact; on 2 to 12 devices.
#include <cstdint>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/testlib/random_shardings.h"
#include "xla/hlo/transforms/simplifiers/call_inliner.h"
#include "xla/hlo/transforms/spmd/spmd_comparison.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"

namespace xla::spmd {
namespace {

constexpr int64_t kDevices[] = {2, 3, 4, 5, 6, 7, 8, 12};

int64_t DevicesOf(uint64_t seed) { return kDevices[seed / 3 % 8]; }

struct Case {
  std::unique_ptr<HloModule> module;
  int64_t devices = 1;
  bool exact = true;
};

Case Annotated(std::unique_ptr<HloModule> module, uint64_t seed,
               bool exact = true,
               const RandomShardingOptions& options = RandomShardingOptions()) {
  AnnotateWithRandomShardings(seed, DevicesOf(seed), *module, options);
  return {std::move(module), DevicesOf(seed), exact};
}

Case ElementTypes(uint64_t seed) {
  RandomModuleOptions options = ModulesToPartition(seed);
  options.types.clear();
  return Annotated(RandomModule(seed, options), seed);
}

RandomModuleOptions OfRareTypes(uint64_t seed) {
  RandomModuleOptions options = ModulesToPartition(seed);
  options.types = {S2,       U2,     S4,       U4,     S16,        U16,
                   F4E2M1FN, F8E3M4, F8E4M3FN, F8E5M2, F8E4M3FNUZ, C128};
  return options;
}

// Smaller than a byte, floats of one byte, and the largest.
Case RareTypes(uint64_t seed) {
  return Annotated(RandomModule(seed, OfRareTypes(seed)), seed);
}

Case EmptyDimensions(uint64_t seed) {
  RandomModuleOptions options = ModulesToPartition(seed);
  options.zero_sized_every = 4;
  return Annotated(RandomModule(seed, options), seed);
}

Case LongDimensions(uint64_t seed) {
  RandomModuleOptions options = ModulesToPartition(seed);
  options.max_rank = 4;
  options.max_dimension = 17;
  options.max_elements = 1024;
  return Annotated(RandomModule(seed, options), seed);
}

Case NamedAxes(uint64_t seed) {
  RandomShardingOptions shardings;
  shardings.named = true;
  return Annotated(RandomModule(seed, ModulesToPartition(seed)), seed,
                   /*exact=*/true, shardings);
}

Case Addends(uint64_t seed) {
  RandomShardingOptions shardings;
  shardings.unreduced = true;
  return Annotated(RandomModule(seed, ModulesToPartition(seed)), seed,
                   /*exact=*/true, shardings);
}

Case AnyNumbers(uint64_t seed) {
  RandomModuleOptions options = ModulesToPartition(seed);
  options.exact = false;
  options.types = {F32, F64, C64, S32, U8, PRED};
  return Annotated(RandomModule(seed, options), seed, /*exact=*/false);
}

Case ControlFlow(uint64_t seed) {
  RandomModuleOptions options = ModulesToPartition(seed);
  options.max_depth = 3;
  options.steps = 14;
  options.opcodes = {HloOpcode::kWhile,        HloOpcode::kConditional,
                     HloOpcode::kCall,         HloOpcode::kTuple,
                     HloOpcode::kDynamicSlice, HloOpcode::kReduce,
                     HloOpcode::kDot,          HloOpcode::kAdd};
  return Annotated(RandomModule(seed, options), seed);
}

std::unique_ptr<HloModule> Region(RandomModuleOptions options, uint64_t seed,
                                  int64_t manual, int64_t free) {
  std::unique_ptr<HloModule> module = RandomModule(seed, options);
  MoveIntoManualRegion(seed, manual, free, *module);
  if (seed % 2 == 0) {
    EXPECT_TRUE(CallInliner().Run(module.get()).ok());
  }
  return module;
}

Case ManualRegion(uint64_t seed) {
  RandomModuleOptions options = ModulesToPartition(seed);
  options.num_partitions = DevicesOf(seed);
  return {Region(options, seed, DevicesOf(seed), 1), DevicesOf(seed)};
}

Case ManualSubgroups(uint64_t seed) {
  RandomModuleOptions options = ModulesToPartition(seed);
  const int64_t manual = 2 + static_cast<int64_t>(seed % 2);
  const int64_t free = 2 + static_cast<int64_t>(seed / 2 % 3);
  return {Region(options, seed, manual, free), manual * free};
}

Case RareTypesInSubgroups(uint64_t seed) {
  const int64_t free = 2 + static_cast<int64_t>(seed % 3);
  return {Region(OfRareTypes(seed), seed, /*manual=*/2, free), 2 * free};
}

struct Kind {
  const char* name;
  Case (*make)(uint64_t seed);
};

class SpmdRandomKindsTest : public ::testing::TestWithParam<Kind> {};

TEST_P(SpmdRandomKindsTest, DevicesGiveTheShardsOfTheResult) {
  int64_t compared = 0, failed = 0;
  const int64_t cases = RandomCases(40);
  for (int64_t i = 0; i < cases && failed < 4; ++i) {
    const uint64_t seed = FirstRandomCase() + i;
    const auto [whole, devices, exact] = GetParam().make(seed);
    SpmdPartitioner pass((SpmdPartitioningPassOptions()));
    const Comparison comparison =
        PartitionAndCompare(*whole, seed, devices, /*replicas=*/1, pass, exact);
    compared += comparison.outcome == Outcome::kCompared;
    if (comparison.outcome != Outcome::kFailed) continue;
    ++failed;
    ADD_FAILURE() << comparison.status << "\nseed " << seed << " on " << devices
                  << " devices\n"
                  << whole->ToString();
  }
  EXPECT_GT(compared, failed > 0 ? 0 : cases / 2);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, SpmdRandomKindsTest,
    ::testing::Values(
        Kind{"ElementTypes", ElementTypes}, Kind{"RareTypes", RareTypes},
        Kind{"RareTypesInSubgroups", RareTypesInSubgroups},
        Kind{"EmptyDimensions", EmptyDimensions},
        Kind{"LongDimensions", LongDimensions}, Kind{"NamedAxes", NamedAxes},
        Kind{"Addends", Addends}, Kind{"AnyNumbers", AnyNumbers},
        Kind{"ControlFlow", ControlFlow}, Kind{"ManualRegion", ManualRegion},
        Kind{"ManualSubgroups", ManualSubgroups}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace xla::spmd
