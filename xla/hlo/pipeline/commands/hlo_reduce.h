#ifndef XLA_HLO_PIPELINE_COMMANDS_HLO_REDUCE_H_
#define XLA_HLO_PIPELINE_COMMANDS_HLO_REDUCE_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "xla/hlo/pass/pass_registry.h"

namespace xla {

// The work of the hlo-reduce tool: reduces a module to a small one that still
// makes passes fail, makes them change its meaning, or makes a command fail.
// The tool adds flags to it.
struct HloReduceOptions {
  // Passes as text, or the name of a pipeline (see hlo-opt), and what about
  // them: that they return an error with the same status code as on the whole
  // module (kFails; the module after them is verified), or that the module
  // computes something else after them (kDiffers).
  enum class Property { kFails, kDiffers };
  std::string passes;
  std::string pipeline;
  Property property = Property::kFails;
  // The error must contain this.
  std::string match;
  // Instead of passes: a shell command that exits with another status than 0;
  // {} in it is the file with the candidate. For what crashes.
  std::string command;
  // Seeds of inputs, for kDiffers.
  int64_t seeds = 2;

  int64_t max_attempts = 5000;
  // Stops after this many seconds, with the best module so far; 0: no limit.
  double seconds = 0;
  // For kDiffers: operations and memory that one run may take; -1: any number
  // of operations.
  double max_flops = 1e9;
  int64_t max_memory_mib = 4 << 10;
  // "-" is standard output.
  std::string output = "-";
};

bool AbslParseFlag(absl::string_view text, HloReduceOptions::Property* property,
                   std::string* error);
std::string AbslUnparseFlag(HloReduceOptions::Property property);

// Reduces a module ("-": standard input), writes a text test with a RUN line
// and the error as comment, and says to `err` how far it got. InvalidArgument
// unless there is one of passes, pipeline and command; FailedPrecondition if
// the module does not show the property.
absl::Status RunHloReduce(const HloReduceOptions& options,
                          const PassRegistry& registry,
                          const std::string& input, std::ostream& err);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMMANDS_HLO_REDUCE_H_
