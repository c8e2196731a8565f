#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_CALL_INLINER_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_CALL_INLINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct CallInlinerOptions {
  // Only computations with one call site, which never grow the module.
  bool single_call_site = false;
  // Inlined instructions get the call's op_name in front of their own.
  bool propagate_metadata = true;
  // Modules that would then hold more instructions than this are rejected.
  int64_t max_instructions = 10'000'000;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("single-call-site", single_call_site,
          "inline only computations that are called once");
    visit("propagate-metadata", propagate_metadata,
          "prefix the op_name of inlined instructions with the call's");
    visit("max-instructions", max_instructions,
          "fail rather than grow the module beyond this many instructions");
  }
};

// Replaces calls with the bodies of their callees.
//
//   before: f(x) { ROOT n = negate(x) }   main: c = call(a), to_apply=f; use(c)
//   after:                                main: n = negate(a); use(n)
//
// Callees first, so that each inlined body has nothing left to inline. Whatever
// had to run before or after the call runs before or after all of the body.
// Computations without callers are removed.
//
// Frontend attributes of the call are added to all of the body; its op_name and
// its stack are prefixed to theirs. Operands that nothing else reads are
// removed. A result without a sharding gets the call's, unless it is an operand
// of the call, a loop or a conditional. Where SPMDFullToShardShape reads a
// parameter or a call, whose sharding says what the tiles are, and what stands
// for it is sharded otherwise, a Sharding custom-call keeps it.
//
// Leaves alone: calls with frontend attribute inlineable="false" or "xla_late"
// or _xla_stream_annotation, those with a backend_config, manual computations
// of Shardy in modules that it partitions, composites named in
// `composites_to_preserve`, the wrapped call of an asynchronous one, and all
// other kinds of callers. O(instructions after).
class CallInliner : public HloModulePass {
 public:
  enum class InlineOverridePolicy {
    kAllowInline,
    kProhibitInline,
    // Inline although a frontend attribute says not to.
    kAllowIgnoreFrontendAttributes,
  };
  // The meaning of the frontend attribute `inlineable`: to be inlined early
  // ("xla_early"), late ("xla_late"), or by the first inliner that runs.
  enum class FrontendInlinePolicy { kXlaEarly, kXlaLate, kAuto };

  // Instructions of the callee and their counterparts in the caller.
  using InlinedInstructionMap =
      absl::flat_hash_map<HloInstruction*, HloInstruction*>;
  using OverridePolicy = std::function<InlineOverridePolicy(
      const CallGraph&, const HloInstruction*)>;

  // In bytes. An op_name that would exceed it with the call's prefixed stays as
  // it is: prefixes of nested calls add up.
  static constexpr int64_t kMaxOpNameSize = 10 * 1024;

  // Inlines one call, which is removed; its computation stays.
  static absl::StatusOr<InlinedInstructionMap> Inline(
      HloInstruction* call, bool propagate_metadata = true);

  static FrontendInlinePolicy GetFrontendInlinePolicy(
      const HloInstruction* instruction);

  // The instruction's own attribute about inlining.
  static bool InlineInstructionAllowed(
      const HloInstruction* instruction,
      InlineOverridePolicy policy = InlineOverridePolicy::kAllowInline);

  // `update_domain` is accepted for compatibility; domains need no update here.
  explicit CallInliner(
      bool single_call_site = false, bool update_domain = false,
      absl::flat_hash_set<std::string> composites_to_preserve = {},
      std::optional<OverridePolicy> override_policy = std::nullopt,
      bool propagate_metadata = true)
      : composites_to_preserve_(std::move(composites_to_preserve)),
        override_policy_(std::move(override_policy)) {
    options_.single_call_site = single_call_site;
    options_.propagate_metadata = propagate_metadata;
  }
  explicit CallInliner(const CallInlinerOptions& options) : options_(options) {}
  ~CallInliner() override = default;

  absl::string_view name() const override { return "call-inliner"; }

  // Runs and adds to `inline_map`, if given, which instructions were inlined
  // where.
  absl::StatusOr<bool> RunWithInlineMap(
      HloModule* module, std::optional<InlinedInstructionMap*> inline_map,
      const absl::flat_hash_set<absl::string_view>& execution_threads);

  bool ShouldInline(const CallGraph& call_graph,
                    HloInstruction* instruction) const;

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  absl::Status CheckGrowth(const CallGraph& call_graph) const;

  CallInlinerOptions options_;
  absl::flat_hash_set<std::string> composites_to_preserve_;
  std::optional<OverridePolicy> override_policy_;
};

// Whether a computation can be inlined in place of a call.
bool IsInlineableComputation(HloComputation* computation);

// A module with every call inlined, beside the original.
struct InlinedModule {
  std::unique_ptr<HloModule> module;
  std::unique_ptr<HloCloneContext> clone_context;
  CallInliner::InlinedInstructionMap clone_inlined_map;

  // The counterpart in `module` of an instruction of the original module, or
  // null.
  const HloInstruction* get_inlined_inst(const HloInstruction* inst);
};
absl::StatusOr<InlinedModule> GetInlinedModule(const HloModule* module);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_CALL_INLINER_H_
