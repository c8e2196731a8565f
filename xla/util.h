#ifndef XLA_UTIL_H_
#define XLA_UTIL_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/log/vlog_is_on.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"
#include "xla/bit_util.h"
#include "xla/errors.h"
#include "xla/status_macros.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace tsl {
namespace protobuf = ::google::protobuf;  // NOLINT
}  // namespace tsl

namespace xla {

class HloInstruction;
class HloModule;

// Tensors of up to this many dimensions keep their per-dimension numbers
// inline.
constexpr int InlineRank() { return 6; }
using DimensionVector = absl::InlinedVector<int64_t, InlineRank()>;
using DimLevelTypeVector = absl::InlinedVector<DimLevelType, InlineRank()>;

using Vector2 = std::array<int64_t, 2>;
using Vector3 = std::array<int64_t, 3>;

using HloPredicate = std::function<bool(const HloInstruction*)>;
using HloModulePredicate = std::function<bool(const HloModule*)>;
inline bool HloPredicateTrue(const HloInstruction*) { return true; }
inline bool HloPredicateFalse(const HloInstruction*) { return false; }

// ---- Arithmetic -------------------------------------------------------------

// The quotient rounded towards -infinity / +infinity.
template <typename T>
constexpr T FloorOfRatio(T dividend, T divisor) {
  static_assert(std::is_integral_v<T>);
  const T quotient = dividend / divisor;
  if constexpr (std::is_unsigned_v<T>) {
    return quotient;
  } else {
    const bool exact = quotient * divisor == dividend;
    return quotient - (!exact && ((dividend < 0) != (divisor < 0)));
  }
}
template <typename T>
constexpr T CeilOfRatio(T dividend, T divisor) {
  static_assert(std::is_integral_v<T>);
  const T quotient = dividend / divisor;
  if constexpr (std::is_unsigned_v<T>) {
    return quotient + (quotient * divisor != dividend);
  } else {
    const bool exact = quotient * divisor == dividend;
    return quotient + (!exact && ((dividend < 0) == (divisor < 0)));
  }
}

// The nearest multiple of `divisor` that is >= / <= `value`.
template <typename T>
constexpr T RoundUpTo(T value, T divisor) {
  return CeilOfRatio(value, divisor) * divisor;
}
template <typename T>
constexpr T RoundDownTo(T value, T divisor) {
  return FloorOfRatio(value, divisor) * divisor;
}

template <typename T>
struct DivMod {
  T quotient;
  T modulo;
};
// The quotient rounded down, and the remainder, which has the divisor's sign.
template <typename T>
constexpr DivMod<T> FloorDivMod(T dividend, T divisor) {
  const T quotient = FloorOfRatio(dividend, divisor);
  return {quotient, static_cast<T>(dividend - quotient * divisor)};
}

// The product of the elements; 1 for none. Wraps around on overflow.
template <typename T>
T Product(absl::Span<const T> xs) {
  T product = 1;
  for (const T& x : xs) product *= x;
  return product;
}
inline int64_t Product(absl::Span<const int64_t> xs) {
  uint64_t product = 1;
  for (int64_t x : xs) product *= static_cast<uint64_t>(x);
  return static_cast<int64_t>(product);
}
std::vector<int64_t> ElemwiseProduct(absl::Span<const int64_t> a,
                                     absl::Span<const int64_t> b);

// The digits of `n` in the mixed radix number system with bases bounds[i];
// the last digit is the least significant. Digits with bound 0 or less are 0.
template <typename Container = std::vector<int64_t>>
Container ToMixedRadix(int64_t n, absl::Span<const int64_t> bounds) {
  Container digits(bounds.size());
  for (int64_t i = static_cast<int64_t>(bounds.size()) - 1; i >= 0; --i) {
    if (bounds[i] <= 0) continue;
    digits[i] = n % bounds[i];
    n /= bounds[i];
  }
  return digits;
}

template <typename T>
bool IsInt32(T x) {
  return static_cast<T>(static_cast<int32_t>(x)) == x;
}

template <typename T>
constexpr std::underlying_type_t<T> to_underlying(T value) noexcept {
  return static_cast<std::underlying_type_t<T>>(value);
}

// ---- Dimensions -------------------------------------------------------------

// Splits two lists of sizes into the finest corresponding runs of equal
// product. Returns the starts (i, j) of the runs, beginning with (0, 0) and
// ending with the sizes of the lists. Pre: Product(a) == Product(b).
absl::InlinedVector<std::pair<int64_t, int64_t>, 8> CommonFactors(
    absl::Span<const int64_t> a, absl::Span<const int64_t> b);

// How a reshape to `to_sizes` maps the dimensions of `from_sizes`.
struct ConvertedDimensionNumbers {
  // Given dimensions that the result keeps as `to_dimensions`...
  DimensionVector transformed_from_dimensions;
  // ... and those that merge with others and have no counterpart.
  DimensionVector untransformed_from_dimensions;
  DimensionVector to_dimensions;
  // Dimensions that merge with others only in part: the reshape keeps their
  // major `split_from_sizes` elements as `split_to_dimensions`.
  DimensionVector split_from_dimensions;
  DimensionVector split_from_sizes;
  DimensionVector split_to_dimensions;
};
ConvertedDimensionNumbers ConvertDimensionNumbers(
    absl::Span<const int64_t> from_dimensions,
    absl::Span<const int64_t> from_sizes, absl::Span<const int64_t> to_sizes);

// The dimensions of 0..rank-1 in neither list, ascending.
DimensionVector GetNonContractingDims(
    int64_t rank, absl::Span<const int64_t> contracting_dim_numbers,
    absl::Span<const int64_t> batch_dim_numbers);

// Whether sorting the numbers, all distinct, gives n, n+1, n+2, ...
bool DistinctNumbersAreConsecutiveIfSorted(absl::Span<const int64_t> seq);

PaddingConfig MakeNoPaddingConfig(int64_t rank);
PaddingConfig MakeEdgePaddingConfig(
    absl::Span<const std::pair<int64_t, int64_t>> padding);
bool HasInteriorPadding(const PaddingConfig& config);

// ---- Containers -------------------------------------------------------------

template <typename T>
absl::Span<const uint8_t> CastToByteSlice(absl::Span<const T> slice) {
  return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(slice.data()),
                             slice.size() * sizeof(T));
}
template <typename T>
absl::Span<const T> CastByteSlice(absl::Span<const uint8_t> slice) {
  CHECK_EQ(0, slice.size() % sizeof(T));
  return absl::MakeConstSpan(reinterpret_cast<const T*>(slice.data()),
                             slice.size() / sizeof(T));
}

template <typename Container1T, typename ElementType>
bool ContainersEqual(const Container1T& c1,
                     std::initializer_list<ElementType> il) {
  return absl::c_equal(c1, il);
}
template <typename Container1T, typename Container2T>
bool ContainersEqual(const Container1T& c1, const Container2T& c2) {
  return absl::c_equal(c1, c2);
}
template <typename Container1T, typename Container2T, typename Predicate>
bool ContainersEqual(const Container1T& c1, const Container2T& c2,
                     Predicate&& p) {
  return absl::c_equal(c1, c2, std::forward<Predicate>(p));
}

// Copies `count` elements; strides are in elements.
template <typename D, typename S>
void StridedCopy(D* dest, int64_t dest_stride, const S* src, int64_t src_stride,
                 int64_t count) {
  for (; count > 0; --count, dest += dest_stride, src += src_stride) {
    *dest = static_cast<D>(*src);
  }
}

// The position of the first element equal to `value`, else the size (-1 for
// FindIndex). Linear.
template <typename Container, typename Value>
int64_t PositionInContainer(const Container& container, const Value& value) {
  return std::distance(container.begin(), absl::c_find(container, value));
}
template <typename C, typename Value>
int64_t FindIndex(const C& c, Value&& value) {
  auto it = absl::c_find(c, std::forward<Value>(value));
  return it == c.end() ? -1 : std::distance(c.begin(), it);
}

template <typename C, typename Value>
void InsertAt(C* c, int64_t index, Value&& value) {
  c->insert(c->begin() + index, std::forward<Value>(value));
}
template <typename C>
void EraseAt(C* c, int64_t index) {
  c->erase(c->begin() + index);
}

// Removes the first element equal to `value`, which must be present / if
// present.
template <typename T>
void EraseElementFromVector(std::vector<T>* container, const T& value) {
  auto it = absl::c_find(*container, value);
  CHECK(it != container->end());
  container->erase(it);
}
template <typename Container, typename T,
          std::enable_if_t<!std::is_same_v<Container, std::vector<T>>, int> = 0>
bool EraseElementFromVector(Container* container, const T& value) {
  auto it = absl::c_find(*container, value);
  if (it == container->end()) return false;
  container->erase(it);
  return true;
}

// `container` without the elements at the given positions (ascending).
template <typename T>
T RemoveElements(absl::Span<int64_t const> sorted_ids_to_remove,
                 const T& container) {
  T result;
  auto removed = sorted_ids_to_remove.begin();
  int64_t i = 0;
  for (const auto& element : container) {
    if (removed != sorted_ids_to_remove.end() && *removed == i) {
      ++removed;
    } else {
      result.push_back(element);
    }
    ++i;
  }
  return result;
}

template <typename T>
std::vector<T> SpanToVector(absl::Span<const T> slice) {
  return std::vector<T>(slice.begin(), slice.end());
}
template <typename T, size_t N>
std::vector<T> InlinedVectorToVector(
    const absl::InlinedVector<T, N>& inlined_vector) {
  return std::vector<T>(inlined_vector.begin(), inlined_vector.end());
}

// The pointer as a pointer to its dynamic type, which must be Derived.
template <typename Derived, typename Base>
std::unique_ptr<Derived> unique_ptr_down_cast(std::unique_ptr<Base> ptr) {
  return std::unique_ptr<Derived>(static_cast<Derived*>(ptr.release()));
}

// Packs integers of 1, 2 or 4 bits, one per byte of `input` in its low bits,
// into bytes of `output`, the first into the low bits; and the inverse, which
// sets the unused high bits of each byte to 0. The size of the packed side is
// at least ceil(count * bits / 8).
void PackIntN(int bits_per_element, absl::Span<const char> input,
              absl::Span<char> output);
void UnpackIntN(int bits_per_element, absl::Span<const char> input,
                absl::Span<char> output);
template <size_t kBitsPerElement>
void PackIntN(absl::Span<const char> input, absl::Span<char> output) {
  PackIntN(static_cast<int>(kBitsPerElement), input, output);
}
template <size_t kBitsPerElement>
void UnpackIntN(absl::Span<const char> input, absl::Span<char> output) {
  UnpackIntN(static_cast<int>(kBitsPerElement), input, output);
}

// ---- Text -------------------------------------------------------------------

// "a, b, c" between prefix and suffix.
template <typename Container>
std::string CommaSeparatedString(const Container& c, const char* prefix = "",
                                 const char* suffix = "") {
  return absl::StrCat(prefix, absl::StrJoin(c, ", "), suffix);
}
template <typename T>
std::string CommaSeparatedString(const std::initializer_list<T>& c,
                                 const char* prefix = "",
                                 const char* suffix = "") {
  return absl::StrCat(prefix, absl::StrJoin(c, ", "), suffix);
}
// "(a, b, c)".
template <typename Container>
std::string VectorString(const Container& c) {
  return CommaSeparatedString(c, "(", ")");
}
template <typename T>
std::string VectorString(const std::initializer_list<T>& c) {
  return CommaSeparatedString(c, "(", ")");
}

// The common indentation of the lines of `original` replaced.
std::string Reindent(absl::string_view original, absl::string_view indentation);

// Text that parses back to the same bits, NaN payloads included ("nan", "-nan",
// "nan(0x123)"). float and double: 6 or 15 digits where they are enough, else 9
// or 17; narrower types: their max_digits10.
std::string RoundTripFpToString(float value);
std::string RoundTripFpToString(double value);
std::string RoundTripFpToString(bfloat16 value);
std::string RoundTripFpToString(half value);
std::string RoundTripFpToString(float8_e5m2 value);
std::string RoundTripFpToString(float8_e4m3 value);
std::string RoundTripFpToString(float8_e3m4 value);
std::string RoundTripFpToString(float8_e4m3fn value);
std::string RoundTripFpToString(float8_e4m3b11fnuz value);
std::string RoundTripFpToString(float8_e5m2fnuz value);
std::string RoundTripFpToString(float8_e4m3fnuz value);
std::string RoundTripFpToString(float8_e8m0fnu value);
std::string RoundTripFpToString(float6_e3m2fn value);
std::string RoundTripFpToString(float6_e2m3fn value);
std::string RoundTripFpToString(float4_e2m1fn value);

// "1.50GFLOP/s" from a count of operations and nanoseconds.
std::string HumanReadableNumFlops(double flops, double nanoseconds);
std::string HumanReadableNumTranscendentalOps(double trops, double nanoseconds);

// The name with all characters that a file system may reject replaced by '_'.
std::string SanitizeFileName(std::string file_name);

// Replaces each run of `separator` in the name.
std::string SanitizeOpName(absl::string_view op_name, char separator,
                           absl::string_view replace_with);

std::string XlaFormatDevice(int device_ordinal);

// The text form of a message with default-valued fields shown too.
std::string PrintAllFields(const tsl::protobuf::Message& message);

// ---- Errors and timing ------------------------------------------------------

// Returns `status`; logs it with the call stack first if it is an error and
// VLOG(1) is on for util.cc.
absl::Status WithLogBacktrace(const absl::Status& status);

struct TimerStats {
  absl::Mutex stats_mutex;
  double cumulative_secs ABSL_GUARDED_BY(stats_mutex) = 0;
  double max_secs ABSL_GUARDED_BY(stats_mutex) = 0;
  uint64_t times_called ABSL_GUARDED_BY(stats_mutex) = 0;
};

// Logs the time from its construction to StopAndLog or destruction, if
// `enabled`, and adds it to `timer_stats`, if given.
class ScopedLoggingTimer {
 public:
  explicit ScopedLoggingTimer(absl::string_view label, bool enabled,
                              const char* file, int line,
                              TimerStats* timer_stats);
  ~ScopedLoggingTimer();
  void StopAndLog();

 private:
  const char* file_;
  int line_;
  std::string label_;
  TimerStats* timer_stats_;
  int64_t start_nanos_ = 0;
  bool enabled_;
};

#define XLA_SCOPED_LOGGING_TIMER_JOIN_2(a, b) a##b
#define XLA_SCOPED_LOGGING_TIMER_JOIN(a, b) \
  XLA_SCOPED_LOGGING_TIMER_JOIN_2(a, b)
// The label is computed only if the timer runs.
#define XLA_SCOPED_LOGGING_TIMER_IF(label, condition)                        \
  static ::xla::TimerStats* const XLA_SCOPED_LOGGING_TIMER_JOIN(             \
      xla_timer_stats_, __LINE__) = new ::xla::TimerStats;                   \
  const bool XLA_SCOPED_LOGGING_TIMER_JOIN(xla_timer_runs_, __LINE__) =      \
      (condition);                                                           \
  ::xla::ScopedLoggingTimer XLA_SCOPED_LOGGING_TIMER_JOIN(xla_scoped_timer_, \
                                                          __LINE__)(         \
      XLA_SCOPED_LOGGING_TIMER_JOIN(xla_timer_runs_, __LINE__)               \
          ? std::string(label)                                               \
          : std::string(),                                                   \
      XLA_SCOPED_LOGGING_TIMER_JOIN(xla_timer_runs_, __LINE__), __FILE__,    \
      __LINE__, XLA_SCOPED_LOGGING_TIMER_JOIN(xla_timer_stats_, __LINE__))
#define XLA_SCOPED_LOGGING_TIMER(label) \
  XLA_SCOPED_LOGGING_TIMER_IF(label, VLOG_IS_ON(1))
#define XLA_SCOPED_LOGGING_TIMER_LEVEL(label, level) \
  XLA_SCOPED_LOGGING_TIMER_IF(label, VLOG_IS_ON(level))

}  // namespace xla

// Logs `STRING` (of several lines) line by line. SEV is INFO, WARNING, ERROR or
// FATAL.
#define XLA_LOG_LINES(SEV, STRING) \
  ::xla::LogLines(XLA_LOG_LINES_##SEV, STRING, __FILE__, __LINE__)
#define XLA_LOG_LINES_INFO ::absl::LogSeverity::kInfo
#define XLA_LOG_LINES_WARNING ::absl::LogSeverity::kWarning
#define XLA_LOG_LINES_ERROR ::absl::LogSeverity::kError
#define XLA_LOG_LINES_FATAL ::absl::LogSeverity::kFatal
#define XLA_VLOG_LINES(LEVEL, STRING)                                          \
  do {                                                                         \
    if (VLOG_IS_ON(LEVEL)) {                                                   \
      ::xla::LogLines(::absl::LogSeverity::kInfo, STRING, __FILE__, __LINE__); \
    }                                                                          \
  } while (false)

namespace xla {
void LogLines(absl::LogSeverity severity, absl::string_view text,
              const char* file, int line);
}  // namespace xla

#endif  // XLA_UTIL_H_
