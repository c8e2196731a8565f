#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace xla::remat_plan {
namespace {

// Builds a trace in three linear passes:
//  - FindReaders walks the program forwards. latest_[n] is the last step of
//    node n so far, so a read resolves to the instance that step produced, and
//    last_use becomes the end of that instance's live range.
//  - PlaceInMemory walks the instances backwards and folds aliases into the
//    instance whose memory they use. Aliases have higher numbers than what they
//    lie in, so one backward pass also resolves chains of aliases.
//  - AddLiveBytes turns live ranges into a difference array over steps and sums
//    it up.
class Tracer {
 public:
  Tracer(const RematProblem& problem, RematTrace* trace)
      : problem_(problem), trace_(*trace) {}

  absl::Status Run(absl::Span<const NodeId> program) {
    trace_ = RematTrace();
    trace_.steps.assign(program.begin(), program.end());
    absl::Status status = FindReaders();
    if (!status.ok()) return status;
    PlaceInMemory();
    AddLiveBytes();
    return absl::OkStatus();
  }

 private:
  // The instance of `value` that a read at this point sees; -1 if its node has
  // not run yet.
  int32_t InstanceOf(ValueId value) const {
    const NodeId node = problem_.values[value].node;
    const int32_t step = latest_[node];
    if (step < 0) return -1;
    return trace_.first_instance[step] + value -
           problem_.nodes[node].first_value;
  }

  absl::Status Read(ValueId value, int32_t step) {
    const int32_t instance = InstanceOf(value);
    if (instance < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("step ", step, " reads value ", value,
                       ", which was not made before"));
    }
    const NodeId writer = problem_.values[value].overwritten_by;
    if (writer >= 0 && latest_[writer] > latest_[problem_.values[value].node]) {
      return absl::InvalidArgumentError(
          absl::StrCat("step ", step, " reads value ", value,
                       ", which was overwritten before"));
    }
    trace_.last_use[instance] = std::max(trace_.last_use[instance], step);
    return absl::OkStatus();
  }

  void Reserve() {
    size_t instances = 0;
    for (NodeId id : trace_.steps) {
      instances += problem_.nodes[id].value_count;
    }
    trace_.first_instance.reserve(trace_.steps.size() + 1);
    trace_.last_use.reserve(instances);
    home_.reserve(instances);
    overwritten_.reserve(instances);
    values_.reserve(instances);
  }

  // Resolves every read and numbers the instances. Outputs are read by a
  // virtual step after the last one, which is how PlaceInMemory recognizes
  // them.
  absl::Status FindReaders() {
    latest_.assign(problem_.nodes.size(), -1);
    const int32_t num_steps = static_cast<int32_t>(trace_.steps.size());
    Reserve();
    int32_t num_instances = 0;
    for (int32_t step = 0; step < num_steps; ++step) {
      const NodeId id = trace_.steps[step];
      const RematProblem::Node& node = problem_.nodes[id];
      trace_.seconds += node.seconds;
      for (ValueId value : node.reads) {
        absl::Status status = Read(value, step);
        if (!status.ok()) return status;
      }
      trace_.first_instance.push_back(num_instances);
      for (int32_t k = 0; k < node.value_count; ++k) {
        const ValueId value = node.first_value + k;
        trace_.last_use.push_back(step);
        const ValueId alias = problem_.values[value].alias_of;
        home_.push_back(alias < 0 ? -1 : InstanceOf(alias));
        const ValueId operand = problem_.values[value].in_place_of;
        overwritten_.push_back(operand < 0 ? -1 : InstanceOf(operand));
        values_.push_back(value);
      }
      num_instances += node.value_count;
      latest_[id] = step;
    }
    trace_.first_instance.push_back(num_instances);
    for (ValueId value : problem_.outputs) {
      absl::Status status = Read(value, num_steps);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // An instance that lies in another's memory extends that one's live range.
  // Instances whose live range reaches the end are outputs and count 0 bytes:
  // the problem's base_bytes or the caller accounts for them.
  void PlaceInMemory() {
    const int32_t num_steps = static_cast<int32_t>(trace_.steps.size());
    trace_.bytes.resize(values_.size());
    for (int32_t i = static_cast<int32_t>(values_.size()) - 1; i >= 0; --i) {
      if (home_[i] >= 0) {
        trace_.last_use[home_[i]] =
            std::max(trace_.last_use[home_[i]], trace_.last_use[i]);
        continue;
      }
      trace_.bytes[i] = trace_.last_use[i] >= num_steps
                            ? 0
                            : problem_.values[values_[i]].bytes;
    }
  }

  // For each step: bytes of its results that reuse the memory of operands it is
  // the last to read.
  std::vector<int64_t> SharedBytes() const {
    std::vector<int64_t> shared(trace_.steps.size(), 0);
    for (size_t step = 0; step < shared.size(); ++step) {
      for (int32_t i = trace_.first_instance[step];
           i < trace_.first_instance[step + 1]; ++i) {
        const int32_t operand = overwritten_[i];
        if (operand < 0 ||
            trace_.last_use[operand] != static_cast<int32_t>(step)) {
          continue;
        }
        shared[step] += std::min(trace_.bytes[i], trace_.bytes[operand]);
      }
    }
    return shared;
  }

  // A step sees everything that is live before it, its own results and its
  // internal bytes at once, less the operands whose memory its results reuse.
  void AddLiveBytes() {
    const int64_t num_steps = trace_.step_count();
    std::vector<int64_t> change(num_steps + 2, 0);
    for (int64_t step = 0; step < num_steps; ++step) {
      for (int32_t i = trace_.first_instance[step];
           i < trace_.first_instance[step + 1]; ++i) {
        change[step] += trace_.bytes[i];
        change[std::min<int64_t>(trace_.last_use[i], num_steps) + 1] -=
            trace_.bytes[i];
      }
    }
    const std::vector<int64_t> shared = SharedBytes();
    trace_.live.resize(num_steps);
    int64_t live = problem_.base_bytes;
    trace_.peak_bytes = live;
    for (int64_t step = 0; step < num_steps; ++step) {
      live += change[step];
      trace_.live[step] = live +
                          problem_.nodes[trace_.steps[step]].internal_bytes -
                          shared[step];
      if (trace_.live[step] > trace_.peak_bytes) {
        trace_.peak_bytes = trace_.live[step];
        trace_.peak_step = static_cast<int32_t>(step);
      }
    }
  }

  const RematProblem& problem_;
  RematTrace& trace_;
  std::vector<int32_t> latest_;  // step of each node
  // For each instance: the instance it lies in (or -1), the one it may
  // overwrite (or -1), and its value.
  std::vector<int32_t> home_;
  std::vector<int32_t> overwritten_;
  std::vector<ValueId> values_;
};

}  // namespace

absl::Status TraceProgram(const RematProblem& problem,
                          absl::Span<const NodeId> program, RematTrace* trace) {
  return Tracer(problem, trace).Run(program);
}

// Dead code elimination in one backward pass. `needed` says, for the stretch
// between the current step and the next step of the same node, whether anybody
// reads a value of the node. Operands become needed as soon as a step is kept,
// so chains of useless steps disappear together.
std::vector<NodeId> RemoveUselessSteps(const RematProblem& problem,
                                       absl::Span<const NodeId> program) {
  // Backwards: a step serves the readers between it and the node's next step.
  std::vector<bool> needed(problem.nodes.size(), false);
  for (ValueId value : problem.outputs) {
    needed[problem.values[value].node] = true;
  }
  std::vector<NodeId> kept;
  kept.reserve(program.size());
  for (size_t i = program.size(); i-- > 0;) {
    const NodeId id = program[i];
    const RematProblem::Node& node = problem.nodes[id];
    if (node.recomputable && !needed[id]) continue;
    needed[id] = false;
    kept.push_back(id);
    for (ValueId value : node.reads) needed[problem.values[value].node] = true;
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace xla::remat_plan
