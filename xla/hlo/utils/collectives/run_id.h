#ifndef XLA_HLO_UTILS_COLLECTIVES_RUN_ID_H_
#define XLA_HLO_UTILS_COLLECTIVES_RUN_ID_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace xla {

// One run of a module on all its devices.
class RunId {
 public:
  // Another one each time.
  RunId() {
    static std::atomic<int64_t> last{0};
    value_ = ++last;
  }
  explicit RunId(int64_t value) : value_(value) {}

  int64_t ToInt() const { return value_; }
  std::string ToString() const { return absl::StrCat("RunId: ", value_); }

  friend bool operator==(const RunId& a, const RunId& b) {
    return a.value_ == b.value_;
  }
  friend bool operator!=(const RunId& a, const RunId& b) {
    return a.value_ != b.value_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const RunId& id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  int64_t value_;
};

}  // namespace xla

#endif  // XLA_HLO_UTILS_COLLECTIVES_RUN_ID_H_
