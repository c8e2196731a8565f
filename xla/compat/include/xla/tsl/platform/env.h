#ifndef XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_ENV_H_
#define XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_ENV_H_

// OpenXLA's path of this header, for code from outside.

#include <cstdint>

#include "absl/time/clock.h"

namespace tsl {

// The time, and what tests put in its place.
class Env {
 public:
  virtual ~Env() = default;
  // Lives as long as the program.
  static Env* Default() {
    static Env* const env = new Env();
    return env;
  }
  // Since the epoch.
  virtual uint64_t NowNanos() const { return absl::GetCurrentTimeNanos(); }
  virtual uint64_t NowMicros() const { return NowNanos() / 1000; }
  virtual uint64_t NowSeconds() const { return NowNanos() / 1000000000; }
};

// What is not overridden goes to `target`, which must outlive the wrapper.
class EnvWrapper : public Env {
 public:
  explicit EnvWrapper(Env* target) : target_(target) {}
  Env* target() const { return target_; }
  uint64_t NowNanos() const override { return target_->NowNanos(); }
  uint64_t NowMicros() const override { return target_->NowMicros(); }
  uint64_t NowSeconds() const override { return target_->NowSeconds(); }

 private:
  Env* const target_;
};

}  // namespace tsl

#endif  // XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_ENV_H_
