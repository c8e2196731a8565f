#ifndef XLA_HLO_ANALYSIS_BUFFERS_VALUE_CHAINS_H_
#define XLA_HLO_ANALYSIS_BUFFERS_VALUE_CHAINS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// The contents of allocations, for deciding whether another value can be added
// when the order of instructions is unknown.
//
//   a = op(p); b = op(a); c = op(b); d = op(p)
//   an allocation with a and c: for b, only its neighbors a and c are looked
//   at; d may live together with either
//
// Plain values, those of one computation that take no part in a call, while,
// conditional or asynchronous instruction, follow one another in an allocation:
// all readers of one come before the next. That is transitive, so a plain value
// has to be compared only with its two neighbors in a topological order. All
// other pairs, and values of buffers with several, which may overlap, are
// compared one by one.
class ValueChains {
 public:
  using Relation = absl::AnyInvocable<bool(const HloValue&, const HloValue&)>;

  // `conflict`: whether two values may not share memory. `is_before`: whether
  // the second may overwrite the first once that is no longer read; of two
  // plain values without a conflict, the first in topological order is before
  // the other.
  ValueChains(const HloModule& module, Relation conflict, Relation is_before);

  // Adds the buffer to the allocation, at offset 0.
  void Add(BufferAllocation::Index allocation, const HloBuffer& buffer);

  // The number of values added.
  int64_t NumValues(BufferAllocation::Index allocation) const;

  // Whether no value of the buffer conflicts with one that the allocation
  // holds. `budget`: how many comparisons may be made; what is left of it. If
  // it does not suffice, no.
  bool Fits(BufferAllocation::Index allocation, const HloBuffer& buffer,
            int64_t* budget);

 private:
  // By position in the topological order.
  using Chain = absl::btree_map<int32_t, std::vector<const HloValue*>>;
  struct Contents {
    int64_t num_values = 0;
    // Few, hence a vector, in the order of the first value of each.
    std::vector<std::pair<const HloComputation*, Chain>> chains;
    std::vector<const HloValue*> others;
  };

  // Facts about a value.
  struct Facts {
    const HloValue* value = nullptr;
    // The computation of a plain value; null for others.
    const HloComputation* home = nullptr;
    int32_t place = -1;  // there
  };

  static const HloComputation* HomeOf(const HloValue& value);
  // Caches the facts of the last value, which is usually queried many times in
  // a row.
  const Facts& FactsOf(const HloValue& value);
  bool Conflicts(const HloValue& value, const HloValue& held, int64_t* budget);
  // Whether a plain value fits into a chain of its computation.
  bool FitsInto(const Chain& chain, const HloValue& value, int64_t* budget);
  bool ValueFits(const Contents& contents, const HloValue& value,
                 int64_t* budget);

  Relation conflict_;
  Relation is_before_;
  Facts facts_;
  // By computation and local id.
  absl::flat_hash_map<const HloComputation*, std::vector<int32_t>> places_;
  std::vector<Contents> contents_;  // by allocation
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_VALUE_CHAINS_H_
