#ifndef XLA_HLO_UTILS_COLLECTIVES_DEVICE_ID_H_
#define XLA_HLO_UTILS_COLLECTIVES_DEVICE_ID_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace xla {

// A device of the whole system, as a DeviceAssignment holds it: not a replica,
// not a partition, not a flattened id. A type of its own, so that the compiler
// tells these apart.
class GlobalDeviceId {
 public:
  constexpr GlobalDeviceId() = default;
  explicit constexpr GlobalDeviceId(int64_t value) : value_(value) {}

  constexpr int64_t value() const { return value_; }

  friend constexpr bool operator==(GlobalDeviceId a, GlobalDeviceId b) {
    return a.value_ == b.value_;
  }
  friend constexpr bool operator!=(GlobalDeviceId a, GlobalDeviceId b) {
    return a.value_ != b.value_;
  }
  friend constexpr bool operator<(GlobalDeviceId a, GlobalDeviceId b) {
    return a.value_ < b.value_;
  }
  template <typename H>
  friend H AbslHashValue(H h, GlobalDeviceId id) {
    return H::combine(std::move(h), id.value_);
  }
  template <typename Sink>
  friend void AbslStringify(Sink& sink, GlobalDeviceId id) {
    sink.Append(absl::StrCat(id.value_));
  }
  friend std::ostream& operator<<(std::ostream& out, GlobalDeviceId id) {
    return out << id.value_;
  }

 private:
  int64_t value_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_UTILS_COLLECTIVES_DEVICE_ID_H_
