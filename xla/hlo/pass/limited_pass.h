#ifndef XLA_HLO_PASS_LIMITED_PASS_H_
#define XLA_HLO_PASS_LIMITED_PASS_H_

#include "absl/status/status.h"

namespace xla {

// A pass that is meant to bring a module under a limit. Missing it is not a
// failure of the pass: the module that it leaves is correct, and the best one
// found; but the caller of the pass must be told. Found among passes by
// dynamic_cast.
//
//   pipeline.Run(module) …; status = pass->TakeUnmetLimit();
class LimitedPass {
 public:
  virtual ~LimitedPass() = default;

  // ResourceExhausted where the last run missed its limit; OK where it met it,
  // where there was no run, and when asked a second time.
  virtual absl::Status TakeUnmetLimit() = 0;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_LIMITED_PASS_H_
