#ifndef XLA_HLO_ANALYSIS_BUFFERS_MEMORY_REPLAY_H_
#define XLA_HLO_ANALYSIS_BUFFERS_MEMORY_REPLAY_H_

#include "absl/status/status.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

// Runs a scheduled module on labelled memory: every instruction marks the bytes
// of its results with their buffers, and every read asks whether the bytes of
// the operand still bear its mark. Loops run twice, and every branch of a
// conditional. Knows nothing of live ranges, so that it checks those, too. Two
// things it does not see: an instruction that may not write over its own
// operand (the other checker, CheckBufferAssignment, does), and the read of a
// value after the next one of the same HloBuffer was written, as of an argument
// that a loop changes in place: there the module lacks a copy, not the
// assignment.
//
// Internal, naming the instruction and the value, for a read of bytes that
// something else was written to, and for values that should be in one place,
// as the state of a loop, and are not. Linear in the instructions that run,
// times the logarithm of the marks.
absl::Status ReplayBufferAssignment(const BufferAssignment& assignment,
                                    const HloSchedule& schedule);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_MEMORY_REPLAY_H_
