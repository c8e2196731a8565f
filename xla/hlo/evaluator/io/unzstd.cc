#include "xla/hlo/evaluator/io/unzstd.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/numeric/bits.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/io/zstd_entropy.h"
#include "xla/status_macros.h"

// Frames hold blocks, which hold literals and sequences: copy so many literals,
// then so many bytes from so far back. Section numbers are those of RFC 8878.

namespace xla {
namespace {

using zstd::BackwardBits;
using zstd::Damaged;
using zstd::FseTable;
using zstd::HuffmanTable;
using zstd::LittleEndian;

constexpr uint32_t kFrame = 0xfd2fb528;
constexpr uint32_t kSkippedFrame = 0x184d2a50;  // and the 15 behind it
constexpr int64_t kMaxBlock = 128 << 10;

absl::StatusOr<absl::string_view> Take(absl::string_view* in, size_t bytes) {
  if (in->size() < bytes) return Damaged("it ends early");
  const absl::string_view taken = in->substr(0, bytes);
  in->remove_prefix(bytes);
  return taken;
}

absl::StatusOr<uint64_t> TakeNumber(absl::string_view* in, int bytes) {
  TF_ASSIGN_OR_RETURN(const absl::string_view taken, Take(in, bytes));
  return LittleEndian(taken, bytes);
}

// XXH64 of seed 0 (section 3.1.1, Content_Checksum).
uint64_t XxHash64(absl::string_view bytes) {
  constexpr uint64_t kPrimes[5] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f,
                                   0x165667b19e3779f9, 0x85ebca77c2b2ae63,
                                   0x27d4eb2f165667c5};
  const auto round = [&](uint64_t lane, uint64_t word) {
    return absl::rotl(lane + word * kPrimes[1], 31) * kPrimes[0];
  };
  const uint64_t size = bytes.size();
  uint64_t hash = kPrimes[4];
  if (size >= 32) {
    uint64_t lanes[4] = {kPrimes[0] + kPrimes[1], kPrimes[1], 0,
                         uint64_t{0} - kPrimes[0]};
    for (; bytes.size() >= 32; bytes.remove_prefix(32)) {
      for (int k = 0; k < 4; ++k) {
        lanes[k] = round(lanes[k], LittleEndian(bytes.substr(8 * k), 8));
      }
    }
    hash = absl::rotl(lanes[0], 1) + absl::rotl(lanes[1], 7) +
           absl::rotl(lanes[2], 12) + absl::rotl(lanes[3], 18);
    for (const uint64_t lane : lanes) {
      hash = (hash ^ round(0, lane)) * kPrimes[0] + kPrimes[3];
    }
  }
  hash += size;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    hash ^= round(0, LittleEndian(bytes, 8));
    hash = absl::rotl(hash, 27) * kPrimes[0] + kPrimes[3];
  }
  if (bytes.size() >= 4) {
    hash ^= LittleEndian(bytes, 4) * kPrimes[0];
    hash = absl::rotl(hash, 23) * kPrimes[1] + kPrimes[2];
    bytes.remove_prefix(4);
  }
  for (const char c : bytes) {
    hash ^= static_cast<uint8_t>(c) * kPrimes[4];
    hash = absl::rotl(hash, 11) * kPrimes[0];
  }
  hash = (hash ^ hash >> 33) * kPrimes[1];
  hash = (hash ^ hash >> 29) * kPrimes[2];
  return hash ^ hash >> 32;
}

// What a code of a length or an offset stands for: a base value, and a number
// of extra bits to add.
struct Extra {
  uint32_t base;
  int bits;
};

Extra LiteralsLength(uint32_t code) {
  static constexpr Extra kLong[] = {
      {16, 1},    {18, 1},    {20, 1},     {22, 1},     {24, 2},
      {28, 2},    {32, 3},    {40, 3},     {48, 4},     {64, 6},
      {128, 7},   {256, 8},   {512, 9},    {1024, 10},  {2048, 11},
      {4096, 12}, {8192, 13}, {16384, 14}, {32768, 15}, {65536, 16}};
  return code < 16 ? Extra{code, 0} : kLong[code - 16];
}

Extra MatchLength(uint32_t code) {
  static constexpr Extra kLong[] = {
      {35, 1},     {37, 1},     {39, 1},    {41, 1},    {43, 2},    {47, 2},
      {51, 3},     {59, 3},     {67, 4},    {83, 4},    {99, 5},    {131, 7},
      {259, 8},    {515, 9},    {1027, 10}, {2051, 11}, {4099, 12}, {8195, 13},
      {16387, 14}, {32771, 15}, {65539, 16}};
  return code < 32 ? Extra{code + 3, 0} : kLong[code - 32];
}

Extra Offset(uint32_t code) {
  return {uint32_t{1} << code, static_cast<int>(code)};
}

// One of the three codes of sequences.
struct SequenceCode {
  Extra (*meaning)(uint32_t code);
  int max_accuracy;
  int symbols;
  absl::Span<const int16_t> usual;  // where a block says nothing else
  int usual_accuracy;
};

constexpr int16_t kUsualLiterals[] = {4, 3, 2, 2, 2, 2, 2, 2, 2,  2,  2,  2,
                                      2, 1, 1, 1, 2, 2, 2, 2, 2,  2,  2,  2,
                                      2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1};
constexpr int16_t kUsualMatches[] = {
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,  1,  1,  1,  1,  1,  1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1};
constexpr int16_t kUsualOffsets[] = {1, 1, 1, 1, 1,  1,  2,  2,  2, 1,
                                     1, 1, 1, 1, 1,  1,  1,  1,  1, 1,
                                     1, 1, 1, 1, -1, -1, -1, -1, -1};

// In the order in which blocks describe them.
enum CodeOf { kLiterals, kOffsets, kMatches };
const SequenceCode kCodes[3] = {
    {LiteralsLength, 9, 36, kUsualLiterals, 6},
    {Offset, 8, 32, kUsualOffsets, 5},
    {MatchLength, 9, 53, kUsualMatches, 6},
};

// What blocks of one frame take over from those before them.
class Frame {
 public:
  Frame(int64_t max_size, std::string* out)
      : begin_(out->size()), max_size_(max_size), out_(*out) {}

  // Section 3.1.1, after the magic number.
  absl::Status Read(absl::string_view* in) {
    TF_ASSIGN_OR_RETURN(const uint64_t descriptor, TakeNumber(in, 1));
    const bool single_segment = (descriptor & 0x20) != 0;
    const bool has_checksum = (descriptor & 4) != 0;
    if (descriptor & 8) return Damaged("unknown frame type");
    if (!single_segment) TF_RETURN_IF_ERROR(Take(in, 1).status());
    static constexpr int kIdBytes[4] = {0, 1, 2, 4};
    TF_ASSIGN_OR_RETURN(const uint64_t dictionary,
                        TakeNumber(in, kIdBytes[descriptor & 3]));
    if (dictionary != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("it needs dictionary ", dictionary));
    }
    const int size_flag = static_cast<int>(descriptor >> 6);
    const int size_bytes =
        size_flag == 0 ? (single_segment ? 1 : 0) : 1 << size_flag;
    TF_ASSIGN_OR_RETURN(uint64_t size, TakeNumber(in, size_bytes));
    if (size_flag == 1) size += 256;
    TF_RETURN_IF_ERROR(Blocks(in));
    const absl::string_view content = absl::string_view(out_).substr(begin_);
    if (size_bytes > 0 && content.size() != size) {
      return Damaged(
          absl::StrCat("expected ", size, " bytes, found ", content.size()));
    }
    if (!has_checksum) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(const uint64_t checksum, TakeNumber(in, 4));
    if (static_cast<uint32_t>(XxHash64(content)) != checksum) {
      return Damaged("checksum mismatch");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Blocks(absl::string_view* in) {
    enum Type { kRaw, kRepeated, kCompressed };
    for (bool last = false; !last;) {
      TF_ASSIGN_OR_RETURN(const uint64_t header, TakeNumber(in, 3));
      last = (header & 1) != 0;
      const auto size = static_cast<int64_t>(header >> 3);
      if (size > kMaxBlock) return Damaged("a block that is too large");
      switch (header >> 1 & 3) {
        case kRaw: {
          TF_ASSIGN_OR_RETURN(const absl::string_view bytes, Take(in, size));
          TF_RETURN_IF_ERROR(Append(bytes));
          break;
        }
        case kRepeated: {
          TF_ASSIGN_OR_RETURN(const uint64_t byte, TakeNumber(in, 1));
          TF_RETURN_IF_ERROR(Append(std::string(size, char(byte))));
          break;
        }
        case kCompressed: {
          TF_ASSIGN_OR_RETURN(absl::string_view block, Take(in, size));
          TF_RETURN_IF_ERROR(Literals(&block));
          TF_RETURN_IF_ERROR(Sequences(block));
          break;
        }
        default:
          return Damaged("unknown block type");
      }
    }
    return absl::OkStatus();
  }

  absl::Status Room(int64_t bytes) const {
    if (static_cast<int64_t>(out_.size()) + bytes > max_size_) {
      return absl::InvalidArgumentError(
          absl::StrCat("it holds more than ", max_size_, " bytes"));
    }
    return absl::OkStatus();
  }

  absl::Status Append(absl::string_view bytes) {
    TF_RETURN_IF_ERROR(Room(bytes.size()));
    out_.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }

  // Section 3.1.1.3.1: leaves them in literals_.
  absl::Status Literals(absl::string_view* block) {
    enum Type { kRaw, kRepeated, kCoded, kCodedAsBefore };
    if (block->empty()) return Damaged("it ends early");
    const int first = static_cast<uint8_t>(block->front());
    const int type = first & 3, format = first >> 2 & 3;
    literals_.clear();
    if (type == kRaw || type == kRepeated) {
      const int bytes = format == 1 ? 2 : format == 3 ? 3 : 1;
      TF_ASSIGN_OR_RETURN(const uint64_t header, TakeNumber(block, bytes));
      const uint64_t size = header >> (bytes == 1 ? 3 : 4);
      TF_ASSIGN_OR_RETURN(const absl::string_view stored,
                          Take(block, type == kRaw ? size : 1));
      if (static_cast<int64_t>(size) > kMaxBlock) {
        return Damaged("too many literals");
      }
      literals_ = type == kRaw ? std::string(stored)
                               : std::string(size, stored.front());
      return absl::OkStatus();
    }
    static constexpr int kBits[4] = {10, 10, 14, 18};
    const int bits = kBits[format];
    TF_ASSIGN_OR_RETURN(const uint64_t header,
                        TakeNumber(block, (4 + 2 * bits + 7) / 8));
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    const auto size = static_cast<int64_t>(header >> 4 & mask);
    if (size > kMaxBlock) return Damaged("too many literals");
    TF_ASSIGN_OR_RETURN(absl::string_view coded,
                        Take(block, header >> (4 + bits) & mask));
    if (type == kCoded) {
      TF_ASSIGN_OR_RETURN(huffman_, HuffmanTable::Read(&coded));
    }
    if (!huffman_.has_value()) {
      return Damaged("literals without a Huffman code");
    }
    if (format == 0) return huffman_->Decode(coded, size, &literals_);
    return FourStreams(coded, size);
  }

  // A fourth of the literals each, the last of what is left.
  absl::Status FourStreams(absl::string_view coded, int64_t size) {
    TF_ASSIGN_OR_RETURN(const absl::string_view sizes, Take(&coded, 6));
    const int64_t fourth = (size + 3) / 4;
    if (3 * fourth > size) return Damaged("too few literals");
    for (int k = 0; k < 3; ++k) {
      TF_ASSIGN_OR_RETURN(const absl::string_view stream,
                          Take(&coded, LittleEndian(sizes.substr(2 * k), 2)));
      TF_RETURN_IF_ERROR(huffman_->Decode(stream, fourth, &literals_));
    }
    return huffman_->Decode(coded, size - 3 * fourth, &literals_);
  }

  // Section 3.1.1.3.2: all of the block's.
  absl::Status Sequences(absl::string_view block) {
    TF_ASSIGN_OR_RETURN(uint64_t count, TakeNumber(&block, 1));
    if (count == 255) {
      TF_ASSIGN_OR_RETURN(count, TakeNumber(&block, 2));
      count += 0x7f00;
    } else if (count >= 128) {
      TF_ASSIGN_OR_RETURN(const uint64_t low, TakeNumber(&block, 1));
      count = (count - 128) << 8 | low;
    }
    if (count == 0) {
      if (!block.empty()) return Damaged("more than a block's sequences");
      return Append(literals_);
    }
    TF_ASSIGN_OR_RETURN(const uint64_t modes, TakeNumber(&block, 1));
    if (modes & 3) return Damaged("unknown sequence mode");
    for (int code = 0; code < 3; ++code) {
      TF_RETURN_IF_ERROR(ReadTable(code, modes >> (6 - 2 * code) & 3, &block));
    }
    return Execute(count, block);
  }

  absl::Status ReadTable(int code, uint64_t mode, absl::string_view* block) {
    enum Mode { kUsual, kConstant, kDescribed };
    const SequenceCode& about = kCodes[code];
    std::optional<FseTable>& table = tables_[code];
    switch (mode) {
      case kUsual: {
        TF_ASSIGN_OR_RETURN(table,
                            FseTable::Make(about.usual, about.usual_accuracy));
        break;
      }
      case kConstant: {
        TF_ASSIGN_OR_RETURN(const uint64_t symbol, TakeNumber(block, 1));
        if (static_cast<int>(symbol) >= about.symbols) {
          return Damaged("an unknown code");
        }
        table = FseTable::Constant(static_cast<uint8_t>(symbol));
        break;
      }
      case kDescribed: {
        TF_ASSIGN_OR_RETURN(
            table, FseTable::Read(block, about.max_accuracy, about.symbols));
        break;
      }
      default:  // That of the block before.
        if (!table.has_value()) {
          return Damaged("a repeated table without a previous one");
        }
    }
    return absl::OkStatus();
  }

  // The stream is read backwards, and the three codes come in a different order
  // each time, as the format has it: first states literals, offsets, matches;
  // extra bits offsets, matches, literals; next states literals, matches,
  // offsets. The last sequence has no next states, after which no bit may be
  // left.
  absl::Status Execute(uint64_t count, absl::string_view coded) {
    TF_ASSIGN_OR_RETURN(BackwardBits bits, BackwardBits::Make(coded));
    uint32_t states[3];
    for (int code = 0; code < 3; ++code) {
      states[code] = bits.Read(tables_[code]->accuracy());
    }
    absl::string_view literals = literals_;
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t values[3];
      for (const CodeOf code : {kOffsets, kMatches, kLiterals}) {
        const Extra extra =
            kCodes[code].meaning(tables_[code]->at(states[code]).symbol);
        values[code] = extra.base + bits.Read(extra.bits);
      }
      if (i + 1 < count) {
        for (const CodeOf code : {kLiterals, kMatches, kOffsets}) {
          const FseTable::State& state = tables_[code]->at(states[code]);
          states[code] = state.base + bits.Read(state.bits);
        }
      }
      if (bits.left() < 0) return Damaged("sequences end early");
      TF_ASSIGN_OR_RETURN(const absl::string_view run,
                          Take(&literals, values[kLiterals]));
      TF_RETURN_IF_ERROR(Append(run));
      TF_RETURN_IF_ERROR(
          Copy(DistanceOf(values[kOffsets], values[kLiterals] == 0),
               values[kMatches]));
    }
    if (bits.left() != 0) return Damaged("more than a block's sequences");
    return Append(literals);
  }

  // Section 3.1.1.5: values up to 3 are one of the last three distances; where
  // no literals come between, of the two before the last, and the last less 1.
  uint64_t DistanceOf(uint64_t value, bool no_literals) {
    uint64_t distance;
    size_t from = 2;  // place that the distance takes up
    if (value > 3) {
      distance = value - 3;
    } else {
      const uint64_t index = value - 1 + (no_literals ? 1 : 0);
      from = std::min<uint64_t>(index, 2);
      distance = index == 3 ? last_[0] - 1 : last_[index];
    }
    for (; from > 0; --from) last_[from] = last_[from - 1];
    return last_[0] = distance;
  }

  absl::Status Copy(uint64_t distance, int64_t length) {
    if (distance == 0 || distance > out_.size() - begin_) {
      return Damaged("an offset beyond the start of the data");
    }
    TF_RETURN_IF_ERROR(Room(length));
    // The copy may overlap with what it writes.
    for (int64_t i = 0; i < length; ++i) {
      out_.push_back(out_[out_.size() - distance]);
    }
    return absl::OkStatus();
  }

  const size_t begin_;
  const int64_t max_size_;
  std::string& out_;
  std::optional<HuffmanTable> huffman_;
  std::array<std::optional<FseTable>, 3> tables_;  // by CodeOf
  std::array<uint64_t, 3> last_ = {1, 4, 8};
  std::string literals_;
};

}  // namespace

bool IsZstd(absl::string_view bytes) {
  if (bytes.size() < 4) return false;
  const auto magic = static_cast<uint32_t>(LittleEndian(bytes, 4));
  return magic == kFrame || (magic & ~15u) == kSkippedFrame;
}

absl::StatusOr<std::string> Unzstd(absl::string_view compressed,
                                   int64_t max_size) {
  std::string out;
  while (!compressed.empty()) {
    if (!IsZstd(compressed)) return Damaged("a frame without the magic number");
    TF_ASSIGN_OR_RETURN(const uint64_t magic, TakeNumber(&compressed, 4));
    if (magic == kFrame) {
      TF_RETURN_IF_ERROR(Frame(max_size, &out).Read(&compressed));
    } else {
      TF_ASSIGN_OR_RETURN(const uint64_t size, TakeNumber(&compressed, 4));
      TF_RETURN_IF_ERROR(Take(&compressed, size).status());
    }
  }
  return out;
}

}  // namespace xla
