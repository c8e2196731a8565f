#include "xla/hlo/transforms/memory/remat/solver/remat_take_back.h"

#include <algorithm>
#include <utility>

#include "xla/hlo/transforms/memory/remat/solver/remat_state.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// A program that runs are taken out of.
class TakeBack {
 public:
  TakeBack(const RematProblem& problem, const RematTrace& trace, int64_t limit)
      : problem_(problem), state_(problem, trace, limit), limit_(limit) {}

  bool Run() {
    bool changed = false;
    for (const Repeat& repeat : Repeats()) {
      changed |= Try(repeat.node, repeat.position);
    }
    return changed;
  }

  // Takes one of `parts` repeats out, whatever the limit.
  bool RemovePart(int part, int parts) {
    bool changed = false;
    int i = 0;
    for (const Repeat& repeat : Repeats()) {
      if (i++ % parts == part) changed |= Remove(repeat.node, repeat.position);
    }
    return changed;
  }

  std::vector<NodeId> Program() const { return state_.Program(); }

 private:
  struct Repeat {
    double worth;
    NodeId node;
    int32_t position;
  };

  // Runs beyond the first of each node, those that are worth most first.
  std::vector<Repeat> Repeats() const {
    std::vector<Repeat> repeats;
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      const NodeId node = static_cast<NodeId>(n);
      const RematState::Positions& runs = state_.runs(node);
      for (size_t i = 1; i < runs.size(); ++i) {
        const int64_t bytes = BytesToKeep(node, runs[i]);
        const double length = runs[i] - runs[i - 1];
        repeats.push_back({problem_.nodes[n].seconds /
                               (static_cast<double>(bytes) * length + 1),
                           node, runs[i]});
      }
    }
    std::stable_sort(
        repeats.begin(), repeats.end(),
        [](const Repeat& a, const Repeat& b) { return a.worth > b.worth; });
    return repeats;
  }

  // Bytes of the values that are read from this run.
  int64_t BytesToKeep(NodeId node, int32_t position) const {
    const RematProblem::Node& info = problem_.nodes[node];
    int64_t bytes = 0;
    for (int32_t k = 0; k < info.value_count; ++k) {
      const ValueId value = info.first_value + k;
      if (state_.LastUse(value, position) > position) {
        bytes += state_.bytes(value);
      }
    }
    return bytes;
  }

  bool Try(NodeId node, int32_t position) {
    if (state_.RunAtOrBefore(node, position) != position) return false;
    const int32_t before = state_.RunAtOrBefore(node, position - 1);
    if (before < 0) return false;
    const RematProblem::Node& info = problem_.nodes[node];
    // From the end of each value to this run. All values at once is more than
    // needed where they end at different places; exact for one.
    int64_t bytes = 0;
    int32_t first = position;
    for (int32_t k = 0; k < info.value_count; ++k) {
      const ValueId value = info.first_value + k;
      if (state_.LastUse(value, position) == position) continue;
      bytes += state_.bytes(value);
      first = std::min(first, state_.LastUse(value, before) + 1);
    }
    const int32_t last = position - 1;
    if (first <= last && state_.tree().Max(first, last) > limit_ - bytes) {
      return false;
    }
    return Remove(node, position);
  }

  bool Remove(NodeId node, int32_t position) {
    const int32_t before = state_.RunAtOrBefore(node, position - 1);
    if (state_.RunAtOrBefore(node, position) != position || before < 0) {
      return false;
    }
    const RematProblem::Node& info = problem_.nodes[node];
    for (int32_t k = 0; k < info.value_count; ++k) {
      // Its readers would find something else in that memory.
      if (state_.IsOverwritten(info.first_value + k, before, position)) {
        return false;
      }
    }
    state_.Remove(node, position);
    for (ValueId value : info.reads) {
      const NodeId maker = problem_.values[value].node;
      const int32_t run = state_.RunAtOrBefore(maker, position);
      if (run >= 0) state_.RemoveIfUseless(maker, run);
    }
    return true;
  }

  const RematProblem& problem_;
  RematState state_;
  const int64_t limit_;
};

}  // namespace

// The state over-approximates memory, so a round may refuse runs that an exact
// trace has room for; rounds repeat from the exact trace until nothing more
// comes out. A round that is worse by the exact trace is discarded.
absl::StatusOr<RematProgram> TakeBackRuns(const RematProblem& problem,
                                          RematProgram program, int64_t limit) {
  // Limits that cannot be met any more do not restrict what comes back.
  const int64_t bound = std::max(limit, program.peak_bytes);
  for (int round = 0; round < 8; ++round) {
    RematTrace trace;
    TF_RETURN_IF_ERROR(TraceProgram(problem, program.steps, &trace));
    TakeBack take_back(problem, trace, bound);
    if (!take_back.Run()) break;
    std::vector<NodeId> steps =
        RemoveUselessSteps(problem, take_back.Program());
    TF_RETURN_IF_ERROR(TraceProgram(problem, steps, &trace));
    if (trace.peak_bytes > bound || trace.seconds > program.seconds) break;
    program = {std::move(steps), trace.peak_bytes, trace.seconds};
  }
  return program;
}

absl::StatusOr<std::optional<std::vector<NodeId>>> WithoutPartOfRuns(
    const RematProblem& problem, absl::Span<const NodeId> program, int part,
    int parts) {
  RematTrace trace;
  TF_RETURN_IF_ERROR(TraceProgram(problem, program, &trace));
  TakeBack take_back(problem, trace, /*limit=*/0);
  if (!take_back.RemovePart(part, parts)) return std::nullopt;
  return RemoveUselessSteps(problem, take_back.Program());
}

}  // namespace xla::remat_plan
