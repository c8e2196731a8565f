#include "xla/hlo/evaluator/io/zip_archive.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/io/inflate.h"
#include "xla/status_macros.h"

// Archives are read through their central directory: the end record is searched
// for from the back of the file, since a comment of unknown length may follow
// it, and the directory it points to lists every member with its sizes and its
// offset. Local headers are consulted only for the length of their variable
// fields. The 64-bit records are understood when reading; writing stays within
// the 32-bit format and stores members uncompressed, with a constant date so
// that equal contents give equal bytes.

namespace xla {
namespace {

// Signatures and fixed sizes of the records of an archive.
constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEndOfDirectory = 0x06054b50;
constexpr uint32_t kEndOfDirectory64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr size_t kLocalSize = 30;
constexpr size_t kCentralSize = 46;
constexpr size_t kEndSize = 22;
constexpr size_t kLocator64Size = 20;
constexpr uint32_t kIn64 = 0xffffffff;

absl::Status BadArchive(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("bad zip archive: ", what));
}

// Little-endian fields at positions that may lie outside.
class Fields {
 public:
  explicit Fields(absl::string_view bytes) : bytes_(bytes) {}

  bool Has(uint64_t position, uint64_t size) const {
    return position <= bytes_.size() && size <= bytes_.size() - position;
  }
  uint64_t Get(uint64_t position, int size) const {
    uint64_t value = 0;
    if (!Has(position, size)) return 0;
    for (int i = size - 1; i >= 0; --i) {
      value = value << 8 | static_cast<uint8_t>(bytes_[position + i]);
    }
    return value;
  }
  absl::string_view Bytes(uint64_t position, uint64_t size) const {
    return Has(position, size) ? bytes_.substr(position, size)
                               : absl::string_view();
  }

 private:
  const absl::string_view bytes_;
};

struct Entry {
  std::string name;
  uint64_t method = 0;
  uint64_t flags = 0;
  uint64_t crc = 0;
  uint64_t compressed_size = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};

// Sizes and offset that do not fit 32 bits are in the extra field 0x0001, in
// this order.
void Apply64(const Fields& fields, uint64_t position, uint64_t size,
             Entry& entry) {
  const uint64_t end = position + size;
  while (position + 4 <= end) {
    const uint64_t id = fields.Get(position, 2);
    const uint64_t length = fields.Get(position + 2, 2);
    position += 4;
    if (id == 1) {
      uint64_t at = position;
      for (uint64_t* value :
           {&entry.size, &entry.compressed_size, &entry.offset}) {
        if (*value != kIn64 || at + 8 > position + length) continue;
        *value = fields.Get(at, 8);
        at += 8;
      }
    }
    position += length;
  }
}

absl::StatusOr<std::vector<Entry>> ReadDirectory(absl::string_view bytes) {
  const Fields fields(bytes);
  if (bytes.size() < kEndSize) return BadArchive("too short");
  // The end record is last, before a comment of at most 64 KiB.
  uint64_t end = bytes.size() - kEndSize;
  const uint64_t lowest = end > 0xffff ? end - 0xffff : 0;
  while (fields.Get(end, 4) != kEndOfDirectory) {
    if (end == lowest) return BadArchive("no central directory");
    --end;
  }
  uint64_t count = fields.Get(end + 10, 2);
  uint64_t position = fields.Get(end + 16, 4);
  if (end >= kLocator64Size &&
      fields.Get(end - kLocator64Size, 4) == kLocator64) {
    const uint64_t end64 = fields.Get(end - kLocator64Size + 8, 8);
    if (fields.Get(end64, 4) != kEndOfDirectory64) {
      return BadArchive("no zip64 directory");
    }
    count = fields.Get(end64 + 32, 8);
    position = fields.Get(end64 + 48, 8);
  }
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    if (!fields.Has(position, kCentralSize) ||
        fields.Get(position, 4) != kCentralHeader) {
      return BadArchive(absl::StrCat("entry ", i, " of the central directory"));
    }
    Entry entry;
    entry.flags = fields.Get(position + 8, 2);
    entry.method = fields.Get(position + 10, 2);
    entry.crc = fields.Get(position + 16, 4);
    entry.compressed_size = fields.Get(position + 20, 4);
    entry.size = fields.Get(position + 24, 4);
    const uint64_t name_size = fields.Get(position + 28, 2);
    const uint64_t extra_size = fields.Get(position + 30, 2);
    const uint64_t comment_size = fields.Get(position + 32, 2);
    entry.offset = fields.Get(position + 42, 4);
    entry.name = std::string(fields.Bytes(position + kCentralSize, name_size));
    Apply64(fields, position + kCentralSize + name_size, extra_size, entry);
    entries.push_back(std::move(entry));
    position += kCentralSize + name_size + extra_size + comment_size;
  }
  return entries;
}

absl::StatusOr<std::string> ReadMember(absl::string_view bytes,
                                       const Entry& entry) {
  const Fields fields(bytes);
  if ((entry.flags & 1) != 0) return BadArchive("it is encrypted");
  if (!fields.Has(entry.offset, kLocalSize) ||
      fields.Get(entry.offset, 4) != kLocalHeader) {
    return BadArchive("no local header");
  }
  const uint64_t data = entry.offset + kLocalSize +
                        fields.Get(entry.offset + 26, 2) +
                        fields.Get(entry.offset + 28, 2);
  if (!fields.Has(data, entry.compressed_size))
    return BadArchive("it ends early");
  const absl::string_view packed = fields.Bytes(data, entry.compressed_size);
  std::string contents;
  if (entry.method == 0) {
    if (entry.size != entry.compressed_size) return BadArchive("sizes differ");
    contents = std::string(packed);
  } else if (entry.method == 8) {
    TF_ASSIGN_OR_RETURN(contents,
                        Inflate(packed, static_cast<int64_t>(entry.size)));
  } else {
    return absl::UnimplementedError(
        absl::StrCat("zip compression method ", entry.method));
  }
  if (Crc32(contents) != entry.crc) return BadArchive("checksum mismatch");
  return contents;
}

void Put(std::string& out, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) {
    out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

}  // namespace

// The reflected CRC-32 of zip files (polynomial 0xedb88320), a byte at a time
// by table.
uint32_t Crc32(absl::string_view bytes) {
  static const std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
      table[i] = c;
    }
    return table;
  }();
  uint32_t crc = 0xffffffff;
  for (char byte : bytes) {
    crc = kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff] ^ crc >> 8;
  }
  return ~crc;
}

absl::StatusOr<std::vector<ZipMember>> ReadZip(absl::string_view bytes,
                                               int64_t max_bytes) {
  TF_ASSIGN_OR_RETURN(const std::vector<Entry> entries, ReadDirectory(bytes));
  std::vector<ZipMember> members;
  uint64_t total = 0;
  for (const Entry& entry : entries) {
    if (entry.size > static_cast<uint64_t>(max_bytes) - total) {
      return absl::ResourceExhaustedError(
          absl::StrCat("zip archive holds more than ", max_bytes,
                       " bytes with ", entry.name));
    }
    total += entry.size;
    absl::StatusOr<std::string> contents = ReadMember(bytes, entry);
    if (!contents.ok()) {
      return absl::Status(
          contents.status().code(),
          absl::StrCat(entry.name, ": ", contents.status().message()));
    }
    members.emplace_back(entry.name, *std::move(contents));
  }
  return members;
}

absl::StatusOr<std::string> WriteZip(absl::Span<const ZipMember> members) {
  std::string out, directory;
  for (const auto& [name, contents] : members) {
    const uint64_t offset = out.size();
    if (contents.size() >= kIn64 || offset >= kIn64 || name.size() > 0xffff ||
        members.size() >= 0xffff) {
      return absl::InvalidArgumentError(
          absl::StrCat("zip archive above 4 GiB at ", name));
    }
    // Version, flags and method; the date is 1980-01-01, for equal bytes.
    std::string common;
    Put(common, 20, 2);
    Put(common, 0, 2);
    Put(common, 0, 2);
    Put(common, 0, 2);
    Put(common, 0x21, 2);
    Put(common, Crc32(contents), 4);
    Put(common, contents.size(), 4);
    Put(common, contents.size(), 4);
    Put(common, name.size(), 2);
    Put(common, 0, 2);  // Extra field.
    Put(out, kLocalHeader, 4);
    absl::StrAppend(&out, common, name, contents);
    Put(directory, kCentralHeader, 4);
    Put(directory, 20, 2);
    directory += common;
    Put(directory, 0, 2);  // Comment.
    Put(directory, 0, 2);  // Disk.
    Put(directory, 0, 2);
    Put(directory, 0, 4);
    Put(directory, offset, 4);
    directory += name;
  }
  const uint64_t start = out.size();
  if (start >= kIn64) {
    return absl::InvalidArgumentError("zip archive above 4 GiB");
  }
  out += directory;
  Put(out, kEndOfDirectory, 4);
  Put(out, 0, 2);
  Put(out, 0, 2);
  Put(out, members.size(), 2);
  Put(out, members.size(), 2);
  Put(out, directory.size(), 4);
  Put(out, start, 4);
  Put(out, 0, 2);
  return out;
}

}  // namespace xla
