#ifndef XLA_HLO_PIPELINE_COMMANDS_RUN_PROGRAM_H_
#define XLA_HLO_PIPELINE_COMMANDS_RUN_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/literal.h"

namespace xla {

struct ProgramRun {
  Literal result;
  std::string where;  // "on the GPU" or "on the host shim"
};

// Compiles a CUDA program (cuda_program.h) in its folder, by its Makefile, and
// runs it on these arguments; on the GPU where nvcc and one are there, else as
// a C++ program. inputs.npz and results.npz stay in the folder.
//
// `result` has the shape and the layout of what the program computes. Errors
// name the folder: NotFound if there is no program, Internal, with what was
// printed, if it does not compile or run.
absl::StatusOr<ProgramRun> RunProgram(
    const std::string& folder, const std::vector<const Literal*>& arguments,
    const Shape& result);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMMANDS_RUN_PROGRAM_H_
