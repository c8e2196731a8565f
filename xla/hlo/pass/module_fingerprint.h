#ifndef XLA_HLO_PASS_MODULE_FINGERPRINT_H_
#define XLA_HLO_PASS_MODULE_FINGERPRINT_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Returns a hash of everything that the module's text says under
// HloPrintOptions::Default(), metadata and names included: equal texts have
// equal fingerprints on every machine. Costs about half a print of the module.
uint64_t ModuleFingerprint(const HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_PASS_MODULE_FINGERPRINT_H_
