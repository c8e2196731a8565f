#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "xla/backends/gpu/smem/plan/smem_place.h"
#include "xla/backends/gpu/smem/plan/smem_stab.h"
#include "xla/backends/gpu/smem/smem_device.h"

namespace xla::gpu {
namespace {

PlaceProblem RandomPlacement(uint64_t seed, int n) {
  std::mt19937_64 random(seed);
  PlaceProblem problem;
  problem.relations.assign(n,
                           std::vector<PlaceRelation>(n, PlaceRelation::kFree));
  for (int i = 0; i < n; ++i) {
    problem.bytes.push_back(1 + random() % 40);
    problem.alignments.push_back(int64_t{1} << random() % 5);
    for (int j = 0; j < i; ++j) {
      if (random() % 2 == 0) {
        problem.relations[i][j] = problem.relations[j][i] =
            PlaceRelation::kDisjoint;
      }
    }
  }
  return problem;
}

// The least total, by lowest-fit in every order.
int64_t LeastTotal(const PlaceProblem& problem) {
  const int n = static_cast<int>(problem.bytes.size());
  std::vector<int> order(n);
  for (int i = 0; i < n; ++i) order[i] = i;
  int64_t least = INT64_MAX;
  do {
    std::vector<int64_t> addresses(n, -1);
    int64_t total = 0;
    for (int i : order) {
      int64_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (int j = 0; j < n; ++j) {
          if (addresses[j] < 0 ||
              problem.relations[i][j] == PlaceRelation::kFree ||
              at >= addresses[j] + problem.bytes[j] ||
              addresses[j] >= at + problem.bytes[i]) {
            continue;
          }
          const int64_t a = problem.alignments[i];
          at = (addresses[j] + problem.bytes[j] + a - 1) / a * a;
          moved = true;
        }
      }
      addresses[i] = at;
      total = std::max(total, at + problem.bytes[i]);
    }
    least = std::min(least, total);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(SmemPlaceTest, FindsTheLeastTotal) {
  for (int seed = 0; seed < 150; ++seed) {
    const PlaceProblem problem = RandomPlacement(seed, 2 + seed % 5);
    const Placement placement = PlaceBuffers(problem);
    EXPECT_TRUE(IsPlacement(problem, placement.addresses)) << seed;
    EXPECT_EQ(placement.total, TotalBytes(problem, placement.addresses));
    EXPECT_EQ(placement.total, LeastTotal(problem)) << seed;
    EXPECT_TRUE(placement.optimal) << seed;
  }
}

TEST(SmemPlaceTest, IsRightForManyBuffers) {
  for (int n : {20, 120}) {
    const PlaceProblem problem = RandomPlacement(n, n);
    const Placement placement = PlaceBuffers(problem);
    EXPECT_TRUE(IsPlacement(problem, placement.addresses));
    EXPECT_EQ(placement.addresses, PlaceBuffers(problem).addresses);
  }
  EXPECT_EQ(PlaceBuffers({}).total, 0);
}

TEST(SmemPlaceTest, SharesACommonBase) {
  PlaceProblem problem;
  problem.bytes = {64, 64, 32};
  problem.alignments = {16, 16, 16};
  problem.relations.assign(
      3, std::vector<PlaceRelation>(3, PlaceRelation::kDisjoint));
  problem.relations[0][1] = problem.relations[1][0] = PlaceRelation::kSameBase;
  const Placement placement = PlaceBuffers(problem);
  EXPECT_EQ(placement.total, 96);
  EXPECT_EQ(placement.addresses[0], placement.addresses[1]);
  EXPECT_TRUE(IsPlacement(problem, placement.addresses));
  EXPECT_FALSE(IsPlacement(problem, {0, 16, 96}));
}

TEST(SmemPlaceTest, LeavesACommonBaseThatOthersNeed) {
  // 0 and 2 may share a base, where 1 may stand as well, but not with 2.
  PlaceProblem problem;
  problem.bytes = {64, 32, 48};
  problem.alignments = {16, 16, 16};
  problem.relations.assign(3,
                           std::vector<PlaceRelation>(3, PlaceRelation::kFree));
  problem.relations[0][2] = problem.relations[2][0] = PlaceRelation::kSameBase;
  problem.relations[1][2] = problem.relations[2][1] = PlaceRelation::kDisjoint;
  const Placement placement = PlaceBuffers(problem);
  EXPECT_TRUE(IsPlacement(problem, placement.addresses));
  EXPECT_EQ(placement.total, 80);
}

TEST(SmemPlaceTest, StopsAtItsLimits) {
  int searched = 0, cut = 0;
  for (int seed = 0; seed < 40; ++seed) {
    PlaceProblem problem = RandomPlacement(seed, 9);
    const Placement whole = PlaceBuffers(problem);
    ASSERT_TRUE(whole.optimal) << seed;
    if (whole.nodes < 10) continue;
    ++searched;
    // Out of nodes: what the heuristics found, and no claim about it.
    PlaceOptions options;
    options.max_nodes = 3;
    const Placement some = PlaceBuffers(problem, options);
    EXPECT_EQ(some.nodes, 4) << seed;
    EXPECT_FALSE(some.optimal) << seed;
    EXPECT_TRUE(IsPlacement(problem, some.addresses)) << seed;
    EXPECT_GE(some.total, whole.total) << seed;
    // Too many for the exact search.
    options.exact_up_to = 8;
    EXPECT_EQ(PlaceBuffers(problem, options).nodes, 0) << seed;
    // Nothing below the bound is looked for.
    problem.lower_bound = whole.total;
    const Placement bounded = PlaceBuffers(problem);
    EXPECT_EQ(bounded.total, whole.total) << seed;
    EXPECT_TRUE(bounded.optimal) << seed;
    EXPECT_LE(bounded.nodes, whole.nodes) << seed;
    cut += bounded.nodes < whole.nodes;
  }
  EXPECT_GT(searched, 0);
  EXPECT_GT(cut, 0);
}

TEST(SmemStabTest, TakesCheapPointsAtRightEnds) {
  StabProblem problem;
  problem.arcs = {{{3, 5}, {9, 9}}, {{4, 7}}, {{8, 8}, {9, 9}}};
  problem.weights.assign(10, 1);
  problem.weights[9] = 16;
  StabSolution solution = SolveStab(problem);
  EXPECT_EQ(solution.weight, 2);
  EXPECT_EQ(solution.points, std::vector<int>({5, 8}));
  // Without points on its way an arc stays, and the others are as they were.
  problem.arcs.push_back({{0, 1}});
  problem.weights[0] = problem.weights[1] = -1;
  solution = SolveStab(problem);
  EXPECT_EQ(solution.points, std::vector<int>({5, 8}));
  EXPECT_EQ(solution.unhit, std::vector<int>({3}));
  // Among points that hit the same arcs at the same cost, the last one wins.
  EXPECT_EQ(SolveStab({{{{0, 0}, {2, 2}}}, {1, 1, 1}}).points,
            std::vector<int>({2}));
  EXPECT_EQ(SolveStab({{{{0, 0}, {2, 2}}}, {1, 1, 2}}).points,
            std::vector<int>({0}));
}

TEST(SmemStabTest, SaysWhereItGaveUp) {
  std::mt19937_64 random(7);
  StabProblem problem;
  problem.weights.assign(80, 1);
  for (int a = 0; a < 120; ++a) {
    std::vector<std::pair<int, int>> arc;
    for (int r = 0; r < 3; ++r) {
      const int p = static_cast<int>(random() % 80);
      arc.push_back({p, p});
    }
    problem.arcs.push_back(arc);
  }
  const StabSolution solution = SolveStab(problem);
  EXPECT_FALSE(solution.optimal);
  EXPECT_TRUE(solution.unhit.empty());
  EXPECT_EQ(solution.weight, static_cast<int64_t>(solution.points.size()));
  for (const auto& arc : problem.arcs) {
    EXPECT_TRUE(std::any_of(arc.begin(), arc.end(), [&](const auto& range) {
      return std::count(solution.points.begin(), solution.points.end(),
                        range.first) > 0;
    }));
  }
}

TEST(SmemStabTest, IsCheapestOnRandomArcs) {
  for (int seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    StabProblem problem;
    // Two sequences, a cheap one and one in a loop; ranges stay inside them.
    const int half = 3 + static_cast<int>(random() % 4);
    const int n = 2 * half;
    for (int p = 0; p < n; ++p) {
      problem.weights.push_back(random() % 6 == 0 ? -1 : p < half ? 1 : 16);
    }
    for (int a = 1 + static_cast<int>(random() % 7); a > 0; --a) {
      std::vector<std::pair<int, int>> arc;
      for (int r = 1 + static_cast<int>(random() % 2); r > 0; --r) {
        const int first = static_cast<int>(random() % n);
        const int end = first < half ? half : n;
        arc.push_back(
            {first,
             std::min<int>(end - 1, first + static_cast<int>(random() % 4))});
      }
      problem.arcs.push_back(arc);
    }
    auto hit = [&](const std::vector<std::pair<int, int>>& arc, int set) {
      for (const auto& [first, last] : arc) {
        for (int p = first; p <= last; ++p) {
          if (problem.weights[p] >= 0 && (set >> p & 1)) return true;
        }
      }
      return false;
    };
    const StabSolution solution = SolveStab(problem);
    int chosen = 0;
    for (int p : solution.points) chosen |= 1 << p;
    int64_t least = INT64_MAX;
    const int all = (1 << n) - 1;
    for (int set = 0; set <= all; ++set) {
      int64_t weight = 0;
      for (int p = 0; p < n; ++p) {
        if (set >> p & 1) {
          weight += problem.weights[p] < 0 ? 1000 : problem.weights[p];
        }
      }
      bool good = true;
      for (const auto& arc : problem.arcs) {
        good &= hit(arc, set) || !hit(arc, all);
      }
      if (good) least = std::min(least, weight);
    }
    EXPECT_EQ(solution.weight, least) << seed;
    EXPECT_TRUE(solution.optimal);
    for (size_t a = 0; a < problem.arcs.size(); ++a) {
      const bool unhit = std::count(solution.unhit.begin(),
                                    solution.unhit.end(), static_cast<int>(a));
      EXPECT_EQ(hit(problem.arcs[a], chosen), !unhit) << seed;
    }
  }
}

TEST(SmemDeviceTest, CountsBlocks) {
  const GpuDevice a100 = FindGpuDevice("A100").value();
  EXPECT_EQ(a100.name, "sm_80");
  EXPECT_EQ(a100.BlocksPerSm(0, 128), 16);
  EXPECT_EQ(a100.BlocksPerSm(40 * 1024, 128), 4);
  EXPECT_EQ(a100.BlocksPerSm(40 * 1024 + 1, 128), 3);
  EXPECT_EQ(a100.BlocksPerSm(0, 1024), 2);
  EXPECT_EQ(a100.BlocksPerSm(0, 256, 255), 1);
  EXPECT_EQ(a100.BlocksPerSm(163 * 1024, 32), 1);
  EXPECT_EQ(a100.BlocksPerSm(163 * 1024 + 1, 32), 0);
  for (const GpuDevice& device : AllGpuDevices()) {
    EXPECT_EQ(FindGpuDevice(device.name)->name, device.name);
    for (int blocks = 1; blocks <= 8; ++blocks) {
      const int64_t step = device.OccupancyStep(blocks);
      EXPECT_GE(device.BlocksPerSm(step, 32), blocks) << device.name;
      if (step < device.shared_per_block_max) {
        EXPECT_LT(device.BlocksPerSm(step + 1, 32), blocks) << device.name;
      }
    }
  }
  EXPECT_FALSE(FindGpuDevice("sm_13").ok());
}

}  // namespace
}  // namespace xla::gpu
