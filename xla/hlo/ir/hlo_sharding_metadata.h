#ifndef XLA_HLO_IR_HLO_SHARDING_METADATA_H_
#define XLA_HLO_IR_HLO_SHARDING_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_domain_metadata.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"

namespace xla {

// The sharding on one side of a kDomain instruction; null means unsharded.
class ShardingMetadata : public DomainMetadata {
 public:
  explicit ShardingMetadata(std::shared_ptr<const HloSharding> sharding)
      : sharding_(std::move(sharding)) {}

  std::unique_ptr<DomainMetadata> Clone() const override;
  absl::string_view Kind() const override { return KindName(); }
  bool Matches(const DomainMetadata& other) const override;
  size_t Hash() const override;
  std::string ToString() const override;

  template <typename H>
  friend H AbslHashValue(H h, const ShardingMetadata& metadata) {
    const bool has_sharding = metadata.sharding_ != nullptr;
    h = H::combine(std::move(h), has_sharding);
    if (has_sharding) h = H::combine(std::move(h), *metadata.sharding_);
    return h;
  }

  const HloSharding* sharding() const { return sharding_.get(); }

  static absl::string_view KindName() { return "sharding"; }

  // The metadata as sharding metadata; InvalidArgument if it is of another
  // kind.
  static absl::StatusOr<const ShardingMetadata*> ToShardingMetadata(
      const DomainMetadata* metadata);

  // Makes the shardings of `domain`'s instructions agree with its boundary:
  // if `metadata` is given, every unsharded instruction of the domain gets that
  // sharding; otherwise each gets that of its sharded operands, operands first,
  // if they agree, starting from the user side of the kDomain entries. Tuple
  // elements are projected by get-tuple-element.
  static absl::Status NormalizeShardingDomain(
      const DomainMetadata::Domain& domain, const DomainMetadata* metadata);

 private:
  std::shared_ptr<const HloSharding> sharding_;
};

// Makes the kDomain instruction for an edge operand -> instruction whose ends
// have different shardings, or returns null if none is needed. Edges that need
// the same one share it.
class ShardingDomainCreator {
 public:
  // `root` is the value before the operand's existing domains, if any.
  HloInstruction* operator()(HloInstruction* instruction, HloInstruction* root,
                             HloInstruction* operand);

 private:
  struct DomainCseMapKey {
    const HloInstruction* instruction;
    std::shared_ptr<const HloSharding> sharding;

    bool operator==(const DomainCseMapKey& other) const;

    template <typename H>
    friend H AbslHashValue(H h, const DomainCseMapKey& key) {
      h = H::combine(std::move(h), key.instruction);
      return key.sharding == nullptr ? std::move(h)
                                     : H::combine(std::move(h), *key.sharding);
    }
  };

  absl::flat_hash_map<DomainCseMapKey, HloInstruction*> domain_cse_map_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_SHARDING_METADATA_H_
