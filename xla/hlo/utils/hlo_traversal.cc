#include "xla/hlo/utils/hlo_traversal.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace {

using AdaptorVector = absl::InlinedVector<HloInstructionAdaptor, 2>;

// Breadth-first over what `neighbors` returns for a node.
template <typename Node, typename Neighbors, typename Visit>
void Bfs(absl::Span<const Node> start, const Neighbors& neighbors,
         const Visit& visit) {
  absl::flat_hash_set<Node> seen;
  std::queue<Node> queue;
  auto enqueue = [&](const Node& node) {
    if (seen.insert(node).second) queue.push(node);
  };
  for (const Node& node : start) enqueue(node);
  while (!queue.empty()) {
    Node node = queue.front();
    queue.pop();
    switch (visit(node)) {
      case TraversalResult::kInterrupt:
        return;
      case TraversalResult::kSkip:
        break;
      case TraversalResult::kAdvance:
        for (const Node& neighbor : neighbors(node)) enqueue(neighbor);
    }
  }
}

// Operands or users of a node that are in the fusion.
std::function<AdaptorVector(const HloInstructionAdaptor&)> NeighborsIn(
    const HloFusionAdaptor& fusion, bool operands) {
  return [&fusion, operands](const HloInstructionAdaptor& node) {
    AdaptorVector result = operands ? node.GetOperands() : node.GetUsers();
    result.erase(std::remove_if(result.begin(), result.end(),
                                [&](const HloInstructionAdaptor& neighbor) {
                                  return !fusion.ContainsInstruction(neighbor);
                                }),
                 result.end());
    return result;
  };
}

std::vector<const HloInstruction*> NeighborsOf(const HloInstruction* node,
                                               bool operands) {
  if (operands) return {node->operands().begin(), node->operands().end()};
  return {node->users().begin(), node->users().end()};
}

TraversalResult StopIf(bool stop) {
  return stop ? TraversalResult::kInterrupt : TraversalResult::kAdvance;
}

}  // namespace

// --- HloInstructionAdaptor
// ----------------------------------------------------

bool HloInstructionAdaptor::use_global_device_ids() const {
  if (const auto* gather = DynCast<HloAllGatherInstruction>(instruction_)) {
    return gather->use_global_device_ids();
  }
  if (const auto* reduce = DynCast<HloAllReduceInstructionBase>(instruction_)) {
    return reduce->use_global_device_ids();
  }
  return false;
}

HloInstructionAdaptor HloInstructionAdaptor::GetOperand(int index) const {
  return parent_->GetInstruction(
      parent_->Producer(instruction_->operand(index)));
}

absl::InlinedVector<HloInstructionAdaptor, 2>
HloInstructionAdaptor::GetOperands() const {
  AdaptorVector operands;
  if (instruction_->opcode() == HloOpcode::kParameter) {
    const HloInstruction* producer = parent_->Producer(instruction_);
    if (producer != instruction_) {
      operands.push_back(parent_->GetInstruction(producer));
    }
    return operands;
  }
  for (const HloInstruction* operand : instruction_->operands()) {
    operands.push_back(parent_->GetInstruction(parent_->Producer(operand)));
  }
  return operands;
}

absl::InlinedVector<HloInstructionAdaptor, 2> HloInstructionAdaptor::GetUsers()
    const {
  AdaptorVector users = parent_->Consumers(instruction_);
  users.erase(std::remove_if(users.begin(), users.end(),
                             [&](const HloInstructionAdaptor& user) {
                               return !parent_->ContainsInstruction(user);
                             }),
              users.end());
  return users;
}

// --- HloFusionAdaptor
// ---------------------------------------------------------

HloFusionAdaptor::Region HloFusionAdaptor::RegionFor(
    const HloInstruction* instruction) {
  if (instruction->opcode() == HloOpcode::kFusion) {
    return {instruction, instruction->fused_instructions_computation()};
  }
  return {instruction, nullptr};
}

std::unique_ptr<HloFusionAdaptor> HloFusionAdaptor::ForInstruction(
    const HloInstruction* instruction) {
  auto adaptor = std::unique_ptr<HloFusionAdaptor>(new HloFusionAdaptor);
  adaptor->regions_ = {RegionFor(instruction)};
  return adaptor;
}

std::unique_ptr<HloFusionAdaptor> HloFusionAdaptor::ForProducerConsumer(
    const HloInstruction* producer, const HloInstruction* consumer,
    bool with_extra_outputs) {
  auto adaptor = std::unique_ptr<HloFusionAdaptor>(new HloFusionAdaptor);
  adaptor->regions_ = {RegionFor(producer), RegionFor(consumer)};
  adaptor->with_extra_outputs_ = with_extra_outputs;
  return adaptor;
}

std::unique_ptr<HloFusionAdaptor> HloFusionAdaptor::ForComputation(
    const HloComputation* computation) {
  auto adaptor = std::unique_ptr<HloFusionAdaptor>(new HloFusionAdaptor);
  adaptor->regions_ = {{computation->FusionInstruction(), computation}};
  return adaptor;
}

const HloFusionAdaptor::Region* HloFusionAdaptor::RegionOfFusion(
    const HloInstruction* instruction) const {
  for (const Region& region : regions_) {
    if (region.computation != nullptr && region.instruction == instruction) {
      return &region;
    }
  }
  return nullptr;
}

const HloFusionAdaptor::Region* HloFusionAdaptor::RegionAround(
    const HloInstruction* instruction) const {
  for (const Region& region : regions_) {
    if (region.computation != nullptr &&
        region.computation == instruction->parent()) {
      return &region;
    }
  }
  return nullptr;
}

bool HloFusionAdaptor::ContainsInstruction(
    const HloInstruction* instruction) const {
  return absl::c_any_of(regions_, [&](const Region& region) {
    return region.instruction == instruction ||
           (region.computation != nullptr &&
            region.computation == instruction->parent());
  });
}

absl::InlinedVector<const HloInstruction*, 2> HloFusionAdaptor::RootsOf(
    const Region& region) {
  if (region.computation == nullptr) return {region.instruction};
  const HloInstruction* root = region.computation->root_instruction();
  if (root->opcode() != HloOpcode::kTuple) return {root};
  return {root->operands().begin(), root->operands().end()};
}

absl::InlinedVector<HloInstructionAdaptor, 2> HloFusionAdaptor::GetRoots()
    const {
  AdaptorVector roots;
  for (const HloInstruction* root : RootsOf(regions_.back())) {
    roots.push_back(GetInstruction(Producer(root)));
  }
  if (!with_extra_outputs_) return roots;
  for (const HloInstruction* root : RootsOf(regions_.front())) {
    if (absl::c_any_of(Consumers(root),
                       [&](const HloInstructionAdaptor& user) {
                         return !ContainsInstruction(user);
                       }) &&
        !absl::c_linear_search(roots, GetInstruction(Producer(root)))) {
      roots.push_back(GetInstruction(Producer(root)));
    }
  }
  return roots;
}

absl::InlinedVector<const HloInstruction*, 2> HloFusionAdaptor::GetParameters()
    const {
  UniqueList<const HloInstruction*> parameters;
  for (const Region& region : regions_) {
    if (region.instruction == nullptr) {
      for (const HloInstruction* parameter :
           region.computation->parameter_instructions()) {
        parameters.Add(parameter);
      }
      continue;
    }
    for (const HloInstruction* operand : region.instruction->operands()) {
      const HloInstruction* producer = Producer(operand);
      if (!ContainsInstruction(producer)) parameters.Add(producer);
    }
  }
  return std::move(parameters).list();
}

bool HloFusionAdaptor::IsPassedThrough(
    const HloInstruction* instruction) const {
  const Region* region = RegionAround(instruction);
  if (region == nullptr) return false;
  return instruction->opcode() == HloOpcode::kParameter ||
         (instruction->opcode() == HloOpcode::kTuple &&
          instruction == region->computation->root_instruction());
}

absl::InlinedVector<HloInstructionAdaptor, 2>
HloFusionAdaptor::MakeInstructionPostOrder() const {
  AdaptorVector order;
  for (const Region& region : regions_) {
    if (region.computation == nullptr) {
      order.push_back(GetInstruction(region.instruction));
      continue;
    }
    for (const HloInstruction* instruction :
         region.computation->MakeInstructionPostOrder()) {
      if (!IsPassedThrough(instruction)) {
        order.push_back(GetInstruction(instruction));
      }
    }
  }
  return order;
}

void HloFusionAdaptor::ForEach(
    const std::function<void(HloInstructionAdaptor)>& fn) const {
  for (const HloInstructionAdaptor& instruction : MakeInstructionPostOrder()) {
    fn(instruction);
  }
}

std::string HloFusionAdaptor::ToString() const {
  std::string text;
  ForEach([&](const HloInstructionAdaptor& instruction) {
    absl::StrAppend(&text, instruction.ToString(), "\n");
  });
  return text;
}

// Between regions, values pass instructions that compute nothing: an element of
// a fusion is one of its root's tuple, a fusion is its root, and a parameter is
// the fusion's operand. Each step leads from a user to what it reads, so the
// walk ends, and neither regions nor their borders show in the graph.
const HloInstruction* HloFusionAdaptor::Producer(
    const HloInstruction* value) const {
  while (true) {
    if (value->opcode() == HloOpcode::kGetTupleElement) {
      const Region* region = RegionOfFusion(value->operand(0));
      if (region == nullptr) return value;
      const HloInstruction* root = region->computation->root_instruction();
      if (root->opcode() != HloOpcode::kTuple) return value;
      value = root->operand(value->tuple_index());
    } else if (value->opcode() == HloOpcode::kFusion) {
      const Region* region = RegionOfFusion(value);
      if (region == nullptr) return value;
      value = region->computation->root_instruction();
    } else if (value->opcode() == HloOpcode::kParameter) {
      const Region* region = RegionAround(value);
      if (region == nullptr || region->instruction == nullptr) return value;
      value = region->instruction->operand(value->parameter_number());
    } else {
      return value;
    }
  }
}

void HloFusionAdaptor::AddConsumersOfElement(
    const HloInstruction* fusion, int64_t index,
    UniqueList<HloInstructionAdaptor>* consumers) const {
  for (const HloInstruction* user : fusion->users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement) {
      consumers->Add(GetInstruction(user));
    } else if (user->tuple_index() == index) {
      AddConsumers(user, consumers);
    }
  }
}

absl::InlinedVector<HloInstructionAdaptor, 2> HloFusionAdaptor::Consumers(
    const HloInstruction* value) const {
  UniqueList<HloInstructionAdaptor> consumers;
  AddConsumers(value, &consumers);
  return std::move(consumers).list();
}

// The inverse of Producer: all instructions with an operand from which the walk
// of Producer passes `value`. It follows the same links in the other direction,
// from a root to the users of its fusion and from an operand into the fusion.
void HloFusionAdaptor::AddConsumers(
    const HloInstruction* value,
    UniqueList<HloInstructionAdaptor>* consumers) const {
  const Region* around = RegionAround(value);
  if (around != nullptr && around->instruction != nullptr &&
      value == around->computation->root_instruction()) {
    AddConsumers(around->instruction, consumers);
  }
  for (const HloInstruction* user : value->users()) {
    if (const Region* entered = RegionOfFusion(user)) {
      for (int64_t i : user->OperandIndices(value)) {
        AddConsumers(entered->computation->parameter_instruction(i), consumers);
      }
    } else if (around != nullptr && IsPassedThrough(user)) {
      if (around->instruction == nullptr) continue;
      for (int64_t i : user->OperandIndices(value)) {
        AddConsumersOfElement(around->instruction, i, consumers);
      }
    } else {
      consumers->Add(GetInstruction(user));
    }
  }
}

// --- Traversal
// ----------------------------------------------------------------

void HloBfsConsumersFirstTraversal(
    absl::Span<const HloInstructionAdaptor> roots,
    const HloFusionAdaptor& fusion,
    const std::function<TraversalResult(HloInstructionAdaptor node)>&
        visit_node) {
  Bfs(roots, NeighborsIn(fusion, /*operands=*/true), visit_node);
}

void HloBfsProducersFirstTraversal(
    absl::Span<const HloInstructionAdaptor> producers,
    const HloFusionAdaptor& fusion,
    const std::function<TraversalResult(HloInstructionAdaptor node)>&
        visit_node) {
  Bfs(producers, NeighborsIn(fusion, /*operands=*/false), visit_node);
}

std::optional<HloInstructionAdaptor> HloBfsFindIf(
    absl::Span<const HloInstructionAdaptor> roots,
    const HloFusionAdaptor& fusion,
    const std::function<bool(HloInstructionAdaptor node)>& visit,
    bool visit_operands) {
  std::optional<HloInstructionAdaptor> found;
  Bfs(roots, NeighborsIn(fusion, visit_operands),
      [&](const HloInstructionAdaptor& node) {
        if (visit(node)) found = node;
        return StopIf(found.has_value());
      });
  return found;
}

std::optional<const HloInstruction*> HloBfsFindIf(
    absl::Span<const HloInstruction* const> roots,
    const std::function<bool(const HloInstruction* node)>& visit,
    bool visit_operands) {
  std::optional<const HloInstruction*> found;
  Bfs(
      roots,
      [&](const HloInstruction* node) {
        return NeighborsOf(node, visit_operands);
      },
      [&](const HloInstruction* node) {
        if (visit(node)) found = node;
        return StopIf(found.has_value());
      });
  return found;
}

std::vector<const HloInstruction*> HloBfsFindAll(
    absl::Span<const HloInstruction* const> roots,
    const std::function<bool(const HloInstruction* node)>& visit,
    bool visit_operands) {
  std::vector<const HloInstruction*> found;
  HloBfsFindIf(
      roots,
      [&](const HloInstruction* node) {
        if (visit(node)) found.push_back(node);
        return false;
      },
      visit_operands);
  return found;
}

bool HloBfsAnyOf(absl::Span<const HloInstructionAdaptor> roots,
                 const HloFusionAdaptor& fusion,
                 const std::function<bool(HloInstructionAdaptor node)>& visit,
                 bool visit_operands) {
  return HloBfsFindIf(roots, fusion, visit, visit_operands).has_value();
}

bool HloBfsAnyOf(absl::Span<const HloInstruction* const> roots,
                 const std::function<bool(const HloInstruction* node)>& visit,
                 bool visit_operands) {
  return HloBfsFindIf(roots, visit, visit_operands).has_value();
}

std::vector<HloInstructionAdaptor> HloFindUseChain(HloInstructionAdaptor parent,
                                                   HloInstructionAdaptor root) {
  auto users_in_fusion = NeighborsIn(root.parent(), /*operands=*/false);
  // Depth first: the chain so far, with the users that are still to be tried.
  std::vector<HloInstructionAdaptor> chain = {parent};
  std::vector<AdaptorVector> untried;
  absl::flat_hash_set<HloInstructionAdaptor> seen = {parent};
  auto enter = [&](const HloInstructionAdaptor& node) {
    untried.push_back(users_in_fusion(node));
    absl::c_reverse(untried.back());
  };
  if (parent != root) enter(parent);
  while (!chain.empty() && chain.back() != root) {
    AdaptorVector& users = untried.back();
    if (users.empty()) {
      untried.pop_back();
      chain.pop_back();
      continue;
    }
    const HloInstructionAdaptor user = users.back();
    users.pop_back();
    if (!seen.insert(user).second) continue;
    chain.push_back(user);
    if (user != root) enter(user);
  }
  return chain;
}

}  // namespace xla
