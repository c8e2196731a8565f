#include "xla/hlo/transforms/loops/rewrite_passes.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/struct.pb.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/pass/check_scheduled.h"
#include "xla/hlo/transforms/loops/expansion_fusion.h"
#include "xla/hlo/transforms/loops/fusion_splitting.h"
#include "xla/hlo/transforms/loops/loop_residuals.h"
#include "xla/hlo/transforms/loops/loop_sinking.h"
#include "xla/hlo/transforms/loops/loop_unfusing.h"
#include "xla/hlo/transforms/loops/loop_updates.h"
#include "xla/hlo/transforms/loops/narrow_values.h"
#include "xla/report_json.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// As many of the first ones as there is fuel for.
template <typename T>
void KeepFirst(int64_t count, std::vector<T>* values) {
  if (static_cast<int64_t>(values->size()) > count) {
    values->erase(values->begin() + count, values->end());
  }
}

absl::StatusOr<int64_t> LeastBytes(int64_t asked_for, const HloModule& module) {
  if (asked_for > 0) return asked_for;
  return remat_plan::WorthwhileBytes(module);
}

}  // namespace

absl::Status RewritePass::StartReport(const HloModule&) {
  reported_.clear();
  return absl::OkStatus();
}

absl::StatusOr<PassReport> RewritePass::FinishReport(const HloModule& after) {
  PassReport report;
  report.text =
      absl::StrCat(name(), ": ", reported_.size(),
                   reported_.size() == 1 ? " rewrite\n" : " rewrites\n");
  google::protobuf::Struct json;
  (*json.mutable_fields())["pass"].set_string_value(std::string(name()));
  (*json.mutable_fields())["module"].set_string_value(
      std::string(after.name()));
  google::protobuf::ListValue* rewrites =
      (*json.mutable_fields())["rewrites"].mutable_list_value();
  for (const std::string& rewrite : reported_) {
    absl::StrAppend(&report.text, "  ", rewrite, "\n");
    rewrites->add_values()->set_string_value(rewrite);
  }
  TF_ASSIGN_OR_RETURN(report.json, ReportToJson(json));
  return report;
}

absl::StatusOr<bool> RewritePass::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  TF_RETURN_IF_ERROR(CheckScheduled(name(), *module));
  if (!execution_threads.empty() &&
      !execution_threads.contains(
          module->entry_computation()->execution_thread())) {
    return false;
  }
  const int64_t max_rewrites =
      fuel_ == nullptr ? std::numeric_limits<int64_t>::max() : *fuel_;
  if (max_rewrites == 0) return false;
  TF_ASSIGN_OR_RETURN(const std::vector<std::string> rewrites,
                      Rewrite(max_rewrites, module));
  if (fuel_ != nullptr) *fuel_ -= static_cast<int64_t>(rewrites.size());
  reported_.insert(reported_.end(), rewrites.begin(), rewrites.end());
  return !rewrites.empty();
}

absl::StatusOr<std::vector<std::string>> LoopUnfusing::Rewrite(
    int64_t max_rewrites, HloModule* module) {
  return remat_plan::UnfuseStackAccess(max_rewrites, module);
}

absl::StatusOr<std::vector<std::string>> LoopResiduals::Rewrite(
    int64_t max_rewrites, HloModule* module) {
  TF_ASSIGN_OR_RETURN(std::vector<int> drops,
                      remat_plan::OrderOfDrops(*module, device_));
  KeepFirst(max_rewrites, &drops);
  std::vector<std::string> rewrites;
  if (drops.empty()) return rewrites;
  const std::vector<remat_plan::LoopResidual> residuals =
      remat_plan::FindLoopResiduals(*module);
  for (int drop : drops) {
    const remat_plan::LoopResidual& stack = residuals[drop];
    rewrites.push_back(absl::StrCat(
        "element ", stack.forward_element, " of ", stack.forward->name(), ", ",
        HumanBytes(static_cast<double>(stack.bytes)), ", is recomputed in ",
        stack.backward->name()));
  }
  TF_RETURN_IF_ERROR(remat_plan::DropLoopResiduals(drops, module));
  return rewrites;
}

absl::StatusOr<std::vector<std::string>> LoopSinking::Rewrite(
    int64_t max_rewrites, HloModule* module) {
  TF_ASSIGN_OR_RETURN(const int64_t least,
                      LeastBytes(options_.min_bytes, *module));
  TF_ASSIGN_OR_RETURN(
      std::vector<remat_plan::LoopInvariant> invariants,
      remat_plan::FindLoopInvariants(*module, least, options_.device));
  KeepFirst(max_rewrites, &invariants);
  std::vector<std::string> rewrites;
  if (invariants.empty()) return rewrites;
  for (const remat_plan::LoopInvariant& invariant : invariants) {
    rewrites.push_back(absl::StrCat(
        "element ", invariant.element, " of ", invariant.loop->name(), ", ",
        HumanBytes(static_cast<double>(invariant.bytes)),
        ", is computed in the body"));
  }
  TF_RETURN_IF_ERROR(remat_plan::SinkLoopInvariants(invariants, module));
  return rewrites;
}

absl::StatusOr<std::vector<std::string>> LoopUpdates::Rewrite(
    int64_t max_rewrites, HloModule* module) {
  TF_ASSIGN_OR_RETURN(const int64_t least,
                      LeastBytes(options_.min_bytes, *module));
  return remat_plan::UpdateArgumentsInLoops(least, max_rewrites, module);
}

absl::StatusOr<std::vector<std::string>> FusionSplitting::Rewrite(
    int64_t max_rewrites, HloModule* module) {
  TF_ASSIGN_OR_RETURN(const int64_t least,
                      LeastBytes(options_.min_bytes, *module));
  return remat_plan::SplitFusions(least, max_rewrites, module);
}

absl::StatusOr<std::vector<std::string>> NarrowValues::Rewrite(
    int64_t max_rewrites, HloModule* module) {
  TF_ASSIGN_OR_RETURN(const int64_t least,
                      LeastBytes(options_.min_bytes, *module));
  return remat_plan::KeepNarrowValues(least, max_rewrites, module);
}

absl::StatusOr<std::vector<std::string>> ExpansionFusion::Rewrite(
    int64_t max_rewrites, HloModule* module) {
  if (!(options_.carried_part > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expansion-fusion: carried-part must be above 0, found ",
                     options_.carried_part));
  }
  TF_ASSIGN_OR_RETURN(const int64_t least,
                      LeastBytes(options_.min_bytes, *module));
  return remat_plan::FuseExpansions(least, options_.carried_part, max_rewrites,
                                    module);
}

}  // namespace xla
