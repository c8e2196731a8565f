#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_FRONTIER_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_FRONTIER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_work.h"

namespace xla::remat_plan {

struct Outcome {
  int64_t peak_bytes = 0;
  RematWork work;
};

// A rewritten module, or, without one, the module as it is.
struct Candidate {
  Outcome outcome;
  std::string method;
  std::unique_ptr<HloModule> module;
  // The module's current owner, if not null.
  std::unique_ptr<HloModule>* lender = nullptr;
  // What the module takes before values are recomputed, as far as that is
  // known: fused, moved and in another order.
  std::optional<double> fused_seconds;
  // Whether its buffers were placed: outcome.peak_bytes is what the placement
  // takes if that exceeds the limit.
  bool placed = false;

  const HloModule* rewritten() const {
    return lender != nullptr ? lender->get() : module.get();
  }
};

// The Pareto frontier of candidates: none is dominated by another one in both
// memory and run time. As the limit falls, the candidates need less memory and
// take longer.
class Frontier {
 public:
  // O(log n) and the candidates it displaces.
  void Offer(Candidate candidate);

  // Whether a known candidate needs no more memory and takes no longer.
  bool Dominates(const Outcome& outcome) const;

  // The fastest that needs at most this many bytes; if there is none, the one
  // that needs least. Null without candidates.
  const Candidate* BestFor(int64_t limit_bytes) const;

  // The same, removed from the frontier. There must be candidates.
  Candidate TakeBestFor(int64_t limit_bytes);

  void Clear() { by_peak_.clear(); }

 private:
  std::map<int64_t, Candidate>::const_iterator Find(int64_t limit_bytes) const;

  std::map<int64_t, Candidate> by_peak_;
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_FRONTIER_H_
