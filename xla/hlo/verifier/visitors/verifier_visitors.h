#ifndef XLA_HLO_VERIFIER_VISITORS_VERIFIER_VISITORS_H_
#define XLA_HLO_VERIFIER_VISITORS_VERIFIER_VISITORS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/dfs_hlo_visitor_with_default.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/hlo/verifier/shape_verifier.h"
#include "xla/xla_data.pb.h"

namespace xla {

// The rules of single instructions for a walk over computations of one module:
//
//   InstructionVerifier verifier(&module, opts);
//   for (HloComputation* computation : module.computations()) {
//     TF_RETURN_IF_ERROR(computation->Accept(&verifier));
//   }
//
// Besides those of ShapeVerifier, an instruction is of that module and has a
// name that no other one of the walk has.
class InstructionVerifier : public ShapeVerifier {
 public:
  InstructionVerifier(const HloModule* module, const HloVerifierOpts& opts)
      : ShapeVerifier(opts), module_(module) {}

  absl::Status Preprocess(HloInstruction* instruction) override;

 private:
  const HloModule* module_;
  absl::flat_hash_map<std::string, const HloInstruction*> named_;
};

// Counts what instructions say about where they come from, and logs it when it
// goes (VLOG 3).
class MetadataTracker : public DfsHloVisitorWithDefault {
 public:
  // `prefix` begins what is logged.
  explicit MetadataTracker(absl::string_view prefix) : prefix_(prefix) {}
  ~MetadataTracker() override;

  absl::Status DefaultAction(HloInstruction* instruction) override;
  void HandleMetadata(const OpMetadata& metadata);

  // "before: 4 instructions, 2 with metadata: 2 op_type, …".
  std::string ToString() const;

 private:
  std::string prefix_;
  int64_t instructions_ = 0;
  int64_t with_metadata_ = 0;
  int64_t op_types_ = 0;
  int64_t op_names_ = 0;
  int64_t source_files_ = 0;
  int64_t stack_frames_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_VERIFIER_VISITORS_VERIFIER_VISITORS_H_
