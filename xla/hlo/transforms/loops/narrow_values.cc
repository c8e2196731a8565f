#include "xla/hlo/transforms/loops/narrow_values.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/recomputable.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/loops/cheap_recipe.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// Instructions that a value which is kept is computed by.
constexpr size_t kMostInCone = 16;

// What an instruction inside of a fusion is computed from there.
struct Cone {
  absl::flat_hash_set<const HloInstruction*> made;  // itself included
  absl::btree_set<int64_t> parameters;
};

bool IsPartOfCone(const HloInstruction& inst) {
  if (!inst.shape().IsArray()) return false;
  switch (inst.opcode()) {
    case HloOpcode::kConstant:
      return ShapeUtil::IsEffectiveScalar(inst.shape());
    case HloOpcode::kBroadcast:
    case HloOpcode::kIota:
    case HloOpcode::kBitcast:
      return true;
    default:  // Elementwise opcodes alone.
      return inst.IsElementwise() && IsRecomputable(inst);
  }
}

// Nothing if there are other instructions in it, or too many.
std::optional<Cone> ConeOf(const HloInstruction& value) {
  Cone cone;
  std::vector<const HloInstruction*> work = {&value};
  while (!work.empty()) {
    const HloInstruction* inst = work.back();
    work.pop_back();
    if (inst->opcode() == HloOpcode::kParameter) {
      cone.parameters.insert(inst->parameter_number());
      continue;
    }
    if (!cone.made.insert(inst).second) continue;
    if (cone.made.size() > kMostInCone || !IsPartOfCone(*inst)) {
      return std::nullopt;
    }
    work.insert(work.end(), inst->operands().begin(), inst->operands().end());
  }
  return cone;
}

// Whether all that reads the parameter is there for `value` alone.
bool IsOnlyFor(const HloInstruction& parameter, const HloInstruction& value,
               const Cone& cone) {
  absl::flat_hash_set<const HloInstruction*> seen;
  std::vector<const HloInstruction*> work = {&parameter};
  while (!work.empty()) {
    const HloInstruction* inst = work.back();
    work.pop_back();
    if (inst == &value) continue;
    if (inst->IsRoot()) return false;
    for (const HloInstruction* user : inst->users()) {
      if (!cone.made.contains(user)) return false;
      if (seen.insert(user).second) work.push_back(user);
    }
  }
  return true;
}

// Whether a fusion may get its value from outside: results stay inside.
bool MayBeRead(const HloInstruction& value) {
  return value.shape().IsArray() && value.operand_count() > 0 &&
         !value.IsRoot() &&
         absl::c_none_of(value.users(), [](const HloInstruction* user) {
           return user->IsRoot() && user->opcode() == HloOpcode::kTuple;
         });
}

// Whether the root needs all instructions but parameters. As there are no
// cycles, it does if no other ends a path of users.
bool HasNothingDead(const HloComputation& body) {
  return absl::c_all_of(body.instructions(), [](const HloInstruction* inst) {
    return inst->opcode() == HloOpcode::kParameter ||
           inst->IsRoot() == (inst->user_count() == 0);
  });
}

bool IsReader(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kFusion &&
         (inst.IsLoopFusion() || inst.IsInputFusion()) &&
         !inst.HasControlDependencies() &&
         inst.output_operand_aliasing().empty() &&
         HasNothingDead(*inst.fused_instructions_computation());
}

// Whether the result of an instruction may be, or contain, the memory of an
// array that it reads. Those of bitcasts always are.
bool MayHoldOperands(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kAddDependency:
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kSend:
    case HloOpcode::kTuple:
    case HloOpcode::kWhile:
      return true;
    default:  // Others make results of their own, but for starts.
      return inst.IsAsyncStart();
  }
}

const HloInstruction* BehindBitcasts(const HloInstruction* inst) {
  while (inst->opcode() == HloOpcode::kBitcast) inst = inst->operand(0);
  return inst;
}

// A value to keep: inside of the fusion that reads it.
struct Narrow {
  HloInstruction* value = nullptr;
  int64_t after = 0;  // the place in the sequence that it comes after
};

// Where the last two readers of a value are, itself or behind bitcasts.
struct Readers {
  int64_t last = -1;
  int64_t before_last = -1;  // maybe as `last`

  void Add(int64_t place) {
    if (place > last) std::swap(place, last);
    before_last = std::max(before_last, place);
  }
};

// The values of one computation, and where in its sequence they come.
class Keeper {
 public:
  Keeper(int64_t min_bytes, HloComputation* computation, HloSchedule* schedule)
      : min_bytes_(min_bytes), computation_(computation), schedule_(*schedule) {
    sequence_ = schedule_.sequence(computation).instructions();
    added_.resize(sequence_.size());
    steps_before_.push_back(0);
    for (const HloInstruction* inst : sequence_) {
      place_[inst] = static_cast<int64_t>(place_.size());
      const bool is_step = !IsRenaming(*inst) &&
                           inst->opcode() != HloOpcode::kConstant &&
                           inst->opcode() != HloOpcode::kParameter;
      steps_before_.push_back(steps_before_.back() + is_step);
    }
  }

  // Adds a line for each value, up to `max_values` in all.
  absl::Status Run(int64_t max_values, std::vector<std::string>* kept) {
    const size_t before = kept->size();
    for (auto it = sequence_.rbegin(); it != sequence_.rend(); ++it) {
      while (static_cast<int64_t>(kept->size()) < max_values) {
        const std::optional<Narrow> narrow = Find(**it);
        if (!narrow.has_value()) break;
        TF_RETURN_IF_ERROR(Keep(*narrow, *it, kept));
      }
    }
    if (kept->size() == before) return absl::OkStatus();
    std::vector<HloInstruction*> sequence;
    for (size_t i = 0; i < sequence_.size(); ++i) {
      sequence.push_back(sequence_[i]);
      sequence.insert(sequence.end(), added_[i].begin(), added_[i].end());
    }
    schedule_.set_sequence(computation_, sequence);
    return absl::OkStatus();
  }

 private:
  // A value to keep for the fusion, the outermost first.
  std::optional<Narrow> Find(const HloInstruction& fusion) {
    if (!IsReader(fusion)) return std::nullopt;
    const std::vector<HloInstruction*> inside =
        fusion.fused_instructions_computation()->MakeInstructionPostOrder();
    for (auto it = inside.rbegin(); it != inside.rend(); ++it) {
      if (!MayBeRead(**it)) continue;
      const std::optional<Cone> cone = ConeOf(**it);
      if (!cone.has_value()) continue;
      const std::optional<int64_t> after = PlaceFor(fusion, **it, *cone);
      if (after.has_value()) return Narrow{*it, *after};
    }
    return std::nullopt;
  }

  // Where the value is computed if it is kept; nothing: that is of no use.
  std::optional<int64_t> PlaceFor(const HloInstruction& fusion,
                                  const HloInstruction& value,
                                  const Cone& cone) {
    int64_t after = -1, freed_bytes = 0;
    bool of_tuple = false;
    for (int64_t number : cone.parameters) {
      const HloInstruction* operand = fusion.operand(number);
      after = std::max(after, place_.at(operand));
      const int64_t bytes = operand->shape().IsArray() ? BytesOf(operand) : 0;
      if (bytes < min_bytes_ || fusion.OperandIndices(operand).size() != 1 ||
          !IsOnlyFor(*fusion.fused_parameter(number), value, cone)) {
        continue;
      }
      const std::optional<int64_t> last = LastOtherReader(*operand, fusion);
      if (!last.has_value()) continue;
      after = std::max(after, *last);
      freed_bytes += bytes;
      of_tuple |=
          BehindBitcasts(operand)->opcode() == HloOpcode::kGetTupleElement;
    }
    if (freed_bytes == 0 || 2 * BytesOf(&value) > freed_bytes) {
      return std::nullopt;
    }
    // Else the fusion itself can take the memory that is freed.
    const bool is_of_use = RunsSomething(after, place_.at(&fusion)) ||
                           (of_tuple && fusion.shape().IsArray() &&
                            2 * BytesOf(&fusion) > freed_bytes);
    return is_of_use ? std::make_optional(after) : std::nullopt;
  }

  // The place of the last instruction that reads the operand before the fusion
  // does, or of the operand; nothing if it is there longer than the fusion.
  std::optional<int64_t> LastOtherReader(const HloInstruction& operand,
                                         const HloInstruction& fusion) {
    const HloInstruction* made = BehindBitcasts(&operand);
    if (IsParameterRead(made) || made->opcode() == HloOpcode::kConstant) {
      return std::nullopt;
    }
    const Readers& readers = ReadersOf(made);
    // One of them is the fusion. What is kept for another may be as late.
    if (readers.last > place_.at(&fusion) ||
        readers.before_last >= place_.at(&fusion)) {
      return std::nullopt;
    }
    return std::max(place_.at(made), readers.before_last);
  }

  // The last are nowhere (INT64_MAX) if its memory may outlive all of them.
  const Readers& ReadersOf(const HloInstruction* made) {
    const auto [it, is_new] = readers_.try_emplace(made);
    Readers& readers = it->second;
    if (!is_new) return readers;
    std::vector<const HloInstruction*> names = {made};
    while (!names.empty()) {
      const HloInstruction* name = names.back();
      names.pop_back();
      if (name->IsRoot()) readers.Add(std::numeric_limits<int64_t>::max());
      for (const HloInstruction* user : name->users()) {
        readers.Add(MayHoldOperands(*user) ? std::numeric_limits<int64_t>::max()
                                           : place_.at(user));
        if (user->opcode() == HloOpcode::kBitcast) names.push_back(user);
      }
    }
    return readers;
  }

  // Whether anything takes time between the two places.
  bool RunsSomething(int64_t after, int64_t before) const {
    return after < before && steps_before_[after + 1] < steps_before_[before];
  }

  absl::Status Keep(const Narrow& narrow, HloInstruction* fusion,
                    std::vector<std::string>* kept) {
    TF_ASSIGN_OR_RETURN(HloInstruction * made, MakeOutside(narrow, fusion));
    place_[made] = narrow.after;
    for (const HloInstruction* operand : made->operands()) {
      // The fusion may still read it, and counts until the end if it does not:
      // no earlier reader is the last one then, as `made` comes after it.
      const auto it = readers_.find(BehindBitcasts(operand));
      if (it != readers_.end()) it->second.Add(narrow.after);
    }
    added_[narrow.after].push_back(made);
    kept->push_back(absl::StrCat(
        fusion->name(), ": ", narrow.value->name(), " of ",
        absl::StrJoin(made->operands(), ", ",
                      [](std::string* out, const HloInstruction* operand) {
                        absl::StrAppend(out, operand->name());
                      })));
    HloComputation* body = fusion->fused_instructions_computation();
    TF_RETURN_IF_ERROR(
        narrow.value->ReplaceAllUsesWith(fusion->AddFusionOperand(made)));
    return body->RemoveInstructionAndUnusedOperands(
        narrow.value, /*cleanup=*/std::nullopt,
        /*ignore_control_dependencies=*/true);
  }

  // A fusion that computes the value, from those operands that it takes.
  absl::StatusOr<HloInstruction*> MakeOutside(const Narrow& narrow,
                                              HloInstruction* fusion) {
    HloModule* module = fusion->GetModule();
    HloCloneContext context(module);
    HloComputation* body = module->AddEmbeddedComputation(
        fusion->fused_instructions_computation()->Clone("narrow", &context));
    HloInstruction* root = context.GetInstruction(narrow.value);
    HloInstruction* rest = body->root_instruction();
    body->set_root_instruction(root, /*accept_different_shape=*/true);
    TF_RETURN_IF_ERROR(body->RemoveInstructionAndUnusedOperands(
        rest, /*cleanup=*/std::nullopt, /*ignore_control_dependencies=*/true));
    std::vector<HloInstruction*> operands;
    for (int64_t i = 0; i < body->num_parameters(); ++i) {
      if (!body->parameter_instruction(i)->IsDead()) {
        operands.push_back(fusion->mutable_operand(i));
      }
    }
    TF_RETURN_IF_ERROR(body->RemoveUnusedParametersFromAnyComputation());
    std::unique_ptr<HloInstruction> made = HloInstruction::CreateFusion(
        root->shape(), HloInstruction::FusionKind::kLoop, operands, body);
    fusion->SetupDerivedInstruction(made.get());
    made->SetAndSanitizeName(absl::StrCat(fusion->name(), ".narrow"));
    return computation_->AddInstruction(std::move(made));
  }

  const int64_t min_bytes_;
  HloComputation* const computation_;
  HloSchedule& schedule_;
  std::vector<HloInstruction*> sequence_;  // as it was
  std::vector<int64_t> steps_before_;      // each place, and the end
  absl::flat_hash_map<const HloInstruction*, int64_t> place_;
  // Caches the readers of a value; stale once a fusion stops reading it.
  absl::flat_hash_map<const HloInstruction*, Readers> readers_;
  std::vector<std::vector<HloInstruction*>> added_;  // after each of them
};

}  // namespace

absl::StatusOr<std::vector<std::string>> KeepNarrowValues(int64_t min_bytes,
                                                          int64_t max_values,
                                                          HloModule* module) {
  std::vector<std::string> kept;
  for (HloComputation* computation : ComputationsThatRun(*module)) {
    if (!module->schedule().is_computation_scheduled(computation)) continue;
    TF_RETURN_IF_ERROR(Keeper(min_bytes, computation, &module->schedule())
                           .Run(max_values, &kept));
  }
  if (!kept.empty()) TF_RETURN_IF_ERROR(module->schedule().Update());
  return kept;
}

}  // namespace xla::remat_plan
