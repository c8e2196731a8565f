#include "xla/hlo/evaluator/io/zstd_entropy.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/numeric/bits.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/status_macros.h"

namespace xla::zstd {
namespace {

constexpr int kMaxHuffmanBits = 11;

// Index of the highest bit that is set.
int HighBit(uint32_t value) { return absl::bit_width(value) - 1; }

// Bits from the first to the last, lowest first, as descriptions of FSE tables
// have them.
class ForwardBits {
 public:
  explicit ForwardBits(absl::string_view in) : in_(in) {}

  // The next n <= 16 bits; zeros behind the end.
  uint32_t Peek(int n) const {
    uint32_t bits = 0;
    for (int k = 0; k < 3; ++k) {
      const size_t byte = at_ / 8 + k;
      if (byte < in_.size()) {
        bits |= static_cast<uint32_t>(static_cast<uint8_t>(in_[byte]))
                << (8 * k);
      }
    }
    return bits >> (at_ % 8) & ((uint32_t{1} << n) - 1);
  }
  void Skip(int n) { at_ += n; }
  uint32_t Read(int n) {
    const uint32_t bits = Peek(n);
    Skip(n);
    return bits;
  }
  // Whole bytes that were begun.
  size_t bytes() const { return (at_ + 7) / 8; }

 private:
  absl::string_view in_;
  size_t at_ = 0;
};

// A number of at most `most`, in as many bits as that takes, or one fewer for
// the smallest of them.
uint32_t ReadUpTo(uint32_t most, ForwardBits* bits) {
  const int width = HighBit(most) + 1;
  const uint32_t half = uint32_t{1} << (width - 1);
  const uint32_t short_ones = 2 * half - 1 - most;
  const uint32_t low = bits->Peek(width - 1);
  if (low < short_ones) {
    bits->Skip(width - 1);
    return low;
  }
  const uint32_t value = bits->Read(width);
  return value < half ? value : value - short_ones;
}

// Weights of a Huffman code that are coded by two FSE states in turn.
absl::StatusOr<std::vector<uint8_t>> ReadWeights(absl::string_view in) {
  TF_ASSIGN_OR_RETURN(const FseTable table,
                      FseTable::Read(&in, /*max_accuracy=*/6, /*symbols=*/13));
  TF_ASSIGN_OR_RETURN(BackwardBits bits, BackwardBits::Make(in));
  uint32_t states[2];
  for (uint32_t& state : states) state = bits.Read(table.accuracy());
  if (bits.left() < 0) return Damaged("weights of a Huffman code");
  std::vector<uint8_t> weights;
  for (int turn = 0; weights.size() < 255; turn ^= 1) {
    const FseTable::State& state = table.at(states[turn]);
    weights.push_back(state.symbol);
    states[turn] = state.base + bits.Read(state.bits);
    if (bits.left() < 0) {
      // What the other state stands for needs no more bits.
      weights.push_back(table.at(states[turn ^ 1]).symbol);
      return weights;
    }
  }
  return Damaged("too many weights of a Huffman code");
}

}  // namespace

absl::Status Damaged(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("damaged compressed data: ", what));
}

uint64_t LittleEndian(absl::string_view in, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) {
    value = value << 8 | static_cast<uint8_t>(in[i]);
  }
  return value;
}

absl::StatusOr<BackwardBits> BackwardBits::Make(absl::string_view in) {
  if (in.empty() || in.back() == 0) return Damaged("bits without an end");
  const int64_t last = HighBit(static_cast<uint8_t>(in.back()));
  return BackwardBits(in, 8 * (static_cast<int64_t>(in.size()) - 1) + last);
}

uint32_t BackwardBits::Peek(int n) const {
  const int64_t begin = left_ - n;
  const int64_t first = begin >= 0 ? begin / 8 : -((7 - begin) / 8);
  uint64_t bits = 0;
  for (int k = 0; k < 5; ++k) {
    const int64_t byte = first + k;
    if (byte >= 0 && byte < static_cast<int64_t>(in_.size())) {
      bits |= static_cast<uint64_t>(static_cast<uint8_t>(in_[byte])) << (8 * k);
    }
  }
  return static_cast<uint32_t>(bits >> (begin - 8 * first) &
                               ((uint64_t{1} << n) - 1));
}

// Finite state entropy, a tabled asymmetric numeral system (Duda, Asymmetric
// Numeral Systems, 2013), as RFC 8878 fixes it. The step is odd and the size a
// power of two, so that it visits every place once and is back at 0 exactly
// when as many symbols were spread as there are places. A symbol with p of the
// states numbers them p to 2 p - 1; the bits that are read are what takes such
// a number back to the size of the table.
absl::StatusOr<FseTable> FseTable::Make(absl::Span<const int16_t> parts,
                                        int accuracy) {
  FseTable table;
  table.accuracy_ = accuracy;
  const uint32_t size = uint32_t{1} << accuracy;
  table.states_.resize(size);
  // Rare symbols have the last states; those of the others are spread.
  uint32_t end = size;
  std::vector<uint32_t> next(parts.size());
  for (size_t symbol = 0; symbol < parts.size(); ++symbol) {
    next[symbol] = std::abs(parts[symbol]);
    if (parts[symbol] == -1) {
      table.states_[--end].symbol = static_cast<uint8_t>(symbol);
    }
  }
  const uint32_t step = (size >> 1) + (size >> 3) + 3;
  uint32_t at = 0;
  for (size_t symbol = 0; symbol < parts.size(); ++symbol) {
    for (int i = 0; i < parts[symbol]; ++i) {
      table.states_[at].symbol = static_cast<uint8_t>(symbol);
      do {
        at = (at + step) & (size - 1);
      } while (at >= end);
    }
  }
  if (at != 0) return Damaged("a table whose parts do not add up");
  for (State& state : table.states_) {
    const uint32_t number = next[state.symbol]++;
    state.bits = static_cast<uint8_t>(accuracy - HighBit(number));
    state.base = static_cast<uint16_t>((number << state.bits) - size);
  }
  return table;
}

FseTable FseTable::Constant(uint8_t symbol) {
  FseTable table;
  table.states_.push_back({symbol, 0, 0});
  return table;
}

absl::StatusOr<FseTable> FseTable::Read(absl::string_view* in, int max_accuracy,
                                        int symbols) {
  ForwardBits bits(*in);
  const int accuracy = static_cast<int>(bits.Read(4)) + 5;
  if (accuracy > max_accuracy) return Damaged("a table that is too large");
  int32_t left = 1 << accuracy;
  std::vector<int16_t> parts;
  const auto add = [&](int16_t part) {
    parts.push_back(part);
    return static_cast<int>(parts.size()) <= symbols;
  };
  while (left > 0) {
    const int part = static_cast<int>(ReadUpTo(left + 1, &bits)) - 1;
    left -= std::abs(part);
    if (!add(static_cast<int16_t>(part))) return Damaged("too many symbols");
    // More symbols that never come, three at a time.
    for (uint32_t more = part == 0 ? 3 : 0; more == 3;) {
      more = bits.Read(2);
      for (uint32_t i = 0; i < more; ++i) {
        if (!add(0)) return Damaged("too many symbols");
      }
    }
  }
  if (bits.bytes() > in->size()) return Damaged("it ends early");
  in->remove_prefix(bits.bytes());
  return Make(parts, accuracy);
}

absl::StatusOr<HuffmanTable> HuffmanTable::Make(std::vector<uint8_t> weights) {
  // Weights w stand for 2^(w-1) words of the longest length; the last symbol
  // has what is left up to a power of two.
  uint32_t sum = 0;
  for (const uint8_t weight : weights) {
    if (weight > kMaxHuffmanBits) return Damaged("a Huffman code's weight");
    if (weight > 0) sum += uint32_t{1} << (weight - 1);
  }
  if (sum == 0) return Damaged("a Huffman code without words");
  HuffmanTable table;
  table.max_bits_ = HighBit(sum) + 1;
  const uint32_t rest = (uint32_t{1} << table.max_bits_) - sum;
  if (table.max_bits_ > kMaxHuffmanBits || !absl::has_single_bit(rest)) {
    return Damaged("a Huffman code whose words do not add up");
  }
  weights.push_back(static_cast<uint8_t>(HighBit(rest) + 1));
  for (int weight = 1; weight <= table.max_bits_; ++weight) {
    for (size_t symbol = 0; symbol < weights.size(); ++symbol) {
      if (weights[symbol] != weight) continue;
      table.words_.insert(table.words_.end(), size_t{1} << (weight - 1),
                          {static_cast<uint8_t>(symbol),
                           static_cast<uint8_t>(table.max_bits_ + 1 - weight)});
    }
  }
  return table;
}

absl::StatusOr<HuffmanTable> HuffmanTable::Read(absl::string_view* in) {
  if (in->empty()) return Damaged("it ends early");
  const int header = static_cast<uint8_t>(in->front());
  in->remove_prefix(1);
  const int count = header - 127;  // of weights of four bits each
  const size_t bytes = header < 128 ? header : (count + 1) / 2;
  if (in->size() < bytes) return Damaged("it ends early");
  const absl::string_view description = in->substr(0, bytes);
  in->remove_prefix(bytes);
  std::vector<uint8_t> weights;
  if (header < 128) {
    TF_ASSIGN_OR_RETURN(weights, ReadWeights(description));
  } else {
    for (int i = 0; i < count; ++i) {
      const auto pair = static_cast<uint8_t>(description[i / 2]);
      weights.push_back(i % 2 == 0 ? pair >> 4 : pair & 15);
    }
  }
  return Make(std::move(weights));
}

absl::Status HuffmanTable::Decode(absl::string_view in, int64_t count,
                                  std::string* out) const {
  TF_ASSIGN_OR_RETURN(BackwardBits bits, BackwardBits::Make(in));
  for (int64_t i = 0; i < count; ++i) {
    const Word& word = words_[bits.Peek(max_bits_)];
    out->push_back(static_cast<char>(word.symbol));
    bits.Skip(word.bits);
  }
  if (bits.left() != 0) return Damaged("literals of another length");
  return absl::OkStatus();
}

}  // namespace xla::zstd
