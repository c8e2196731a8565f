// How good programs for random problems are, against what is recorded.
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "xla/hlo/testlib/recorded.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_checkpoints.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_eager.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_evict.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_search.h"

namespace xla::remat_plan {
namespace {

// A network of `layers` steps, each of a few nodes, and its gradients, which
// read what the layers made; bytes, seconds and what may run again are drawn.
// Where `odd`, with all else that problems may have: nodes of several values
// and with bytes of their own, values in the memory of others, values that are
// overwritten, several outputs, bytes that are there all the time.
class RandomTraining {
 public:
  RandomTraining(int seed, int layers, bool odd) : random_(seed), odd_(odd) {
    ValueId last = Add(0, false, 0, {});
    std::vector<ValueId> made;
    for (int i = 0; i < layers; ++i) {
      const ValueId dot =
          Add(5 + Draw(20), Draw(10) != 0, 20 + Draw(80), {last});
      const ValueId act = Add(1 + Draw(3), true, 20 + Draw(80), {dot});
      std::set<ValueId> reads = {act};
      if (Draw(2) == 0) reads.insert(last);
      if (!made.empty() && Draw(5) == 0) {
        reads.insert(made[Draw(static_cast<int>(made.size()))]);
      }
      last = Add(1 + Draw(4), Draw(12) != 0, 20 + Draw(80), reads);
      made.insert(made.end(), {dot, act, last});
    }
    for (int i = static_cast<int>(made.size()) - 1; i >= 0; --i) {
      std::set<ValueId> reads = {last, made[i]};
      if (i > 0 && Draw(3) == 0) reads.insert(made[i - 1]);
      last = Add(2 + Draw(20), Draw(4) != 0, 20 + Draw(80), reads);
      if (odd && Draw(6) == 0) problem_.outputs.push_back(last);
    }
    problem_.outputs.push_back(last);
    if (odd) Overwrite();
  }

  const RematProblem& problem() const { return problem_; }

 private:
  int Draw(int n) { return static_cast<int>(random_() % n); }

  // Returns the node's first value.
  ValueId Add(double seconds, bool again, int64_t bytes,
              const std::set<ValueId>& reads) {
    RematProblem::Node node;
    const NodeId id = static_cast<NodeId>(problem_.nodes.size());
    node.seconds = seconds;
    node.recomputable = again;
    node.first_value = static_cast<ValueId>(problem_.values.size());
    node.value_count = odd_ && Draw(4) == 0 ? 2 : 1;
    node.internal_bytes = odd_ && Draw(6) == 0 ? Draw(60) : 0;
    node.reads.assign(reads.begin(), reads.end());
    // Both values of the last node, if it has two.
    if (odd_ && id > 0 && problem_.nodes.back().value_count == 2) {
      const ValueId second = problem_.nodes.back().first_value + 1;
      if (node.reads.empty() || node.reads.back() < second) {
        node.reads.push_back(second);
      }
    }
    for (int k = 0; k < node.value_count; ++k) {
      RematProblem::Value value{id, bytes, -1};
      if (odd_ && k == 0 && !reads.empty() && Draw(8) == 0) {
        value.alias_of = *reads.begin();
      } else if (odd_ && k == 0 && !reads.empty() && Draw(3) == 0) {
        value.in_place_of = *reads.rbegin();
        value.bytes = problem_.values[value.in_place_of].bytes;
      }
      problem_.values.push_back(value);
    }
    problem_.nodes.push_back(node);
    problem_.order.push_back(id);
    problem_.base_bytes = odd_ ? 17 : 0;
    return node.first_value;
  }

  // The last reader of a value may write into its memory, if no other value
  // lies there.
  void Overwrite() {
    std::vector<NodeId> last_reader(problem_.values.size(), -1);
    std::vector<bool> shared(problem_.values.size(), false);
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const RematProblem::Value& value = problem_.values[v];
      for (ValueId other : {value.alias_of, value.in_place_of}) {
        if (other >= 0) shared[v] = shared[other] = true;
      }
    }
    for (ValueId value : problem_.outputs) shared[value] = true;
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      for (ValueId value : problem_.nodes[n].reads) last_reader[value] = n;
    }
    for (size_t v = 1; v + 1 < problem_.values.size(); ++v) {
      if (Draw(6) != 0 || last_reader[v] < 0 || shared[v]) continue;
      problem_.values[v].overwritten_by = last_reader[v];
      problem_.nodes[last_reader[v]].recomputable = false;
    }
  }

  std::mt19937 random_;
  const bool odd_;
  RematProblem problem_;
};

// The program's steps (how many, and a checksum), its peak and its seconds.
std::string Figures(const RematProblem& problem,
                    const std::vector<NodeId>& steps) {
  RematTrace trace;
  const absl::Status traced = TraceProgram(problem, steps, &trace);
  if (!traced.ok()) return std::string(traced.message());
  uint32_t checksum = 0;
  for (NodeId node : steps) checksum = checksum * 31 + node + 1;
  return absl::StrFormat("%d %08x %d B %.6g s", steps.size(), checksum,
                         trace.peak_bytes, trace.seconds);
}

// The ways that the search joins, each alone.
std::string Ways(const RematProblem& problem, const RematTrace& start,
                 int64_t limit) {
  std::string line;
  for (const EvictionPrice price :
       {EvictionPrice::kCostPerByteTime, EvictionPrice::kByteTime,
        EvictionPrice::kTime}) {
    int64_t work = 100000;
    const std::optional<std::vector<NodeId>> program =
        EvictingProgram(problem, problem.order, limit, price, &work);
    absl::StrAppendFormat(
        &line, "; evicting %s",
        program.has_value() ? Figures(problem, *program) : "gives up");
  }
  for (const int64_t part : {2, 5}) {
    absl::StrAppendFormat(
        &line, "; checkpoints %s",
        Figures(problem,
                CheckpointedProgram(problem, start,
                                    BytesBeforePeak(problem, start) / part)));
  }
  return line;
}

void Record(const RematProblem& problem, const std::string& name,
            std::vector<std::string>* lines) {
  RematTrace start;
  ASSERT_TRUE(TraceProgram(problem, problem.order, &start).ok()) << name;
  lines->push_back(absl::StrFormat(
      "%s: %d nodes, %d B, bounds %d %d, before the peak %d; eager %s", name,
      problem.nodes.size(), start.peak_bytes, LowerBoundBytes(problem),
      LowerBoundBytes(problem, /*in_place=*/true),
      BytesBeforePeak(problem, start),
      Figures(problem, EagerProgram(problem, problem.order))));
  for (const int percent : {75, 45}) {
    const int64_t limit = start.peak_bytes * percent / 100;
    std::string line = absl::StrFormat("  %d %%:", percent);
    for (const int64_t effort : {0, 1, 2}) {
      RematSearchOptions options;
      options.limit_bytes = limit;
      options.effort = effort;
      options.reorder = effort > 0;
      options.room_bytes = effort > 1 ? limit * 11 / 10 : 0;
      int64_t work = 300000;
      options.work = &work;
      auto program = SearchProgram(problem, problem.order, options);
      ASSERT_TRUE(program.ok()) << name << program.status();
      absl::StrAppendFormat(&line, " %s, work %d;",
                            Figures(problem, program->steps), 300000 - work);
    }
    lines->push_back(line + Ways(problem, start, limit));
  }
}

TEST(RematRecordTest, AsRecorded) {
  std::vector<std::string> lines;
  for (int seed = 0; seed < 36; ++seed) {
    const bool odd = seed % 3 != 0;
    const RandomTraining random(seed, seed < 32 ? 1 + seed % 7 : 30, odd);
    Record(random.problem(),
           absl::StrFormat("%s %d", odd ? "odd" : "plain", seed), &lines);
  }
  ExpectRecorded("xla/hlo/transforms/memory/remat/solver/testdata/programs.txt",
                 lines);
}

}  // namespace
}  // namespace xla::remat_plan
