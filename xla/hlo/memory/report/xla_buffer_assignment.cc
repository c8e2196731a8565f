#include "xla/hlo/memory/report/xla_buffer_assignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/memory/limit/distinct_bytes.h"

namespace xla {
namespace {

using Assignment = XlaBufferAssignment;
using Allocation = XlaBufferAssignment::Allocation;
using Kind = XlaBufferAssignment::Kind;
using Value = XlaBufferAssignment::Value;

// Consumes a number that may not be negative.
bool ConsumeNumber(absl::string_view* text, int64_t* number) {
  const size_t end =
      std::min(text->find_first_not_of("0123456789"), text->size());
  if (!absl::SimpleAtoi(text->substr(0, end), number)) return false;
  text->remove_prefix(end);
  return true;
}

// "allocation 5: size 262144, parameter 5, shape |f32[256]| at …:".
bool ParseAllocation(absl::string_view line, Allocation* allocation) {
  if (!absl::ConsumePrefix(&line, "allocation ") ||
      !ConsumeNumber(&line, &allocation->number) ||
      !absl::ConsumePrefix(&line, ": size ") ||
      !ConsumeNumber(&line, &allocation->bytes)) {
    return false;
  }
  if (absl::StrContains(line, ", thread-local")) {
    allocation->kind = Kind::kThreadLocal;
  } else if (absl::StrContains(line, ", constant")) {
    allocation->kind = Kind::kConstant;
  } else if (const size_t at = line.find(", parameter "); at != line.npos) {
    allocation->kind = Kind::kArgument;
    line.remove_prefix(at + 12);
    return ConsumeNumber(&line, &allocation->parameter);
  } else if (absl::StrContains(line, "maybe-live-out")) {
    allocation->kind = Kind::kOutput;
  }
  return true;
}

// " value: <155 copy.3{0} @0> (size=262144,offset=0): f32[256,256]{1,0}".
bool ParseValue(absl::string_view line, Value* value) {
  int64_t id;
  if (!absl::ConsumePrefix(&line, " value: <") || !ConsumeNumber(&line, &id) ||
      !absl::ConsumePrefix(&line, " ")) {
    return false;
  }
  const size_t at = line.find(" @");
  const size_t size = line.find("(size=");
  if (at == line.npos || size == line.npos || size < at) return false;
  value->name = std::string(absl::StripSuffix(line.substr(0, at), "{}"));
  line.remove_prefix(size + 6);
  return ConsumeNumber(&line, &value->bytes) &&
         absl::ConsumePrefix(&line, ",offset=") &&
         ConsumeNumber(&line, &value->offset);
}

absl::Status Malformed(absl::string_view file, int64_t line,
                       absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(file, ":", line, ": error: ", what));
}

// A buffer that is live at the report's peak, where XLA puts it.
struct Placed {
  const MemoryReport::Buffer* buffer;
  const Allocation* allocation;
  int64_t begin, end;
};

std::vector<Placed> PlaceLive(const MemoryReport& report,
                              const Assignment& assignment) {
  absl::flat_hash_map<std::string, std::pair<const Allocation*, const Value*>>
      places;
  for (const Allocation& allocation : assignment.allocations) {
    for (const Value& value : allocation.values) {
      places[value.name] = {&allocation, &value};
    }
  }
  std::vector<Placed> placed;
  for (const MemoryReport::Buffer& buffer : report.live_at_peak()) {
    const auto it = places.find(
        absl::StrCat(buffer.name(),
                     buffer.shape_index() == "{}" ? "" : buffer.shape_index()));
    if (it == places.end()) continue;
    const auto& [allocation, value] = it->second;
    placed.push_back(
        {&buffer, allocation, value->offset, value->offset + value->bytes});
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const Placed& a, const Placed& b) {
                     return std::make_tuple(a.allocation->number, a.begin) <
                            std::make_tuple(b.allocation->number, b.begin);
                   });
  return placed;
}

// Pairs of live buffers that overlap in XLA's memory, the larger saving first.
std::vector<std::pair<const Placed*, const Placed*>> Sharings(
    const std::vector<Placed>& placed) {
  std::vector<std::pair<const Placed*, const Placed*>> sharings;
  const Placed* last = nullptr;  // the one that ends last so far
  for (const Placed& next : placed) {
    if (last != nullptr && last->allocation == next.allocation &&
        next.begin < last->end && next.begin < next.end) {
      sharings.push_back({&next, last});
    }
    if (last == nullptr || last->allocation != next.allocation ||
        next.end > last->end) {
      last = &next;
    }
  }
  std::stable_sort(sharings.begin(), sharings.end(),
                   [](const auto& a, const auto& b) {
                     return a.first->buffer->bytes() > b.first->buffer->bytes();
                   });
  return sharings;
}

}  // namespace

int64_t XlaBufferAssignment::BytesOf(Kind kind) const {
  int64_t bytes = 0;
  for (const Allocation& allocation : allocations) {
    if (allocation.kind == kind) bytes += allocation.bytes;
  }
  return bytes;
}

int64_t XlaBufferAssignment::total_bytes() const {
  return BytesOf(Kind::kArgument) + BytesOf(Kind::kOutput) +
         BytesOf(Kind::kTemporary);
}

absl::StatusOr<XlaBufferAssignment> ParseXlaBufferAssignment(
    absl::string_view text, absl::string_view file) {
  Assignment assignment;
  int64_t number = 0, total = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StartsWith(line, "allocation ")) {
      Allocation allocation;
      if (!ParseAllocation(line, &allocation) ||
          allocation.bytes > std::numeric_limits<int64_t>::max() - total) {
        return Malformed(file, number, "not an allocation as XLA writes it");
      }
      total += allocation.bytes;
      assignment.allocations.push_back(std::move(allocation));
    } else if (absl::StartsWith(line, " value: ")) {
      if (assignment.allocations.empty()) {
        return Malformed(file, number, "a value before the first allocation");
      }
      Allocation& allocation = assignment.allocations.back();
      Value value;
      if (!ParseValue(line, &value)) {
        return Malformed(file, number, "not a value as XLA writes it");
      }
      if (value.bytes > allocation.bytes ||
          value.offset > allocation.bytes - value.bytes) {
        return Malformed(file, number, "a value outside of its allocation");
      }
      allocation.values.push_back(std::move(value));
    } else if (!assignment.allocations.empty() && line.empty()) {
      break;  // Sums and lists of what was said already.
    }
  }
  if (assignment.allocations.empty()) {
    return Malformed(file, 1, "no allocations, as XLA writes them");
  }
  return assignment;
}

std::string XlaBufferAssignmentPath(absl::string_view module_path) {
  if (!absl::ConsumeSuffix(&module_path, "after_optimizations.txt")) return "";
  return absl::StrCat(module_path, "after_optimizations-buffer-assignment.txt");
}

std::string CompareWithXla(const MemoryReport& report,
                           const XlaBufferAssignment& assignment,
                           int max_rows) {
  const double theirs = static_cast<double>(assignment.total_bytes());
  const double at_peak = report.heap_bytes();
  const double ours =
      report.has_allocated_bytes() ? report.allocated_bytes() : at_peak;
  const double percent = ours > 0 ? 100 * (theirs / ours - 1) : 0;
  const ByteUnit unit(std::max(theirs, ours));
  std::string out = absl::StrFormat(
      "\nXLA allocated %s, %s the %s above\n", unit(theirs),
      std::abs(percent) < 0.05
          ? "as many bytes as"
          : absl::StrFormat("%.1f %% %s than", std::abs(percent),
                            percent < 0 ? "less" : "more"),
      unit(ours));
  const auto bytes_of = [&](Kind kind) {
    return static_cast<double>(assignment.BytesOf(kind));
  };
  const std::vector<std::string> parts =
      PartsOfSum(unit, theirs,
                 {bytes_of(Kind::kArgument), bytes_of(Kind::kOutput),
                  bytes_of(Kind::kTemporary)});
  absl::StrAppend(&out, "  arguments ", parts[0], ", outputs ", parts[1],
                  ", temporaries ", parts[2], "\n");
  const double idle = static_cast<double>(assignment.BytesOf(Kind::kArgument) +
                                          assignment.BytesOf(Kind::kOutput)) -
                      report.peak_argument_bytes() - report.peak_output_bytes();
  // Less than this would be no reason for the difference that is shown.
  if (theirs > at_peak && idle >= 0.0005 * theirs) {
    absl::StrAppend(&out, "  arguments and outputs are allocated throughout: ",
                    HumanBytes(idle), " of them are not live at this peak\n");
  }
  const std::vector<Placed> placed = PlaceLive(report, assignment);
  const auto sharings = Sharings(placed);
  int rows = 0;
  for (const auto& [buffer, with] : sharings) {
    if (rows++ == max_rows) break;
    absl::StrAppend(&out, "  at this peak %", buffer->buffer->name(), " (",
                    HumanBytes(buffer->buffer->bytes()),
                    ") shares memory with %", with->buffer->name(), " there\n");
  }
  if (rows > max_rows) {
    absl::StrAppend(&out, "  and ", sharings.size() - max_rows, " more\n");
  }
  return out;
}

}  // namespace xla
