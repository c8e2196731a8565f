#ifndef XLA_HLO_PIPELINE_TESTS_PIPELINE_FUZZ_TARGET_H_
#define XLA_HLO_PIPELINE_TESTS_PIPELINE_FUZZ_TARGET_H_

#include <random>
#include <string>

#include "absl/strings/string_view.h"

namespace xla {

// Takes any bytes as the seed and the options of a random module (see
// random_module.h), changed further by MutateModule, and the choice of a
// pipeline, and dies unless the pipeline runs and leaves modules that verify
// after every pass. Errors that say what is not there (Unimplemented) or does
// not fit (ResourceExhausted) are allowed; after mutations, all errors are but
// Internal ones and the verifier's. Returns whether it ran to its end.
bool PipelineRunsOnRandomModule(absl::string_view bytes);

// Reads HLO text whose first line says what runs, as flags of hlo-opt do:
// `// --passes=hlo-cse,hlo-dce` or `// --pipeline=gpu`; without one it is
// cleanup. If it is a module that verifies, runs that and dies of an Internal
// error, of a module in between that does not verify, or where a small module
// computes something else afterwards. Other errors are fine. Returns whether it
// ran to its end.
bool PipelineRunsOnText(absl::string_view text);

// Makes a text for PipelineRunsOnText from another one: often other passes, any
// that are registered, some with odd options, and a module that MutateModule
// has changed. Text that is not a module stays.
std::string MutatePipelineText(std::string text, std::mt19937_64& random);

// Takes any bytes as passes with options, as --passes does, and makes them.
// Returns whether they are some; dies of an error without a message.
bool PassesAreMade(absl::string_view text);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_TESTS_PIPELINE_FUZZ_TARGET_H_
