#ifndef XLA_STATUS_MACROS_H_
#define XLA_STATUS_MACROS_H_

#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/log_severity.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

// Early return on errors:
//
//   TF_RETURN_IF_ERROR(DoIt());
//   TF_ASSIGN_OR_RETURN(auto value, Compute(a, b));
//   TF_RET_CHECK(a < b) << "a is " << a;
//
// RETURN_IF_ERROR and ASSIGN_OR_RETURN also take context for the message:
//
//   RETURN_IF_ERROR(DoIt()) << "while doing it";
//   ASSIGN_OR_RETURN(auto value, Compute(a, b), _ << "in " << name);
//
// Both convert to the caller's absl::Status or absl::StatusOr, so a lambda that
// uses them spells its return type.

namespace xla {
namespace status_macros {

namespace internal {

template <typename T, typename = void>
struct HasOstreamOperator : std::false_type {};
template <typename T>
struct HasOstreamOperator<T, std::void_t<decltype(std::declval<std::ostream&>()
                                                  << std::declval<const T&>())>>
    : std::true_type {};

// Writes `v` by operator<< where it has one, else by AbslStringify.
template <typename T>
void PrintToStream(const T& v, std::ostream* os) {
  if constexpr (HasOstreamOperator<T>::value) {
    *os << v;
  } else {
    *os << absl::StrCat(v);
  }
}

}  // namespace internal

// An error under construction: holds a status, takes text by <<, and converts
// to absl::Status or absl::StatusOr<T>. Text is appended to the message of the
// status, after "; " where there is one already.
class StatusBuilder {
 public:
  explicit StatusBuilder(absl::Status status) : status_(std::move(status)) {}
  StatusBuilder(StatusBuilder&&) = default;
  StatusBuilder& operator=(StatusBuilder&&) = default;

  template <typename T>
  StatusBuilder& operator<<(const T& value) & {
    internal::PrintToStream(value, &extra_);
    return *this;
  }
  template <typename T>
  StatusBuilder&& operator<<(const T& value) && {
    internal::PrintToStream(value, &extra_);
    return std::move(*this);
  }

  operator absl::Status() const { return Build(); }  // NOLINT
  template <typename T>
  operator absl::StatusOr<T>() const {  // NOLINT
    return Build();
  }

 private:
  absl::Status Build() const;

  absl::Status status_;
  std::ostringstream extra_;
};

// The error of TF_RET_CHECK: an internal error that names the condition, file
// and line; what is streamed in follows.
class MakeErrorStream {
 public:
  class MakeErrorStreamWithOutput {
   public:
    explicit MakeErrorStreamWithOutput(MakeErrorStream* error_stream)
        : stream_(error_stream) {}

    template <typename T>
    MakeErrorStreamWithOutput& operator<<(const T& value) {
      internal::PrintToStream(value, &stream_->text_);
      return *this;
    }
    // Also logs the error at `severity` when it is built.
    MakeErrorStreamWithOutput& with_log_severity(absl::LogSeverity severity) {
      stream_->with_log_severity(severity);
      return *this;
    }

    operator absl::Status() const { return stream_->GetStatus(); }  // NOLINT
    template <typename T>
    operator absl::StatusOr<T>() const {  // NOLINT
      return stream_->GetStatus();
    }

   private:
    MakeErrorStream* stream_;
  };

  MakeErrorStream(const char* file, int line, absl::StatusCode code)
      : file_(file), line_(line), code_(code), output_(this) {}
  MakeErrorStream(const MakeErrorStream&) = delete;
  MakeErrorStream& operator=(const MakeErrorStream&) = delete;

  template <typename T>
  MakeErrorStreamWithOutput& operator<<(const T& value) {
    return output_ << value;
  }

  MakeErrorStream& without_logging() {
    should_log_ = false;
    return *this;
  }
  MakeErrorStream& with_log_severity(absl::LogSeverity severity) {
    should_log_ = true;
    severity_ = severity;
    return *this;
  }
  MakeErrorStream& with_log_stack_trace() { return *this; }

  // Opens the message with the place and the condition that failed.
  MakeErrorStreamWithOutput& add_ret_check_failure(const char* condition);

  absl::Status GetStatus() const;

 private:
  const char* file_;
  int line_;
  absl::StatusCode code_;
  bool should_log_ = false;
  absl::LogSeverity severity_ = absl::LogSeverity::kError;
  std::ostringstream text_;
  MakeErrorStreamWithOutput output_;
};

// Holds the status of an expression: true in a condition when it is OK.
class StatusAdaptorForMacros {
 public:
  explicit StatusAdaptorForMacros(absl::Status status)
      : status_(std::move(status)) {}
  StatusAdaptorForMacros(const StatusAdaptorForMacros&) = delete;
  StatusAdaptorForMacros& operator=(const StatusAdaptorForMacros&) = delete;

  explicit operator bool() const { return ABSL_PREDICT_TRUE(status_.ok()); }
  absl::Status&& Consume() { return std::move(status_); }

 private:
  absl::Status status_;
};

}  // namespace status_macros
}  // namespace xla

#define XLA_STATUS_MACROS_CONCAT_INNER(x, y) x##y
#define XLA_STATUS_MACROS_CONCAT(x, y) XLA_STATUS_MACROS_CONCAT_INNER(x, y)

// `switch` keeps a following `else` from binding to the `if` of the macro.
#define XLA_STATUS_MACROS_ELSE_BLOCKER \
  switch (0)                           \
  case 0:                              \
  default:

#define TF_RET_CHECK(condition)                                               \
  while (ABSL_PREDICT_FALSE(!(condition)))                                    \
  return ::xla::status_macros::MakeErrorStream(__FILE__, __LINE__,            \
                                               ::absl::StatusCode::kInternal) \
      .add_ret_check_failure(#condition)

#ifndef TF_RETURN_IF_ERROR
#define TF_RETURN_IF_ERROR(...)                               \
  do {                                                        \
    ::absl::Status xla_status_macros_status = (__VA_ARGS__);  \
    if (ABSL_PREDICT_FALSE(!xla_status_macros_status.ok())) { \
      return xla_status_macros_status;                        \
    }                                                         \
  } while (0)
#endif

#ifndef TF_ASSIGN_OR_RETURN
#define TF_ASSIGN_OR_RETURN(lhs, ...)                                      \
  XLA_STATUS_MACROS_ASSIGN_IMPL(                                           \
      XLA_STATUS_MACROS_CONCAT(xla_status_macros_value, __COUNTER__), lhs, \
      __VA_ARGS__)
#endif

#define XLA_STATUS_MACROS_ASSIGN_IMPL(statusor, lhs, ...) \
  auto statusor = (__VA_ARGS__);                          \
  if (ABSL_PREDICT_FALSE(!statusor.ok())) {               \
    return std::move(statusor).status();                  \
  }                                                       \
  XLA_STATUS_MACROS_STRIP(lhs) = *std::move(statusor)

#ifndef RETURN_IF_ERROR
#define RETURN_IF_ERROR(...)                                                  \
  XLA_STATUS_MACROS_ELSE_BLOCKER                                              \
  if (::xla::status_macros::StatusAdaptorForMacros xla_status_macros_adaptor{ \
          __VA_ARGS__}) {                                                     \
  } else /* NOLINT */                                                         \
    return ::xla::status_macros::StatusBuilder(                               \
        xla_status_macros_adaptor.Consume())
#endif

#ifndef ASSIGN_OR_RETURN
#define ASSIGN_OR_RETURN(...)                                              \
  XLA_STATUS_MACROS_ASSIGN_CHOOSE(__VA_ARGS__, XLA_STATUS_MACROS_ASSIGN_3, \
                                  XLA_STATUS_MACROS_ASSIGN_2)              \
  (__VA_ARGS__)
#endif

#define XLA_STATUS_MACROS_ASSIGN_CHOOSE(a, b, c, chosen, ...) chosen
#define XLA_STATUS_MACROS_ASSIGN_2(lhs, rexpr) TF_ASSIGN_OR_RETURN(lhs, rexpr)
#define XLA_STATUS_MACROS_ASSIGN_3(lhs, rexpr, error)                      \
  XLA_STATUS_MACROS_ASSIGN_3_IMPL(                                         \
      XLA_STATUS_MACROS_CONCAT(xla_status_macros_value, __COUNTER__), lhs, \
      rexpr, error)
#define XLA_STATUS_MACROS_ASSIGN_3_IMPL(statusor, lhs, rexpr, error)     \
  auto statusor = (rexpr);                                               \
  if (ABSL_PREDICT_FALSE(!statusor.ok())) {                              \
    ::xla::status_macros::StatusBuilder _(std::move(statusor).status()); \
    return (error);                                                      \
  }                                                                      \
  XLA_STATUS_MACROS_STRIP(lhs) = *std::move(statusor)

// (auto [a, b]) -> auto [a, b]; what is not wholly in parentheses stays.
#define XLA_STATUS_MACROS_STRIP(x) \
  XLA_STATUS_MACROS_STRIP_IF(XLA_STATUS_MACROS_EAT x)(x)
#define XLA_STATUS_MACROS_EAT(...)
#define XLA_STATUS_MACROS_STRIP_IF(...)                           \
  XLA_STATUS_MACROS_SECOND(__VA_OPT__(, XLA_STATUS_MACROS_KEEP, ) \
                               XLA_STATUS_MACROS_REST_##__VA_OPT__(0), )
#define XLA_STATUS_MACROS_REST_ , XLA_STATUS_MACROS_OPEN
#define XLA_STATUS_MACROS_REST_0
#define XLA_STATUS_MACROS_SECOND(...) XLA_STATUS_MACROS_SECOND_2(__VA_ARGS__)
#define XLA_STATUS_MACROS_SECOND_2(a, b, ...) b
#define XLA_STATUS_MACROS_KEEP(x) x
#define XLA_STATUS_MACROS_OPEN(x) XLA_STATUS_MACROS_OPEN_2 x
#define XLA_STATUS_MACROS_OPEN_2(...) __VA_ARGS__

#endif  // XLA_STATUS_MACROS_H_
