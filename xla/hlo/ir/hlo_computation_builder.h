#ifndef XLA_HLO_IR_HLO_COMPUTATION_BUILDER_H_
#define XLA_HLO_IR_HLO_COMPUTATION_BUILDER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/xla_data.pb.h"

namespace xla {

class HloComputation;

// Collects the instructions of a computation; known as HloComputation::Builder.
// Instructions that are never built into one are deleted with the builder.
class HloComputationBuilder {
 public:
  explicit HloComputationBuilder(absl::string_view name) : name_(name) {}
  HloComputationBuilder(HloComputationBuilder&& b) = default;
  virtual ~HloComputationBuilder() = default;

  // The root is the given instruction, else the one added last. There must be
  // one. Parameters must be numbered 0..n-1, each once. Leaves the builder
  // empty.
  std::unique_ptr<HloComputation> Build(
      HloInstruction* root_instruction = nullptr);

  virtual HloInstruction* AddInstruction(
      std::unique_ptr<HloInstruction> instruction);
  HloInstruction* AddInstruction(std::unique_ptr<HloInstruction> instruction,
                                 std::optional<absl::string_view> new_name);

  // Adds a parameter; it must have the number of parameters added so far
  // (InvalidArgument otherwise).
  absl::StatusOr<HloInstruction*> AddParameter(
      std::unique_ptr<HloInstruction> parameter);

  // In order of addition; stops at the first error.
  absl::Status ForEachInstruction(
      absl::FunctionRef<absl::Status(const HloInstruction*)> func) const;

  // Null if there is none.
  HloInstruction* last_added_instruction() const {
    return instructions_.empty() ? nullptr : instructions_.back().get();
  }

 private:
  std::string name_;
  std::vector<std::unique_ptr<HloInstruction>> instructions_;
  int64_t parameter_count_ = 0;
};

// Adds instructions to a computation, all with the same metadata; known as
// HloComputation::MetadataBuilder.
class HloComputationMetadataBuilder {
 public:
  HloComputationMetadataBuilder(HloComputation* computation,
                                const OpMetadata& metadata);

  HloInstruction* AddInstruction(std::unique_ptr<HloInstruction> instruction);

 private:
  HloComputation* computation_;
  std::shared_ptr<const OpMetadata> metadata_;
};

// The post order of a computation, recomputed only after a recorded change;
// known as HloComputation::CachingPostOrder.
class HloComputationCachingPostOrder {
 public:
  explicit HloComputationCachingPostOrder(const HloComputation* computation)
      : computation_(computation) {}

  const std::vector<HloInstruction*>& PostOrder();
  void RecordChange(bool changed) { recompute_ |= changed; }

 private:
  const HloComputation* computation_;
  bool recompute_ = true;
  std::vector<HloInstruction*> cached_post_order_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_COMPUTATION_BUILDER_H_
