#include "xla/hlo/transforms/sharding_propagation/sharding_spread.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_propagation.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape_util.h"

// The fixed-point iteration of sharding propagation. Each leaf of each
// instruction holds its best sharding so far; an edge offers a sharding derived
// from an operand or a user, which is accepted only as an improvement, so
// leaves get strictly better and the iteration ends.
//
// Values that must have one sharding, such as the state of a loop inside and
// outside, are tied and change together. Instructions carry flags that say
// whether one of their neighbors has changed since they were last visited; in
// each computation, a sweep in post order forwards and one in reverse order
// backwards visit only those.

namespace xla {

using sharding_edges::LeafSharding;

namespace {

// Instructions whose shardings have other leaves than their values. Those that
// are of what is sent come from nowhere else.
bool KeepsGiven(const HloInstruction& inst) {
  return HloPredicateIsOp<HloOpcode::kOutfeed, HloOpcode::kSend>(&inst) ||
         (inst.has_sharding() &&
          HloPredicateIsOp<HloOpcode::kInfeed, HloOpcode::kSendDone,
                           HloOpcode::kRecv, HloOpcode::kRecvDone>(&inst));
}

// Looks at no more users than it takes: each element of a tuple asks.
bool HasOneNonRootUser(const HloInstruction& inst) {
  int64_t count = 0;
  for (const HloInstruction* user : inst.users()) {
    if (!user->IsRoot() && ++count > 1) return false;
  }
  return count == 1;
}

}  // namespace

ShardingSpread::ShardingSpread(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    const sharding_edges::Context& context)
    : context_(context) {
  const std::unique_ptr<CallGraph> calls = CallGraph::Build(module);
  for (HloComputation* computation : module->computations(execution_threads)) {
    if (computation != module->entry_computation() &&
        calls->GetNode(computation).context() != CallContext::kControlFlow) {
      continue;
    }
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      AddNode(inst);
    }
    computation_ends_.push_back(nodes_.size());
  }
}

void ShardingSpread::AddNode(HloInstruction* inst) {
  Node node;
  node.inst = inst;
  node.first_leaf = leaves_.size();
  for (const Shape* leaf : ShapeUtil::FlattenTupleShape(inst->shape())) {
    const int64_t index =
        static_cast<int64_t>(leaves_.size()) - node.first_leaf;
    const HloSharding* sharding = sharding_edges::ReadInstruction(inst, index);
    leaves_.push_back(sharding == nullptr ? std::optional<HloSharding>()
                                          : *sharding);
    shapes_.push_back(leaf);
    fixed_.push_back(false);
  }
  node.num_leaves = static_cast<int64_t>(leaves_.size()) - node.first_leaf;
  node_of_[inst] = static_cast<int>(nodes_.size());
  nodes_.push_back(node);
}

void ShardingSpread::Fix(const HloInstruction* inst, int64_t leaf) {
  fixed_[nodes_[node_of_.at(inst)].first_leaf + leaf] = true;
}

void ShardingSpread::FixGiven(const HloInstruction* inst) {
  const auto it = node_of_.find(inst);
  if (it == node_of_.end()) return;
  const Node& node = nodes_[it->second];
  for (int64_t i = 0; i < node.num_leaves; ++i) {
    if (leaves_[node.first_leaf + i]) fixed_[node.first_leaf + i] = true;
  }
}

void ShardingSpread::Open(const HloInstruction* inst,
                          std::vector<int64_t> dims) {
  const auto it = node_of_.find(inst);
  if (it == node_of_.end()) return;
  open_[inst] = std::move(dims);
  fixed_[nodes_[it->second].first_leaf] = false;
}

void ShardingSpread::AddGroup(const std::vector<HloInstruction*>& members) {
  std::vector<int> group;
  for (const HloInstruction* member : members) {
    const auto it = node_of_.find(member);
    if (it != node_of_.end()) group.push_back(it->second);
  }
  groups_.push_back(std::move(group));
}

// A union of sets: members that are tied to others already bring these along.
void ShardingSpread::AddTie(const std::vector<const HloInstruction*>& members) {
  std::vector<int> tie;
  for (const HloInstruction* member : members) {
    const auto it = node_of_.find(member);
    if (it == node_of_.end() ||
        nodes_[it->second].num_leaves !=
            nodes_[node_of_.at(members[0])].num_leaves) {
      return;
    }
    tie.push_back(it->second);
  }
  // Computations with several callers tie these to each other.
  int target = static_cast<int>(ties_.size());
  ties_.push_back({});
  for (int node : tie) {
    const int other = nodes_[node].tie;
    if (other == target) continue;
    std::vector<int> moved = {node};
    if (other >= 0) moved.swap(ties_[other]);
    for (int member : moved) {
      nodes_[member].tie = target;
      ties_[target].push_back(member);
    }
  }
}

void ShardingSpread::Tie() {
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const HloInstruction* inst = nodes_[n].inst;
    switch (inst->opcode()) {
      case HloOpcode::kWhile:
        AddTie({inst, inst->while_body()->parameter_instruction(0),
                inst->while_body()->root_instruction(),
                inst->while_condition()->parameter_instruction(0)});
        break;
      case HloOpcode::kConditional: {
        std::vector<const HloInstruction*> results = {inst};
        for (int b = 0; b < inst->branch_count(); ++b) {
          const HloComputation* branch = inst->branch_computation(b);
          results.push_back(branch->root_instruction());
          arguments_[branch->parameter_instruction(0)].push_back(
              inst->operand(b + 1));
        }
        AddTie(results);
        break;
      }
      case HloOpcode::kCall:
        for (int64_t i = 0; i < inst->operand_count(); ++i) {
          arguments_[inst->to_apply()->parameter_instruction(i)].push_back(
              inst->operand(i));
        }
        AddTie({inst, inst->to_apply()->root_instruction()});
        break;
      case XLA_ANY_ASYNC:
      case XLA_ANY_WITHOUT_SCHEDULE:
        // Their callees have no shardings.
        break;
    }
  }
  for (const std::vector<int>& tie : ties_) {
    if (tie.empty()) continue;
    for (int64_t leaf = 0; leaf < nodes_[tie[0]].num_leaves; ++leaf) {
      auto index = [&](int node) { return nodes_[node].first_leaf + leaf; };
      bool fixed = false;
      std::optional<HloSharding> given;
      for (int node : tie) {
        fixed = fixed || fixed_[index(node)];
        if (!given) given = leaves_[index(node)];
      }
      for (int node : tie) {
        if (given && !leaves_[index(node)]) leaves_[index(node)] = given;
        if (fixed) fixed_[index(node)] = true;
      }
    }
  }
}

const HloSharding* ShardingSpread::Read(const HloInstruction* inst,
                                        int64_t leaf) const {
  const auto it = node_of_.find(inst);
  if (it == node_of_.end()) return nullptr;
  const Node& node = nodes_[it->second];
  if (leaf >= node.num_leaves) return nullptr;
  const std::optional<HloSharding>& sharding = leaves_[node.first_leaf + leaf];
  return sharding ? &*sharding : nullptr;
}

// Everything whose edges read this value: users, from their operands; operands,
// from their user. A product, reduction or scatter asks one operand for a
// sharding that depends on those of the others, so these are asked again as
// well. Parameters of callees read the arguments of their callers, and the
// other way round.
void ShardingSpread::TouchAround(const HloInstruction* inst) {
  auto forward = [&](const HloInstruction* other) {
    const auto it = node_of_.find(other);
    if (it != node_of_.end()) nodes_[it->second].touched_forward = true;
  };
  auto backward = [&](const HloInstruction* other) {
    const auto it = node_of_.find(other);
    if (it != node_of_.end()) nodes_[it->second].touched_backward = true;
  };
  forward(inst);
  backward(inst);
  for (const HloInstruction* operand : inst->operands()) backward(operand);
  for (const HloInstruction* user : inst->users()) {
    forward(user);
    switch (user->opcode()) {
      case HloOpcode::kDot:
      case HloOpcode::kConvolution:
      case HloOpcode::kReduce:
      case HloOpcode::kScatter:
        for (const HloInstruction* other : user->operands()) backward(other);
        break;
      case HloOpcode::kCall:
      case HloOpcode::kConditional:
        for (const HloComputation* callee : user->called_computations()) {
          for (const HloInstruction* parameter :
               callee->parameter_instructions()) {
            forward(parameter);
          }
        }
        break;
      default:  // Its other operands say nothing new.
        break;
    }
  }
  const auto it = arguments_.find(inst);
  if (it == arguments_.end()) return;
  for (const HloInstruction* argument : it->second) backward(argument);
}

void ShardingSpread::TouchImproved() {
  for (int node : improved_) {
    nodes_[node].improved = false;
    TouchAround(nodes_[node].inst);
  }
  improved_.clear();
}

std::optional<HloSharding> ShardingSpread::Improved(int node, int64_t leaf,
                                                    const HloSharding& from,
                                                    Offer offer) const {
  const HloInstruction* inst = nodes_[node].inst;
  const int64_t index = nodes_[node].first_leaf + leaf;
  if (fixed_[index] || from.IsUnknownLeaf() ||
      !sharding_edges::Fits(from, *shapes_[index])) {
    return std::nullopt;
  }
  const bool merge = context_.is_spmd && context_.level >= 1;
  const std::optional<HloSharding>& old = leaves_[index];
  const auto open = open_.find(inst);
  if (open != open_.end()) {
    if (context_.level < 1 || !from.IsTiledLeaf()) return std::nullopt;
    const HloSharding offered =
        hlo_sharding_util::PartiallyReplicateTiledShardingOnAllDimsExcept(
            from, open->second);
    HloSharding merged = old ? *old : HloSharding::Replicate();
    if (!hlo_sharding_util::MergeShardingIfCompatible(offered, &merged)) {
      return std::nullopt;
    }
    return merged;
  }
  if (offer == Offer::kAsIs) {
    return !old || hlo_sharding_util::IsShardingMoreSpecific(from, *old)
               ? std::make_optional(from)
               : std::nullopt;
  }
  return hlo_sharding_util::ReturnImprovedShardingImpl(
      from, old ? &*old : nullptr, *shapes_[index], merge,
      /*allow_aggressive_resharding=*/offer == Offer::kAlone &&
          HasOneNonRootUser(*inst));
}

// Offers a sharding to one leaf, and to all leaves tied to it if it is
// accepted.
bool ShardingSpread::Improve(int node, int64_t leaf, const HloSharding& from,
                             Offer offer) {
  std::optional<HloSharding> improved = Improved(node, leaf, from, offer);
  if (!improved) return false;
  const auto note = [this](int changed) {
    if (!std::exchange(nodes_[changed].improved, true)) {
      improved_.push_back(changed);
    }
  };
  // A tuple has shardings of all its elements or none.
  const auto complete = [this](int changed) {
    const Node& of = nodes_[changed];
    for (int64_t i = 0; i < of.num_leaves; ++i) {
      std::optional<HloSharding>& own = leaves_[of.first_leaf + i];
      if (!own) own = HloSharding::Replicate();
    }
  };
  leaves_[nodes_[node].first_leaf + leaf] = improved;
  complete(node);
  note(node);
  if (nodes_[node].tie < 0) return true;
  for (int other : ties_[nodes_[node].tie]) {
    const int64_t index = nodes_[other].first_leaf + leaf;
    if (other == node || fixed_[index]) continue;
    leaves_[index] = improved;
    complete(other);
    note(other);
  }
  return true;
}

bool ShardingSpread::Forward(int node) {
  const HloInstruction* inst = nodes_[node].inst;
  auto read = [this](const HloInstruction* of, int64_t leaf) {
    return Read(of, leaf);
  };
  bool changed = false;
  const Offer offer =
      inst->opcode() == HloOpcode::kTuple ? Offer::kAsIs
      : HloPredicateIsOp<HloOpcode::kDot, HloOpcode::kConvolution>(inst)
          ? Offer::kMerged
          : Offer::kAlone;
  for (const LeafSharding& found :
       sharding_edges::FromOperands(*inst, context_, read)) {
    changed |= Improve(node, found.leaf, found.sharding, offer);
  }
  const auto it = arguments_.find(inst);
  if (it != arguments_.end() && context_.level >= 1) {
    for (const HloInstruction* argument : it->second) {
      for (int64_t leaf = 0; leaf < nodes_[node].num_leaves; ++leaf) {
        if (const HloSharding* sharding = Read(argument, leaf)) {
          changed |=
              Improve(node, leaf, HloSharding(*sharding), Offer::kMerged);
        }
      }
    }
  }
  TouchImproved();
  return changed;
}

bool ShardingSpread::Backward(int node) {
  const HloInstruction* inst = nodes_[node].inst;
  auto read = [this](const HloInstruction* of, int64_t leaf) {
    return Read(of, leaf);
  };
  bool changed = false;
  for (const HloInstruction* user : inst->users()) {
    for (const LeafSharding& found :
         sharding_edges::FromUser(*inst, *user, context_, read)) {
      changed |= Improve(node, found.leaf, found.sharding, Offer::kMerged);
    }
  }
  TouchImproved();
  return changed;
}

bool ShardingSpread::ShareInGroups() {
  bool changed = false;
  for (const std::vector<int>& group : groups_) {
    std::optional<HloSharding> best;
    for (int node : group) {
      const std::optional<HloSharding>& own = leaves_[nodes_[node].first_leaf];
      if (!own) continue;
      if (!best) {
        best = own;
      } else if (std::optional<HloSharding> better =
                     hlo_sharding_util::BetterSharding(*own, *best,
                                                       context_.is_spmd)) {
        best = std::move(better);
      }
    }
    if (!best) continue;
    for (int node : group) changed |= Improve(node, 0, *best, Offer::kAlone);
  }
  TouchImproved();
  return changed;
}

// Runs one level to its fixed point. Every level starts with all nodes for
// which it has new edges marked; the worklist flags then keep later sweeps
// short.
void ShardingSpread::RunLevel(int64_t level) {
  context_.level = level;
  auto is_broadcast = [](const HloInstruction* inst) {
    return inst->opcode() == HloOpcode::kBroadcast;
  };
  for (Node& node : nodes_) {
    // The last levels add nothing but edges at broadcasts, and continue from
    // the fixed point of those before.
    const bool broadcast = is_broadcast(node.inst);
    node.touched_forward |= level <= 1 || (broadcast && level == 3);
    node.touched_backward |=
        level <= 1 ||
        (level == 2 &&
         (broadcast || absl::c_any_of(node.inst->users(), is_broadcast)));
  }
  bool changed = true;
  while (changed) {
    changed = ShareInGroups();
    size_t begin = 0;
    for (size_t end : computation_ends_) {
      for (size_t n = begin; n < end; ++n) {
        if (!std::exchange(nodes_[n].touched_forward, false)) continue;
        changed |= Forward(static_cast<int>(n));
      }
      for (size_t n = end; n-- > begin;) {
        if (!std::exchange(nodes_[n].touched_backward, false)) continue;
        changed |= Backward(static_cast<int>(n));
      }
      begin = end;
    }
  }
}

void ShardingSpread::MakeCommon(const std::vector<HloInstruction*>& members) {
  std::vector<HloSharding> shardings;
  for (const HloInstruction* member : members) {
    if (const HloSharding* sharding = Read(member, 0)) {
      shardings.push_back(*sharding);
    }
  }
  if (shardings.empty()) return;
  const HloSharding common = hlo_sharding_util::FindCommonSharding(shardings);
  for (const HloInstruction* member : members) {
    const auto it = node_of_.find(member);
    if (it == node_of_.end()) continue;
    const int64_t index = nodes_[it->second].first_leaf;
    leaves_[index] = common;
    fixed_[index] = true;
    TouchAround(member);
  }
}

bool ShardingSpread::Write() {
  bool changed = false;
  for (const Node& node : nodes_) {
    if (node.num_leaves == 0 || KeepsGiven(*node.inst)) continue;
    bool any = false;
    std::vector<HloSharding> parts;
    for (int64_t i = 0; i < node.num_leaves; ++i) {
      const std::optional<HloSharding>& leaf = leaves_[node.first_leaf + i];
      any = any || leaf.has_value();
      parts.push_back(leaf ? *leaf : HloSharding::Replicate());
    }
    if (!any && !node.inst->has_sharding()) continue;
    if (!node.inst->shape().IsTuple()) {
      if (node.inst->has_sharding() && node.inst->sharding() == parts[0]) {
        continue;
      }
      node.inst->set_sharding(parts[0]);
      changed = true;
      continue;
    }
    bool same = node.inst->has_sharding();
    for (int64_t i = 0; same && i < node.num_leaves; ++i) {
      const HloSharding* own = sharding_edges::ReadInstruction(node.inst, i);
      same = own != nullptr && *own == parts[i];
    }
    if (same) continue;
    node.inst->set_sharding(HloSharding::Tuple(node.inst->shape(), parts));
    changed = true;
  }
  return changed;
}

}  // namespace xla
