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

// The contents of allocations, for deciding whether another value can be there
// where no order of the instructions is known.
//
//   a = op(p); b = op(a); c = op(b); d = op(p)
//   an allocation with a and c: for b, only its neighbours a and c are looked
//   at; d may live together with either
//
// Plain values, those that live in one computation and meet no call, while,
// conditional or asynchronous instruction, follow one another in an allocation:
// all readers of one come before the next. That is transitive, so that a plain
// value has to be compared only with the two that come before and after it in a
// topological order. All other pairs, and the values of buffers that hold
// several, which may overlap, are compared one by one.
class ValueChains {
 public:
  using Relation = absl::AnyInvocable<bool(const HloValue&, const HloValue&)>;

  // `conflict`: whether two values may not share memory. `is_before`: whether
  // the second may be written where the first was, once that is no longer read;
  // of plain values without a conflict, the one that comes first in topological
  // order is before the other.
  ValueChains(const HloModule& module, Relation conflict, Relation is_before);

  // The allocation holds the buffer, at offset 0, from now on.
  void Add(BufferAllocation::Index allocation, const HloBuffer& buffer);

  // Values that were added.
  int64_t NumValues(BufferAllocation::Index allocation) const;

  // Whether no value of the buffer conflicts with one that the allocation
  // holds. `budget`: how many comparisons may be made; what is left of it. If
  // it does not suffice, no.
  bool Fits(BufferAllocation::Index allocation, const HloBuffer& buffer,
            int64_t* budget);

 private:
  // By place in the topological order.
  using Chain = absl::btree_map<int32_t, std::vector<const HloValue*>>;
  struct Contents {
    int64_t num_values = 0;
    // Few: a vector in the order of the first value of each.
    std::vector<std::pair<const HloComputation*, Chain>> chains;
    std::vector<const HloValue*> others;
  };

  // Facts about a value.
  struct Facts {
    const HloValue* value = nullptr;
    // The computation that a plain value lives in; else null.
    const HloComputation* home = nullptr;
    int32_t place = -1;  // there
  };

  static const HloComputation* HomeOf(const HloValue& value);
  // Caches the facts of the last value, which is usually tried many times in a
  // row.
  const Facts& FactsOf(const HloValue& value);
  bool Conflicts(const HloValue& value, const HloValue& held, int64_t* budget);
  // A plain value into a chain of its home.
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
