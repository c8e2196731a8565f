#include "xla/hlo/analysis/tuple_points_to_builder.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/status_macros.h"

// Handles instructions in post order. Each either copies subtrees of points-to
// sets from its operands (Forward) or defines a buffer at every index that is
// still empty afterwards (DefineRest). Asynchronous chains are special, because
// an update may bind an operand that an earlier link already promised in its
// tuple: such indices stay empty until the link comes (LateAlias, BindLate),
// and are defined at the end if it never does.

namespace xla {
namespace {

ShapeIndex Concat(const ShapeIndex& a, const ShapeIndex& b) {
  ShapeIndex result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

// Whether a link has at the index what an operand is, rather than ().
bool Shows(const HloInstruction& link, const ShapeIndex& index,
           const Shape& operand, const ShapeIndex& operand_index) {
  return ShapeUtil::IndexIsValid(link.shape(), index) &&
         ShapeUtil::IndexIsValid(operand, operand_index) &&
         ShapeUtil::EqualStructure(
             ShapeUtil::GetSubshape(link.shape(), index),
             ShapeUtil::GetSubshape(operand, operand_index));
}

bool IsPrefix(const ShapeIndex& prefix, const ShapeIndex& index) {
  return prefix.size() <= index.size() &&
         std::equal(prefix.begin(), prefix.end(), index.begin());
}

}  // namespace

PointsToSet& PointsToBuilder::SetOf(const HloInstruction* inst) {
  return *analysis_.points_to_[analysis_.slots_[inst]];
}

absl::Status PointsToBuilder::Handle(HloInstruction* inst) {
  analysis_.points_to_[analysis_.slots_[inst]].emplace(&inst->shape());
  return HandleOpcode(inst);
}

void PointsToBuilder::Finish() {
  // Only links whose chain never binds what it promised are left.
  for (HloInstruction* link : waiting_) DefineRest(link);
}

absl::Status PointsToBuilder::Forward(HloInstruction* inst,
                                      const ShapeIndex& to,
                                      const HloInstruction* source,
                                      const ShapeIndex& from) {
  absl::StatusOr<const Shape*> to_shape =
      ShapeUtil::TryGetSubshape(inst->shape(), to);
  absl::StatusOr<const Shape*> from_shape =
      ShapeUtil::TryGetSubshape(source->shape(), from);
  if (!to_shape.ok() || !from_shape.ok() ||
      !ShapeUtil::EqualStructure(**to_shape, **from_shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        inst->name(), " with shape ", inst->shape().ToString(), " cannot be, ",
        "at ", to.ToString(), ", what ", source->name(), " is at ",
        from.ToString(), ": ", source->shape().ToString()));
  }
  SetOf(inst).tree_.CopySubtreeFrom(SetOf(source).tree_, from, to);
  return absl::OkStatus();
}

absl::Status PointsToBuilder::ForwardOperand(HloInstruction* inst,
                                             const ShapeIndex& to,
                                             int64_t operand,
                                             const ShapeIndex& from) {
  if (operand >= 0 && operand < inst->operand_count()) {
    return Forward(inst, to, inst->operand(operand), from);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(inst->name(), " has ", inst->operand_count(),
                   " operands, but its output aliases operand ", operand));
}

// Copies index by index where the shapes agree, for tuples that grow along a
// chain.
void PointsToBuilder::ForwardCompatible(HloInstruction* inst,
                                        const HloInstruction* source,
                                        const ShapeIndex& from) {
  const auto& source_tree = SetOf(source).tree_;
  for (auto& [index, element] : SetOf(inst).tree_) {
    const ShapeIndex there = Concat(from, index);
    auto it = source_tree.find(there);
    if (it != source_tree.end() &&
        ShapeUtil::Compatible(ShapeUtil::GetSubshape(inst->shape(), index),
                              ShapeUtil::GetSubshape(source->shape(), there))) {
      element = it->second;
    }
  }
}

void PointsToBuilder::DefineRest(HloInstruction* inst,
                                 absl::Span<const LateAlias> late) {
  for (auto& [index, element] : SetOf(inst).tree_) {
    if (!element.buffers.empty()) continue;
    const bool waits = std::any_of(late.begin(), late.end(),
                                   [&index = index](const LateAlias& alias) {
                                     return IsPrefix(alias.output, index);
                                   });
    if (waits) continue;
    const LogicalBuffer& buffer = analysis_.buffers_.emplace_back(
        inst, index, analysis_.num_logical_buffers());
    element.buffers.push_back(&buffer);
    analysis_.defined_[analysis_.slots_[inst]].push_back(&buffer);
  }
}

absl::Status PointsToBuilder::HandleOpcode(HloInstruction* inst) {
  switch (inst->opcode()) {
    case HloOpcode::kTuple:
      for (int64_t i = 0; i < inst->operand_count(); ++i) {
        RETURN_IF_ERROR(Forward(inst, {i}, inst->operand(i), {}));
      }
      SetOf(inst).add_tuple_source({}, inst);
      break;
    case HloOpcode::kGetTupleElement:
      return Forward(inst, {}, inst->operand(0), {inst->tuple_index()});
    case HloOpcode::kBitcast:
    case HloOpcode::kDomain:
    case HloOpcode::kAddDependency:
    case HloOpcode::kOptimizationBarrier:
      return Forward(inst, {}, inst->operand(0), {});
    case HloOpcode::kCopy:
      RETURN_IF_ERROR(Forward(inst, {}, inst->operand(0), {}));
      SetOf(inst).mutable_element({})->clear();
      break;
    case HloOpcode::kCopyStart:
      RETURN_IF_ERROR(Forward(inst, {1}, inst->operand(0), {}));
      break;
    case HloOpcode::kCopyDone:
      return Forward(inst, {}, inst->operand(0), {0});
    case HloOpcode::kSend:
      // The token may come first.
      RETURN_IF_ERROR(Forward(
          inst, {0}, inst->operand(inst->operand(0)->shape().IsToken() ? 1 : 0),
          {}));
      break;
    case HloOpcode::kRecvDone:
      RETURN_IF_ERROR(Forward(inst, {0}, inst->operand(0), {0}));
      break;
    case HloOpcode::kFusion:
      for (const auto& [output, operand] : inst->output_operand_aliasing()) {
        RETURN_IF_ERROR(
            ForwardOperand(inst, output, operand.first, operand.second));
      }
      break;
    case HloOpcode::kCustomCall:
      return HandleCustomCall(inst);
    case HloOpcode::kAsyncStart:
      return HandleAsyncStart(inst);
    case HloOpcode::kAsyncUpdate:
      return HandleAsyncUpdate(inst);
    case HloOpcode::kAsyncDone:
      ForwardCompatible(inst, inst->operand(0), {1});
      RETURN_IF_ERROR(ForwardShown(inst));
      break;
    case HloOpcode::kAfterAll:
    case HloOpcode::kRecv:
    case HloOpcode::kSendDone:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_SOURCE:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_COLLECTIVE:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  DefineRest(inst);
  return absl::OkStatus();
}

absl::Status PointsToBuilder::HandleCustomCall(HloInstruction* inst) {
  const Shape& shape = inst->shape();
  if (inst->custom_call_target() == kCallMarkerBeforeTarget &&
      shape.IsTuple() && shape.tuple_shapes_size() == inst->operand_count()) {
    for (int64_t i = 0; i < inst->operand_count(); ++i) {
      RETURN_IF_ERROR(Forward(inst, {i}, inst->operand(i), {}));
    }
    SetOf(inst).add_tuple_source({}, inst);
  } else if (inst->custom_call_target() == kCallMarkerAfterTarget &&
             inst->operand_count() == 1) {
    return Forward(inst, {}, inst->operand(0), {});
  }
  DefineRest(inst);
  return absl::OkStatus();
}

// --- Async chains
// -------------------------------------------------------------

// All indices of a chain's tuple that are bound by updates: new operands, and
// aliases with them.
std::vector<PointsToBuilder::LateAlias> PointsToBuilder::LateAliases(
    const HloInstruction* start) {
  std::vector<LateAlias> late;
  int64_t bound = start->operand_count();
  for (const HloInstruction* link = start->async_chain_next();
       link != nullptr && link->opcode() == HloOpcode::kAsyncUpdate;
       link = link->async_chain_next()) {
    const int64_t new_operands = link->operand_count() - 1;
    for (int64_t i = 1; i <= new_operands; ++i) {
      const ShapeIndex slot = {0, bound + i - 1};
      if (ShapeUtil::IndexIsValid(link->shape(), slot)) {
        late.push_back({slot, link, i, {}});
      }
    }
    for (const auto& [output, operand] : link->output_operand_aliasing()) {
      if (operand.first > 0) {
        late.push_back({output, link, operand.first, operand.second});
      }
    }
    // Aliases that the start has with parameters bound here.
    for (const auto& [output, operand] : start->output_operand_aliasing()) {
      const int64_t i = operand.first - bound + 1;
      if (i >= 1 && i <= new_operands) {
        late.push_back({output, link, i, operand.second});
      }
    }
    bound += new_operands;
  }
  return late;
}

absl::Status PointsToBuilder::HandleAsyncStart(HloInstruction* inst) {
  const Shape& shape = inst->shape();
  if (shape.tuple_shapes_size() < 2 || !shape.tuple_shapes(0).IsTuple()) {
    return absl::InvalidArgumentError(
        absl::StrCat(inst->name(), " has no shape ((operands), results, ",
                     "context...): ", shape.ToString()));
  }
  for (int64_t i = 0; i < inst->operand_count(); ++i) {
    RETURN_IF_ERROR(Forward(inst, {0, i}, inst->operand(i), {}));
  }
  const std::vector<LateAlias>& late = chains_.emplace_back(LateAliases(inst));
  chain_of_[inst] = &late;
  for (const auto& [output, operand] : inst->output_operand_aliasing()) {
    // Others are of operands, or outputs, that are still to come.
    if (operand.first < inst->operand_count() &&
        Shows(*inst, output, inst->operand(operand.first)->shape(),
              operand.second)) {
      RETURN_IF_ERROR(
          ForwardOperand(inst, output, operand.first, operand.second));
    }
  }
  DefineRest(inst, late);
  if (!late.empty()) waiting_.push_back(inst);
  return absl::OkStatus();
}

absl::Status PointsToBuilder::HandleAsyncUpdate(HloInstruction* inst) {
  HloInstruction* before = inst->mutable_operand(0);
  const Shape& shape = inst->shape();
  for (const Shape* state : {&shape, &before->shape()}) {
    if (state->tuple_shapes_size() >= 2 && state->tuple_shapes(0).IsTuple()) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(inst->name(), " has no shape ((operands), results, ",
                     "context...) or operand 0 has not: ", state->ToString()));
  }
  ForwardCompatible(inst, before, {});
  // Contexts are the update's own, unless it says otherwise.
  for (auto& [index, element] : SetOf(inst).tree_) {
    if (!index.empty() && index[0] >= 2) element.buffers.clear();
  }
  for (const auto& [output, operand] : inst->output_operand_aliasing()) {
    if (operand.first > 0) continue;
    RETURN_IF_ERROR(
        ForwardOperand(inst, output, operand.first, operand.second));
  }
  RETURN_IF_ERROR(ForwardShown(inst));
  auto chain = chain_of_.find(before);
  if (chain != chain_of_.end()) {
    const std::vector<LateAlias>& late = *chain->second;
    chain_of_[inst] = &late;
    std::vector<LateAlias> later;
    for (const LateAlias& alias : late) {
      if (alias.link == inst) {
        if (!Shows(*inst, alias.output, inst->operand(alias.operand)->shape(),
                   alias.operand_index)) {
          continue;
        }
        RETURN_IF_ERROR(
            BindLate(inst, alias.output, alias.operand, alias.operand_index));
      } else if (analysis_.slots_.Find(alias.link) < 0) {
        // It comes later.
        later.push_back(alias);
      }
    }
    DefineRest(inst, later);
    if (!later.empty()) waiting_.push_back(inst);
    return absl::OkStatus();
  }
  // The chain comes from elsewhere: what its shape grows by is bound here.
  const int64_t new_operands = inst->operand_count() - 1;
  const int64_t first =
      shape.tuple_shapes(0).tuple_shapes_size() - new_operands;
  if (before->shape().tuple_shapes(0).tuple_shapes_size() == first) {
    for (int64_t i = 0; i < new_operands; ++i) {
      RETURN_IF_ERROR(Forward(inst, {0, first + i}, inst->operand(i + 1), {}));
    }
  }
  DefineRest(inst);
  return absl::OkStatus();
}

// Outputs that the link is the first to show, and that are operands which the
// state before it has.
absl::Status PointsToBuilder::ForwardShown(HloInstruction* link) {
  const HloInstruction* before = link->operand(0);
  const bool is_done = link->opcode() == HloOpcode::kAsyncDone;
  const Shape& state = before->shape();
  // Most links show what the one before does, and the start may be far.
  if (state.tuple_shapes_size() < 2 || !state.tuple_shapes(1).IsTuple() ||
      ShapeUtil::Compatible(
          state.tuple_shapes(1),
          is_done ? link->shape() : link->shape().tuple_shapes(1))) {
    return absl::OkStatus();
  }
  const HloInstruction* start = link->async_chain_start();
  if (start == nullptr) return absl::OkStatus();
  for (const auto& [output, operand] : start->output_operand_aliasing()) {
    if (output.empty() || output[0] != 1) continue;
    ShapeIndex to = output;
    if (is_done) to.pop_front();
    const ShapeIndex from = Concat({0, operand.first}, operand.second);
    if (Shows(*link, to, state, from) && !Shows(*before, output, state, from)) {
      RETURN_IF_ERROR(Forward(link, to, before, from));
    }
  }
  return absl::OkStatus();
}

// Writes what is known now back into all earlier links of the chain.
absl::Status PointsToBuilder::BindLate(HloInstruction* link,
                                       const ShapeIndex& to, int64_t operand,
                                       const ShapeIndex& from) {
  RETURN_IF_ERROR(ForwardOperand(link, to, operand, from));
  const HloInstruction* source = link->operand(operand);
  const Shape& shape = ShapeUtil::GetSubshape(link->shape(), to);
  while (link->opcode() == HloOpcode::kAsyncUpdate) {
    link = link->mutable_operand(0);
    if (!link->IsAsyncProducer() ||
        !ShapeUtil::IndexIsValid(link->shape(), to) ||
        !ShapeUtil::Compatible(ShapeUtil::GetSubshape(link->shape(), to),
                               shape)) {
      break;
    }
    RETURN_IF_ERROR(Forward(link, to, source, from));
  }
  return absl::OkStatus();
}

}  // namespace xla
