#include "xla/fingerprint.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"

namespace xla {
namespace {

constexpr uint64_t kMix1 = 0xbf58476d1ce4e5b9u;
constexpr uint64_t kMix2 = 0x94d049bb133111ebu;

uint64_t Fold(uint64_t a, uint64_t b) {
  const absl::uint128 product = absl::uint128(a) * b;
  return absl::Uint128High64(product) ^ absl::Uint128Low64(product);
}

// Written out, not as a loop, compilers take it for a single load.
uint64_t Load(const char* p) {
  const auto byte = [p](int i) {
    return uint64_t{static_cast<unsigned char>(p[i])} << (8 * i);
  };
  return byte(0) | byte(1) | byte(2) | byte(3) | byte(4) | byte(5) | byte(6) |
         byte(7);
}

// Adding the state to the second factor keeps a block that zeroes the first
// one from erasing what came before.
uint64_t Absorb(uint64_t state, const char* block) {
  const uint64_t a = Load(block) ^ kMix1;
  const uint64_t b = Load(block + 8) ^ kMix2;
  return Fold(a ^ state, b + (state << 1 | state >> 63)) ^
         (state * kMix1 + (a ^ (b << 32 | b >> 32)));
}

// The output mixer of SplitMix64 (Steele, Lea and Flood, Fast splittable
// pseudorandom number generators, 2014).
uint64_t Finalize(uint64_t x) {
  x = (x ^ (x >> 30)) * kMix1;
  x = (x ^ (x >> 27)) * kMix2;
  return x ^ (x >> 31);
}

}  // namespace

void Fingerprinter::Update(absl::string_view data) {
  const size_t held = length_ % 16;
  length_ += data.size();
  if (held != 0) {
    const size_t taken = std::min(data.size(), 16 - held);
    std::memcpy(pending_ + held, data.data(), taken);
    data.remove_prefix(taken);
    if (held + taken < 16) return;
    state_ = Absorb(state_, pending_);
  }
  for (; data.size() >= 16; data.remove_prefix(16)) {
    state_ = Absorb(state_, data.data());
  }
  if (!data.empty()) std::memcpy(pending_, data.data(), data.size());
}

uint64_t Fingerprinter::Finish() const {
  char block[16] = {};
  std::memcpy(block, pending_, length_ % 16);
  return Finalize(Absorb(state_ ^ (length_ * kMix2), block));
}

uint64_t Fingerprint64(absl::string_view data) {
  Fingerprinter fingerprinter;
  fingerprinter.Update(data);
  return fingerprinter.Finish();
}

uint64_t FingerprintCat64(uint64_t a, uint64_t b) {
  return Finalize(Fold(a ^ kMix1, b ^ kMix2) ^ (a * kMix2 + b));
}

}  // namespace xla
