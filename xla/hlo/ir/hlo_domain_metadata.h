#ifndef XLA_HLO_IR_HLO_DOMAIN_METADATA_H_
#define XLA_HLO_IR_HLO_DOMAIN_METADATA_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace xla {

class HloInstruction;

// An attribute whose value differs between the operand side and the user side
// of a kDomain instruction, for instance a sharding.
class DomainMetadata {
 public:
  // A connected region of instructions bounded by kDomain instructions.
  struct Domain {
    // Everything reached from the region's seed, domain instructions included.
    absl::flat_hash_set<HloInstruction*> reach_set;
    // The members of reach_set that are not kDomain, operands first.
    std::vector<HloInstruction*> instructions;
    // The kDomain instructions where data enters / leaves the region.
    absl::flat_hash_set<HloInstruction*> enter_domains;
    absl::flat_hash_set<HloInstruction*> exit_domains;
  };

  virtual ~DomainMetadata() = default;

  virtual std::unique_ptr<DomainMetadata> Clone() const = 0;

  // Name of the kind of attribute, e.g. "sharding".
  virtual absl::string_view Kind() const = 0;

  // True if both describe the same attribute value.
  virtual bool Matches(const DomainMetadata& other) const = 0;

  // Consistent with Matches.
  virtual size_t Hash() const = 0;

  // The value as in HLO text.
  virtual std::string ToString() const = 0;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_DOMAIN_METADATA_H_
