#include "xla/hlo/utils/progress_watch.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace xla {

ProgressWatch::ProgressWatch(std::ostream* out, absl::Duration patience)
    : out_(out), patience_(patience) {
  if (out_ != nullptr) thread_ = std::thread([this] { Watch(); });
}

void ProgressWatch::Stop() {
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  thread_.join();
}

void ProgressWatch::Phase(absl::string_view doing, absl::string_view shorter) {
  absl::MutexLock lock(&mutex_);
  text_ = shorter.empty() ? std::string(doing)
                          : absl::StrCat(doing, " (", shorter, ")");
}

void ProgressWatch::Watch() {
  absl::MutexLock lock(&mutex_);
  const auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ended_;
  };
  absl::Duration wait = patience_;
  bool shown = false;
  while (!mutex_.AwaitWithTimeout(absl::Condition(&ended), wait)) {
    wait = absl::Seconds(1);
    if (text_.empty()) continue;
    *out_ << "\r\033[K"
          << absl::StrFormat("%.0f s  %s",
                             absl::ToDoubleSeconds(absl::Now() - start_), text_)
          << std::flush;
    shown = true;
  }
  if (shown) *out_ << "\r\033[K" << std::flush;
}

}  // namespace xla
