#ifndef XLA_HLO_PASS_LIMITED_PASS_H_
#define XLA_HLO_PASS_LIMITED_PASS_H_

#include "absl/status/status.h"

namespace xla {

// A pass that is to bring a module under a limit. Missing it is no failure of
// the pass: the module that it leaves is right, and the best it knows; but
// whoever runs the pass has to hear of it. Found among passes by dynamic_cast.
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
