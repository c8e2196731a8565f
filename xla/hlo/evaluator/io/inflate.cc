#include "xla/hlo/evaluator/io/inflate.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/status_macros.h"

// Decompression of DEFLATE streams (RFC 1951). Huffman codes are decoded
// canonically, one bit at a time: the codes of one length are consecutive
// numbers, so the number of codes of each length and the symbols in the order
// of their codes suffice, without a tree or tables. This takes at most 15 steps
// a symbol, which is fast enough for the inputs read here. The size of the
// result is known in advance and bounds the output, so a damaged or malicious
// stream cannot exhaust memory.

namespace xla {
namespace {

constexpr int kMaxBits = 15;

absl::Status Damaged(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("damaged compressed data: ", what));
}

// A canonical Huffman code: how many codes each length has, and the symbols in
// the order of their codes.
class HuffmanCode {
 public:
  static absl::StatusOr<HuffmanCode> Make(absl::Span<const uint8_t> lengths) {
    HuffmanCode code;
    for (uint8_t length : lengths) ++code.count_[length];
    code.count_[0] = 0;
    int left = 1;
    std::array<int, kMaxBits + 2> first{};
    for (int length = 1; length <= kMaxBits; ++length) {
      left = 2 * left - code.count_[length];
      if (left < 0) return Damaged("an oversubscribed Huffman code");
      first[length + 1] = first[length] + code.count_[length];
    }
    code.symbols_.resize(lengths.size());
    for (size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      if (lengths[symbol] != 0) {
        code.symbols_[first[lengths[symbol]]++] = static_cast<uint16_t>(symbol);
      }
    }
    return code;
  }

  const std::array<int, kMaxBits + 1>& count() const { return count_; }
  int symbol(int rank) const { return symbols_[rank]; }

 private:
  std::array<int, kMaxBits + 1> count_{};
  std::vector<uint16_t> symbols_;
};

class Inflater {
 public:
  Inflater(absl::string_view in, int64_t size) : in_(in), size_(size) {}

  absl::StatusOr<std::string> Run() && {
    for (bool last = false; !last;) {
      TF_ASSIGN_OR_RETURN(const int header, Bits(3));
      last = (header & 1) != 0;
      switch (header >> 1) {
        case 0:
          TF_RETURN_IF_ERROR(Stored());
          break;
        case 1:
          TF_RETURN_IF_ERROR(Fixed());
          break;
        case 2:
          TF_RETURN_IF_ERROR(Dynamic());
          break;
        default:
          return Damaged("unknown block type");
      }
    }
    if (static_cast<int64_t>(out_.size()) != size_) {
      return Damaged(
          absl::StrCat("expected ", size_, " bytes, found ", out_.size()));
    }
    return std::move(out_);
  }

 private:
  // The next n <= 16 bits, the first the lowest.
  absl::StatusOr<int> Bits(int n) {
    while (bit_count_ < n) {
      if (position_ >= in_.size()) return Damaged("it ends early");
      bits_ |= static_cast<uint32_t>(static_cast<uint8_t>(in_[position_++]))
               << bit_count_;
      bit_count_ += 8;
    }
    const int result = static_cast<int>(bits_ & ((uint32_t{1} << n) - 1));
    bits_ >>= n;
    bit_count_ -= n;
    return result;
  }

  // Codes come highest bit first.
  absl::StatusOr<int> Symbol(const HuffmanCode& code) {
    int word = 0, first = 0, rank = 0;
    for (int length = 1; length <= kMaxBits; ++length) {
      TF_ASSIGN_OR_RETURN(const int bit, Bits(1));
      word |= bit;
      const int count = code.count()[length];
      if (word - first < count) return code.symbol(rank + word - first);
      rank += count;
      first = (first + count) << 1;
      word <<= 1;
    }
    return Damaged("invalid Huffman code");
  }

  absl::Status Room(int64_t bytes) {
    if (static_cast<int64_t>(out_.size()) + bytes > size_) {
      return Damaged(absl::StrCat("it holds more than ", size_, " bytes"));
    }
    return absl::OkStatus();
  }

  absl::Status Stored() {
    // Up to the next byte; Bits never reads a byte that it does not need.
    bits_ = 0;
    bit_count_ = 0;
    TF_ASSIGN_OR_RETURN(const int length, Bits(16));
    TF_ASSIGN_OR_RETURN(const int complement, Bits(16));
    if ((length ^ 0xffff) != complement) {
      return Damaged("length of a stored block");
    }
    if (in_.size() - position_ < static_cast<size_t>(length)) {
      return Damaged("it ends early");
    }
    TF_RETURN_IF_ERROR(Room(length));
    out_.append(in_.data() + position_, length);
    position_ += length;
    return absl::OkStatus();
  }

  absl::Status Fixed() {
    std::vector<uint8_t> lengths(288, 8);
    for (int i = 144; i < 256; ++i) lengths[i] = 9;
    for (int i = 256; i < 280; ++i) lengths[i] = 7;
    TF_ASSIGN_OR_RETURN(const HuffmanCode literals, HuffmanCode::Make(lengths));
    TF_ASSIGN_OR_RETURN(const HuffmanCode distances,
                        HuffmanCode::Make(std::vector<uint8_t>(30, 5)));
    return Block(literals, distances);
  }

  absl::Status Dynamic() {
    static constexpr uint8_t kOrder[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                           11, 4,  12, 3, 13, 2, 14, 1, 15};
    TF_ASSIGN_OR_RETURN(int literal_count, Bits(5));
    TF_ASSIGN_OR_RETURN(int distance_count, Bits(5));
    TF_ASSIGN_OR_RETURN(int code_count, Bits(4));
    literal_count += 257;
    distance_count += 1;
    code_count += 4;
    std::vector<uint8_t> code_lengths(19, 0);
    for (int i = 0; i < code_count; ++i) {
      TF_ASSIGN_OR_RETURN(const int length, Bits(3));
      code_lengths[kOrder[i]] = static_cast<uint8_t>(length);
    }
    TF_ASSIGN_OR_RETURN(const HuffmanCode codes,
                        HuffmanCode::Make(code_lengths));
    std::vector<uint8_t> lengths;
    const size_t total = literal_count + distance_count;
    while (lengths.size() < total) {
      TF_ASSIGN_OR_RETURN(const int symbol, Symbol(codes));
      if (symbol < 16) {
        lengths.push_back(static_cast<uint8_t>(symbol));
        continue;
      }
      if (symbol == 16 && lengths.empty())
        return Damaged("a repeat code without a previous length");
      const uint8_t value = symbol == 16 ? lengths.back() : 0;
      static constexpr int kExtra[3] = {2, 3, 7};
      static constexpr int kBase[3] = {3, 3, 11};
      TF_ASSIGN_OR_RETURN(const int extra, Bits(kExtra[symbol - 16]));
      lengths.insert(lengths.end(), kBase[symbol - 16] + extra, value);
    }
    if (lengths.size() > total) return Damaged("too many code lengths");
    TF_ASSIGN_OR_RETURN(
        const HuffmanCode literals,
        HuffmanCode::Make(absl::MakeConstSpan(lengths).first(literal_count)));
    TF_ASSIGN_OR_RETURN(
        const HuffmanCode distances,
        HuffmanCode::Make(absl::MakeConstSpan(lengths).subspan(literal_count)));
    return Block(literals, distances);
  }

  absl::Status Block(const HuffmanCode& literals,
                     const HuffmanCode& distances) {
    while (true) {
      TF_ASSIGN_OR_RETURN(const int symbol, Symbol(literals));
      if (symbol == 256) return absl::OkStatus();
      if (symbol < 256) {
        TF_RETURN_IF_ERROR(Room(1));
        out_.push_back(static_cast<char>(symbol));
        continue;
      }
      TF_ASSIGN_OR_RETURN(const int length, Length(symbol));
      TF_ASSIGN_OR_RETURN(const int distance_symbol, Symbol(distances));
      TF_ASSIGN_OR_RETURN(const int distance, Distance(distance_symbol));
      if (static_cast<size_t>(distance) > out_.size()) {
        return Damaged("a distance beyond the start of the data");
      }
      TF_RETURN_IF_ERROR(Room(length));
      // The copy may overlap with what it writes.
      for (int i = 0; i < length; ++i) {
        out_.push_back(out_[out_.size() - distance]);
      }
    }
  }

  absl::StatusOr<int> Length(int symbol) {
    if (symbol == 285) return 258;
    if (symbol > 285) return Damaged("invalid length code");
    const int code = symbol - 257;
    if (code < 8) return 3 + code;
    // Four codes for each number of extra bits.
    const int extra = code / 4 - 1;
    TF_ASSIGN_OR_RETURN(const int more, Bits(extra));
    return 3 + ((4 + code % 4) << extra) + more;
  }

  absl::StatusOr<int> Distance(int symbol) {
    if (symbol > 29) return Damaged("invalid distance code");
    if (symbol < 4) return 1 + symbol;
    const int extra = symbol / 2 - 1;
    TF_ASSIGN_OR_RETURN(const int more, Bits(extra));
    return 1 + ((2 + symbol % 2) << extra) + more;
  }

  const absl::string_view in_;
  const int64_t size_;
  size_t position_ = 0;
  uint32_t bits_ = 0;
  int bit_count_ = 0;
  std::string out_;
};

}  // namespace

absl::StatusOr<std::string> Inflate(absl::string_view compressed,
                                    int64_t size) {
  return Inflater(compressed, size).Run();
}

}  // namespace xla
