#include "xla/hlo/transforms/memory/remat/solver/remat_checkpoints.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {
namespace {

// A problem of nodes with one value each, named by letters.
class Letters {
 public:
  // A node that reads the values of the letters in `reads`.
  Letters& Add(char name, const std::string& reads, int64_t bytes) {
    RematProblem::Node node;
    node.seconds = 1;
    node.recomputable = true;
    node.first_value = static_cast<ValueId>(names_.size());
    node.value_count = 1;
    for (char read : reads) node.reads.push_back(Id(read));
    problem_.order.push_back(static_cast<NodeId>(names_.size()));
    problem_.values.push_back({problem_.order.back(), bytes, -1});
    problem_.nodes.push_back(std::move(node));
    problem_.outputs = {problem_.values.back().node};
    names_ += name;
    return *this;
  }

  RematProblem& problem() { return problem_; }
  int32_t Id(char name) const {
    return static_cast<int32_t>(names_.find(name));
  }

  std::string Checkpointed(int64_t segment_bytes) const {
    std::string result;
    for (NodeId node : CheckpointedProgram(problem_, Trace(), segment_bytes)) {
      result += names_[node];
    }
    return result;
  }
  int64_t BytesThatWait() const { return BytesBeforePeak(problem_, Trace()); }

 private:
  RematTrace Trace() const {
    RematTrace trace;
    EXPECT_TRUE(TraceProgram(problem_, problem_.order, &trace).ok());
    return trace;
  }

  std::string names_;
  RematProblem problem_;
};

// Forward a … d, then backward, each step of which reads the one before, and
// what its forward step read and made. The peak is at D.
Letters Training() {
  Letters letters;
  letters.Add('a', "", 100).Add('b', "a", 100).Add('c', "b", 100);
  letters.Add('d', "c", 100).Add('D', "dc", 50).Add('C', "Dcb", 50);
  letters.Add('B', "Cba", 50).Add('A', "Ba", 50);
  return letters;
}

TEST(RematCheckpointsTest, ASegmentKeepsWhatLaterOnesRead) {
  const Letters training = Training();
  EXPECT_EQ(training.BytesThatWait(), 400);
  // {a, b, c, d}: all of it runs again at the first of its readers.
  EXPECT_EQ(training.Checkpointed(500), "abcdabcdDCBA");
  // {a, b} and {c, d}: b stays for c.
  EXPECT_EQ(training.Checkpointed(200), "abcdcdDCaBA");
  // One step each: only the last is read by no later segment.
  EXPECT_EQ(training.Checkpointed(100), "abcddDCBA");
}

TEST(RematCheckpointsTest, EndsASegmentWhereFewBytesCross) {
  Letters letters;
  letters.Add('a', "", 100).Add('b', "a", 10).Add('c', "b", 100);
  letters.Add('d', "c", 100).Add('D', "dc", 50).Add('C', "Dcb", 50);
  letters.Add('B', "Cba", 50).Add('A', "Ba", 50);
  // Behind b, which is small, and not behind c, where there is enough as well.
  EXPECT_EQ(letters.Checkpointed(200), "abcdcdDCaBA");
}

TEST(RematCheckpointsTest, SomeRunOnce) {
  Letters training = Training();
  training.problem().nodes[training.Id('a')].recomputable = false;
  EXPECT_EQ(training.BytesThatWait(), 300);
  EXPECT_EQ(training.Checkpointed(500), "abcdbcdDCBA");

  training = Training();
  training.problem().outputs.push_back(training.Id('c'));
  EXPECT_EQ(training.BytesThatWait(), 300);
  EXPECT_EQ(training.Checkpointed(500), "abcdabdDCBA");

  // Memory of two values that are one cannot be freed apart.
  training = Training();
  training.problem().values[training.Id('c')].alias_of = training.Id('b');
  EXPECT_EQ(training.BytesThatWait(), 200);
  EXPECT_EQ(training.Checkpointed(500), "abcdadDCBA");
}

TEST(RematCheckpointsTest, ReadsNothingThatIsOverwritten) {
  Letters letters;
  letters.Add('a', "", 100).Add('b', "a", 100).Add('c', "a", 100);
  letters.Add('d', "bc", 100).Add('e', "db", 10);
  letters.problem().nodes[letters.Id('a')].recomputable = false;
  letters.problem().nodes[letters.Id('c')].recomputable = false;
  EXPECT_EQ(letters.Checkpointed(500), "abcbde");
  // c takes the memory of a, from which b would be made again.
  letters.problem().values[letters.Id('a')].overwritten_by = letters.Id('c');
  EXPECT_EQ(letters.Checkpointed(500), "abcde");
}

}  // namespace
}  // namespace xla::remat_plan
