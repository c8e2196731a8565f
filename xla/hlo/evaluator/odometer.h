#ifndef XLA_HLO_EVALUATOR_ODOMETER_H_
#define XLA_HLO_EVALUATOR_ODOMETER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "xla/util.h"

namespace xla {
namespace evaluator {

// Steps an index through a box, the last dimension fastest:
//
//   Odometer at(dims);
//   if (!at.empty()) do { use(at[0], at[1]); } while (at.Next());
class Odometer {
 public:
  explicit Odometer(absl::Span<const int64_t> dims)
      : dims_(dims.begin(), dims.end()), index_(dims.size(), 0) {}

  bool empty() const {
    for (int64_t dim : dims_) {
      if (dim <= 0) return true;
    }
    return false;
  }
  int64_t operator[](int64_t d) const { return index_[d]; }
  const DimensionVector& index() const { return index_; }

  // False, and back at the start, after the last index.
  bool Next() {
    for (int64_t d = static_cast<int64_t>(dims_.size()) - 1; d >= 0; --d) {
      if (++index_[d] < dims_[d]) return true;
      index_[d] = 0;
    }
    return false;
  }

 private:
  DimensionVector dims_;
  DimensionVector index_;
};

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_ODOMETER_H_
