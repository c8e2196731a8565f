#ifndef XLA_HLO_EVALUATOR_CUSTOM_CALL_REGISTRY_H_
#define XLA_HLO_EVALUATOR_CUSTOM_CALL_REGISTRY_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace xla {
namespace evaluator {

// Implementations of custom calls, by target.
class CustomCallRegistry {
 public:
  using Handler = std::function<absl::StatusOr<Value>(
      const HloCustomCallInstruction& call, absl::Span<const Value> operands)>;

  // Targets that frontends and passes put around values, which pass their
  // operand on (Sharding, xla.sdy.FuncResultSharding, MoveToHost,
  // annotate_device_placement, ...), TopK, and the partitioner's own (see
  // spmd_custom_calls.h).
  static const CustomCallRegistry& Default();

  CustomCallRegistry() = default;
  // A later handler of the same target replaces the earlier one.
  void Register(absl::string_view target, Handler handler) {
    handlers_[std::string(target)] = std::move(handler);
  }
  // Used for targets that have no handler of their own.
  void set_fallback(Handler handler) { fallback_ = std::move(handler); }
  // Null if there is none.
  const Handler* Find(absl::string_view target) const;

 private:
  absl::btree_map<std::string, Handler> handlers_;
  Handler fallback_;
};

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_CUSTOM_CALL_REGISTRY_H_
