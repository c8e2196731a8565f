#ifndef XLA_BACKENDS_GPU_PROGRAM_PROGRAM_CONSTANTS_H_
#define XLA_BACKENDS_GPU_PROGRAM_PROGRAM_CONSTANTS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/program/program_memory.h"
#include "xla/hlo/ir/hlo_instruction.h"

// The constants of a program: bytes in its source, and the statements that
// write them to the device.
//
//   c = f32[2] constant({1, 2})
//   -> alignas(16) static const unsigned char kBytes0[] = {0, 0, 128, 63, …};
//      Write(128, kBytes0, 8);  // c

namespace xla::gpu {

class ProgramConstants {
 public:
  // Refuses constants of more than `max_bytes` in all.
  ProgramConstants(const ProgramMemory& memory, int64_t max_bytes)
      : memory_(memory), max_bytes_(max_bytes) {}

  // The statement where the value begins; none for a constant that has its
  // memory for as long as the program runs, which is written at its start.
  // FailedPrecondition for one without elements, or too many.
  absl::StatusOr<std::string> Write(const HloInstruction& constant);

  // The offset of one that a kernel reads, behind the planned memory.
  absl::StatusOr<int64_t> Add(const HloInstruction& constant);

  int64_t added_bytes() const { return added_bytes_; }

  // The bytes, and WriteConstants(), which writes what is there from the start.
  std::string Text() const;

 private:
  absl::StatusOr<std::string> NameOf(const HloInstruction& constant);

  const ProgramMemory& memory_;
  const int64_t max_bytes_;
  // Looked up, never walked.
  absl::flat_hash_map<const HloInstruction*, int64_t> added_;
  absl::flat_hash_map<std::string, std::string> names_;  // by bytes
  std::string arrays_, initial_;
  int64_t added_bytes_ = 0;
  int64_t literal_bytes_ = 0;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_PROGRAM_PROGRAM_CONSTANTS_H_
