#include "xla/hlo/transforms/memory/remat/solver/drop_pricing.h"

#include <algorithm>

// Prices one drop: value v is freed after the reader before `use` and
// recomputed right in front of `use`. Both sides of the trade are measured in
// the same unit, bytes times steps over the limit, so that a ratio of seconds
// to that unit orders candidates:
//
//   relief   what v no longer occupies between the two readers
//   burden   what must be kept longer, or comes earlier, for the recomputation
//   price    seconds added / (relief - burden)
//
// The recomputation is planned recursively (PlanRun -> PlanRead -> PlanRun).
// For each operand that is no longer live at the position there are two ways:
// extend its live range to the position (burden) or recompute it too (seconds).
// The current price converts one into the other, so the cheaper way is taken
// locally. This is a heuristic: choices of sibling operands are made one after
// the other, with full undo of a branch that loses.
//
// The recursion is bounded by depth, by number of runs and by number of reads,
// so one pricing is O(kMaxReads log n) at worst and usually a handful of tree
// queries.

namespace xla::remat_plan {
namespace {

// Runs of one drop, depth of the chain behind it, and values looked at.
constexpr size_t kMaxRuns = 512;
constexpr int kMaxDepth = 96;
constexpr int64_t kMaxReads = 4096;
// Prices that are tried for one drop.
constexpr int kAttempts = 4;

}  // namespace

DropPricing::DropPricing(const RematProblem& problem, const RematState& state,
                         int64_t limit, int64_t segment_bytes, int64_t* work)
    : problem_(problem),
      state_(state),
      limit_(limit),
      segment_bytes_(segment_bytes),
      work_(*work),
      plan_stamp_(problem.nodes.size(), 0),
      last_reader_(problem.nodes.size(), 0) {}

// Bytes times steps over the limit if `bytes` more are live in [first, last].
// Points that are under the limit now count as well if the extra bytes may push
// them over.
double DropPricing::Burden(int64_t bytes, int32_t first, int32_t last) const {
  if (bytes == 0 || first > last) return 0;
  const ExcessTree::Summary summary = state_.tree().Query(first, last);
  int64_t steps = summary.over;
  // More bytes push steps over the limit that are not there yet. How many is
  // not known: all, at worst.
  if (summary.over < last - first + 1 && summary.max_under + bytes > limit_) {
    steps = last - first + 1;
  }
  return static_cast<double>(bytes) * static_cast<double>(steps);
}

// Rolls a tentative branch of the plan back to its first `size` runs and the
// sums that belonged to them.
void DropPricing::Undo(size_t size, const Account& account) {
  while (plan_.size() > size) {
    plan_stamp_[plan_.back().node] = 0;
    plan_.pop_back();
  }
  account_ = account;
}

// Makes `value` available at position_. Returns false only if that is
// impossible within the bounds; otherwise the plan and the account include the
// cheaper of keeping and recomputing.
bool DropPricing::PlanRead(ValueId value, int depth) {
  --work_;
  if (--budget_ < 0) return false;
  const NodeId maker = problem_.values[value].node;
  if (InPlan(maker)) return true;
  const int32_t run = state_.RunAtOrBefore(maker, position_);
  const bool may_run = problem_.nodes[maker].recomputable;
  if (run < 0) return may_run && PlanRun(maker, depth + 1);
  if (state_.IsOverwritten(value, run, position_)) {
    return may_run && PlanRun(maker, depth + 1);
  }
  const int32_t end = state_.LastUse(value, run);
  const int64_t bytes = state_.bytes(value);
  if (end >= position_ || bytes == 0) return true;
  // Keep it until here, or recompute it.
  const double keep = Burden(bytes, end + 1, position_);
  const double keep_seconds = keep * price_;
  const bool absorbs = state_.RunAfter(maker, position_) >= 0;
  if (may_run && keep > 0 &&
      (absorbs || problem_.nodes[maker].seconds < keep_seconds)) {
    const size_t size = plan_.size();
    const Account before = account_;
    if (PlanRun(maker, depth + 1)) {
      const double again = account_.seconds - before.seconds +
                           price_ * (account_.burden - before.burden);
      if (again < keep_seconds) return true;
    }
    Undo(size, before);
  }
  account_.burden += keep;
  return true;
}

// Adds a run of `node` at position_, operands first. If the node runs again
// later anyway (a run that an earlier drop inserted), that run may be moved up
// to here instead: it costs no seconds, only the bytes of its values from here
// to where it was.
bool DropPricing::PlanRun(NodeId node, int depth) {
  if (depth > kMaxDepth || plan_.size() >= kMaxRuns) return false;
  const RematProblem::Node& info = problem_.nodes[node];
  const size_t size = plan_.size();
  const Account before = account_;
  // Mark it first, for nodes that read several of its values.
  plan_stamp_[node] = stamp_;
  const int32_t next = state_.RunAfter(node, position_);
  Drop::Run run{node, -1};
  account_.seconds += info.seconds;
  if (next >= 0) {
    // Coming earlier instead costs bytes, not seconds.
    double burden = 0;
    int64_t kept = 0;
    bool stays = false;
    for (int32_t k = 0; k < info.value_count; ++k) {
      const ValueId value = info.first_value + k;
      stays |= state_.IsOverwritten(value, position_, next);
      const int32_t end = state_.LastUse(value, next);
      if (end == next && info.value_count > 1) continue;
      kept += state_.bytes(value);
      burden += Burden(state_.bytes(value), position_, next - 1);
    }
    if (!stays && burden * price_ < info.seconds) {
      run.moved_from = next;
      account_.seconds -= info.seconds;
      account_.burden += burden;
      account_.kept += static_cast<double>(kept);
    }
  }
  for (ValueId value : info.reads) {
    if (!PlanRead(value, depth)) {
      plan_stamp_[node] = 0;
      Undo(size, before);
      return false;
    }
  }
  plan_.push_back(run);
  return true;
}

// Most bytes live while the planned runs run, without what stays for later.
int64_t DropPricing::TransientBytes() {
  for (size_t i = 0; i < plan_.size(); ++i) {
    last_reader_[plan_[i].node] = static_cast<int32_t>(i);
    for (ValueId value : problem_.nodes[plan_[i].node].reads) {
      const NodeId maker = problem_.values[value].node;
      if (InPlan(maker)) last_reader_[maker] = static_cast<int32_t>(i);
    }
  }
  std::vector<int64_t> change(plan_.size() + 1, 0);
  for (size_t i = 0; i + 1 < plan_.size(); ++i) {
    if (plan_[i].moved_from >= 0) continue;
    const RematProblem::Node& node = problem_.nodes[plan_[i].node];
    int64_t bytes = 0;
    for (int32_t k = 0; k < node.value_count; ++k) {
      bytes += state_.bytes(node.first_value + k);
    }
    change[i] += bytes;
    change[last_reader_[plan_[i].node] + 1] -= bytes;
  }
  int64_t live = 0;
  int64_t most = 0;
  for (size_t i = 0; i < plan_.size(); ++i) {
    live += change[i];
    most = std::max(most, live + problem_.nodes[plan_[i].node].internal_bytes);
  }
  return most;
}

// `price` is what the caller already pays per unit for other drops; it never
// starts below this value's own best possible price. A failed attempt is
// repeated with a price 16 times as high, which shifts the plan from keeping
// operands to recomputing them.
bool DropPricing::Price(ValueId value, int32_t use, double price, Drop* drop) {
  const NodeId maker = problem_.values[value].node;
  const RematProblem::Node& node = problem_.nodes[maker];
  const int64_t bytes = state_.bytes(value);
  if (!node.recomputable || bytes == 0) return false;
  // Right before the reader: where that was inserted itself, beside it.
  const int32_t position = use % 2 == 0 ? use : use - 1;
  if (use >= state_.end_position()) return false;
  const int32_t run = state_.RunAtOrBefore(maker, use);
  if (run < 0 || run >= position) return false;
  const int32_t previous = state_.UseBefore(value, run, use);
  const int32_t first = previous + 1;
  const int32_t last = position - 1;
  const ExcessTree::Summary between = state_.tree().Query(first, last);
  double relief =
      static_cast<double>(bytes) * static_cast<double>(between.over);
  // A run that is not read any more does not come back: a move.
  bool useless = previous == run;
  for (int32_t k = 0; useless && k < node.value_count; ++k) {
    const ValueId other = node.first_value + k;
    useless = state_.UseBefore(other, run, use) == run;
  }
  if (useless) {
    relief += static_cast<double>(bytes) *
              static_cast<double>(state_.tree().Query(run, run).over);
  }
  if (relief <= 0) return false;

  const double saved = useless ? node.seconds : 0;
  position_ = position;
  price_ = std::max(price, (node.seconds + kLeastSeconds) / relief);
  // Where what is kept for it eats up what it frees, making that again may be
  // worth more than the price says.
  for (int attempt = 0; attempt < kAttempts; ++attempt, price_ *= 16) {
    ++stamp_;
    plan_.clear();
    account_ = Account();
    budget_ = kMaxReads;
    if (!PlanRun(maker, 0)) return false;
    drop->transient_bytes = TransientBytes();
    account_.burden += Burden(drop->transient_bytes, position, position);
    drop->relief = relief - account_.burden;
    if (drop->relief > 0) break;
  }
  if (drop->relief <= 0 ||
      account_.kept > static_cast<double>(segment_bytes_)) {
    return false;
  }
  drop->position = position;
  drop->runs = plan_;
  drop->old_run = run;
  drop->seconds = std::max(0.0, account_.seconds - saved);
  drop->needed = 1;
  if (between.over > 0) {
    drop->needed = std::min(1.0, static_cast<double>(between.max - limit_) /
                                     static_cast<double>(bytes));
  }
  return true;
}

}  // namespace xla::remat_plan
