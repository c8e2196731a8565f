#include "xla/hlo/analysis/tuple_points_to_analysis.h"

#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/analysis/tuple_points_to_builder.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {

bool PointsToSet::IsAmbiguous() const {
  return std::any_of(tree_.begin(), tree_.end(), [](const auto& node) {
    return node.second.buffers.size() > 1;
  });
}

bool PointsToSet::IsDistinct() const {
  absl::flat_hash_set<const LogicalBuffer*> seen;
  for (const auto& node : tree_) {
    for (const LogicalBuffer* buffer : node.second.buffers) {
      if (!seen.insert(buffer).second) return false;
    }
  }
  return true;
}

PointsToSet::BufferSet PointsToSet::CreateFlattenedSet() const {
  BufferSet flattened;
  for (const auto& node : tree_) {
    flattened.insert(node.second.buffers.begin(), node.second.buffers.end());
  }
  return flattened;
}

bool PointsToSet::ContainsBufferAtIndex(const LogicalBuffer& buffer,
                                        const ShapeIndex& index) const {
  const BufferList& buffers = element(index);
  return std::find(buffers.begin(), buffers.end(), &buffer) != buffers.end();
}

bool PointsToSet::ContainsBuffer(const LogicalBuffer& buffer) const {
  return std::any_of(tree_.begin(), tree_.end(), [&](const auto& node) {
    const BufferList& buffers = node.second.buffers;
    return std::find(buffers.begin(), buffers.end(), &buffer) != buffers.end();
  });
}

void PointsToSet::AddPointedToBuffer(const LogicalBuffer& buffer,
                                     const ShapeIndex& index) {
  if (!ContainsBufferAtIndex(buffer, index)) {
    mutable_element(index)->push_back(&buffer);
  }
}

std::string PointsToSet::ToString() const {
  auto name = [](std::string* out, const LogicalBuffer* buffer) {
    absl::StrAppend(out, buffer->ToString());
  };
  return absl::StrCat(
      "{ ",
      absl::StrJoin(tree_, ", ",
                    [&](std::string* out, const auto& node) {
                      absl::StrAppend(
                          out, node.first.ToString(), ": ",
                          absl::StrJoin(node.second.buffers, "|", name));
                    }),
      " }");
}

std::string BufferAlias::ToString() const {
  return absl::StrCat(instruction_->name(), index_.ToString());
}

std::ostream& operator<<(std::ostream& out, const BufferAlias& buffer_alias) {
  return out << buffer_alias.ToString();
}

absl::StatusOr<std::unique_ptr<TuplePointsToAnalysis>>
TuplePointsToAnalysis::Run(const HloModule* module) {
  TF_RET_CHECK(module != nullptr);
  std::unique_ptr<TuplePointsToAnalysis> analysis(
      new TuplePointsToAnalysis(module));
  const std::vector<HloComputation*> computations(
      module->computations().begin(), module->computations().end());
  InstructionSlots& slots = analysis->slots_;
  slots = InstructionSlots::Empty(computations);
  analysis->points_to_.resize(slots.size());
  analysis->defined_.resize(slots.size());
  std::vector<int32_t> order;
  order.reserve(slots.size());
  for (HloComputation* computation : computations) {
    PointsToBuilder builder(analysis.get());
    const std::vector<HloInstruction*> instructions =
        computation->MakeInstructionPostOrder();
    for (size_t i = 0; i < instructions.size(); ++i) {
      if (i + kInstructionsAhead < instructions.size()) {
        PrefetchInstruction(instructions[i + kInstructionsAhead]);
      }
      order.push_back(slots.Add(instructions[i]));
      RETURN_IF_ERROR(builder.Handle(instructions[i]));
    }
    builder.Finish();
  }
  analysis->CollectAliases(order);
  return analysis;
}

void TuplePointsToAnalysis::CollectAliases(const std::vector<int32_t>& order) {
  aliases_.resize(buffers_.size());
  for (int32_t slot : order) {
    HloInstruction* inst = slots_.instruction(slot);
    points_to_[slot]->ForEachElement(
        [&](const ShapeIndex& index, const PointsToSet::BufferList& buffers) {
          for (const LogicalBuffer* buffer : buffers) {
            aliases_[buffer->id()].emplace_back(inst, index);
          }
        });
  }
}

const PointsToSet& TuplePointsToAnalysis::GetPointsToSet(
    const HloInstruction* hlo_instruction) const {
  return *points_to_[slots_[hlo_instruction]];
}

const LogicalBuffer& TuplePointsToAnalysis::GetBuffer(
    LogicalBuffer::Id id) const {
  CHECK_GE(id, 0);
  CHECK_LT(id, num_logical_buffers());
  return buffers_[id];
}

absl::StatusOr<const LogicalBuffer*> TuplePointsToAnalysis::GetBufferDefinedAt(
    const HloInstruction* instruction, const ShapeIndex& index) const {
  for (const LogicalBuffer* buffer :
       GetBuffersDefinedByInstruction(instruction)) {
    if (buffer->index() == index) return buffer;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(instruction->name(), " defines no buffer at index ",
                   index.ToString(), " of ", instruction->shape().ToString()));
}

const TuplePointsToAnalysis::BufferAliasVector&
TuplePointsToAnalysis::GetBufferAliases(const LogicalBuffer& buffer) const {
  CHECK_LT(buffer.id(), num_logical_buffers());
  return aliases_[buffer.id()];
}

const TuplePointsToAnalysis::BufferDefinitionVector&
TuplePointsToAnalysis::GetBuffersDefinedByInstruction(
    const HloInstruction* instruction) const {
  return defined_[slots_[instruction]];
}

bool TuplePointsToAnalysis::InstructionDefinesBufferAtIndex(
    const HloInstruction* instruction, const ShapeIndex& index) const {
  return GetBufferDefinedAt(instruction, index).ok();
}

absl::Status TuplePointsToAnalysis::VerifyBuffer(
    const LogicalBuffer& buffer) const {
  const PointsToSet::BufferList& there =
      GetPointsToSet(buffer.instruction()).element(buffer.index());
  if (there.size() == 1 && there[0] == &buffer) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      buffer.ToString(), " is not what its instruction points to: ",
      GetPointsToSet(buffer.instruction()).ToString()));
}

// A get-tuple-element reads the tuple's own buffer, a table of pointers, but no
// element of it, so only the index {} is a use. A loop fusion uses a buffer if
// some instruction inside does that reads the parameter, or another place that
// points to the same buffer.
bool TuplePointsToAnalysis::DoesNotUseOperandBuffer(
    const HloInstruction* operand, const ShapeIndex& index,
    const HloInstruction* user) const {
  CHECK(user->IsUserOf(operand))
      << user->name() << " does not use " << operand->name();
  // Pairs (value, user of it) still to look at: fusions may nest.
  struct Use {
    const HloInstruction* operand;
    const ShapeIndex* index;
    const HloInstruction* user;
  };
  std::vector<Use> work = {{operand, &index, user}};
  while (!work.empty()) {
    const Use use = work.back();
    work.pop_back();
    if (use.user->opcode() == HloOpcode::kGetTupleElement &&
        !use.index->empty()) {
      continue;
    }
    if (!use.user->IsLoopFusion()) return false;
    for (int64_t i = 0; i < use.user->operand_count(); ++i) {
      if (use.user->operand(i) != use.operand) continue;
      for (const LogicalBuffer* buffer :
           GetPointsToSet(use.user->fused_parameter(i)).element(*use.index)) {
        for (const BufferAlias& alias : GetBufferAliases(*buffer)) {
          // Results of the fusion are read by its users.
          if (alias.instruction()->IsRoot()) return false;
          for (const HloInstruction* reader : alias.instruction()->users()) {
            work.push_back({alias.instruction(), &alias.index(), reader});
          }
        }
      }
    }
  }
  return true;
}

std::string TuplePointsToAnalysis::ToString() const {
  std::string out =
      absl::StrCat("points-to sets of module ", module_->name(), ":\n");
  for (const HloComputation* computation : module_->computations()) {
    absl::StrAppend(&out, computation->name(), ":\n");
    for (const HloInstruction* inst : computation->instructions()) {
      if (slots_.Find(inst) < 0) continue;
      absl::StrAppend(&out, "  ", inst->name(), " ",
                      GetPointsToSet(inst).ToString(), "\n");
    }
  }
  for (LogicalBuffer::Id id = 0; id < num_logical_buffers(); ++id) {
    const LogicalBuffer& buffer = buffers_[id];
    absl::StrAppend(&out, buffer.ToString(), " seen at ",
                    absl::StrJoin(GetBufferAliases(buffer), ", ",
                                  [](std::string* o, const BufferAlias& alias) {
                                    absl::StrAppend(o, alias.ToString());
                                  }),
                    "\n");
  }
  return out;
}

}  // namespace xla
