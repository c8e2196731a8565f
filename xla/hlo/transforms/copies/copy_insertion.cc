#include "xla/hlo/transforms/copies/copy_insertion.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/transforms/copies/buffer_classes.h"
#include "xla/hlo/transforms/copies/copy_order.h"
#include "xla/hlo/transforms/copies/copy_sites.h"
#include "xla/hlo/transforms/copies/copy_writer.h"
#include "xla/hlo/transforms/copies/execution_line.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Threads = absl::flat_hash_set<absl::string_view>;

// What to do, of the three phases.
struct Phases {
  bool add = true;
  bool remove = true;
  bool special_cases = true;
};

class Copier {
 public:
  Copier(HloModule* module, const AliasInfo& alias_info, const Threads& threads,
         const Phases& phases)
      : module_(module),
        alias_info_(alias_info),
        threads_(threads),
        phases_(phases) {}

  absl::StatusOr<bool> Run();

 private:
  using Kind = CopySite::Kind;

  std::vector<int32_t> SitesByCost(const ExecutionLine& line);
  void FindSpecialCases(BufferClasses& classes);
  std::vector<const CopySite*> Needed(const std::vector<int32_t>& sites) const;
  // Whether the part of `holder` at `index` is the state of an operation that
  // is under way, or in one.
  bool IsInState(const HloInstruction* holder, ShapeIndex index);
  bool CutsState(const CopySite& site);
  absl::Status CheckStates();
  absl::Status WriteIn(HloComputation* computation, CopyWriter* writer) const;
  absl::Status Write(HloSchedule* order) const;
  bool HasAlias(const ShapeIndex& output) const {
    return module_->input_output_alias_config().OutputHasAlias(output);
  }

  HloModule* module_;
  const AliasInfo& alias_info_;
  const Threads& threads_;
  const Phases phases_;
  std::unique_ptr<HloDataflowAnalysis> dataflow_;
  CopySites sites_;
  // By site.
  std::vector<bool> is_needed_;
  // Copies of the entry's result.
  std::vector<CopySite> special_cases_;
  // Where states are; found when somebody asks.
  std::optional<
      absl::flat_hash_set<std::pair<const HloInstruction*, ShapeIndex>>>
      states_;
};

// The most expensive copies first. Those that cannot be made before all others,
// then those of parameters, since a copy of the result serves as well; those
// that are there already last, so that a module with all copies that it needs
// gets no others.
std::vector<int32_t> Copier::SitesByCost(const ExecutionLine& line) {
  const auto count = static_cast<int32_t>(sites_.sites.size());
  std::vector<std::tuple<int, int, int64_t>> keys(count);
  for (int32_t i = 0; i < count; ++i) {
    const CopySite& site = sites_.sites[i];
    const int32_t value =
        site.kind == Kind::kParameter ? site.copy : site.source;
    const Shape& shape = dataflow_->GetValue(value).defining_position().shape();
    const ExecutionLine::Span* span = line.Find(site.computation);
    const int turn = site.kind == Kind::kExisting    ? 3
                     : CutsState(site)               ? 0
                     : site.kind == Kind::kParameter ? 1
                                                     : 2;
    keys[i] = {turn, span == nullptr ? 0 : -span->depth,
               -ShapeUtil::ByteSizeOf(shape, /*pointer_size=*/8)};
  }
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  absl::c_stable_sort(order,
                      [&](int32_t a, int32_t b) { return keys[a] < keys[b]; });
  return order;
}

// Aliased results keep their buffers; of the others the first does. What the
// caller is to finish keeps the state that it has.
void Copier::FindSpecialCases(BufferClasses& classes) {
  HloComputation* entry = module_->entry_computation();
  if (!threads_.empty() && !threads_.contains(entry->execution_thread())) {
    return;
  }
  const HloInstruction* root = entry->root_instruction();
  std::vector<int32_t> returned;
  std::vector<std::pair<ShapeIndex, int32_t>> leaves;
  ShapeUtil::ForEachLeafShape(
      root->shape(), [&](const Shape& shape, const ShapeIndex& index) {
        const auto& values = dataflow_->GetValueSet(root, index).values();
        if (!shape.IsArray() || values.size() != 1 || IsInState(root, index)) {
          return;
        }
        const auto node = static_cast<int32_t>(values[0]->id());
        if (HasAlias(index)) {
          auto site =
              sites_.of_root.find({const_cast<HloInstruction*>(root), index});
          returned.push_back(site == sites_.of_root.end()
                                 ? node
                                 : sites_.sites[site->second].copy);
        } else {
          leaves.emplace_back(index, node);
        }
      });
  absl::flat_hash_set<int32_t> taken;
  for (int32_t node : returned) taken.insert(classes.BufferOf(node));
  for (auto& [index, node] : leaves) {
    if (!classes.IsReadOnly(node) &&
        taken.insert(classes.BufferOf(node)).second) {
      continue;
    }
    special_cases_.push_back({Kind::kResult, nullptr, entry, 0, index});
  }
}

std::vector<const CopySite*> Copier::Needed(
    const std::vector<int32_t>& sites) const {
  std::vector<const CopySite*> needed;
  for (int32_t site : sites) {
    if (is_needed_[site]) needed.push_back(&sites_.sites[site]);
  }
  return needed;
}

bool Copier::IsInState(const HloInstruction* holder, ShapeIndex index) {
  if (!states_.has_value()) {
    states_.emplace();
    for (const HloComputation* computation : module_->computations()) {
      for (const HloInstruction* inst : computation->instructions()) {
        if (!HloDataflowAnalysis::IsAsynchronousOperationStart(
                inst->opcode()) &&
            inst->opcode() != HloOpcode::kAsyncUpdate) {
          continue;
        }
        for (AsyncStatePlace& place : AsyncStatePlaces(inst)) {
          states_->insert({place.inst, std::move(place.index)});
        }
      }
    }
  }
  if (states_->empty()) return false;
  while (!states_->contains({holder, index})) {
    if (index.empty()) return false;
    index.pop_back();
  }
  return true;
}

// Whether a copy would read what is still computed, or make two of a state,
// which is one value from its start to its done.
bool Copier::CutsState(const CopySite& site) {
  const HloInstruction* at = site.instruction;
  if (site.kind == Kind::kOperand) at = at->operand(site.operand_number);
  if (site.kind == Kind::kResult) at = site.computation->root_instruction();
  return IsInState(at, site.index);
}

// A state that is in the way of another cannot move: the two would have to run
// in turn.
absl::Status Copier::CheckStates() {
  for (size_t i = 0; i < sites_.sites.size(); ++i) {
    const CopySite& site = sites_.sites[i];
    if (!is_needed_[i] || site.kind == Kind::kExisting || !CutsState(site)) {
      continue;
    }
    return absl::UnimplementedError(absl::StrCat(
        "copy-insertion: computation %", site.computation->name(),
        " forwards the state of an asynchronous operation, and element ",
        site.index.ToString(), " would have to be copied while it runs"));
  }
  return absl::OkStatus();
}

absl::Status Copier::WriteIn(HloComputation* computation,
                             CopyWriter* writer) const {
  // Calls `write` for each run of sites for which `key` is the same.
  auto write_runs = [](const std::vector<const CopySite*>& sites, auto key,
                       auto write) -> absl::Status {
    for (size_t i = 0, j = 0; i < sites.size(); i = j) {
      while (j < sites.size() && key(*sites[j]) == key(*sites[i])) ++j;
      TF_RETURN_IF_ERROR(write(absl::MakeConstSpan(sites).subspan(i, j - i)));
    }
    return absl::OkStatus();
  };
  auto start = sites_.at_start.find(computation);
  if (start != sites_.at_start.end()) {
    TF_RETURN_IF_ERROR(write_runs(
        Needed(start->second),
        [](const CopySite& site) { return site.instruction; },
        [&](auto sites) { return writer->WriteParameter(sites); }));
  }
  for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
    if (auto before = sites_.before.find(inst); before != sites_.before.end()) {
      TF_RETURN_IF_ERROR(write_runs(
          Needed(before->second),
          [](const CopySite& site) { return site.operand_number; },
          [&](auto sites) { return writer->WriteOperand(sites); }));
    }
    if (auto after = sites_.after.find(inst); after != sites_.after.end()) {
      const auto needed = Needed(after->second);
      if (!needed.empty()) TF_RETURN_IF_ERROR(writer->WriteParameter(needed));
    }
  }
  std::vector<const CopySite*> results;
  auto end = sites_.at_end.find(computation);
  if (end != sites_.at_end.end()) results = Needed(end->second);
  if (computation->IsEntryComputation()) {
    for (const CopySite& site : special_cases_) results.push_back(&site);
  }
  return results.empty() ? absl::OkStatus() : writer->WriteResult(results);
}

absl::Status Copier::Write(HloSchedule* order) const {
  CopyWriter writer(order);
  for (size_t i = 0; i < sites_.sites.size(); ++i) {
    const CopySite& site = sites_.sites[i];
    if (site.kind == Kind::kExisting && !is_needed_[i]) {
      TF_RETURN_IF_ERROR(writer.Remove(site.instruction));
    }
  }
  // Not in the order of hash maps.
  for (HloComputation* computation : module_->MakeComputationPostOrder()) {
    TF_RETURN_IF_ERROR(WriteIn(computation, &writer));
  }
  return writer.Finish();
}

// With a copy at every site the module is correct, and each copy that goes by
// coalescing keeps it so: two classes become one only if no intervals overlap.
// Whatever the order of the sites, the result is hence correct; the order
// decides which of the copies that exclude each other stays. To find the fewest
// is NP-hard (aggressive coalescing: Bouchez, Darte and Rastello, CGO 2007), so
// sites go in the order of SitesByCost and no choice is taken back. A site in a
// computation that the line does not reach has no intervals to compare and
// stays as it is.
absl::StatusOr<bool> Copier::Run() {
  TF_ASSIGN_OR_RETURN(dataflow_,
                      HloDataflowAnalysis::Run(*module_, /*ssa_form=*/true));
  if (!dataflow_->call_graph().IsFlatOnControlFlow()) {
    return absl::FailedPreconditionError(
        absl::StrCat("copy-insertion: in module ", module_->name(),
                     " a computation has several callers; "
                     "flatten-call-graph has to run first"));
  }
  sites_ = FindCopySites(*dataflow_, alias_info_, threads_, phases_.add);
  const bool is_scheduled = module_->has_schedule();
  HloSchedule order = is_scheduled ? module_->schedule()
                                   : ChooseOrder(*module_, *dataflow_, sites_);
  const ExecutionLine line(*module_, order, sites_);
  BufferClasses classes(*dataflow_, alias_info_, sites_, line);
  bool changed = false;
  is_needed_.resize(sites_.sites.size());
  for (int32_t i : SitesByCost(line)) {
    const CopySite& site = sites_.sites[i];
    const bool is_existing = site.kind == Kind::kExisting;
    const bool on_the_line = line.Find(site.computation) != nullptr;
    if (!on_the_line || (is_existing && !phases_.remove)) {
      is_needed_[i] = is_existing;
    } else {
      is_needed_[i] = !classes.TryCoalesce(site);
    }
    changed |= is_existing != is_needed_[i];
  }
  TF_RETURN_IF_ERROR(CheckStates());
  if (phases_.special_cases) FindSpecialCases(classes);
  changed |= !special_cases_.empty();
  if (changed) TF_RETURN_IF_ERROR(Write(&order));
  if (is_scheduled) {
    if (changed) module_->schedule() = std::move(order);
    return changed;
  }
  if (!phases_.add && !phases_.remove) return changed;
  TF_ASSIGN_OR_RETURN(const bool tied,
                      KeepOrderOfBuffers(module_, order, alias_info_));
  return changed || tied;
}

}  // namespace

absl::StatusOr<bool> CopyInsertion::RunImpl(HloModule* module,
                                            const Threads& execution_threads) {
  return Copier(module, *alias_info_, execution_threads, {}).Run();
}

absl::Status CopyInsertion::RemoveUnnecessaryCopies(
    HloModule* module, const Threads& execution_threads,
    bool check_live_range_ordering) {
  Phases phases;
  phases.add = false;
  phases.special_cases = false;
  return Copier(module, *alias_info_, execution_threads, phases).Run().status();
}

absl::Status CopyInsertion::AddSpecialCaseCopies(
    HloModule* module, const Threads& execution_threads) {
  Phases phases;
  phases.add = false;
  phases.remove = false;
  return Copier(module, *alias_info_, execution_threads, phases).Run().status();
}

}  // namespace xla
