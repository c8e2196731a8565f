#ifndef XLA_HLO_ANALYSIS_HLO_BUFFER_H_
#define XLA_HLO_ANALYSIS_HLO_BUFFER_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/hlo_value.h"

namespace xla {

// A memory container for one or more values that must share memory: those of a
// while loop, of updates in place, of aliased parameters.
class HloBuffer {
 public:
  using Id = int64_t;

  static bool IdLessThan(const HloBuffer* a, const HloBuffer* b) {
    return a->id() < b->id();
  }
  static bool IdEqual(const HloBuffer* a, const HloBuffer* b) {
    return a->id() == b->id();
  }

  HloBuffer(Id id, std::vector<const HloValue*> values)
      : id_(id), values_(std::move(values)) {}

  Id id() const { return id_; }

  // By id; at least one.
  const std::vector<const HloValue*>& values() const { return values_; }

  // The memory space of all values; FailedPrecondition if they differ.
  absl::StatusOr<BufferValue::Color> color() const;

  // The buffer must hold exactly one value.
  const HloValue& GetUniqueValue() const;

  // Positions of all values.
  std::vector<HloPosition> ComputePositions() const;

  // `buffer 3: <5 name>, <7 name>`; the values' positions as well.
  std::string ToString() const;
  std::string ToDebugString() const;

  bool operator==(const HloBuffer& other) const { return id_ == other.id_; }
  bool operator!=(const HloBuffer& other) const { return !(*this == other); }

 private:
  Id id_;
  std::vector<const HloValue*> values_;
};

std::ostream& operator<<(std::ostream& out, const HloBuffer& buffer);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HLO_BUFFER_H_
