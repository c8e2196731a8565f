#include "xla/hlo/transforms/memory/remat/solver/remat_search.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "xla/hlo/transforms/memory/remat/solver/excess_tree.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_eager.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_exact.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_state.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_take_back.h"

namespace xla::remat_plan {
namespace {

// A node with one value.
void AddNode(RematProblem* problem, double seconds, bool again, int64_t bytes,
             const std::set<ValueId>& reads) {
  const NodeId id = static_cast<NodeId>(problem->nodes.size());
  RematProblem::Node node;
  node.seconds = seconds;
  node.recomputable = again;
  node.first_value = id;
  node.value_count = 1;
  node.reads.assign(reads.begin(), reads.end());
  problem->nodes.push_back(node);
  problem->values.push_back({id, bytes, -1});
  problem->order.push_back(id);
}

RematProblem RandomProblem(int seed, int nodes) {
  std::mt19937 random(seed);
  const auto draw = [&](int n) { return static_cast<int>(random() % n); };
  RematProblem problem;
  AddNode(&problem, 0, false, 0, {});
  for (int i = 1; i < nodes; ++i) {
    std::set<ValueId> reads = {draw(i)};
    if (draw(2) == 0) reads.insert(std::max(0, i - 1 - draw(2)));
    if (draw(3) == 0) reads.insert(draw(i));
    AddNode(&problem, 1 + draw(9), draw(8) != 0, 1 + draw(10), reads);
  }
  problem.outputs = {static_cast<ValueId>(nodes - 1)};
  return problem;
}

// Forward 1 … n, backward n … 1: step n+k reads what step n-k made.
RematProblem Chain(int n) {
  RematProblem problem;
  AddNode(&problem, 0, false, 0, {});
  for (int i = 1; i <= n; ++i) AddNode(&problem, 1, true, 100, {i - 1});
  for (int i = n; i >= 1; --i) {
    AddNode(&problem, 1, true, 100,
            {static_cast<ValueId>(problem.values.size() - 1), i - 1});
  }
  problem.outputs = {static_cast<ValueId>(problem.values.size() - 1)};
  return problem;
}

RematProgram Search(const RematProblem& problem, int64_t limit,
                    bool reorder = true) {
  RematSearchOptions options;
  options.limit_bytes = limit;
  options.reorder = reorder;
  auto program = SearchProgram(problem, problem.order, options);
  EXPECT_TRUE(program.ok()) << program.status();
  RematTrace trace;
  EXPECT_TRUE(TraceProgram(problem, program->steps, &trace).ok());
  EXPECT_EQ(trace.peak_bytes, program->peak_bytes);
  EXPECT_NEAR(trace.seconds, program->seconds, 1e-9);
  return *program;
}

RematProgram Original(const RematProblem& problem) {
  return Search(problem, int64_t{1} << 60);
}

// No program reads what is overwritten by then; tracing refuses such ones.
TEST(RematSearchTest, ReadsNothingThatIsOverwritten) {
  int marked = 0, lower = 0;
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    RematProblem problem = RandomProblem(seed, 40);
    std::mt19937 random(seed);
    std::vector<NodeId> last_reader(problem.values.size(), -1);
    for (size_t n = 0; n < problem.nodes.size(); ++n) {
      for (ValueId value : problem.nodes[n].reads) last_reader[value] = n;
    }
    for (size_t v = 1; v + 1 < problem.values.size(); ++v) {
      if (random() % 3 != 0 || last_reader[v] < 0) continue;
      problem.values[v].overwritten_by = last_reader[v];
      problem.nodes[last_reader[v]].recomputable = false;
      ++marked;
    }
    const RematProgram original = Original(problem);
    for (int percent : {90, 75, 60, 40}) {
      const RematProgram program =
          Search(problem, original.peak_bytes * percent / 100);
      lower += program.peak_bytes < original.peak_bytes ? 1 : 0;
    }
  }
  EXPECT_GT(marked, 300);
  EXPECT_GT(lower, 50);
}

// What is known for another limit serves where there is no work left to find
// anything, and a limit that is higher costs no more then. A program that makes
// no sense is passed over.
TEST(RematSearchTest, TakesWhatIsKnown) {
  int helped = 0;
  for (int seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    const RematProblem problem = RandomProblem(seed, 60);
    const int64_t peak = Original(problem).peak_bytes;
    const RematProgram low = Search(problem, peak * 6 / 10);
    const std::vector<std::vector<NodeId>> known = {{problem.order.back()},
                                                    low.steps};
    RematSearchOptions options;
    options.limit_bytes = std::max(low.peak_bytes, peak * 7 / 10);
    options.reorder = false;
    int64_t work = 0;
    options.work = &work;
    auto alone = SearchProgram(problem, problem.order, options);
    ASSERT_TRUE(alone.ok()) << alone.status();
    work = 0;
    options.known = known;
    auto program = SearchProgram(problem, problem.order, options);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_LE(program->peak_bytes, options.limit_bytes);
    EXPECT_LE(program->seconds, low.seconds);
    helped +=
        alone->peak_bytes > options.limit_bytes || alone->seconds > low.seconds
            ? 1
            : 0;
  }
  EXPECT_GT(helped, 0);
}

// Against plain points, for one block, a few, and many.
TEST(ExcessTreeTest, FollowsPointsAcrossTheLimit) {
  constexpr int64_t kLimit = 50;
  for (int size : {1, 16, 37, 300}) {
    SCOPED_TRACE(size);
    std::mt19937 random(size);
    std::vector<int64_t> bytes(size);
    for (int64_t& b : bytes) b = random() % 100;
    ExcessTree tree(bytes, kLimit);
    const auto plain = [&](int64_t first, int64_t last) {
      ExcessTree::Summary sum = {0, INT64_MIN, INT64_MIN};
      for (int64_t p = first; p <= last; ++p) {
        if (bytes[p] > kLimit) {
          ++sum.over;
        } else {
          sum.max_under = std::max(sum.max_under, bytes[p]);
        }
        sum.max = std::max(sum.max, bytes[p]);
      }
      return sum;
    };
    for (int i = 0; i < 300; ++i) {
      int64_t first = random() % size, last = random() % size;
      const int64_t add = static_cast<int64_t>(random() % 41) - 20;
      tree.Add(first, last, add);
      for (int64_t p = first; p <= last; ++p) bytes[p] += add;
      if (first > last) std::swap(first, last);
      const ExcessTree::Summary expected = plain(first, last);
      const ExcessTree::Summary sum = tree.Query(first, last);
      ASSERT_EQ(sum.over, expected.over);
      ASSERT_EQ(sum.max_under, expected.max_under);
      ASSERT_EQ(sum.max, expected.max);
      ASSERT_EQ(tree.Max(first, last), expected.max);
      const ExcessTree::Summary all = plain(0, size - 1);
      ASSERT_EQ(tree.over(), all.over);
      ASSERT_EQ(tree.max(), all.max);
    }
    const std::vector<int32_t> over_before = tree.OverBefore();
    for (int p = 0; p <= size; ++p) {
      ASSERT_EQ(over_before[p], plain(0, p - 1).over);
    }
  }
}

// 4 reads what 1 made before 2 and 3.
RematProblem ReadLate() {
  RematProblem problem;
  AddNode(&problem, 0, false, 0, {});
  AddNode(&problem, 1, true, 100, {0});
  AddNode(&problem, 1, true, 50, {1});
  AddNode(&problem, 1, true, 200, {2});
  AddNode(&problem, 1, true, 10, {1, 3});
  problem.outputs = {4};
  return problem;
}

TEST(RematTakeBackTest, RemovesRunsThatThereIsRoomFor) {
  RematProblem problem = ReadLate();
  const RematProgram repeated = {{0, 1, 2, 3, 1, 4}, 300, 5};
  const auto steps = [&](int64_t limit) {
    auto program = TakeBackRuns(problem, repeated, limit);
    EXPECT_TRUE(program.ok()) << program.status();
    RematTrace trace;
    EXPECT_TRUE(TraceProgram(problem, program->steps, &trace).ok());
    EXPECT_EQ(program->peak_bytes, trace.peak_bytes);
    EXPECT_EQ(program->seconds, trace.seconds);
    return program->steps;
  };
  EXPECT_EQ(steps(350), problem.order);
  EXPECT_EQ(steps(349), repeated.steps);
  // A limit that is not met keeps nothing from where it is lower.
  EXPECT_EQ(steps(0), repeated.steps);
  // 2 writes over what 4 would read.
  problem.values[1].overwritten_by = 2;
  problem.nodes[2].recomputable = false;
  EXPECT_EQ(steps(1000), repeated.steps);
}

// While 4 is made there is room for 2's value, but not for 1's as well.
TEST(RematTakeBackTest, RemovesSomeWhereNotAllFit) {
  RematProblem problem;
  AddNode(&problem, 0, false, 0, {});
  AddNode(&problem, 1, true, 100, {0});
  AddNode(&problem, 1, true, 10, {0});
  AddNode(&problem, 1, true, 200, {1, 2});
  AddNode(&problem, 1, true, 50, {3});
  AddNode(&problem, 1, true, 10, {1, 2, 4});
  problem.outputs = {5};
  auto program = TakeBackRuns(problem, {{0, 1, 2, 3, 4, 1, 2, 5}, 310, 7}, 310);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->steps, std::vector<NodeId>({0, 1, 2, 3, 4, 1, 5}));
}

TEST(RematTakeBackTest, LeavesOutAPartOfTheRuns) {
  RematProblem problem = ReadLate();
  AddNode(&problem, 1, true, 10, {2, 4});
  problem.outputs = {5};
  const std::vector<NodeId> repeated = {0, 1, 2, 3, 1, 4, 2, 5};
  const auto without = [&](absl::Span<const NodeId> program, int part,
                           int parts) {
    auto result = WithoutPartOfRuns(problem, program, part, parts);
    EXPECT_TRUE(result.ok()) << result.status();
    return result->value_or(std::vector<NodeId>());
  };
  EXPECT_EQ(without(repeated, 0, 1), problem.order);
  // Counted from the end.
  EXPECT_EQ(without(repeated, 0, 2),
            std::vector<NodeId>({0, 1, 2, 3, 1, 4, 5}));
  EXPECT_EQ(without(repeated, 1, 2),
            std::vector<NodeId>({0, 1, 2, 3, 4, 2, 5}));
  EXPECT_TRUE(without(problem.order, 0, 1).empty());
}

// 1 lives across 2 … 4; made again before 5, it does not.
TEST(RematSearchTest, DropsAValueThatWaits) {
  RematProblem problem;
  AddNode(&problem, 0, false, 0, {});
  AddNode(&problem, 1, true, 10, {0});
  AddNode(&problem, 9, true, 10, {1});
  AddNode(&problem, 9, true, 10, {2});
  AddNode(&problem, 9, true, 1, {3});
  AddNode(&problem, 9, true, 1, {1, 4});
  problem.outputs = {5};
  EXPECT_EQ(Original(problem).peak_bytes, 30);
  const RematProgram program = Search(problem, 20);
  EXPECT_EQ(program.steps, (std::vector<NodeId>{0, 1, 2, 3, 4, 1, 5}));
  EXPECT_EQ(program.peak_bytes, 20);
}

TEST(RematSearchTest, LeavesAProgramAloneThatMeetsTheLimit) {
  const RematProblem problem = Chain(8);
  const RematProgram original = Original(problem);
  EXPECT_EQ(Search(problem, original.peak_bytes).steps, problem.order);
}

TEST(RematSearchTest, MovesWhatIsNotNeededYet) {
  RematProblem problem;
  AddNode(&problem, 0, false, 0, {});
  AddNode(&problem, 1, true, 10, {0});
  AddNode(&problem, 1, true, 10, {0});
  AddNode(&problem, 1, true, 10, {2});
  AddNode(&problem, 1, true, 1, {1, 3});
  problem.outputs = {4};
  const RematProgram program = Search(problem, 20);
  EXPECT_EQ(program.peak_bytes, 20);
  EXPECT_DOUBLE_EQ(program.seconds, 4);
}

// One more forward pass is enough for about two square roots of the layers.
// What is dropped for a lower limit is taken back as far as there is room.
TEST(RematSearchTest, UsesTheRoomThatThereIs) {
  const RematProblem problem = Chain(40);
  const RematProgram original = Original(problem);
  const RematProgram low = Search(problem, 1500);
  ASSERT_LE(low.peak_bytes, 1500);
  double before = low.seconds;
  for (int64_t room : {int64_t{2500}, int64_t{3500}, original.peak_bytes}) {
    RematSearchOptions options;
    options.limit_bytes = 1500;
    options.room_bytes = room;
    auto program = SearchProgram(problem, problem.order, options);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_LE(program->peak_bytes, room);
    EXPECT_LT(program->seconds, before) << room;
    before = program->seconds;
  }
  EXPECT_EQ(before, original.seconds);
}

TEST(RematSearchTest, FindsSquareRootPlans) {
  const RematProblem problem = Chain(200);
  const RematProgram original = Original(problem);
  const RematProgram half = Search(problem, original.peak_bytes / 2);
  EXPECT_LE(half.peak_bytes, original.peak_bytes / 2);
  EXPECT_LE(half.seconds, 1.3 * original.seconds);
  const RematProgram fifth = Search(problem, original.peak_bytes / 5);
  EXPECT_LE(fifth.peak_bytes, original.peak_bytes / 5);
  EXPECT_LE(fifth.seconds, 1.6 * original.seconds);
}

// Forward 1 … n, backward n … 1, and behind all that what only needs both, with
// a byte each: gradients of weights.
RematProblem LateGradients(int n) {
  RematProblem problem = Chain(n);
  problem.outputs.clear();
  for (int i = n; i >= 1; --i) {
    const ValueId gradient = 2 * n + 1 - i;
    AddNode(&problem, 1, true, 1, {i - 1, gradient});
    problem.outputs.push_back(static_cast<ValueId>(problem.values.size() - 1));
  }
  return problem;
}

TEST(RematEagerTest, RunsEarlyWhatFreesMemory) {
  const RematProblem problem = LateGradients(40);
  const std::vector<NodeId> eager = EagerProgram(problem, problem.order);
  RematTrace before, after;
  ASSERT_TRUE(TraceProgram(problem, problem.order, &before).ok());
  ASSERT_TRUE(TraceProgram(problem, eager, &after).ok());
  EXPECT_EQ(eager.size(), problem.order.size());
  EXPECT_EQ(after.seconds, before.seconds);
  EXPECT_LE(after.peak_bytes, 0.55 * static_cast<double>(before.peak_bytes));
}

// 4 makes less than the value that it frees; 2 and 3 make more.
TEST(RematEagerTest, LeavesWhatMakesMoreThanItFrees) {
  RematProblem problem;
  AddNode(&problem, 1, false, 0, {});
  AddNode(&problem, 1, true, 100, {0});
  AddNode(&problem, 1, true, 10, {0});
  AddNode(&problem, 1, true, 500, {2});
  AddNode(&problem, 1, true, 20, {1});
  AddNode(&problem, 1, true, 5, {3, 4});
  problem.outputs = {5};
  EXPECT_EQ(EagerProgram(problem, problem.order),
            std::vector<NodeId>({0, 1, 4, 2, 3, 5}));
}

// What may not run again, or works in the memory of others, stays.
TEST(RematEagerTest, LeavesOthersWhereTheyAre) {
  RematProblem problem = LateGradients(10);
  for (size_t n = 21; n < problem.nodes.size(); ++n) {
    if (n % 2 == 0) {
      problem.nodes[n].recomputable = false;
    } else {
      problem.values[n].alias_of = problem.nodes[n].reads.back();
    }
  }
  EXPECT_EQ(EagerProgram(problem, problem.order), problem.order);
}

// Each value that is dropped comes back for its two readers at once.
TEST(RematSearchTest, MakesAgainForReadersThatCanMeet) {
  const RematProblem problem = LateGradients(60);
  const RematProgram original = Original(problem);
  const RematProgram third = Search(problem, original.peak_bytes * 3 / 10);
  EXPECT_LE(third.peak_bytes, original.peak_bytes * 3 / 10);
  EXPECT_LE(third.seconds, 1.25 * original.seconds);
  RematSearchOptions in_order;
  in_order.limit_bytes = original.peak_bytes * 3 / 10;
  in_order.reorder = false;
  auto program = SearchProgram(problem, problem.order, in_order);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_GE(program->seconds, third.seconds);
}

TEST(RematSearchTest, IsCloseToExact) {
  double sum = 0, sum_in_any_order = 0;
  int count = 0;
  for (int seed = 0; seed < 60; ++seed) {
    const RematProblem problem = RandomProblem(seed, 9);
    const int64_t peak = Original(problem).peak_bytes;
    const int64_t bound = LowerBoundBytes(problem);
    if (bound >= peak) continue;
    const int64_t limit = (peak + bound) / 2;
    const auto exact = ExactProgram(problem, limit, 1 << 20);
    const RematProgram found = Search(problem, limit, /*reorder=*/false);
    if (!exact.has_value()) {
      EXPECT_GT(found.peak_bytes, limit);
      continue;
    }
    RematTrace trace;
    ASSERT_TRUE(TraceProgram(problem, *exact, &trace).ok());
    EXPECT_LE(trace.peak_bytes, limit);
    EXPECT_LE(found.peak_bytes, limit);
    EXPECT_GE(found.seconds, trace.seconds - 1e-9);
    sum += found.seconds / trace.seconds;
    sum_in_any_order += Search(problem, limit).seconds / trace.seconds;
    ++count;
  }
  ASSERT_GT(count, 10);
  EXPECT_LE(sum / count, 1.03);
  EXPECT_LE(sum_in_any_order / count, 1.03);
}

// A step that makes 100 bytes of 100: both are there, unless the result takes
// the memory of values that are not read any more.
TEST(RematTraceTest, TakesTheMemoryOfWhatNobodyReads) {
  RematProblem problem;
  AddNode(&problem, 1, true, 100, {});
  AddNode(&problem, 1, true, 100, {0});
  AddNode(&problem, 1, true, 10, {1});
  problem.outputs = {2};
  const auto live = [&]() {
    RematTrace trace;
    EXPECT_TRUE(TraceProgram(problem, problem.order, &trace).ok());
    return trace.live;
  };
  EXPECT_EQ(live(), std::vector<int64_t>({100, 200, 100}));
  EXPECT_EQ(LowerBoundBytes(problem), 200);
  problem.values[1].in_place_of = 0;
  EXPECT_EQ(live(), std::vector<int64_t>({100, 100, 100}));
  EXPECT_EQ(LowerBoundBytes(problem), 100);
  // Somebody reads it later.
  problem.nodes[2].reads = {0, 1};
  EXPECT_EQ(live(), std::vector<int64_t>({100, 200, 200}));
  // It outlives the program.
  problem.nodes[2].reads = {1};
  problem.outputs = {0, 2};
  EXPECT_EQ(live(), std::vector<int64_t>({0, 100, 100}));
  problem.nodes[2].reads = {0};
  EXPECT_EQ(LowerBoundBytes(problem), 100);
}

// The least peak of all programs that run each node: the cheapest way through
// sets of values that are there and of nodes that have run. For few nodes.
int64_t LeastPeak(const RematProblem& problem) {
  const uint32_t nodes = static_cast<uint32_t>(problem.nodes.size());
  const uint32_t all = (1u << nodes) - 1;
  const auto bytes = [&](uint32_t there) {
    int64_t sum = 0;
    for (uint32_t n = 0; n + 1 < nodes; ++n) {  // the last one is the output
      if ((there >> n & 1) != 0) sum += problem.values[n].bytes;
    }
    return sum;
  };
  using State = std::tuple<int64_t, uint32_t, uint32_t>;
  std::priority_queue<State, std::vector<State>, std::greater<State>> queue;
  std::set<std::pair<uint32_t, uint32_t>> known;
  queue.emplace(0, 0, 0);
  while (true) {
    const auto [cost, there, ran] = queue.top();
    queue.pop();
    if (ran == all) return cost;
    if (!known.emplace(there, ran).second) continue;
    for (uint32_t n = 0; n < nodes; ++n) {
      const uint32_t bit = 1u << n;
      if ((there & bit) != 0) {
        if (n + 1 < nodes) queue.emplace(cost, there & ~bit, ran);
        continue;
      }
      bool may_run = (ran & bit) == 0 || problem.nodes[n].recomputable;
      for (ValueId read : problem.nodes[n].reads) {
        may_run &= (there >> read & 1) != 0;
      }
      if (!may_run) continue;
      queue.emplace(std::max(cost, bytes(there | bit)), there | bit, ran | bit);
    }
  }
}

// While the last of two operands is made, the other one is there: 60 bytes for
// the one, 10 of the other. A bound is never more than what suffices.
TEST(RematBoundTest, CountsOperandsWhileTheLastOneIsMade) {
  RematProblem problem;
  AddNode(&problem, 0, false, 0, {});
  for (ValueId wide : {1, 3}) {
    AddNode(&problem, 1, true, 50, {0});
    AddNode(&problem, 1, true, 10, {wide});
  }
  AddNode(&problem, 1, true, 1, {2, 4});
  problem.outputs = {5};
  EXPECT_EQ(LowerBoundBytes(problem), 70);
  EXPECT_EQ(LeastPeak(problem), 70);
  // Results that may lie in what is read: 50 of one node at a time.
  EXPECT_EQ(LowerBoundBytes(problem, /*in_place=*/true), 60);
  problem.nodes[2].shares_memory = problem.nodes[4].shares_memory = false;
  EXPECT_EQ(LowerBoundBytes(problem, /*in_place=*/true), 70);

  int tight = 0;
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const RematProblem random = RandomProblem(seed, 8);
    const int64_t least = LeastPeak(random);
    EXPECT_LE(LowerBoundBytes(random), least);
    tight += LowerBoundBytes(random) == least ? 1 : 0;
  }
  EXPECT_GT(tight, 40);
}

// Bytes of what lives through a position between steps, one value after the
// other. The last value is the output.
int64_t LiveBetween(const RematProblem& problem, const RematState& state,
                    int32_t position) {
  int64_t bytes = 0;
  for (ValueId value = 0;
       value + 1 < static_cast<ValueId>(problem.values.size()); ++value) {
    for (int32_t run : state.runs(problem.values[value].node)) {
      const int32_t last = state.LastUse(value, run);
      if (run > position || last < position || last == run) continue;
      bytes += problem.values[value].bytes;
    }
  }
  return bytes;
}

// Steps of the start and what lies between them, against the program as it is.
void ExpectLiveBytes(const RematProblem& problem, const RematState& state) {
  RematTrace trace;
  ASSERT_TRUE(TraceProgram(problem, state.Program(), &trace).ok());
  size_t at = 0;
  for (int32_t position = 0; position < state.end_position(); ++position) {
    size_t runs = 0;
    for (size_t n = 0; n < problem.nodes.size(); ++n) {
      const RematState::Positions& of = state.runs(static_cast<NodeId>(n));
      runs += std::count(of.begin(), of.end(), position);
    }
    EXPECT_EQ(state.tree().Max(position, position),
              position % 2 == 1 && runs == 1
                  ? trace.live[at]
                  : LiveBetween(problem, state, position))
        << "position " << position;
    at += runs;
  }
}

// As runs come and go.
TEST(RematStateTest, CountsWhatTakesTheMemoryOfOthers) {
  int shared = 0;
  for (int seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    RematProblem problem = RandomProblem(seed, 12);
    std::mt19937 random(seed);
    for (size_t n = 1; n < problem.nodes.size(); ++n) {
      const std::vector<ValueId>& reads = problem.nodes[n].reads;
      const ValueId operand = reads[random() % reads.size()];
      if (random() % 3 == 0) continue;
      problem.values[n].bytes = problem.values[operand].bytes;
      problem.values[n].in_place_of = operand;
    }
    RematTrace trace;
    ASSERT_TRUE(TraceProgram(problem, problem.order, &trace).ok());
    const int64_t with = trace.peak_bytes;
    RematState state(problem, trace, 0);
    for (int change = 0; change < 40; ++change) {
      SCOPED_TRACE(change);
      // Step s lies at 2s+1; what runs again before it, at 2s.
      const int32_t step = 2 + random() % 10;
      const NodeId node = random() % step;
      const RematState::Positions runs = state.runs(node);
      const bool runs_there =
          std::count(runs.begin(), runs.end(), 2 * step) > 0;
      if (!runs_there && problem.nodes[node].recomputable && !runs.empty() &&
          runs.front() < 2 * step) {
        state.Insert(node, 2 * step);
      } else if (runs_there && runs.front() < 2 * step) {
        state.Remove(node, 2 * step);
      }
      // What has lost its readers to another run.
      for (NodeId n = 0; n < 12; ++n) state.RemoveIfUseless(n, 2 * n + 1);
      ExpectLiveBytes(problem, state);
    }
    for (RematProblem::Value& value : problem.values) value.in_place_of = -1;
    ASSERT_TRUE(TraceProgram(problem, problem.order, &trace).ok());
    shared += trace.peak_bytes > with ? 1 : 0;
  }
  EXPECT_GT(shared, 10);
}

}  // namespace
}  // namespace xla::remat_plan
