#ifndef XLA_HLO_IR_PROTO_ID_SPELLINGS_H_
#define XLA_HLO_IR_PROTO_ID_SPELLINGS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/service/hlo.pb.h"

namespace xla {
namespace hlo_proto_internal {

// The id of an instruction is a number in its computation, with or without the
// computation's id in the upper 32 bits; references may use the other form.
// Maps each id to its unambiguous other forms:
//
//   instruction 5 of computation 2, id 0x200000005:  {5}
//   the same, id 5:                                  {0x200000005}
//
// Empty if all references use the form of the ids. Linear in references.
inline absl::flat_hash_map<int64_t, std::vector<int64_t>> OtherSpellings(
    const HloComputationProto& proto) {
  if (proto.instructions().empty()) return {};
  const int64_t prefix = proto.instructions(0).id() >> 32;
  const auto differs = [&](int64_t id) { return id >> 32 != prefix; };
  const auto any_differs = [&](const auto& ids) {
    for (int64_t id : ids) {
      if (differs(id)) return true;
    }
    return false;
  };
  bool differ = differs(proto.root_id());
  for (const HloInstructionProto& instruction : proto.instructions()) {
    differ = differ || differs(instruction.id()) ||
             any_differs(instruction.operand_ids()) ||
             any_differs(instruction.control_predecessor_ids());
  }
  if (!differ) return {};

  absl::flat_hash_set<int64_t> ids;
  for (const HloInstructionProto& instruction : proto.instructions()) {
    ids.insert(instruction.id());
  }
  absl::flat_hash_map<int64_t, int64_t> count;
  const auto for_each = [&](auto function) {
    for (int64_t id : ids) {
      const uint64_t number = static_cast<uint64_t>(id) & 0xffffffff;
      const uint64_t whole = static_cast<uint64_t>(proto.id()) << 32 | number;
      for (int64_t other :
           {static_cast<int64_t>(number), static_cast<int64_t>(whole)}) {
        if (!ids.contains(other)) function(id, other);
      }
    }
  };
  for_each([&](int64_t, int64_t other) { ++count[other]; });
  absl::flat_hash_map<int64_t, std::vector<int64_t>> spellings;
  for_each([&](int64_t id, int64_t other) {
    if (count[other] == 1) spellings[id].push_back(other);
  });
  return spellings;
}

}  // namespace hlo_proto_internal
}  // namespace xla

#endif  // XLA_HLO_IR_PROTO_ID_SPELLINGS_H_
