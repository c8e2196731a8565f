#include "xla/hlo/transforms/memory/remat/solver/remat_checkpoints.h"

#include <algorithm>

namespace xla::remat_plan {
namespace {

// Splits the steps before the peak into segments. Between two segments only the
// values that a later segment reads are kept (the checkpoints); everything else
// of a segment that is read after the peak is recomputed in one block, in front
// of the first such reader. Nodes marked fixed_ never run twice: those that
// must not, producers of outputs, and both sides of an alias, whose memory
// cannot be freed separately.
class Segments {
 public:
  Segments(const RematProblem& problem, const RematTrace& start)
      : problem_(problem),
        start_(start),
        peak_(start.peak_step),
        step_of_(problem.nodes.size(), -1),
        last_before_(problem.values.size(), -1),
        first_after_(problem.values.size(), -1),
        fixed_(problem.nodes.size(), false) {
    for (int32_t step = 0; step < start_.step_count(); ++step) {
      const NodeId node = start_.steps[step];
      step_of_[node] = step;
      for (ValueId value : problem_.nodes[node].reads) Read(value, step);
    }
    for (ValueId value : problem_.outputs) {
      fixed_[problem_.values[value].node] = true;
    }
    for (const RematProblem::Value& value : problem_.values) {
      if (value.alias_of < 0) continue;
      fixed_[value.node] = true;
      fixed_[problem_.values[value.alias_of].node] = true;
    }
    for (size_t n = 0; n < fixed_.size(); ++n) {
      if (!problem_.nodes[n].recomputable) fixed_[n] = true;
    }
  }

  // Bytes of a node's values that only wait for what comes after the peak.
  int64_t Waiting(NodeId node) const {
    if (fixed_[node]) return 0;
    int64_t bytes = 0;
    ForEachValue(node, [&](ValueId value) {
      if (first_after_[value] >= 0) bytes += problem_.values[value].bytes;
    });
    return bytes;
  }

  int64_t TotalWaiting() const {
    int64_t bytes = 0;
    for (int32_t step = 0; step < peak_; ++step) {
      bytes += Waiting(start_.steps[step]);
    }
    return bytes;
  }

  std::vector<NodeId> Program(int64_t segment_bytes) const {
    const std::vector<int32_t> ends = Ends(segment_bytes);
    // Runs that come before each step.
    std::vector<std::vector<NodeId>> before(start_.step_count());
    int32_t begin = 0;
    for (int32_t end : ends) {
      int32_t first_use = -1;
      std::vector<NodeId> again = RunsAgain(begin, end, &first_use);
      if (first_use >= 0) before[first_use] = std::move(again);
      begin = end;
    }
    std::vector<NodeId> program;
    for (int32_t step = 0; step < start_.step_count(); ++step) {
      program.insert(program.end(), before[step].begin(), before[step].end());
      program.push_back(start_.steps[step]);
    }
    return program;
  }

 private:
  template <typename Visit>
  void ForEachValue(NodeId node, Visit visit) const {
    const RematProblem::Node& info = problem_.nodes[node];
    for (int32_t k = 0; k < info.value_count; ++k) visit(info.first_value + k);
  }

  void Read(ValueId value, int32_t step) {
    if (step < peak_) {
      last_before_[value] = step;
    } else if (first_after_[value] < 0) {
      first_after_[value] = step;
    }
  }

  // Where segments end: one past their last steps. A segment may end once it
  // holds half of segment_bytes and must end when it holds all of it; in
  // between it is cut where the fewest bytes cross, since those are what the
  // cut must keep.
  std::vector<int32_t> Ends(int64_t segment_bytes) const {
    // Bytes that steps before the peak hand over each place.
    std::vector<int64_t> cross(peak_ + 1, 0);
    for (int32_t step = 0; step < peak_; ++step) {
      ForEachValue(start_.steps[step], [&](ValueId value) {
        if (last_before_[value] <= step) return;
        cross[step + 1] += problem_.values[value].bytes;
        if (last_before_[value] < peak_) {
          cross[last_before_[value] + 1] -= problem_.values[value].bytes;
        }
      });
    }
    for (int32_t place = 1; place <= peak_; ++place) {
      cross[place] += cross[place - 1];
    }
    std::vector<int32_t> ends;
    int32_t best = -1;
    int64_t bytes = 0, bytes_at_best = 0;
    for (int32_t step = 0; step < peak_; ++step) {
      bytes += Waiting(start_.steps[step]);
      if (2 * bytes >= segment_bytes &&
          (best < 0 || cross[step + 1] <= cross[best])) {
        best = step + 1;
        bytes_at_best = bytes;
      }
      if (bytes >= segment_bytes) {
        ends.push_back(best);
        bytes -= bytes_at_best;
        best = -1;
      }
    }
    ends.push_back(peak_);
    return ends;
  }

  // The steps of [begin, end) that have to run again for readers after the
  // peak, in order, and in `first_use` the first step that needs any of it (-1:
  // none). A backward pass from the values read after the peak to what they
  // depend on; it stops at values that cross into later segments, which are
  // kept.
  std::vector<NodeId> RunsAgain(int32_t begin, int32_t end,
                                int32_t* first_use) const {
    std::vector<bool> needed(end - begin, false);
    for (int32_t step = end - 1; step >= begin; --step) {
      const NodeId node = start_.steps[step];
      if (fixed_[node]) continue;
      bool crosses = false;
      int32_t use = -1;
      ForEachValue(node, [&](ValueId value) {
        // A later segment reads it: it stays.
        if (last_before_[value] >= end) crosses = true;
        if (first_after_[value] < 0) return;
        use =
            use < 0 ? first_after_[value] : std::min(use, first_after_[value]);
      });
      if (crosses) {
        needed[step - begin] = false;
        continue;
      }
      if (use >= 0) {
        needed[step - begin] = true;
        *first_use = *first_use < 0 ? use : std::min(*first_use, use);
      }
      if (!needed[step - begin]) continue;
      for (ValueId value : problem_.nodes[node].reads) {
        const int32_t maker = step_of_[problem_.values[value].node];
        if (maker >= begin && maker < end) needed[maker - begin] = true;
      }
    }
    std::vector<NodeId> again;
    for (int32_t step = begin; step < end; ++step) {
      if (needed[step - begin] && !fixed_[start_.steps[step]]) {
        again.push_back(start_.steps[step]);
      }
    }
    // What they would find overwritten then keeps the segment from running.
    for (NodeId node : again) {
      for (ValueId value : problem_.nodes[node].reads) {
        const RematProblem::Value& info = problem_.values[value];
        const int32_t maker = step_of_[info.node];
        if (maker >= begin && maker < end && needed[maker - begin] &&
            !fixed_[info.node]) {
          continue;
        }
        if (info.overwritten_by < 0) continue;
        if (step_of_[info.overwritten_by] < *first_use) {
          *first_use = -1;
          return {};
        }
      }
    }
    return again;
  }

  const RematProblem& problem_;
  const RematTrace& start_;
  const int32_t peak_;
  std::vector<int32_t> step_of_;      // by node
  std::vector<int32_t> last_before_;  // by value: last reader before the peak
  std::vector<int32_t> first_after_;  // by value: first reader from there on
  std::vector<bool> fixed_;           // by node: runs once
};

}  // namespace

std::vector<NodeId> CheckpointedProgram(const RematProblem& problem,
                                        const RematTrace& start,
                                        int64_t segment_bytes) {
  return Segments(problem, start).Program(segment_bytes);
}

int64_t BytesBeforePeak(const RematProblem& problem, const RematTrace& start) {
  return Segments(problem, start).TotalWaiting();
}

}  // namespace xla::remat_plan
