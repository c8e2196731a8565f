#ifndef XLA_HLO_PIPELINE_COMPILED_MEMORY_H_
#define XLA_HLO_PIPELINE_COMPILED_MEMORY_H_

#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/transforms/memory/rematerialize.h"

namespace xla {

// What XLA:GPU makes of a module from a framework, as pipeline xla-gpu tells
// it: bytes as it allocates them for the module that the pipeline ends with,
// and the values that are in no buffer there. Origins are followed by metadata,
// which passes keep: each instruction of a copy is named there.
//
//   a = dot(x, y); b = add(a, c); r = tanh(b)   → one fusion {add, tanh}: b
//
// The registry must outlive it. Errors of both: those of the passes.
CompiledMemory MemoryAfterXlaGpu(const PassRegistry& registry);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMPILED_MEMORY_H_
