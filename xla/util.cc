#include "xla/util.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/debugging/stacktrace.h"
#include "absl/debugging/symbolize.h"
#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/log/vlog_is_on.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace xla {

std::vector<int64_t> ElemwiseProduct(absl::Span<const int64_t> a,
                                     absl::Span<const int64_t> b) {
  CHECK_EQ(a.size(), b.size());
  std::vector<int64_t> result(a.size());
  for (size_t i = 0; i < a.size(); ++i) result[i] = a[i] * b[i];
  return result;
}

PaddingConfig MakeNoPaddingConfig(int64_t rank) {
  PaddingConfig config;
  for (int64_t i = 0; i < rank; ++i) config.add_dimensions();
  return config;
}

PaddingConfig MakeEdgePaddingConfig(
    absl::Span<const std::pair<int64_t, int64_t>> padding) {
  PaddingConfig config;
  for (const auto& [low, high] : padding) {
    auto* dimension = config.add_dimensions();
    dimension->set_edge_padding_low(low);
    dimension->set_edge_padding_high(high);
  }
  return config;
}

bool HasInteriorPadding(const PaddingConfig& config) {
  return absl::c_any_of(config.dimensions(), [](const auto& dimension) {
    return dimension.interior_padding() != 0;
  });
}

// ---- Packing ----------------------------------------------------------------

void PackIntN(int bits_per_element, absl::Span<const char> input,
              absl::Span<char> output) {
  CHECK(bits_per_element == 1 || bits_per_element == 2 ||
        bits_per_element == 4);
  const size_t per_byte = 8 / bits_per_element;
  const unsigned mask = (1u << bits_per_element) - 1;
  const size_t bytes = CeilOfRatio(input.size(), per_byte);
  CHECK_GE(output.size(), bytes);
  for (size_t i = 0; i < bytes; ++i) {
    const size_t first = i * per_byte;
    const size_t count = std::min(per_byte, input.size() - first);
    unsigned byte = 0;
    for (size_t j = 0; j < count; ++j) {
      byte |= (static_cast<unsigned char>(input[first + j]) & mask)
              << (j * bits_per_element);
    }
    output[i] = static_cast<char>(byte);
  }
}

void UnpackIntN(int bits_per_element, absl::Span<const char> input,
                absl::Span<char> output) {
  CHECK(bits_per_element == 1 || bits_per_element == 2 ||
        bits_per_element == 4);
  const size_t per_byte = 8 / bits_per_element;
  const unsigned mask = (1u << bits_per_element) - 1;
  CHECK_GE(input.size(), CeilOfRatio(output.size(), per_byte));
  for (size_t i = 0; i < output.size(); ++i) {
    const unsigned byte = static_cast<unsigned char>(input[i / per_byte]);
    output[i] =
        static_cast<char>((byte >> (i % per_byte * bits_per_element)) & mask);
  }
}

// ---- Text -------------------------------------------------------------------

std::string Reindent(absl::string_view original,
                     absl::string_view indentation) {
  const std::vector<absl::string_view> lines = absl::StrSplit(original, '\n');
  return absl::StrJoin(lines, "\n",
                       [&](std::string* out, absl::string_view line) {
                         line = absl::StripAsciiWhitespace(line);
                         if (!line.empty())
                           absl::StrAppend(out, indentation, line);
                       });
}

namespace {

template <typename T>
std::string NanToString(T value) {
  using RepT = UnsignedIntegerTypeForSizeType<sizeof(T)>;
  const uint64_t payload = absl::bit_cast<RepT>(value) & NanPayloadBitMask<T>();
  bool negative;
  if constexpr (is_mini_float_v<T>) {
    negative = std::numeric_limits<T>::is_signed && signbit(value);
  } else {
    negative = std::signbit(value);
  }
  std::string result = negative ? "-nan" : "nan";
  if (payload != QuietNanWithoutPayload<T>()) {
    absl::StrAppendFormat(&result, "(0x%x)", payload);
  }
  return result;
}

constexpr int kBufferSize = 40;

// `value` as printf's %.{digits}g prints it, in the C locale.
template <typename T>
absl::string_view Format(char (&buffer)[kBufferSize], T value, int digits) {
  const auto end = std::to_chars(buffer, buffer + kBufferSize, value,
                                 std::chars_format::general, digits);
  return absl::string_view(buffer, end.ptr - buffer);
}

// Few digits if they give the value back, else as many as always do.
template <typename T>
std::string FewestDigits(T value) {
  if (std::isnan(value)) return NanToString(value);
  char buffer[kBufferSize];
  absl::string_view text =
      Format(buffer, value, std::numeric_limits<T>::digits10);
  if (std::isfinite(value)) {
    T parsed = 0;
    std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (parsed != value) {
      text = Format(buffer, value, std::numeric_limits<T>::max_digits10);
    }
  }
  return std::string(text);
}

template <typename T>
std::string MaxDigits(T value) {
  if (isnan(value)) return NanToString(value);
  char buffer[kBufferSize];
  return std::string(
      Format(buffer, value.ToFloat(), std::numeric_limits<T>::max_digits10));
}

}  // namespace

std::string RoundTripFpToString(float value) { return FewestDigits(value); }
std::string RoundTripFpToString(double value) { return FewestDigits(value); }
std::string RoundTripFpToString(bfloat16 value) { return MaxDigits(value); }
std::string RoundTripFpToString(half value) { return MaxDigits(value); }
std::string RoundTripFpToString(float8_e5m2 value) { return MaxDigits(value); }
std::string RoundTripFpToString(float8_e4m3 value) { return MaxDigits(value); }
std::string RoundTripFpToString(float8_e3m4 value) { return MaxDigits(value); }
std::string RoundTripFpToString(float8_e4m3fn value) {
  return MaxDigits(value);
}
std::string RoundTripFpToString(float8_e4m3b11fnuz value) {
  return MaxDigits(value);
}
std::string RoundTripFpToString(float8_e5m2fnuz value) {
  return MaxDigits(value);
}
std::string RoundTripFpToString(float8_e4m3fnuz value) {
  return MaxDigits(value);
}
std::string RoundTripFpToString(float8_e8m0fnu value) {
  return MaxDigits(value);
}
std::string RoundTripFpToString(float6_e3m2fn value) {
  return MaxDigits(value);
}
std::string RoundTripFpToString(float6_e2m3fn value) {
  return MaxDigits(value);
}
std::string RoundTripFpToString(float4_e2m1fn value) {
  return MaxDigits(value);
}

namespace {

std::string HumanReadableRate(double count, double nanoseconds,
                              absl::string_view unit) {
  if (nanoseconds == 0) return absl::StrCat("NaN ", unit, "/s");
  double rate = count * (1e9 / nanoseconds);
  constexpr absl::string_view kPrefixes[] = {"", "K", "M", "G", "T", "P"};
  size_t prefix = 0;
  while (rate >= 1000 && prefix + 1 < std::size(kPrefixes)) {
    rate /= 1000;
    ++prefix;
  }
  return absl::StrFormat("%.2f%s%s/s", rate, kPrefixes[prefix], unit);
}

}  // namespace

std::string HumanReadableNumFlops(double flops, double nanoseconds) {
  return HumanReadableRate(flops, nanoseconds, "FLOP");
}

std::string HumanReadableNumTranscendentalOps(double trops,
                                              double nanoseconds) {
  return HumanReadableRate(trops, nanoseconds, "TROP");
}

std::string SanitizeFileName(std::string file_name) {
  for (char& c : file_name) {
    if (c == '/' || c == '\\' || c == '[' || c == ']' || c == ' ' || c == ':') {
      c = '_';
    }
  }
  return file_name;
}

std::string SanitizeOpName(absl::string_view op_name, char separator,
                           absl::string_view replace_with) {
  std::string result;
  for (size_t i = 0; i < op_name.size(); ++i) {
    if (op_name[i] != separator) {
      result += op_name[i];
    } else if (i == 0 || op_name[i - 1] != separator) {
      absl::StrAppend(&result, replace_with);
    }
  }
  return result;
}

std::string XlaFormatDevice(int device_ordinal) {
  return absl::StrCat("[", device_ordinal, "] ");
}

namespace {

// Sets the singular fields of `message` and of its sub-messages that are
// present to the values they have, so that the printer shows them.
std::string PrintWithDefaults(const tsl::protobuf::Message& message,
                              int depth) {
  const auto* descriptor = message.GetDescriptor();
  const auto* reflection = message.GetReflection();
  const std::string indent(2 * depth, ' ');
  std::string result;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    const bool is_message =
        field->cpp_type() == tsl::protobuf::FieldDescriptor::CPPTYPE_MESSAGE;
    const int count =
        field->is_repeated()
            ? reflection->FieldSize(message, field)
            : (!is_message || reflection->HasField(message, field));
    for (int j = 0; j < count; ++j) {
      const int index = field->is_repeated() ? j : -1;
      if (!is_message) {
        std::string value;
        tsl::protobuf::TextFormat::PrintFieldValueToString(message, field,
                                                           index, &value);
        absl::StrAppend(&result, indent, field->name(), ": ", value, "\n");
        continue;
      }
      const auto& child =
          field->is_repeated()
              ? reflection->GetRepeatedMessage(message, field, j)
              : reflection->GetMessage(message, field);
      absl::StrAppend(&result, indent, field->name(), " {\n",
                      PrintWithDefaults(child, depth + 1), indent, "}\n");
    }
  }
  return result;
}

}  // namespace

std::string PrintAllFields(const tsl::protobuf::Message& message) {
  return PrintWithDefaults(message, 0);
}

// ---- Errors and timing ------------------------------------------------------

absl::Status WithLogBacktrace(const absl::Status& status) {
  if (status.ok() || !VLOG_IS_ON(1)) return status;
  constexpr int kMaxDepth = 32;
  void* frames[kMaxDepth];
  const int depth = absl::GetStackTrace(frames, kMaxDepth, /*skip_count=*/1);
  std::string text = status.ToString();
  for (int i = 0; i < depth; ++i) {
    char name[256];
    const bool known = absl::Symbolize(frames[i], name, sizeof(name));
    absl::StrAppend(&text, "\n  at ", known ? name : "(unknown)");
  }
  LOG(INFO) << text;
  return status;
}

ScopedLoggingTimer::ScopedLoggingTimer(absl::string_view label, bool enabled,
                                       const char* file, int line,
                                       TimerStats* timer_stats)
    : file_(file),
      line_(line),
      label_(label),
      timer_stats_(timer_stats),
      enabled_(enabled) {
  if (enabled_) start_nanos_ = absl::GetCurrentTimeNanos();
}

ScopedLoggingTimer::~ScopedLoggingTimer() { StopAndLog(); }

void ScopedLoggingTimer::StopAndLog() {
  if (!enabled_) return;
  enabled_ = false;
  const double secs = (absl::GetCurrentTimeNanos() - start_nanos_) / 1e9;
  std::string totals;
  if (timer_stats_ != nullptr) {
    absl::MutexLock lock(&timer_stats_->stats_mutex);
    timer_stats_->cumulative_secs += secs;
    timer_stats_->max_secs = std::max(timer_stats_->max_secs, secs);
    ++timer_stats_->times_called;
    totals =
        absl::StrFormat(" (cumulative: %.3fs, max: %.3fs, #called: %d)",
                        timer_stats_->cumulative_secs, timer_stats_->max_secs,
                        timer_stats_->times_called);
  }
  LOG(INFO).AtLocation(file_, line_)
      << label_ << " time: " << absl::StrFormat("%.3fs", secs) << totals;
}

void LogLines(absl::LogSeverity severity, absl::string_view text,
              const char* file, int line) {
  // A fatal text is logged in full before the program ends.
  const bool fatal = severity == absl::LogSeverity::kFatal;
  const absl::LogSeverity each = fatal ? absl::LogSeverity::kError : severity;
  for (absl::string_view part : absl::StrSplit(text, '\n')) {
    LOG(LEVEL(each)).AtLocation(file, line) << part;
  }
  if (fatal) LOG(FATAL) << "Aborting because of the errors above";
}

}  // namespace xla
