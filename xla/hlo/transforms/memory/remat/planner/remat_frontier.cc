#include "xla/hlo/transforms/memory/remat/planner/remat_frontier.h"

#include <iterator>
#include <utility>

// Pareto frontier of (peak, seconds): by_peak_ ascends in peak and strictly
// descends in seconds, so the best candidate for a limit is the last one at or
// below it.

namespace xla::remat_plan {

bool Frontier::Dominates(const Outcome& outcome) const {
  const auto it = by_peak_.upper_bound(outcome.peak_bytes);
  return it != by_peak_.begin() &&
         std::prev(it)->second.outcome.work.seconds <= outcome.work.seconds;
}

void Frontier::Offer(Candidate candidate) {
  if (Dominates(candidate.outcome)) return;
  const int64_t peak = candidate.outcome.peak_bytes;
  const double seconds = candidate.outcome.work.seconds;
  auto it = by_peak_.lower_bound(peak);
  while (it != by_peak_.end() && it->second.outcome.work.seconds >= seconds) {
    it = by_peak_.erase(it);
  }
  by_peak_.emplace(peak, std::move(candidate));
}

std::map<int64_t, Candidate>::const_iterator Frontier::Find(
    int64_t limit_bytes) const {
  const auto it = by_peak_.upper_bound(limit_bytes);
  return it == by_peak_.begin() ? it : std::prev(it);
}

const Candidate* Frontier::BestFor(int64_t limit_bytes) const {
  return by_peak_.empty() ? nullptr : &Find(limit_bytes)->second;
}

Candidate Frontier::TakeBestFor(int64_t limit_bytes) {
  return std::move(by_peak_.extract(Find(limit_bytes)).mapped());
}

}  // namespace xla::remat_plan
