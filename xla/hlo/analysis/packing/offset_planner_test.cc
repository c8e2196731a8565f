#include "xla/hlo/analysis/packing/offset_planner.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/packing/best_fit.h"
#include "xla/hlo/analysis/packing/canonical_search.h"
#include "xla/hlo/analysis/packing/packing_checker.h"
#include "xla/hlo/analysis/packing/packing_csv.h"
#include "xla/hlo/analysis/packing/packing_items.h"
#include "xla/hlo/analysis/packing/packing_problem.h"
#include "xla/hlo/analysis/packing/skyline.h"

namespace xla::packing {
namespace {

using ::testing::HasSubstr;

PackingBuffer Buffer(int64_t lower, int64_t upper, int64_t size,
                     int64_t alignment = 1) {
  PackingBuffer buffer;
  buffer.lower = lower;
  buffer.upper = upper;
  buffer.size = size;
  buffer.alignment = alignment;
  return buffer;
}

PackingProblem RandomProblem(std::minstd_rand& random, int num_buffers,
                             int num_times, int max_size) {
  PackingProblem problem;
  for (int i = 0; i < num_buffers; ++i) {
    const int64_t lower = random() % num_times;
    const int64_t upper = lower + 1 + random() % (num_times - lower);
    problem.buffers.push_back(
        Buffer(lower, upper, 1 + random() % max_size,
               random() % 4 == 0 ? int64_t{1} << random() % 3 : 1));
  }
  return problem;
}

bool Overlap(const PackingBuffer& a, const PackingBuffer& b) {
  return a.lower < b.upper && b.lower < a.upper;
}

// The least height, by trying every order of placing buffers at the lowest
// offset that is free: some order of rising offsets is among them.
int64_t LeastHeight(const PackingProblem& problem) {
  std::vector<int> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t least = -1;
  do {
    std::vector<int64_t> offsets(order.size());
    for (int placed = 0; placed < order.size(); ++placed) {
      int64_t bottom = 0;
      for (int p = 0; p < placed; ++p) {
        if (!Overlap(problem.buffers[order[p]], problem.buffers[order[placed]]))
          continue;
        bottom = std::max(bottom,
                          offsets[order[p]] + problem.buffers[order[p]].size);
      }
      offsets[order[placed]] =
          AlignUp(bottom, problem.buffers[order[placed]].alignment);
    }
    const int64_t height = HeightOf(problem, offsets);
    if (least < 0 || height < least) least = height;
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(OffsetPlannerTest, FindsTheLeastHeightOfRandomProblems) {
  std::minstd_rand random(1);
  for (int round = 0; round < 150; ++round) {
    const PackingProblem problem = RandomProblem(random, 6, 6, 5);
    const int64_t least = LeastHeight(problem);
    auto plan = PlanOffsets(problem);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->solution.height, least) << "round " << round;
    EXPECT_LE(plan->lower_bound, least);
    EXPECT_TRUE(CheckPacking(problem, plan->solution, least).ok());
  }
}

TEST(OffsetPlannerTest, TheSearchProvesWhatIsImpossible) {
  std::minstd_rand random(2);
  for (int round = 0; round < 150; ++round) {
    const PackingProblem problem = RandomProblem(random, 6, 5, 6);
    const PackingItems items = MakePackingItems(problem);
    const int64_t least = LeastHeight(problem) / items.unit;
    std::vector<int64_t> offsets;
    EXPECT_EQ(SearchPacking(items, least, {}, &offsets), SearchOutcome::kFound);
    EXPECT_TRUE(
        CheckPacking(problem, ToSolution(problem, items, offsets)).ok());
    EXPECT_EQ(SearchPacking(items, least - 1, {}, &offsets),
              SearchOutcome::kImpossible)
        << "round " << round;
  }
}

// Cutting a rectangle gives problems whose least height is known.
TEST(OffsetPlannerTest, FindsPackingsWithoutWaste) {
  struct Rectangle {
    int64_t left, right, bottom, top;
  };
  std::minstd_rand random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<Rectangle> cut = {{0, 100, 0, 100}};
    while (cut.size() < 30) {
      Rectangle& old = cut[random() % cut.size()];
      Rectangle rest = old;
      if (random() % 2 == 0 && old.right - old.left > 1) {
        old.right = rest.left =
            old.left + 1 + random() % (old.right - old.left - 1);
      } else if (old.top - old.bottom > 1) {
        old.top = rest.bottom =
            old.bottom + 1 + random() % (old.top - old.bottom - 1);
      } else {
        continue;
      }
      cut.push_back(rest);
    }
    PackingProblem problem;
    for (const Rectangle& r : cut) {
      problem.buffers.push_back(Buffer(r.left, r.right, r.top - r.bottom));
    }
    auto plan = PlanOffsets(problem);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->solution.height, 100) << "round " << round;
  }
}

TEST(OffsetPlannerTest, HeuristicsAreValidOnLargerProblems) {
  std::minstd_rand random(4);
  const PackingProblem problem = RandomProblem(random, 400, 300, 1000);
  const PackingItems items = MakePackingItems(problem);
  std::vector<int> order(items.items.size());
  std::iota(order.begin(), order.end(), 0);
  for (const auto& offsets :
       {PackSkyline(items, order), PackBestFit(items, order)}) {
    EXPECT_TRUE(
        CheckPacking(problem, ToSolution(problem, items, offsets)).ok());
  }
}

// One that looks at all that is placed.
std::vector<int64_t> PackSlowly(const PackingItems& items) {
  std::vector<int64_t> offsets;
  for (const PackingItem& item : items.items) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t i = 0; i < offsets.size(); ++i) {
      const PackingItem& other = items.items[i];
      for (const SectionRange& a : item.ranges) {
        for (const SectionRange& b : other.ranges) {
          if (a.lo >= b.hi || b.lo >= a.hi) continue;
          taken.emplace_back(offsets[i], offsets[i] + other.size);
        }
      }
    }
    std::sort(taken.begin(), taken.end());
    int64_t top = 0;
    int64_t best_gap = -1;
    int64_t best = 0;
    for (const auto& [begin, end] : taken) {
      const int64_t gap = begin - AlignUp(top, item.alignment);
      if (gap >= item.size && (best_gap < 0 || gap < best_gap)) {
        best_gap = gap;
        best = AlignUp(top, item.alignment);
      }
      top = std::max(top, end);
    }
    offsets.push_back(best_gap >= 0 ? best : AlignUp(top, item.alignment));
  }
  return offsets;
}

TEST(OffsetPlannerTest, BestFitTakesTheSmallestGapOfFewAndOfMany) {
  std::minstd_rand random(7);
  for (int num_buffers : {30, 300, 1200}) {
    PackingProblem problem = RandomProblem(random, num_buffers, 500, 1000);
    for (int i = 0; i + 1 < num_buffers; i += 5) {
      PackingBuffer& a = problem.buffers[i];
      PackingBuffer& b = problem.buffers[i + 1];
      if (!Overlap(a, b)) a.colocation = b.colocation = i;
    }
    const PackingItems items = MakePackingItems(problem);
    std::vector<int> order(items.items.size());
    std::iota(order.begin(), order.end(), 0);
    EXPECT_EQ(PackBestFit(items, order), PackSlowly(items)) << num_buffers;
  }
}

TEST(OffsetPlannerTest, SkylineFillsTheHolesOfGroups) {
  PackingProblem problem;
  problem.buffers = {Buffer(0, 2, 4), Buffer(2, 6, 4), Buffer(6, 8, 4)};
  problem.buffers[0].colocation = problem.buffers[2].colocation = 1;
  PackingItems items = MakePackingItems(problem);
  EXPECT_EQ(ToSolution(problem, items, PackSkyline(items, {0, 1})).height, 4);

  std::minstd_rand random(6);
  problem = RandomProblem(random, 200, 300, 1000);
  for (int group = 0; group < 100; ++group) {
    int64_t time = random() % 200;
    for (int life = 0; life < 3; ++life) {
      const int64_t end = time + 1 + random() % 20;
      problem.buffers.push_back(Buffer(time, end, 1 + random() % 1000));
      problem.buffers.back().colocation = group;
      time = end + random() % 20;
    }
  }
  items = MakePackingItems(problem);
  std::vector<int> order(items.items.size());
  std::iota(order.begin(), order.end(), 0);
  const absl::Status status = CheckPacking(
      problem, ToSolution(problem, items, PackSkyline(items, order)));
  EXPECT_TRUE(status.ok()) << status;
}

TEST(OffsetPlannerTest, RepeatsItself) {
  std::minstd_rand random(5);
  const PackingProblem problem = RandomProblem(random, 60, 40, 50);
  OffsetPlannerOptions options;
  options.max_steps = 3000;
  EXPECT_EQ(PlanOffsets(problem, options)->solution.offsets,
            PlanOffsets(problem, options)->solution.offsets);
}

TEST(OffsetPlannerTest, HonorsFixedOffsetsAndGroups) {
  PackingProblem problem;
  problem.buffers = {Buffer(0, 4, 8), Buffer(0, 2, 8, 8), Buffer(2, 4, 4),
                     Buffer(1, 3, 4)};
  problem.buffers[0].fixed_offset = 4;
  problem.buffers[1].colocation = problem.buffers[2].colocation = 7;
  auto plan = PlanOffsets(problem);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->solution.offsets, (std::vector<int64_t>{4, 16, 16, 0}));
  problem.buffers[0].fixed_offset.reset();
  plan = PlanOffsets(problem);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->solution.height, 20);
}

TEST(OffsetPlannerTest, AlignmentsNeedNotBePowersOfTwo) {
  PackingProblem problem;
  problem.buffers = {Buffer(0, 4, 30, 20), Buffer(2, 6, 10, 20),
                     Buffer(5, 8, 35, 6)};
  auto plan = PlanOffsets(problem);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->solution.height, 50);  // 30 bytes, and 10 from 40 on
  // The offset of a group suits all of its buffers.
  problem.buffers = {Buffer(0, 2, 8, 1), Buffer(0, 2, 8, 4),
                     Buffer(2, 4, 8, 6)};
  problem.buffers[0].fixed_offset = 0;
  problem.buffers[1].colocation = problem.buffers[2].colocation = 1;
  plan = PlanOffsets(problem);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->solution.offsets[1], 12);
  EXPECT_EQ(plan->solution.offsets[2], 12);
}

TEST(OffsetPlannerTest, RejectsInvalidProblems) {
  auto error = [](std::vector<PackingBuffer> buffers) {
    return std::string(
        PlanOffsets(PackingProblem{std::move(buffers)}).status().message());
  };
  EXPECT_THAT(error({Buffer(2, 2, 1)}), HasSubstr("must be below upper"));
  EXPECT_THAT(error({Buffer(0, 1, -1)}), HasSubstr("negative"));
  EXPECT_THAT(error({Buffer(0, 1, 1, 0)}), HasSubstr("not positive"));
  EXPECT_THAT(
      error({Buffer(0, 1, int64_t{1} << 61), Buffer(0, 1, int64_t{1} << 61)}),
      HasSubstr("2^62"));
  std::vector<PackingBuffer> group = {Buffer(0, 2, 1), Buffer(1, 3, 1)};
  group[0].colocation = group[1].colocation = 0;
  EXPECT_THAT(error(group), HasSubstr("live at the same time"));
  group = {Buffer(0, 1, 1, (int64_t{1} << 40) - 1),
           Buffer(1, 2, 1, (int64_t{1} << 40) - 3)};
  group[0].colocation = group[1].colocation = 0;
  EXPECT_THAT(error(group), HasSubstr("no common multiple"));
  group = {Buffer(0, 2, 1), Buffer(1, 3, 1)};
  group[0].colocation = group[1].colocation = -1;
  group[0].fixed_offset = group[1].fixed_offset = 0;
  EXPECT_THAT(error(group), HasSubstr("overlap at time 1"));
}

TEST(OffsetPlannerTest, TakesNoBuffersAndBuffersWithoutBytes) {
  EXPECT_EQ(PlanOffsets(PackingProblem())->solution.height, 0);
  EXPECT_EQ(PlanOffsets({{Buffer(0, 1, 0), Buffer(0, 1, 0)}})->solution.height,
            0);
}

TEST(PackingCheckerTest, FindsEachFault) {
  PackingProblem problem;
  problem.buffers = {Buffer(0, 2, 4), Buffer(1, 3, 4, 4), Buffer(2, 4, 4)};
  auto error = [&](std::vector<int64_t> offsets, int64_t height,
                   int64_t capacity) {
    return std::string(
        CheckPacking(problem, {std::move(offsets), height}, capacity)
            .message());
  };
  EXPECT_EQ(error({0, 4, 0}, 8, 8), "");
  EXPECT_THAT(error({0, 4}, 8, 8), HasSubstr("2 offsets for 3 buffers"));
  EXPECT_THAT(error({0, 4, 0}, 9, 9), HasSubstr("its height is 8"));
  EXPECT_THAT(error({0, 4, 0}, 8, 7), HasSubstr("above the capacity"));
  EXPECT_THAT(error({0, 5, 0}, 9, 9), HasSubstr("not aligned to 4"));
  EXPECT_THAT(error({0, 4, -1}, 8, 8), HasSubstr("negative"));
  EXPECT_THAT(error({0, 4, 1}, 8, 8), HasSubstr("#1 and #2 overlap at time 2"));
  EXPECT_THAT(error({3, 4, 0}, 8, 8), HasSubstr("#0 and #1 overlap at time 1"));
  problem.buffers[0].colocation = problem.buffers[2].colocation = 1;
  EXPECT_EQ(error({0, 4, 0}, 8, 8), "");
  EXPECT_THAT(error({0, 4, 8}, 12, 12), HasSubstr("not where its group is"));
}

TEST(PackingCsvTest, ReadsAndWrites) {
  auto problem = ParsePackingCsv(
      "id,lower,upper,size\r\nb1, 0,3,4\n\nb2,3,9,4\n", "x.csv");
  ASSERT_TRUE(problem.ok()) << problem.status();
  ASSERT_EQ(problem->buffers.size(), 2);
  EXPECT_EQ(PackingToCsv(*problem, {{0, 8}, 12}),
            "id,lower,upper,size,offset\nb1,0,3,4,0\nb2,3,9,4,8\n");
}

TEST(PackingCsvTest, GroupsGetOneOffset) {
  auto problem = ParsePackingCsv(
      "id,lower,upper,size,group\na,0,1,4,3\nb,1,2,8,-1\na,4,5,4,3\n", "x.csv");
  EXPECT_THAT(std::string(problem.status().message()),
              HasSubstr("id 'a' is already used in line 2"));
  problem = ParsePackingCsv(
      "lower,upper,size,group\n0,1,4,3\n1,2,8,-1\n4,5,4,3\n", "x.csv");
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->buffers[2].colocation, 3);
  auto again = ParsePackingCsv(PackingProblemToCsv(*problem), "y.csv");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PackingProblemToCsv(*problem),
            "id,lower,upper,size,alignment,group\n#0,0,1,4,1,3\n"
            "#1,1,2,8,1,-1\n#2,4,5,4,1,3\n");
  EXPECT_EQ(again->buffers[0].colocation, 3);
}

TEST(PackingCsvTest, SaysWhereTheErrorIs) {
  auto error = [](absl::string_view text) {
    return std::string(ParsePackingCsv(text, "x.csv").status().message());
  };
  const std::string header = "id,lower,upper,size\n";
  EXPECT_EQ(error(absl::StrCat(header, "a,0,1,x\n")),
            "x.csv:2:7: error: size is not a 64-bit integer: 'x'\n"
            "  a,0,1,x\n        ^");
  EXPECT_THAT(error(absl::StrCat(header, "a,2,2,3\n")),
              HasSubstr("x.csv:2:5: error: upper must be above lower"));
  EXPECT_THAT(error(absl::StrCat(header, "a,0,1,-3\n")),
              HasSubstr("x.csv:2:7: error: size is negative"));
  EXPECT_THAT(error(absl::StrCat(header, "a,0,1,3\na,0,1,3\n")),
              HasSubstr("x.csv:3:1: error: id 'a' is already used in line 2"));
  EXPECT_THAT(error(absl::StrCat(header, "a,0,1\n")),
              HasSubstr("3 cells for 4 columns"));
  EXPECT_THAT(error("id,start,upper,size\n"),
              HasSubstr("x.csv:1:4: error: unknown column 'start'"));
  EXPECT_THAT(error("id,lower,upper\n"), HasSubstr("missing column 'size'"));
  EXPECT_THAT(error(""), HasSubstr("the file is empty"));
}

}  // namespace
}  // namespace xla::packing
