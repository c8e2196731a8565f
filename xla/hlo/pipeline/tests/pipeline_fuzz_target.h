#ifndef XLA_HLO_PIPELINE_TESTS_PIPELINE_FUZZ_TARGET_H_
#define XLA_HLO_PIPELINE_TESTS_PIPELINE_FUZZ_TARGET_H_

#include "absl/strings/string_view.h"

namespace xla {

// Takes any bytes as the seed and the options of a random module (see
// random_module.h) and the choice of a pipeline, and dies unless the pipeline
// runs and leaves modules that verify after every pass. Errors that say what is
// not there (Unimplemented) or does not fit (ResourceExhausted) are none of
// that. Returns whether it ran to its end.
bool PipelineRunsOnRandomModule(absl::string_view bytes);

// Reads HLO text. If it is a module that verifies, runs a pipeline on it, which
// one its length says, and dies of an Internal error or of a module in between
// that does not verify. Other errors are fine. Returns whether it ran to its
// end.
bool PipelineRunsOnText(absl::string_view text);

// Takes any bytes as passes with options, as --passes does, and makes them.
// Returns whether they are some; dies of an error without a message.
bool PassesAreMade(absl::string_view text);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_TESTS_PIPELINE_FUZZ_TARGET_H_
