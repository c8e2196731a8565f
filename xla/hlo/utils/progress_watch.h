#ifndef XLA_HLO_UTILS_PROGRESS_WATCH_H_
#define XLA_HLO_UTILS_PROGRESS_WATCH_H_

#include <ostream>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace xla {

// Tells a person at a terminal what a long run is doing, and how to make it
// shorter, on one line that is written anew every second and gone at the end.
// Nothing is written of runs that end within `patience`.
//
//   ProgressWatch watch(&std::cerr);
//   watch.Phase("planning offsets", "--effort=0 is faster");
//   → "17 s  planning offsets (--effort=0 is faster)"
class ProgressWatch {
 public:
  // `out` outlives this and is written from a thread of its own; null: nothing
  // is ever written, and there is no thread.
  explicit ProgressWatch(std::ostream* out,
                         absl::Duration patience = absl::Seconds(2));
  ~ProgressWatch() { Stop(); }

  ProgressWatch(const ProgressWatch&) = delete;
  ProgressWatch& operator=(const ProgressWatch&) = delete;

  // What goes on from now on; `shorter` may be empty.
  void Phase(absl::string_view doing, absl::string_view shorter = "");

  // Takes the line away, for results that go to the same terminal.
  void Stop();

 private:
  void Watch();

  std::ostream* const out_;
  const absl::Duration patience_;
  const absl::Time start_ = absl::Now();
  absl::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace xla

#endif  // XLA_HLO_UTILS_PROGRESS_WATCH_H_
