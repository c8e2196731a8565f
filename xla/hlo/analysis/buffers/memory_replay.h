#ifndef XLA_HLO_ANALYSIS_BUFFERS_MEMORY_REPLAY_H_
#define XLA_HLO_ANALYSIS_BUFFERS_MEMORY_REPLAY_H_

#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

// A read of a value after another value of the same HloBuffer was written: what
// aliases, in-place updates and loops force into one place is live twice, as an
// argument that a loop changes and that is read after the loop. No assignment
// can be right then: the module lacks a copy, which compilers insert before
// they assign buffers.
struct MissingCopy {
  const HloInstruction* reader = nullptr;
  const HloValue* value = nullptr;
  const HloValue* written = nullptr;  // after the value, into its buffer
};

// Runs a scheduled module on labelled memory: every instruction marks the bytes
// of its results with their values, and every read asks whether the bytes of
// the operand still bear its mark. Loops run twice, and every branch of a
// conditional. Knows nothing of live ranges, so that it checks those, too. It
// does not see an instruction that may not write over its own operand (the
// other checker, CheckBufferAssignment, does).
//
// Internal, naming the instruction and the value, for a read of bytes that a
// value of another HloBuffer was written to, and for values that should be in
// one place, as the state of a loop, and are not. Missing copies are no errors;
// each pair of reader and value is appended to `missing_copies`, if given,
// once. Linear in the instructions that run, times the logarithm of the marks.
absl::Status ReplayBufferAssignment(
    const BufferAssignment& assignment, const HloSchedule& schedule,
    std::vector<MissingCopy>* missing_copies = nullptr);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_MEMORY_REPLAY_H_
