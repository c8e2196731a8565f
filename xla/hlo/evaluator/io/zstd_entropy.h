#ifndef XLA_HLO_EVALUATOR_IO_ZSTD_ENTROPY_H_
#define XLA_HLO_EVALUATOR_IO_ZSTD_ENTROPY_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla::zstd {

// The two codes of zstd's blocks (RFC 8878, section 4) and the bits they are
// read from. Errors are InvalidArgument.

absl::Status Damaged(absl::string_view what);

// The lowest `bytes` <= 8 bytes of `in` as a number, the first the lowest.
uint64_t LittleEndian(absl::string_view in, int bytes);

// Bits from the last to the first: the highest bit that is set in the last byte
// marks the end, and what comes first lies below it.
class BackwardBits {
 public:
  static absl::StatusOr<BackwardBits> Make(absl::string_view in);

  // The next n <= 32 bits, the first the highest; zeros before the beginning.
  uint32_t Peek(int n) const;
  void Skip(int n) { left_ -= n; }
  uint32_t Read(int n) {
    const uint32_t bits = Peek(n);
    Skip(n);
    return bits;
  }
  // Bits that are left; negative once there were too few.
  int64_t left() const { return left_; }

 private:
  BackwardBits(absl::string_view in, int64_t left) : in_(in), left_(left) {}
  absl::string_view in_;
  int64_t left_;
};

// A table of finite state entropy: what a state stands for, and how the next
// one comes about.
class FseTable {
 public:
  struct State {
    uint8_t symbol;
    uint8_t bits;
    uint16_t base;  // of the next state, to which these bits are added
  };

  // From how likely symbols are, in parts of 2^accuracy; -1: less than one
  // part.
  static absl::StatusOr<FseTable> Make(absl::Span<const int16_t> parts,
                                       int accuracy);
  // One symbol, always.
  static FseTable Constant(uint8_t symbol);
  // From the description at the beginning of `in`, which it is taken from.
  static absl::StatusOr<FseTable> Read(absl::string_view* in, int max_accuracy,
                                       int symbols);

  int accuracy() const { return accuracy_; }
  const State& at(uint32_t state) const { return states_[state]; }

 private:
  int accuracy_ = 0;
  std::vector<State> states_;
};

// A Huffman code of bytes.
class HuffmanTable {
 public:
  // From the description at the beginning of `in`, which it is taken from.
  static absl::StatusOr<HuffmanTable> Read(absl::string_view* in);

  // Appends the `count` bytes that `in` holds, no more and no fewer.
  absl::Status Decode(absl::string_view in, int64_t count,
                      std::string* out) const;

 private:
  struct Word {
    uint8_t symbol;
    uint8_t bits;
  };
  static absl::StatusOr<HuffmanTable> Make(std::vector<uint8_t> weights);

  int max_bits_ = 0;
  std::vector<Word> words_;  // by the next max_bits_ bits
};

}  // namespace xla::zstd

#endif  // XLA_HLO_EVALUATOR_IO_ZSTD_ENTROPY_H_
