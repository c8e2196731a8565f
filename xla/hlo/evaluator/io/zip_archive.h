#ifndef XLA_HLO_EVALUATOR_IO_ZIP_ARCHIVE_H_
#define XLA_HLO_EVALUATOR_IO_ZIP_ARCHIVE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla {

// A member of an archive: its name and its contents.
using ZipMember = std::pair<std::string, std::string>;

// Reads all members of a zip archive (APPNOTE 6.3), stored or deflated, with
// zip64 sizes and checked sums. InvalidArgument for other bytes, damaged
// archives and encrypted members; Unimplemented for other compressions; both
// name the member. `max_bytes` bounds the sum of the contents
// (ResourceExhausted).
absl::StatusOr<std::vector<ZipMember>> ReadZip(absl::string_view bytes,
                                               int64_t max_bytes = int64_t{16}
                                                                   << 30);

// An archive with these members, stored, in this order; the same bytes for the
// same members. InvalidArgument above 4 GiB.
absl::StatusOr<std::string> WriteZip(absl::Span<const ZipMember> members);

// The sum that archives hold: CRC-32 (ISO 3309).
uint32_t Crc32(absl::string_view bytes);

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_IO_ZIP_ARCHIVE_H_
