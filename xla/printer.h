#ifndef XLA_PRINTER_H_
#define XLA_PRINTER_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/fingerprint.h"

namespace xla {

// A sink for text. Append writes into a buffer that the sink provides; a
// virtual call happens only when the buffer is full.
class Printer {
 public:
  virtual ~Printer() = default;
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;

  // Whether the text is only hashed, so that separators are needed only to keep
  // texts distinct.
  bool is_hasher() const { return is_hasher_; }

  // Appends text, an integer or anything absl::AlphaNum takes.
  template <typename T>
  void Append(const T& value) {
    if constexpr (std::is_convertible_v<const T&, absl::string_view>) {
      AppendView(value);
    } else if constexpr (std::is_same_v<T, char>) {
      AppendChar(value);
    } else if constexpr (std::is_same_v<T, absl::AlphaNum>) {
      AppendView(value.Piece());
    } else if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) {
      AppendInt(value);
    } else {
      AppendView(absl::AlphaNum(value).Piece());
    }
  }

  void AppendChar(char c) {
    if (ABSL_PREDICT_FALSE(cursor_ == limit_)) Refill(1);
    *cursor_++ = c;
  }

  // Appends in decimal.
  template <typename Int>
  void AppendInt(Int value) {
    static_assert(std::is_integral_v<Int>);
    constexpr size_t kMaxDigits = 20;
    if (ABSL_PREDICT_FALSE(static_cast<size_t>(limit_ - cursor_) <
                           kMaxDigits)) {
      Refill(kMaxDigits);
    }
    cursor_ = std::to_chars(cursor_, limit_, value).ptr;
  }

  // Appends "1,2,3", after a comma if `leading_comma`. A hasher hashes the
  // numbers directly.
  void AppendInt64List(absl::Span<const int64_t> list, bool leading_comma);

 protected:
  explicit Printer(bool is_hasher = false) : is_hasher_(is_hasher) {}

  // Makes [cursor_, limit_) hold at least `size` bytes (1 <= size <= 32). Bytes
  // before cursor_ have been written.
  virtual void Refill(size_t size) = 0;
  // Appends text that is larger than the remaining room.
  virtual void AppendSlow(absl::string_view text) = 0;

  char* cursor_ = nullptr;
  char* limit_ = nullptr;

 private:
  void AppendView(absl::string_view text) {
    if (ABSL_PREDICT_FALSE(text.size() >
                           static_cast<size_t>(limit_ - cursor_))) {
      AppendSlow(text);
      return;
    }
    if (!text.empty()) std::memcpy(cursor_, text.data(), text.size());
    cursor_ += text.size();
  }

  bool is_hasher_;
};

// Prints to a string.
class StringPrinter : public Printer {
 public:
  StringPrinter();
  // The text appended so far. The printer is empty afterwards.
  std::string ToString() &&;

 protected:
  void Refill(size_t size) override;
  void AppendSlow(absl::string_view text) override;

 private:
  std::string buffer_;
};

// Prints to a cord, so that text is not moved once written.
class CordPrinter : public Printer {
 public:
  CordPrinter();
  absl::Cord ToCord() &&;

 protected:
  void Refill(size_t size) override;
  void AppendSlow(absl::string_view text) override;

 private:
  void Flush();

  static constexpr size_t kChunkSize = 16 << 10;
  std::unique_ptr<char[]> chunk_;
  absl::Cord cord_;
};

// Prints to a 64-bit fingerprint of the text, independent of the machine and of
// how the text was split into Append calls. The name is historical: the
// function is that of xla/fingerprint.h.
class HighwayHashPrinter : public Printer {
 public:
  HighwayHashPrinter();
  uint64_t ToFingerprint() &&;

 protected:
  void Refill(size_t size) override;
  void AppendSlow(absl::string_view text) override;

 private:
  static constexpr size_t kChunkSize = 1024;
  Fingerprinter fingerprinter_;
  char chunk_[kChunkSize];
};

// Prints the elements with `separator` between them.
template <typename Iterator, typename PrintFunc>
void AppendJoin(Printer* printer, Iterator start, Iterator end,
                absl::string_view separator, PrintFunc&& print) {
  if (start == end) return;
  print(printer, *start);
  while (++start != end) {
    printer->Append(separator);
    print(printer, *start);
  }
}
template <typename Range, typename PrintFunc>
void AppendJoin(Printer* printer, const Range& range,
                absl::string_view separator, PrintFunc&& print) {
  AppendJoin(printer, range.begin(), range.end(), separator,
             std::forward<PrintFunc>(print));
}
template <typename Range>
void AppendJoin(Printer* printer, const Range& range,
                absl::string_view separator) {
  AppendJoin(printer, range.begin(), range.end(), separator,
             [](Printer* p, const auto& element) { p->Append(element); });
}

// Appends each argument in turn.
template <typename... Args>
void AppendCat(Printer* printer, const Args&... args) {
  (printer->Append(args), ...);
}

}  // namespace xla

#endif  // XLA_PRINTER_H_
