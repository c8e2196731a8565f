#ifndef XLA_ERRORS_H_
#define XLA_ERRORS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

// One constructor per status code, with a printf-style message checked at
// compile time:
//
//   return InvalidArgument("operand %d of %s is missing", i, name);
//
// The ...StrCat forms concatenate their arguments instead.

namespace xla {

#define XLA_DEFINE_ERROR_WITH_STRFORMAT(Code)                   \
  template <typename... Args>                                   \
  absl::Status Code(const absl::FormatSpec<Args...>& format,    \
                    const Args&... args) {                      \
    return absl::Code##Error(absl::StrFormat(format, args...)); \
  }

#define XLA_DEFINE_ERROR_WITH_STRCAT(Code)           \
  template <typename... Args>                        \
  absl::Status Code##StrCat(const Args&... args) {   \
    return absl::Code##Error(absl::StrCat(args...)); \
  }

#define XLA_DEFINE_ERROR(Code)          \
  XLA_DEFINE_ERROR_WITH_STRFORMAT(Code) \
  XLA_DEFINE_ERROR_WITH_STRCAT(Code)

XLA_DEFINE_ERROR(Aborted)
XLA_DEFINE_ERROR(Cancelled)
XLA_DEFINE_ERROR(DeadlineExceeded)
XLA_DEFINE_ERROR(FailedPrecondition)
XLA_DEFINE_ERROR(Internal)
XLA_DEFINE_ERROR(InvalidArgument)
XLA_DEFINE_ERROR(NotFound)
XLA_DEFINE_ERROR(ResourceExhausted)
XLA_DEFINE_ERROR(Unavailable)
XLA_DEFINE_ERROR(Unimplemented)
XLA_DEFINE_ERROR(Unknown)

#undef XLA_DEFINE_ERROR
#undef XLA_DEFINE_ERROR_WITH_STRCAT
#undef XLA_DEFINE_ERROR_WITH_STRFORMAT

// Returns `prior` with `context` before ("context: message") or after
// ("message: context") its message. The code and payloads are kept. `prior`
// must not be OK.
absl::Status AddStatus(absl::Status prior, absl::string_view context);
absl::Status AppendStatus(absl::Status prior, absl::string_view context);

}  // namespace xla

#endif  // XLA_ERRORS_H_
