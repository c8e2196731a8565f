#include "xla/printer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla {
namespace {

constexpr size_t kBytesOfInt64 = 8;

// The lowest byte first, on every machine. Written out, not as a loop,
// compilers take it for a single store.
void Store(uint64_t value, char* bytes) {
  bytes[0] = static_cast<char>(value);
  bytes[1] = static_cast<char>(value >> 8);
  bytes[2] = static_cast<char>(value >> 16);
  bytes[3] = static_cast<char>(value >> 24);
  bytes[4] = static_cast<char>(value >> 32);
  bytes[5] = static_cast<char>(value >> 40);
  bytes[6] = static_cast<char>(value >> 48);
  bytes[7] = static_cast<char>(value >> 56);
}

}  // namespace

void Printer::AppendInt64List(absl::Span<const int64_t> list,
                              bool leading_comma) {
  if (is_hasher_) {
    AppendInt(list.size());
    for (int64_t value : list) {
      if (static_cast<size_t>(limit_ - cursor_) < kBytesOfInt64) {
        Refill(kBytesOfInt64);
      }
      Store(static_cast<uint64_t>(value), cursor_);
      cursor_ += kBytesOfInt64;
    }
    return;
  }
  for (int64_t value : list) {
    if (leading_comma) AppendChar(',');
    AppendInt(value);
    leading_comma = true;
  }
}

// ---- StringPrinter ----------------------------------------------------------

StringPrinter::StringPrinter() = default;

// Doubles, so that appending is amortized constant time per byte.
void StringPrinter::Refill(size_t size) {
  const size_t used = cursor_ == nullptr ? 0 : cursor_ - buffer_.data();
  buffer_.resize(std::max<size_t>({used + size, 2 * buffer_.size(), 240}));
  cursor_ = &buffer_[0] + used;
  limit_ = &buffer_[0] + buffer_.size();
}

void StringPrinter::AppendSlow(absl::string_view text) {
  Refill(text.size());
  std::memcpy(cursor_, text.data(), text.size());
  cursor_ += text.size();
}

std::string StringPrinter::ToString() && {
  buffer_.resize(cursor_ == nullptr ? 0 : cursor_ - buffer_.data());
  cursor_ = limit_ = nullptr;
  return std::exchange(buffer_, std::string());
}

// ---- CordPrinter ------------------------------------------------------------

CordPrinter::CordPrinter() : chunk_(new char[kChunkSize]) {
  cursor_ = chunk_.get();
  limit_ = cursor_ + kChunkSize;
}

void CordPrinter::Flush() {
  const size_t used = cursor_ - chunk_.get();
  if (used == kChunkSize) {
    char* full = chunk_.release();
    cord_.Append(absl::MakeCordFromExternal(absl::string_view(full, used),
                                            [full] { delete[] full; }));
    chunk_.reset(new char[kChunkSize]);
  } else {
    cord_.Append(absl::string_view(chunk_.get(), used));
  }
  cursor_ = chunk_.get();
  limit_ = cursor_ + kChunkSize;
}

void CordPrinter::Refill(size_t size) { Flush(); }

void CordPrinter::AppendSlow(absl::string_view text) {
  while (!text.empty()) {
    if (cursor_ == limit_) Flush();
    const size_t taken = std::min<size_t>(limit_ - cursor_, text.size());
    std::memcpy(cursor_, text.data(), taken);
    cursor_ += taken;
    text.remove_prefix(taken);
  }
}

absl::Cord CordPrinter::ToCord() && {
  Flush();
  return std::exchange(cord_, absl::Cord());
}

// ---- HighwayHashPrinter -----------------------------------------------------

HighwayHashPrinter::HighwayHashPrinter() : Printer(/*is_hasher=*/true) {
  cursor_ = chunk_;
  limit_ = chunk_ + kChunkSize;
}

void HighwayHashPrinter::Refill(size_t size) {
  fingerprinter_.Update(absl::string_view(chunk_, cursor_ - chunk_));
  cursor_ = chunk_;
}

void HighwayHashPrinter::AppendSlow(absl::string_view text) {
  Refill(1);
  fingerprinter_.Update(text);
}

uint64_t HighwayHashPrinter::ToFingerprint() && {
  Refill(1);
  return fingerprinter_.Finish();
}

}  // namespace xla
