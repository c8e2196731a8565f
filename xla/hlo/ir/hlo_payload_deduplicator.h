#ifndef XLA_HLO_IR_HLO_PAYLOAD_DEDUPLICATOR_H_
#define XLA_HLO_IR_HLO_PAYLOAD_DEDUPLICATOR_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/backend_config.h"

namespace xla {

// The table HloModuleProto.payloads: byte strings shared by many instructions,
// each stored once. An id is a position in the table, counted from `base`: 0,
// or the size of the table that this one continues.
class HloPayloadDeduplicator {
 public:
  explicit HloPayloadDeduplicator(int64_t base = 0) : base_(base) {}

  // The id of a payload, which is added to the table if it is new.
  int64_t Deduplicate(absl::string_view payload);
  int64_t Deduplicate(const BackendConfigWrapper& config) {
    return Deduplicate(config.GetRawString());
  }

  // The payloads added since the last call, in order of ids. The ids remain
  // valid.
  std::vector<std::string> TakePayloads() {
    return std::exchange(payloads_, {});
  }

 private:
  const int64_t base_;
  absl::flat_hash_map<std::string, int64_t> ids_;
  std::vector<std::string> payloads_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_PAYLOAD_DEDUPLICATOR_H_
