#ifndef XLA_HLO_VERIFIER_SHAPE_VERIFIER_H_
#define XLA_HLO_VERIFIER_SHAPE_VERIFIER_H_

#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/dfs_hlo_visitor_with_default.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {

// The rules of single instructions as a visitor, for targets that override
// some of them:
//
//   class MyShapeVerifier : public ShapeVerifier {
//     absl::Status HandleCustomCall(HloInstruction* call) override {
//       if (IsMine(call)) return CheckMine(call);
//       return ShapeVerifier::HandleCustomCall(call);
//     }
//   };
//
// Every Handle method checks the shape and the attributes of its opcode, and
// Preprocess what holds for all opcodes. The graph around the instruction must
// be good: operands, and computations with roots and parameters.
class ShapeVerifier : public DfsHloVisitorWithDefault {
 public:
  explicit ShapeVerifier(HloVerifierOpts opts) : opts_(std::move(opts)) {}

  // The layout in the module's config is of the shapes of the entry
  // computation.
  absl::Status VerifyEntryComputationLayout(const HloModule& module);

  absl::Status Preprocess(HloInstruction* hlo) override;
  absl::Status DefaultAction(HloInstruction* hlo) override;

 protected:
  const HloVerifierOpts& opts() const { return opts_; }

 private:
  HloVerifierOpts opts_;
};

// A target's definition of well-formed shapes: options and rules.
class TargetVerifierMetadata {
 public:
  TargetVerifierMetadata() = default;
  explicit TargetVerifierMetadata(HloVerifierOpts&& opts)
      : opts_(std::move(opts)) {}
  virtual ~TargetVerifierMetadata() = default;
  TargetVerifierMetadata(const TargetVerifierMetadata&) = delete;
  TargetVerifierMetadata& operator=(const TargetVerifierMetadata&) = delete;

  // A new one for each module.
  virtual std::unique_ptr<ShapeVerifier> GetVerifier() const = 0;
  const HloVerifierOpts& GetVerifierOpts() const { return opts_; }

 protected:
  HloVerifierOpts opts_;
};

// The rules of this folder.
class DefaultVerifierMetadata : public TargetVerifierMetadata {
 public:
  explicit DefaultVerifierMetadata(HloVerifierOpts&& opts)
      : TargetVerifierMetadata(std::move(opts)) {}
  std::unique_ptr<ShapeVerifier> GetVerifier() const override {
    return std::make_unique<ShapeVerifier>(opts_);
  }
};

// VerifyHloModule with the target's options and its rules.
absl::Status VerifyHloModuleForTarget(
    const HloModule* module, const TargetVerifierMetadata& target,
    const absl::flat_hash_set<absl::string_view>& execution_threads = {});

}  // namespace xla

#endif  // XLA_HLO_VERIFIER_SHAPE_VERIFIER_H_
