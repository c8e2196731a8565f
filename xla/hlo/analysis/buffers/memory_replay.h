#ifndef XLA_HLO_ANALYSIS_BUFFERS_MEMORY_REPLAY_H_
#define XLA_HLO_ANALYSIS_BUFFERS_MEMORY_REPLAY_H_

#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

// A read of a value after another value of the same HloBuffer was written, for
// instance of an argument that a loop changes and that is read after the loop.
// Aliases, in-place updates and loops force both values into one place, so no
// assignment can be correct: the module lacks a copy, which compilers insert
// before they assign buffers.
struct MissingCopy {
  const HloInstruction* reader = nullptr;
  const HloValue* value = nullptr;
  const HloValue* written = nullptr;  // after the value, into its buffer
};

// Runs a scheduled module on labeled memory: every instruction marks the bytes
// of its results with their values, and every read checks that the bytes of the
// operand still bear its mark. Loops run twice, and what follows a
// conditional runs on what any of its branches may leave. Does not use live
// ranges, and thus checks these too. It does not detect an instruction that
// must not overwrite its own operand (CheckBufferAssignment does).
//
// Internal error, naming the instruction and the value, for a read of bytes
// overwritten by a value of another HloBuffer, and for values that must be in
// one place, such as the state of a loop, but are not. Missing copies are not
// errors; each pair of reader and value is appended once to `missing_copies`,
// if given. Linear in the instructions that run, times the logarithm of the
// marks.
absl::Status ReplayBufferAssignment(
    const BufferAssignment& assignment, const HloSchedule& schedule,
    std::vector<MissingCopy>* missing_copies = nullptr);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_MEMORY_REPLAY_H_
