#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_DROP_PRICING_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_DROP_PRICING_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_state.h"

namespace xla::remat_plan {

// Price of what can be restored at no cost, in seconds, for comparisons.
inline constexpr double kLeastSeconds = 1e-9;

// One way to free memory: what to rerun, and where.
struct Drop {
  struct Run {
    NodeId node;
    int32_t moved_from;  // the run that this one replaces; -1: none
  };
  int32_t position = 0;   // where the runs are inserted
  std::vector<Run> runs;  // dependencies first
  // The run that may become useless: that of the dropped value.
  int32_t old_run = 0;
  int64_t transient_bytes = 0;
  double seconds = 0;
  // Bytes times steps over the limit that are freed.
  double relief = 0;
  // The fraction of the relief that is needed, if the excess is less than the
  // value's size.
  double needed = 1;

  double price() const { return rate() / needed; }
  // The cost per unit of relief.
  double rate() const {
    return relief > 0 ? seconds / relief
                      : std::numeric_limits<double>::infinity();
  }
};

// Prices drops in a state. Holds scratch space, so that pricing allocates
// little.
class DropPricing {
 public:
  // At most `segment_bytes` may be kept before one step for later ones. `*work`
  // is reduced by the values looked at.
  DropPricing(const RematProblem& problem, const RematState& state,
              int64_t limit, int64_t segment_bytes, int64_t* work);

  // Drops `value` before its reader at position `use`. False if that is not
  // possible or frees nothing. `price`: the current worth of relief, seconds
  // per byte and step.
  bool Price(ValueId value, int32_t use, double price, Drop* drop);

 private:
  // The cost of a plan in progress.
  struct Account {
    double seconds = 0;
    double burden = 0;  // bytes times steps over the limit
    double kept = 0;    // bytes that lie at the position for later
  };

  bool InPlan(NodeId node) const { return plan_stamp_[node] == stamp_; }
  // Plans a run of `node` at the position, with everything it needs.
  bool PlanRun(NodeId node, int depth);
  // Ensures that `value` can be read at the position.
  bool PlanRead(ValueId value, int depth);
  // Bytes times steps over the limit if `bytes` more are live in [first, last].
  double Burden(int64_t bytes, int32_t first, int32_t last) const;
  void Undo(size_t size, const Account& account);
  int64_t TransientBytes();

  const RematProblem& problem_;
  const RematState& state_;
  const int64_t limit_;
  const int64_t segment_bytes_;
  int64_t& work_;

  int32_t position_ = 0;
  double price_ = 0;
  int64_t budget_ = 0;  // of calls
  Account account_;
  std::vector<Drop::Run> plan_;
  std::vector<int64_t> plan_stamp_;  // by node
  int64_t stamp_ = 0;
  std::vector<int32_t> last_reader_;  // by node: index in plan_
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_DROP_PRICING_H_
