// Bringing a value from any sharding under any other keeps its elements: all
// pairs of shardings on a number of devices, with padding, empty shards and
// permuted orders of devices.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "xla/array.h"
#include "xla/hlo/evaluator/run/sharded_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla::spmd {
namespace {

// All ways to write `devices` as an ordered product of `slots` factors.
void Factorizations(int64_t devices, int64_t slots, std::vector<int64_t> prefix,
                    std::vector<std::vector<int64_t>>& all) {
  if (slots == 1) {
    prefix.push_back(devices);
    all.push_back(std::move(prefix));
    return;
  }
  for (int64_t factor = 1; factor <= devices; ++factor) {
    if (devices % factor != 0) continue;
    std::vector<int64_t> longer = prefix;
    longer.push_back(factor);
    Factorizations(devices / factor, slots - 1, std::move(longer), all);
  }
}

// In the order of devices, and in one that is no product of axes.
std::vector<HloSharding> AllShardings(int64_t devices, int64_t rank) {
  std::vector<HloSharding> shardings = {HloSharding::Replicate(),
                                        HloSharding::AssignDevice(devices - 1)};
  std::vector<std::vector<int64_t>> all;
  Factorizations(devices, rank + 1, {}, all);
  for (const std::vector<int64_t>& tiles : all) {
    if (tiles.back() == devices) continue;
    shardings.push_back(HloSharding::PartialTile(TileAssignment(tiles)));
    auto array = std::make_shared<Array<int64_t>>(tiles);
    std::iota(array->begin(), array->end(), 0);
    std::rotate(array->begin(), array->begin() + 1, array->end());
    shardings.push_back(
        HloSharding::PartialTile(TileAssignment(std::move(array))));
  }
  return shardings;
}

class SpmdReshardTest : public ::testing::TestWithParam<std::tuple<int, int>> {
};

TEST_P(SpmdReshardTest, AllPairs) {
  const int64_t devices = std::get<0>(GetParam());
  const int64_t rank = std::get<1>(GetParam());
  // With 8 devices there are tiles without elements.
  const std::vector<int64_t> sizes =
      std::vector<std::vector<int64_t>>{{}, {7}, {5, 8}, {4, 3, 6}}[rank];
  const std::string shape =
      absl::StrCat("s32[", absl::StrJoin(sizes, ","), "]");
  const std::vector<HloSharding> shardings = AllShardings(devices, rank);
  int64_t pairs = 0;
  for (const HloSharding& from : shardings) {
    // One module takes the value to every other sharding, each time anew.
    std::vector<std::string> copies, names, types, to;
    for (const HloSharding& target : shardings) {
      names.push_back(absl::StrCat("c", names.size()));
      copies.push_back(absl::StrCat("  ", names.back(), " = ", shape,
                                    " negate(p), sharding=", target.ToString(),
                                    "\n"));
      types.push_back(shape);
      to.push_back(target.ToString());
      ++pairs;
    }
    const std::string text = absl::StrCat(
        "HloModule m, num_partitions=", devices, "\nENTRY e {\n  p = ", shape,
        " parameter(0), sharding=", from.ToString(), "\n",
        absl::StrJoin(copies, ""), "  ROOT t = (", absl::StrJoin(types, ", "),
        ") tuple(", absl::StrJoin(names, ", "), "), sharding={",
        absl::StrJoin(to, ", "), "}\n}\n");
    auto whole = ParseAndReturnUnverifiedModule(text);
    ASSERT_TRUE(whole.ok()) << whole.status() << text;
    auto meaning = ShardedMeaning::Make(**whole, devices, MeaningOptions());
    ASSERT_TRUE(meaning.ok()) << meaning.status();
    std::unique_ptr<HloModule> module = (*whole)->Clone("");
    SpmdPartitioner pass((SpmdPartitioningPassOptions()));
    auto changed = pass.Run(module.get());
    ASSERT_TRUE(changed.ok()) << changed.status() << "\n" << text;
    ASSERT_TRUE(VerifyHloModule(module.get(), HloVerifierOpts()).ok());
    auto difference = (*meaning)->DifferenceFrom(*module);
    ASSERT_TRUE(difference.ok()) << difference.status() << "\n" << text;
    ASSERT_FALSE(difference->has_value()) << **difference << "\n"
                                          << text << module->ToString();
  }
  EXPECT_EQ(pairs, static_cast<int64_t>(shardings.size() * shardings.size()));
}

INSTANTIATE_TEST_SUITE_P(Devices, SpmdReshardTest,
                         ::testing::Combine(::testing::Values(2, 3, 4, 6, 8),
                                            ::testing::Values(1, 2, 3)));
INSTANTIATE_TEST_SUITE_P(Twelve, SpmdReshardTest,
                         ::testing::Combine(::testing::Values(12),
                                            ::testing::Values(1, 2)));

}  // namespace
}  // namespace xla::spmd
