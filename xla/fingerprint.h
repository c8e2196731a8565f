#ifndef XLA_FINGERPRINT_H_
#define XLA_FINGERPRINT_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace xla {

// A 64-bit hash of a byte stream that is the same on every machine and in
// every run. Not cryptographic. Folds 16 bytes at a time by a 64x64 -> 128 bit
// multiplication.
class Fingerprinter {
 public:
  Fingerprinter() = default;

  // The result does not depend on how data are split into calls.
  void Update(absl::string_view data);
  // The fingerprint of all data so far.
  uint64_t Finish() const;

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15u;
  uint64_t length_ = 0;
  // Bytes of an incomplete block.
  char pending_[16] = {};
};

// The fingerprint of `data`.
uint64_t Fingerprint64(absl::string_view data);
// A fingerprint of an ordered pair.
uint64_t FingerprintCat64(uint64_t a, uint64_t b);

}  // namespace xla

#endif  // XLA_FINGERPRINT_H_
