#include "xla/hlo/transforms/memory/remat/solver/remat_state.h"

#include <algorithm>
#include <utility>

// Live bytes are kept in a segment tree over positions (ExcessTree), and every
// change of the program is translated into range updates of that tree. The
// pattern is the same everywhere: Count(-1) removes the contribution of the
// live ranges that are about to change, the sorted lists of runs and uses are
// edited, and Count(+1) adds the new contribution. Only the run before the
// edited position and the runs at it can change their live ranges, so an edit
// costs O(log n) per value touched; lists of runs and uses are short (inlined
// vectors) and are searched by bisection.
//
// Invariants between calls:
//  - runs_ and uses_ are ascending, and uses_[v] holds the position of every
//    run that reads v, once per reading node;
//  - tree_ holds, at each position, base_bytes + the bytes of all instances
//    whose Room covers it + internal bytes of runs at the start + transients -
//    the bytes of results that reuse an operand's memory (in_place_);
//  - in_place_ is exactly the set of (value, run) for which IsInPlace holds.

namespace xla::remat_plan {
namespace {

void InsertSorted(RematState::Positions& list, int32_t value) {
  list.insert(std::upper_bound(list.begin(), list.end(), value), value);
}

void EraseOne(RematState::Positions& list, int32_t value) {
  auto it = std::lower_bound(list.begin(), list.end(), value);
  if (it != list.end() && *it == value) list.erase(it);
}

// Bytes that a value takes while it lives: those of the value it lies in, and
// none for outputs and what they lie in.
std::vector<int64_t> BytesOfValues(const RematProblem& problem) {
  std::vector<int64_t> bytes(problem.values.size());
  for (size_t v = 0; v < bytes.size(); ++v) {
    const ValueId home = problem.values[v].alias_of;
    bytes[v] = home < 0 ? problem.values[v].bytes : bytes[home];
  }
  std::vector<bool> output(bytes.size(), false);
  for (ValueId value : problem.outputs) output[value] = true;
  for (size_t v = bytes.size(); v-- > 0;) {
    if (!output[v]) continue;
    bytes[v] = 0;
    if (problem.values[v].alias_of >= 0)
      output[problem.values[v].alias_of] = true;
  }
  return bytes;
}

}  // namespace

// Runs of the given program take the odd positions; even positions are the gaps
// in front of them, where rematerialized runs are inserted.
RematState::RematState(const RematProblem& problem, const RematTrace& trace,
                       int64_t limit)
    : problem_(problem),
      step_count_(static_cast<int32_t>(trace.step_count())),
      seconds_(trace.seconds),
      runs_(problem.nodes.size()),
      uses_(problem.values.size()),
      bytes_(BytesOfValues(problem)),
      transient_(end_position() + 1, 0),
      rank_(problem.nodes.size(), 0),
      tree_({}, limit) {
  for (size_t i = 0; i < problem.order.size(); ++i) {
    rank_[problem.order[i]] = static_cast<int32_t>(i);
  }
  for (int32_t step = 0; step < step_count_; ++step) {
    const NodeId id = trace.steps[step];
    runs_[id].push_back(2 * step + 1);
    for (ValueId value : problem.nodes[id].reads) {
      uses_[value].push_back(2 * step + 1);
    }
  }
  for (ValueId value : problem.outputs) uses_[value].push_back(end_position());
  tree_ = ExcessTree(LiveBytes(), limit);
  FindOverwriters();
}

// Inverts in_place_of: overwriters_[v] lists the values that may take the
// memory of v. Stays empty if there are none, which makes UpdateInPlace free
// for problems without in-place results.
void RematState::FindOverwriters() {
  for (size_t v = 0; v < problem_.values.size(); ++v) {
    const ValueId operand = problem_.values[v].in_place_of;
    if (operand < 0 || bytes_[v] == 0 || bytes_[operand] == 0) continue;
    overwriters_.resize(problem_.values.size());
    overwriters_[operand].push_back(static_cast<ValueId>(v));
  }
  for (size_t v = 0; v < overwriters_.size(); ++v) {
    UpdateInPlace(static_cast<ValueId>(v));
  }
}

// A result reuses its operand's memory only in a run of the original program
// (odd position) that is also the operand's last reader.
bool RematState::IsInPlace(ValueId value, int32_t run) const {
  const ValueId operand = problem_.values[value].in_place_of;
  const int32_t made = RunAtOrBefore(problem_.values[operand].node, run);
  return run % 2 == 1 && made >= 0 && LastUse(operand, made) == run;
}

void RematState::UpdateInPlace(ValueId operand) {
  if (overwriters_.empty()) return;
  for (ValueId value : overwriters_[operand]) {
    for (int32_t run : runs_[problem_.values[value].node]) {
      SetInPlace(value, run, IsInPlace(value, run));
    }
  }
}

void RematState::SetInPlace(ValueId value, int32_t run, bool in_place) {
  if (in_place ? !in_place_.insert({value, run}).second
               : in_place_.erase({value, run}) == 0) {
    return;
  }
  tree_.Add(run, run, in_place ? -bytes_[value] : bytes_[value]);
}

// The tree's initial contents by a difference array over positions: building
// the tree from them is linear, whereas adding the ranges one by one would cost
// a logarithm each.
std::vector<int64_t> RematState::LiveBytes() const {
  std::vector<int64_t> live(end_position() + 1, 0);
  for (size_t v = 0; v < problem_.values.size(); ++v) {
    if (bytes_[v] == 0) continue;
    const ValueId value = static_cast<ValueId>(v);
    for (int32_t run : runs_[problem_.values[v].node]) {
      int32_t first, last;
      if (!Room(value, run, &first, &last)) continue;
      live[first] += bytes_[v];
      live[last + 1] -= bytes_[v];
    }
  }
  int64_t sum = problem_.base_bytes;
  for (int64_t& bytes : live) {
    sum += bytes;
    bytes = sum;
  }
  live.pop_back();
  for (size_t n = 0; n < runs_.size(); ++n) {
    for (int32_t run : runs_[n]) live[run] += problem_.nodes[n].internal_bytes;
  }
  return live;
}

int32_t RematState::RunAtOrBefore(NodeId node, int32_t position) const {
  const Positions& runs = runs_[node];
  auto it = std::upper_bound(runs.begin(), runs.end(), position);
  return it == runs.begin() ? -1 : *std::prev(it);
}

int32_t RematState::RunAfter(NodeId node, int32_t position) const {
  const Positions& runs = runs_[node];
  auto it = std::upper_bound(runs.begin(), runs.end(), position);
  return it == runs.end() ? -1 : *it;
}

int32_t RematState::LastUse(ValueId value, int32_t run) const {
  const int32_t next = RunAfter(problem_.values[value].node, run);
  const Positions& uses = uses_[value];
  // A reader at an even position runs after all that it reads there.
  auto it =
      next < 0 ? uses.end() : std::lower_bound(uses.begin(), uses.end(), next);
  if (it == uses.begin()) return run;
  return std::max(run, *std::prev(it));
}

int32_t RematState::UseBefore(ValueId value, int32_t run, int32_t use) const {
  const Positions& uses = uses_[value];
  auto it = std::lower_bound(uses.begin(), uses.end(), use);
  if (it == uses.begin()) return run;
  return std::max(run, *std::prev(it));
}

bool RematState::IsOverwritten(ValueId value, int32_t run,
                               int32_t position) const {
  const NodeId writer = problem_.values[value].overwritten_by;
  if (writer < 0) return false;
  const int32_t at = RunAfter(writer, run);
  return at >= 0 && at < position;
}

// Outputs take no room, as in a trace. An instance at an even position that is
// only read there is transient: several runs share that one position, so their
// memory cannot be told apart by position and is declared by AddTransient
// instead.
bool RematState::Room(ValueId value, int32_t run, int32_t* first,
                      int32_t* last) const {
  *first = FirstPosition(value, run);
  *last = LastUse(value, run);
  if (*last >= end_position()) return false;       // an output
  if (*last == run && run % 2 == 0) return false;  // transient
  return *first <= *last;
}

// The runs whose live ranges may depend on [first, last] are those inside it
// and the one before, whose range ends where the next run takes over.
void RematState::Count(ValueId value, int32_t first, int32_t last, int sign) {
  if (bytes_[value] == 0) return;
  const Positions& runs = runs_[problem_.values[value].node];
  auto it = std::upper_bound(runs.begin(), runs.end(), first);
  if (it != runs.begin()) --it;
  for (; it != runs.end() && *it <= last; ++it) {
    int32_t from, to;
    if (Room(value, *it, &from, &to)) tree_.Add(from, to, sign * bytes_[value]);
  }
}

void RematState::AddUse(ValueId value, int32_t position) {
  Count(value, position, position, -1);
  InsertSorted(uses_[value], position);
  Count(value, position, position, 1);
  UpdateInPlace(value);
}

void RematState::RemoveUse(ValueId value, int32_t position) {
  Count(value, position, position, -1);
  EraseOne(uses_[value], position);
  Count(value, position, position, 1);
  UpdateInPlace(value);
}

// The new run splits the live range of the run before it: readers from
// `position` on now read the new instance. Counting starts at position - 1 so
// that the shortened range of the earlier run is added back as well.
void RematState::Insert(NodeId node, int32_t position) {
  const RematProblem::Node& info = problem_.nodes[node];
  for (ValueId value : info.reads) AddUse(value, position);
  for (int32_t k = 0; k < info.value_count; ++k) {
    Count(info.first_value + k, position, position, -1);
  }
  InsertSorted(runs_[node], position);
  for (int32_t k = 0; k < info.value_count; ++k) {
    Count(info.first_value + k, position - 1, position, 1);
    UpdateInPlace(info.first_value + k);
  }
  seconds_ += info.seconds;
}

void RematState::Remove(NodeId node, int32_t position) {
  const RematProblem::Node& info = problem_.nodes[node];
  for (int32_t k = 0; k < info.value_count; ++k) {
    SetInPlace(info.first_value + k, position, false);
    Count(info.first_value + k, position - 1, position, -1);
  }
  EraseOne(runs_[node], position);
  for (int32_t k = 0; k < info.value_count; ++k) {
    Count(info.first_value + k, position - 1, position, 1);
    UpdateInPlace(info.first_value + k);
  }
  for (ValueId value : info.reads) RemoveUse(value, position);
  seconds_ -= info.seconds;
}

bool RematState::IsRead(NodeId node, int32_t position) const {
  const RematProblem::Node& info = problem_.nodes[node];
  const int32_t next = RunAfter(node, position);
  for (int32_t k = 0; k < info.value_count; ++k) {
    const Positions& uses = uses_[info.first_value + k];
    auto it = std::lower_bound(uses.begin(), uses.end(), position);
    if (it != uses.end() && (next < 0 || *it < next)) return true;
  }
  return false;
}

// Cascades through operands with an explicit stack: a removed run may have been
// the only reader of the runs that produced its operands.
double RematState::RemoveIfUseless(NodeId node, int32_t position) {
  double saved = 0;
  std::vector<std::pair<NodeId, int32_t>> work = {{node, position}};
  while (!work.empty()) {
    const auto [id, at] = work.back();
    work.pop_back();
    const RematProblem::Node& info = problem_.nodes[id];
    if (!info.recomputable || RunAtOrBefore(id, at) != at || IsRead(id, at)) {
      continue;
    }
    Remove(id, at);
    saved += info.seconds;
    for (ValueId value : info.reads) {
      const NodeId maker = problem_.values[value].node;
      const int32_t run = RunAtOrBefore(maker, at);
      if (run >= 0) work.emplace_back(maker, run);
    }
  }
  return saved;
}

void RematState::AddTransient(int32_t position, int64_t bytes) {
  if (bytes <= transient_[position]) return;
  tree_.Add(position, position, bytes - transient_[position]);
  transient_[position] = bytes;
}

// Counting sort by position. Runs that share an even position are ordered by
// their rank in the problem's topological order, which puts producers before
// consumers.
std::vector<NodeId> RematState::Program() const {
  // Where the runs of each position begin.
  std::vector<int32_t> begin(end_position() + 2, 0);
  for (const Positions& runs : runs_) {
    for (int32_t position : runs) ++begin[position + 1];
  }
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<NodeId> program(begin.back());
  std::vector<int32_t> next(begin.begin(), begin.end() - 1);
  for (size_t n = 0; n < runs_.size(); ++n) {
    for (int32_t position : runs_[n]) {
      program[next[position]++] = static_cast<NodeId>(n);
    }
  }
  for (size_t p = 0; p + 1 < begin.size(); ++p) {
    if (begin[p + 1] - begin[p] < 2) continue;
    std::sort(program.begin() + begin[p], program.begin() + begin[p + 1],
              [&](NodeId a, NodeId b) { return rank_[a] < rank_[b]; });
  }
  return program;
}

}  // namespace xla::remat_plan
