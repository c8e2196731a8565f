#ifndef XLA_HLO_PASS_MODULE_FINGERPRINT_H_
#define XLA_HLO_PASS_MODULE_FINGERPRINT_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Returns a hash of everything that the module's text says, metadata and names
// included: equal modules have equal fingerprints on every machine. Costs one
// print of the module, without storing it.
uint64_t ModuleFingerprint(const HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_PASS_MODULE_FINGERPRINT_H_
