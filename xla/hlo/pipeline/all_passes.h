#ifndef XLA_HLO_PIPELINE_ALL_PASSES_H_
#define XLA_HLO_PIPELINE_ALL_PASSES_H_

#include <string>

#include "xla/hlo/pass/pass_registry.h"

namespace xla {

// Returns a registry of every pass of all_passes.def. It is a value: add passes
// of your own to it and parse pipelines that mix them with ours.
PassRegistry AllPasses();

// Returns `name  help` lines, sorted by name, each followed by its options with
// their defaults.
std::string PassListToText(const PassRegistry& registry);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_ALL_PASSES_H_
