#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_FRONTIER_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_FRONTIER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_work.h"

namespace xla::remat_plan {

struct Outcome {
  int64_t peak_bytes = 0;
  RematWork work;
};

// A rewritten module; without one, the module as it is.
struct Candidate {
  Outcome outcome;
  std::string method;
  std::unique_ptr<HloModule> module;
  // Where the module is instead, if not null.
  std::unique_ptr<HloModule>* lender = nullptr;
  // Whether its buffers were found places: outcome.peak_bytes is what they take
  // where that is more than the limit.
  bool placed = false;

  const HloModule* rewritten() const {
    return lender != nullptr ? lender->get() : module.get();
  }
};

// Candidates none of which is dominated by another one in both memory and run
// time. For falling limits, the candidates found need less memory and take
// longer.
class Frontier {
 public:
  // O(log n) and what goes for it.
  void Offer(Candidate candidate);

  // Whether one that is known needs no more memory and takes no longer.
  bool Dominates(const Outcome& outcome) const;

  // The fastest that needs at most so many bytes; where there is none, the one
  // that needs least. Null without candidates.
  const Candidate* BestFor(int64_t limit_bytes) const;

  // The same, taken out. There must be candidates.
  Candidate TakeBestFor(int64_t limit_bytes);

  void Clear() { by_peak_.clear(); }

 private:
  std::map<int64_t, Candidate>::const_iterator Find(int64_t limit_bytes) const;

  std::map<int64_t, Candidate> by_peak_;
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_FRONTIER_H_
