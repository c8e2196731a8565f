#ifndef XLA_HLO_MEMORY_REPORT_XLA_BUFFER_ASSIGNMENT_H_
#define XLA_HLO_MEMORY_REPORT_XLA_BUFFER_ASSIGNMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/memory/report/memory_report.pb.h"

namespace xla {

// What XLA itself allocated for a module, from the file …-buffer-assignment.txt
// that --xla_dump_to writes beside the module.
struct XlaBufferAssignment {
  enum class Kind { kArgument, kOutput, kTemporary, kConstant, kThreadLocal };
  struct Value {
    std::string name;  // "while.5{3}"; of a whole shape "dot.5"
    int64_t bytes = 0;
    int64_t offset = 0;
  };
  struct Allocation {
    int64_t number = 0;
    int64_t bytes = 0;
    Kind kind = Kind::kTemporary;
    int64_t parameter = -1;  // of kArgument
    std::vector<Value> values;
  };
  std::vector<Allocation> allocations;

  int64_t BytesOf(Kind kind) const;
  // Bytes of arguments, outputs and temporaries together.
  int64_t total_bytes() const;
};

// InvalidArgument, as FILE:LINE: …, for a text without allocations or with a
// value outside of its allocation.
absl::StatusOr<XlaBufferAssignment> ParseXlaBufferAssignment(
    absl::string_view text, absl::string_view file);

// The path of the assignment of the module at a path; "" for paths that are not
// named like XLA's dumps.
//
//   d/module_0001.jit_f.cpu_after_optimizations.txt
//     → d/module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt
std::string XlaBufferAssignmentPath(absl::string_view module_path);

// How XLA's bytes differ from a report of the same module in the same order,
// and which buffers at the report's peak share memory in XLA's assignment:
//
//   XLA allocated 2.27 MiB, 5.3 % less than the 2.40 MiB above
//     arguments 1.58 MiB, outputs 4 B, temporaries 0.69 MiB
//     at this peak %dot.5 (256.0 KiB) shares memory with %fusion there
//
// with at most `max_rows` of the last line. Where XLA allocated more, and
// arguments and outputs are a reason, a line says so:
//
//     arguments and outputs are allocated throughout: 256.0 KiB of them are not
//     live at this peak
//
// O(n log n).
std::string CompareWithXla(const MemoryReport& report,
                           const XlaBufferAssignment& assignment, int max_rows);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_REPORT_XLA_BUFFER_ASSIGNMENT_H_
