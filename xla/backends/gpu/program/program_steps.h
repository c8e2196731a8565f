#ifndef XLA_BACKENDS_GPU_PROGRAM_PROGRAM_STEPS_H_
#define XLA_BACKENDS_GPU_PROGRAM_PROGRAM_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/lowering/fusion_lowering.h"
#include "xla/backends/gpu/model/library_dot.h"
#include "xla/backends/gpu/program/program_constants.h"
#include "xla/backends/gpu/program/program_memory.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"

// The host's side of a program: a function for each computation, which launches
// in schedule order.
//
//   l = while(…), known to run 12 times;  f = fusion(l);  w = while(…);  g = …
//   -> static void Run_main() {
//        Play([] {
//          for (int i = 0; i < 12; ++i) Run_body();  // l
//          RUN("f", launch_f(At(0), At(64), stream));
//        });
//        for (;;) {  // w
//          Play(Run_condition);
//          if (Read<unsigned char>(128) == 0) break;
//          …
//
// What the host need not wait in is played: launched at once, as a graph, from
// the second time on.

namespace xla::gpu {

// A copy, or a reshape, of elements that stay where they are: no kernel.
bool IsMemcpy(const HloInstruction& hlo);

class ProgramSteps {
 public:
  using Kernels =
      absl::flat_hash_map<const HloInstruction*, const LoweredKernel*>;

  // All outlive this.
  ProgramSteps(const HloSchedule& schedule, const ProgramMemory& memory,
               const Kernels& kernels, ProgramConstants* constants)
      : schedule_(schedule),
        memory_(memory),
        kernels_(kernels),
        constants_(*constants) {}

  // The functions that `entry` needs, and RunModule(), which runs it.
  // Unimplemented for an instruction that is neither a kernel nor free.
  absl::StatusOr<std::string> Write(const HloComputation* entry);

  // As initializers of the runtime's `Product`s, by the number that PRODUCT
  // has.
  const std::vector<std::string>& products() const { return products_; }

 private:
  struct Step {
    std::string text;
    bool needs_host = false;  // which reads, or launches more than a graph has
    int64_t launches = 0;     // at most
  };
  // What a call of the computation's function is.
  struct Function {
    std::string name;
    bool needs_host = false;
    int64_t launches = 0;
  };

  std::string UniqueName(const HloComputation& computation);
  absl::StatusOr<Function> FunctionOf(const HloComputation* computation);
  absl::StatusOr<Step> StepOf(const HloInstruction& hlo);
  absl::StatusOr<Step> Launch(const HloInstruction& hlo);
  absl::StatusOr<std::string> PlaceOf(const HloInstruction& hlo,
                                      const LibraryOperand& operand) const;
  absl::StatusOr<Step> While(const HloInstruction& hlo);
  absl::StatusOr<Step> Conditional(const HloInstruction& hlo);

  const HloSchedule& schedule_;
  const ProgramMemory& memory_;
  const Kernels& kernels_;
  ProgramConstants& constants_;
  // Looked up, never walked.
  absl::flat_hash_map<const HloComputation*, Function> functions_;
  absl::flat_hash_set<std::string> names_;
  std::vector<std::string> products_;
  std::string text_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_PROGRAM_PROGRAM_STEPS_H_
