#include "xla/hlo/transforms/loops/loop_updates.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/recomputable.h"
#include "xla/hlo/transforms/loops/body_writer.h"
#include "xla/hlo/transforms/loops/cheap_recipe.h"
#include "xla/hlo/transforms/loops/counted_loop.h"
#include "xla/hlo/transforms/loops/loop_state.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// What follows from a stack of gradients is grown from the readers of the
// stack, as far as it is elementwise, together with what else it reads, back to
// arguments, scalars and small values. Where each value that is read further
// can be stored, place by place, over an argument that nothing else needs any
// more, the body computes the place that its trip has just made.

namespace xla::remat_plan {
namespace {

constexpr size_t kMaxMadeInBody = 64;
// A value of this part of the stack's bytes, or less, is passed through the
// loop as it is.
constexpr int64_t kWholePart = 16;

using Instructions = absl::flat_hash_set<const HloInstruction*>;

// Whether one place of its result follows from the same place of its operands.
bool IsPlaceByPlace(const HloInstruction& inst) {
  const bool kind = inst.opcode() == HloOpcode::kTranspose ||
                    (inst.IsElementwise() && inst.operand_count() > 0 &&
                     inst.opcode() != HloOpcode::kFusion);
  return kind && inst.shape().IsArray() && inst.shape().is_static() &&
         IsRecomputable(inst);
}

// The dimension of the result that is dimension `dim` of an operand of the same
// rank.
int64_t DimensionAbove(const HloInstruction& inst, int64_t dim) {
  if (inst.opcode() != HloOpcode::kTranspose) return dim;
  const absl::Span<const int64_t> dims = inst.dimensions();
  return absl::c_find(dims, dim) - dims.begin();
}

// Whether reading a value leaves nothing that shares its memory.
bool ReadsOnly(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kCustomCall:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kFusion:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kScatter:
    case HloOpcode::kWhile:
      return false;
    default:  // Recomputable ones make values of their own.
      return IsRecomputable(inst);
  }
}

// Everything that leads to `inst`, or that follows from it, and itself.
template <typename Next>
Instructions Closure(const HloInstruction* inst, Next next) {
  Instructions seen = {inst};
  std::vector<const HloInstruction*> work = {inst};
  while (!work.empty()) {
    const HloInstruction* now = work.back();
    work.pop_back();
    for (const HloInstruction* other : next(now)) {
      if (seen.insert(other).second) work.push_back(other);
    }
  }
  return seen;
}

// A loop and what comes before and after it.
struct LoopInPlace {
  explicit LoopInPlace(CountedLoop counted)
      : loop(counted),
        before(Closure(counted.state.loop(),
                       [](const HloInstruction* inst) {
                         std::vector<const HloInstruction*> all(
                             inst->operands().begin(), inst->operands().end());
                         absl::c_copy(inst->control_predecessors(),
                                      std::back_inserter(all));
                         return all;
                       })),
        after(Closure(counted.state.loop(), [](const HloInstruction* inst) {
          std::vector<const HloInstruction*> all(inst->users().begin(),
                                                 inst->users().end());
          absl::c_copy(inst->control_successors(), std::back_inserter(all));
          return all;
        })) {}

  CountedLoop loop;
  Instructions before;
  Instructions after;
};

// A value that is read further, and the argument whose memory it takes.
struct UpdatedValue {
  HloInstruction* value = nullptr;
  int64_t dim = 0;
  HloInstruction* argument = nullptr;  // Null: the stack's memory.
};

// What follows from one stack.
class StackUpdate {
 public:
  StackUpdate(const LoopInPlace* place, int64_t element)
      : place_(*place), state_(place->loop.state), element_(element) {}

  bool Match() {
    return MatchWrite() && GrowFromReads() && GrowToArguments() && FindMemory();
  }

  std::string Describe() const {
    return absl::StrCat(
        "element ", element_, " of ", state_.loop()->name(), ", ",
        HumanBytes(static_cast<double>(BytesOf(write_))), ", becomes ",
        absl::StrJoin(updated_, ", ",
                      [](std::string* out, const UpdatedValue& updated) {
                        absl::StrAppend(out, updated.value->name());
                      }),
        " in the body");
  }

  // Whether the stack's element is left without a use.
  bool FreesStack() const {
    return absl::c_all_of(updated_, [](const UpdatedValue& updated) {
      return updated.argument != nullptr;
    });
  }

  absl::Status Apply() {
    BodyWriter writer(state_, made_);
    HloInstruction* index = write_->mutable_operand(2);
    for (const auto& [value, dim] : dim_) {
      if (IsRead(value)) {
        writer.SetSlice(value, 0, index, write_->mutable_operand(1));
      }
    }
    std::vector<HloInstruction*> places;
    for (const UpdatedValue& updated : updated_) {
      TF_ASSIGN_OR_RETURN(HloInstruction * inside,
                          writer.Slice(updated.value, updated.dim, index));
      places.push_back(inside);
    }
    if (FreesStack()) TF_RETURN_IF_ERROR(state_.PassOn(element_));
    for (size_t i = 0; i < updated_.size(); ++i) {
      const UpdatedValue& updated = updated_[i];
      int64_t element = element_;
      if (updated.argument != nullptr) {
        TF_ASSIGN_OR_RETURN(element, state_.Append(updated.argument));
        HloInstruction* old =
            writer.FindSlice(updated.argument, updated.dim, index);
        TF_RET_CHECK(old != nullptr) << updated.argument->name();
        // One read for all, so that the update follows each of them.
        for (HloInstruction* reader : state_.BodyReaders(element)) {
          if (reader == old) continue;
          TF_RETURN_IF_ERROR(reader->ReplaceAllUsesWithDifferentShape(old));
        }
      }
      HloInstruction* write = writer.Write(state_.BodyElement(element),
                                           places[i], updated.dim, index);
      write->set_metadata(write_->metadata());
      TF_RETURN_IF_ERROR(state_.SetBodyResult(element, write));
      HloInstruction* result = state_.loop()->parent()->AddInstruction(
          HloInstruction::CreateGetTupleElement(state_.loop(), element));
      result->set_metadata(updated.value->metadata());
      TF_RETURN_IF_ERROR(updated.value->ReplaceAllUsesWith(result));
    }
    return absl::OkStatus();
  }

 private:
  bool IsRead(const HloInstruction* inst) const {
    return LoopState::ElementOf(inst, state_.loop()) == element_;
  }

  // The write of one place in each trip, each place once.
  bool MatchWrite() {
    write_ = state_.body_root()->mutable_operand(element_);
    if (write_->opcode() != HloOpcode::kDynamicUpdateSlice ||
        write_->user_count() != 1 || write_->HasControlDependencies() ||
        LoopState::ElementOf(write_->operand(0), state_.body_state()) !=
            element_ ||
        state_.IsShared(element_) || state_.ConditionReads(element_) ||
        state_.IsResultRoot(element_)) {
      return false;
    }
    const std::vector<HloInstruction*> readers = state_.BodyReaders(element_);
    if (readers.size() != 1 || readers.front() != write_) return false;
    const Shape& stack = write_->shape();
    if (!stack.is_static() ||
        !TakesOnePlace(write_, stack, write_->operand(1)->shape())) {
      return false;
    }
    const int64_t trips = place_.loop.trips;
    trip_ = FunctionOfTrip(write_->operand(2), place_.loop);
    // What a single trip stacks is no more than its own gradient.
    return trips > 1 && stack.dimensions(0) == trips &&
           (trip_ == TripFunction{1, 0} ||
            trip_ == TripFunction{-1, trips - 1});
  }

  // All that follows from the stack value by value, and of it what is read
  // further.
  bool GrowFromReads() {
    std::vector<HloInstruction*> work;
    for (HloInstruction* read : state_.loop()->users()) {
      if (!IsRead(read)) continue;
      dim_[read] = 0;
      work.push_back(read);
    }
    for (size_t next = 0; next < work.size(); ++next) {
      HloInstruction* value = work[next];
      bool read_further = value->IsRoot();
      for (HloInstruction* user : value->users()) {
        if (!IsPlaceByPlace(*user)) {
          read_further = true;
          continue;
        }
        const int64_t dim = DimensionAbove(*user, dim_.at(value));
        auto [it, is_new] = dim_.try_emplace(user, dim);
        if (it->second != dim) return false;
        if (!is_new) continue;
        work.push_back(user);
        made_.insert(user);
        if (made_.size() > kMaxMadeInBody) return false;
      }
      if (!read_further) continue;
      if (IsRead(value)) return false;
      updated_.push_back({value, dim_.at(value), nullptr});
    }
    return !updated_.empty();
  }

  bool GrowToArguments() {
    std::vector<std::pair<const HloInstruction*, int64_t>> work;
    auto operands_of = [&](const HloInstruction* inst, int64_t dim) {
      const std::optional<int64_t> below =
          BodyWriter::DimensionBelow(*inst, dim);
      if (!below.has_value()) return false;
      for (const HloInstruction* operand : inst->operands()) {
        const bool scalar = operand->shape().dimensions().empty();
        work.emplace_back(operand, scalar ? -1 : *below);
      }
      return true;
    };
    const std::vector<std::pair<const HloInstruction*, int64_t>> follows(
        dim_.begin(), dim_.end());
    for (const auto& [inst, dim] : follows) {
      if (!IsRead(inst) && !operands_of(inst, dim)) return false;
    }
    while (!work.empty()) {
      const auto [inst, dim] = work.back();
      work.pop_back();
      auto [it, is_new] = dim_.try_emplace(inst, dim);
      if (it->second != dim) return false;
      if (!is_new) continue;
      if (place_.after.contains(inst)) return false;
      if (dim < 0) {
        if (inst->IsConstant()) made_.insert(inst);
        if (BytesOf(inst) * kWholePart > BytesOf(write_)) return false;
        continue;
      }
      if (IsParameterRead(inst)) continue;
      if (!(inst->opcode() == HloOpcode::kBroadcast && IsRecomputable(*inst)) &&
          !IsPlaceByPlace(*inst)) {
        return false;
      }
      made_.insert(inst);
      if (made_.size() > kMaxMadeInBody || !operands_of(inst, dim))
        return false;
    }
    FindDying();
    return true;
  }

  // What follows from the stack is not needed any more, nor is what only that
  // reads.
  void FindDying() {
    std::vector<const HloInstruction*> others;
    for (const HloInstruction* inst : made_) {
      if (place_.after.contains(inst)) {
        dying_.insert(inst);
      } else {
        others.push_back(inst);
      }
    }
    for (size_t before = 0; before != dying_.size();) {
      before = dying_.size();
      for (const HloInstruction* inst : others) {
        if (absl::c_all_of(inst->users(), [&](const HloInstruction* user) {
              return dying_.contains(user);
            })) {
          dying_.insert(inst);
        }
      }
    }
  }

  // The argument whose memory a result of the entry computation takes.
  HloInstruction* ArgumentUnder(const HloInstruction* value) const {
    const HloComputation* entry = value->parent();
    const HloInputOutputAliasConfig& config =
        entry->parent()->input_output_alias_config();
    const HloInstruction* root = entry->root_instruction();
    for (HloInstruction* user : value->users()) {
      if (user != root || root->opcode() != HloOpcode::kTuple) continue;
      for (int64_t i = 0; i < root->operand_count(); ++i) {
        if (root->operand(i) != value) continue;
        const auto alias = config.GetAliasedParameter({i});
        if (!alias.has_value() || !alias->parameter_index.empty()) continue;
        return entry->parameter_instruction(alias->parameter_number);
      }
    }
    return nullptr;
  }

  bool FindMemory() {
    int64_t others = 0;
    absl::flat_hash_set<const HloInstruction*> taken;
    for (UpdatedValue& updated : updated_) {
      HloInstruction* argument = ArgumentUnder(updated.value);
      if (argument != nullptr && CanOverwrite(argument, updated)) {
        if (!taken.insert(argument).second) return false;
        updated.argument = argument;
      } else if (++others > 1 || updated.dim != 0 ||
                 !ShapeUtil::Equal(updated.value->shape(), write_->shape())) {
        return false;
      }
    }
    return !taken.empty();
  }

  // Whether the argument is read where the value is made of it, place by place,
  // and else only before.
  bool CanOverwrite(const HloInstruction* argument,
                    const UpdatedValue& updated) const {
    auto dim = dim_.find(argument);
    if (dim == dim_.end() || dim->second != updated.dim ||
        !ShapeUtil::Equal(argument->shape(), updated.value->shape())) {
      return false;
    }
    const Instructions read_by_value =
        Closure(updated.value, [&](const HloInstruction* inst) {
          std::vector<const HloInstruction*> all;
          if (made_.contains(inst)) {
            all.assign(inst->operands().begin(), inst->operands().end());
          }
          return all;
        });
    return read_by_value.contains(argument) && !argument->IsRoot() &&
           absl::c_all_of(argument->users(), [&](const HloInstruction* user) {
             return IsOverBefore(argument, user, updated.dim);
           });
  }

  // Whether a user of an argument has read it when the loop's trip writes it.
  bool IsOverBefore(const HloInstruction* argument, const HloInstruction* user,
                    int64_t dim) const {
    if (dying_.contains(user)) return true;  // The body reads it instead.
    if (user == state_.init()) return IsReadByPlace(argument, dim);
    if (!place_.before.contains(user)) return false;
    if (user->opcode() != HloOpcode::kTuple) return ReadsOnly(*user);
    return absl::c_all_of(user->users(), [&](HloInstruction* loop) {
      return LoopOnlyReads(argument, user, loop);
    });
  }

  // Whether an earlier loop reads an argument, and does not hand it on.
  static bool LoopOnlyReads(const HloInstruction* argument,
                            const HloInstruction* init, HloInstruction* loop) {
    const std::optional<LoopState> state = LoopState::Match(loop);
    if (!state.has_value()) return false;
    for (int64_t i = 0; i < init->operand_count(); ++i) {
      if (init->operand(i) != argument) continue;
      if (!state->IsInvariant(i) || state->IsShared(i) ||
          !state->ResultReaders(i).empty() ||
          !absl::c_all_of(state->BodyReaders(i),
                          [](const HloInstruction* reader) {
                            return ReadsOnly(*reader);
                          })) {
        return false;
      }
    }
    return true;
  }

  // Whether the loop itself, of an argument, reads only the place that the trip
  // writes.
  bool IsReadByPlace(const HloInstruction* argument, int64_t dim) const {
    int64_t found = 0;
    for (int64_t i = 0; i < state_.size(); ++i) {
      if (state_.init()->operand(i) != argument) continue;
      if (++found > 1 || !state_.IsInvariant(i) || state_.IsShared(i) ||
          state_.ConditionReads(i) || !state_.ResultReaders(i).empty()) {
        return false;
      }
      for (const HloInstruction* reader : state_.BodyReaders(i)) {
        if (reader->opcode() != HloOpcode::kDynamicSlice ||
            LoopState::ElementOf(reader->operand(0), state_.body_state()) !=
                i ||
            reader->HasControlDependencies() ||
            !TakesOnePlace(reader, argument->shape(), reader->shape(), dim) ||
            FunctionOfTrip(reader->operand(1 + dim), place_.loop) != trip_) {
          return false;
        }
      }
    }
    return true;
  }

  const LoopInPlace& place_;
  LoopState state_;
  const int64_t element_;
  HloInstruction* write_ = nullptr;
  std::optional<TripFunction> trip_;
  // Where the trip's place is, of all that the body is to compute or read: the
  // dimension, or -1 for what it reads whole.
  absl::flat_hash_map<const HloInstruction*, int64_t> dim_;
  Instructions made_;
  Instructions dying_;
  std::vector<UpdatedValue> updated_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> UpdateArgumentsInLoops(
    int64_t min_bytes, int64_t max_rewrites, HloModule* module) {
  std::vector<std::string> rewrites;
  HloComputation* entry = module->entry_computation();
  std::vector<std::pair<LoopState, int64_t>> freed;
  const std::vector<HloInstruction*> sequence =
      module->schedule().sequence(entry).instructions();
  for (HloInstruction* inst : sequence) {
    const std::optional<CountedLoop> loop = MatchCounted(inst);
    if (!loop.has_value()) continue;
    std::optional<LoopInPlace> place;
    const int64_t elements = loop->state.size();
    for (int64_t k = 0; k < elements; ++k) {
      if (static_cast<int64_t>(rewrites.size()) >= max_rewrites) break;
      if (BytesOf(loop->state.init()->operand(k)) < min_bytes) continue;
      if (!place.has_value()) place.emplace(*loop);
      StackUpdate update(&*place, k);
      if (!update.Match()) continue;
      rewrites.push_back(update.Describe());
      TF_RETURN_IF_ERROR(update.Apply());
      if (update.FreesStack()) freed.emplace_back(loop->state, k);
    }
  }
  if (rewrites.empty()) return rewrites;
  TF_RETURN_IF_ERROR(HloDCE().Run(module).status());
  for (auto& [state, element] : freed) {
    TF_RETURN_IF_ERROR(state.Blank(element));
  }
  TF_RETURN_IF_ERROR(HloDCE().Run(module).status());
  TF_RETURN_IF_ERROR(module->schedule().Update());
  return rewrites;
}

}  // namespace xla::remat_plan
