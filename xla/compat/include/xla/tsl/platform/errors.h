#ifndef XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_ERRORS_H_
#define XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_ERRORS_H_

// OpenXLA's path of this header, for code from outside.
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/log/check.h"  // IWYU pragma: export
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/status_macros.h"  // IWYU pragma: export
#include "xla/util.h"           // IWYU pragma: export

namespace tsl {
namespace errors {

// What goes with a status besides its message, by type.
using Payloads = std::unordered_map<std::string, std::string>;

inline Payloads GetPayloads(const absl::Status& status) {
  Payloads payloads;
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    payloads[std::string(type)] = std::string(payload);
  });
  return payloads;
}

// Those of the same type give way. No effect on OK.
inline void InsertPayloads(absl::Status& status, const Payloads& payloads) {
  for (const auto& [type, payload] : payloads) {
    status.SetPayload(type, absl::Cord(payload));
  }
}

inline void CopyPayloads(const absl::Status& from, absl::Status& to) {
  InsertPayloads(to, GetPayloads(from));
}

inline absl::Status Create(absl::StatusCode code, absl::string_view message,
                           const Payloads& payloads) {
  absl::Status status(code, message);
  InsertPayloads(status, payloads);
  return status;
}

// The status with another message; its payloads stay.
inline absl::Status CreateWithUpdatedMessage(const absl::Status& status,
                                             absl::string_view message) {
  return Create(status.code(), message, GetPayloads(status));
}

// The error of a system call, by its errno.
inline absl::Status IOError(absl::string_view context, int err_number) {
  return absl::ErrnoToStatus(err_number, context);
}

// Adds a line to the message of an error.
template <typename... Args>
void AppendToMessage(absl::Status* status, const Args&... args) {
  *status = CreateWithUpdatedMessage(
      *status, absl::StrCat(status->message(), "\n\t", args...));
}

// InvalidArgument("expected ", 1), InvalidArgumentWithPayloads(message, map)
// and IsInvalidArgument(status), per code.
#define XLA_COMPAT_DECLARE_ERROR(Code)                               \
  template <typename... Args>                                        \
  absl::Status Code(const Args&... args) {                           \
    return absl::Code##Error(absl::StrCat(args...));                 \
  }                                                                  \
  inline absl::Status Code##WithPayloads(absl::string_view message,  \
                                         const Payloads& payloads) { \
    return Create(absl::StatusCode::k##Code, message, payloads);     \
  }                                                                  \
  inline bool Is##Code(const absl::Status& status) {                 \
    return absl::Is##Code(status);                                   \
  }

XLA_COMPAT_DECLARE_ERROR(Aborted)
XLA_COMPAT_DECLARE_ERROR(AlreadyExists)
XLA_COMPAT_DECLARE_ERROR(Cancelled)
XLA_COMPAT_DECLARE_ERROR(DataLoss)
XLA_COMPAT_DECLARE_ERROR(DeadlineExceeded)
XLA_COMPAT_DECLARE_ERROR(FailedPrecondition)
XLA_COMPAT_DECLARE_ERROR(Internal)
XLA_COMPAT_DECLARE_ERROR(InvalidArgument)
XLA_COMPAT_DECLARE_ERROR(NotFound)
XLA_COMPAT_DECLARE_ERROR(OutOfRange)
XLA_COMPAT_DECLARE_ERROR(PermissionDenied)
XLA_COMPAT_DECLARE_ERROR(ResourceExhausted)
XLA_COMPAT_DECLARE_ERROR(Unauthenticated)
XLA_COMPAT_DECLARE_ERROR(Unavailable)
XLA_COMPAT_DECLARE_ERROR(Unimplemented)
XLA_COMPAT_DECLARE_ERROR(Unknown)

#undef XLA_COMPAT_DECLARE_ERROR

}  // namespace errors
}  // namespace tsl

#ifndef XLA_RET_CHECK_FAIL
// An internal error that names the place: return XLA_RET_CHECK_FAIL() << ...;
#define XLA_RET_CHECK_FAIL()                                           \
  ::xla::status_macros::MakeErrorStream(__FILE__, __LINE__,            \
                                        ::absl::StatusCode::kInternal) \
      .add_ret_check_failure("unreachable")
#endif
#ifndef CHECK_NOTNULL
#define CHECK_NOTNULL(pointer) ABSL_DIE_IF_NULL(pointer)
#endif

#endif  // XLA_COMPAT_INCLUDE_XLA_TSL_PLATFORM_ERRORS_H_
