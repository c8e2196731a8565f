#include "xla/hlo/transforms/memory/remat/solver/remat_state.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {
namespace {

using ::testing::ElementsAre;

void AddNode(RematProblem* problem, std::vector<ValueId> reads,
             std::vector<int64_t> bytes) {
  const NodeId id = static_cast<NodeId>(problem->nodes.size());
  RematProblem::Node node;
  node.seconds = 1;
  node.recomputable = true;
  node.first_value = static_cast<ValueId>(problem->values.size());
  node.value_count = static_cast<int32_t>(bytes.size());
  node.reads.assign(reads.begin(), reads.end());
  problem->nodes.push_back(std::move(node));
  for (int64_t size : bytes) problem->values.push_back({id, size, -1});
  problem->order.push_back(id);
}

// Node 1 makes two values, for node 2 and for node 4.
RematProblem TwoValues() {
  RematProblem problem;
  AddNode(&problem, {}, {0});
  AddNode(&problem, {0}, {100, 30});
  AddNode(&problem, {1}, {10});
  AddNode(&problem, {3}, {20});
  AddNode(&problem, {2, 4}, {1});
  problem.outputs = {5};
  return problem;
}

// Bytes, without outputs, at positions 3 … 9: from where node 1 runs to where
// node 4 does.
std::vector<int64_t> Bytes(const RematState& state) {
  std::vector<int64_t> bytes;
  for (int position = 3; position <= 9; ++position) {
    bytes.push_back(state.tree().Max(position, position));
  }
  return bytes;
}

TEST(RematStateTest, CountsAllValuesOfANode) {
  const RematProblem problem = TwoValues();
  RematTrace trace;
  ASSERT_TRUE(TraceProgram(problem, problem.order, &trace).ok());
  RematState state(problem, trace, /*limit=*/1000);
  EXPECT_THAT(Bytes(state), ElementsAre(130, 130, 140, 40, 60, 50, 50));
  // Before node 4: the value for it need not wait; that for 2 has no reader.
  state.Insert(1, 8);
  EXPECT_THAT(Bytes(state), ElementsAre(130, 100, 110, 10, 30, 50, 50));
  EXPECT_THAT(state.Program(), ElementsAre(0, 1, 2, 3, 1, 4));
  EXPECT_EQ(state.seconds(), 6);
  state.Remove(1, 8);
  EXPECT_THAT(Bytes(state), ElementsAre(130, 130, 140, 40, 60, 50, 50));
  EXPECT_THAT(state.Program(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(state.seconds(), 5);
}

// A result takes no bytes of its own, and neither does what it lies in.
TEST(RematStateTest, ResultsLieInTheFirstValue) {
  RematProblem problem;
  AddNode(&problem, {}, {100});
  AddNode(&problem, {0}, {0});
  AddNode(&problem, {1}, {7});
  problem.values[1].alias_of = 0;
  problem.outputs = {1};
  RematTrace trace;
  ASSERT_TRUE(TraceProgram(problem, problem.order, &trace).ok());
  const RematState state(problem, trace, /*limit=*/1000);
  EXPECT_EQ(state.bytes(0), 0);
  EXPECT_EQ(state.bytes(1), 0);
  EXPECT_EQ(state.bytes(2), 7);
}

TEST(RematStateTest, TransientBytesAreTheMostThatWereAskedFor) {
  const RematProblem problem = TwoValues();
  RematTrace trace;
  ASSERT_TRUE(TraceProgram(problem, problem.order, &trace).ok());
  RematState state(problem, trace, /*limit=*/1000);
  state.AddTransient(5, 7);
  EXPECT_EQ(state.tree().Max(5, 5), 147);
  state.AddTransient(5, 6);
  EXPECT_EQ(state.tree().Max(5, 5), 147);
  state.AddTransient(5, 9);
  EXPECT_EQ(state.tree().Max(5, 5), 149);
}

}  // namespace
}  // namespace xla::remat_plan
