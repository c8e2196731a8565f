#include "xla/status_macros.h"

#include <string>
#include <utility>

#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace xla {
namespace status_macros {

absl::Status StatusBuilder::Build() const {
  const std::string extra = extra_.str();
  if (status_.ok() || extra.empty()) return status_;
  absl::Status result(status_.code(),
                      status_.message().empty()
                          ? extra
                          : absl::StrCat(status_.message(), "; ", extra));
  status_.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

MakeErrorStream::MakeErrorStreamWithOutput&
MakeErrorStream::add_ret_check_failure(const char* condition) {
  return *this << "RET_CHECK failure (" << file_ << ":" << line_ << ") "
               << condition << " ";
}

absl::Status MakeErrorStream::GetStatus() const {
  absl::Status status(code_, text_.str());
  if (should_log_) LOG(LEVEL(severity_)).AtLocation(file_, line_) << status;
  return status;
}

}  // namespace status_macros
}  // namespace xla
