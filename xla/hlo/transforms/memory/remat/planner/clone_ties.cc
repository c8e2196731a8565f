#include "xla/hlo/transforms/memory/remat/planner/clone_ties.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/recomputable.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

// A reader with more operands has only its first ones examined.
constexpr int64_t kMaxOperands = 64;
// Values read later, looked at for a clone.
constexpr int64_t kMaxRecent = 64;
// Operands looked through for what is computed from constants.
constexpr int kMaxDepth = 4;
// Broadcasts of fewer elements may be there all the time.
constexpr int64_t kLeastElements = 1024;

constexpr int32_t kNone = -1;

// The producer of an instruction's arrays: the operand that get-tuple-elements
// and bitcasts rename.
HloInstruction* Source(HloInstruction* inst) {
  while (IsRenaming(*inst) && inst->opcode() != HloOpcode::kTuple) {
    inst = inst->mutable_operand(0);
  }
  return inst;
}

bool FromConstants(const HloInstruction& inst, int depth) {
  if (inst.opcode() == HloOpcode::kConstant ||
      inst.opcode() == HloOpcode::kIota) {
    return true;
  }
  if (inst.operand_count() == 0 || depth == 0) return false;
  for (const HloInstruction* operand : inst.operands()) {
    if (!FromConstants(*operand, depth - 1)) return false;
  }
  return true;
}

// Whether a scatter adds to the result, which then has a buffer of its own,
// whose making waits for nothing.
bool IsStartOfScatter(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kBroadcast &&
         ShapeUtil::ElementsIn(inst.shape()) >= kLeastElements &&
         FromConstants(inst, kMaxDepth) &&
         absl::c_any_of(inst.users(), [&inst](const HloInstruction* user) {
           return user->opcode() == HloOpcode::kScatter &&
                  user->operand(0) == &inst;
         });
}

// Chooses for each clone in the program an instruction it should wait for.
// Without such a dependency a scheduler that makes an order of its own could
// run the clone right beside the original, which keeps the value live and
// undoes the plan. A good tie runs after the previous instance of the node has
// died and before the clone's own reader.
//
// All tables are by position in the program, so that several runs of one node
// stay apart. Two forward passes and one backward pass, linear in reads.
class Finder {
 public:
  Finder(absl::Span<HloInstruction* const> nodes,
         absl::Span<const NodeId> program,
         const absl::flat_hash_set<std::string>* fused)
      : nodes_(nodes),
        program_(program),
        fused_(fused),
        previous_(program.size(), kNone),
        last_read_(program.size(), kNone),
        reader_(program.size(), kNone) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      ids_[nodes[i]] = static_cast<NodeId>(i);
    }
  }

  std::vector<HloInstruction*> Find() {
    FindRuns();
    FindReaders();
    std::vector<HloInstruction*> ties(program_.size(), nullptr);
    std::vector<int32_t> run(nodes_.size(), kNone);
    for (size_t i = 0; i < program_.size(); ++i) {
      const int32_t position = static_cast<int32_t>(i);
      if (previous_[i] != kNone ||
          (fused_ != nullptr && IsStartOfScatter(*nodes_[program_[i]]))) {
        ties[i] = TieAt(position, run);
      } else if (CanWaitFor(*nodes_[program_[i]])) {
        recent_.push_back(position);
      }
      run[program_[i]] = position;
    }
    return ties;
  }

 private:
  // Calls `visit` for nodes whose results `inst` reads, and the instruction by
  // which it does.
  void VisitReads(
      HloInstruction* inst, int64_t most,
      absl::FunctionRef<void(HloInstruction*, NodeId)> visit) const {
    const auto visit_one = [&](HloInstruction* read) {
      auto it = ids_.find(Source(read));
      if (it != ids_.end()) visit(read, it->second);
    };
    for (HloInstruction* operand : inst->operands()) {
      if (--most < 0) return;
      HloInstruction* source = Source(operand);
      if (source->opcode() != HloOpcode::kTuple) {
        visit_one(operand);
        continue;
      }
      for (HloInstruction* element : source->operands()) {
        if (--most < 0) return;
        visit_one(element);
      }
    }
  }

  // Fills previous_ (the run before of the same node) and last_read_ (where the
  // values of a run are read last).
  void FindRuns() {
    std::vector<int32_t> run(nodes_.size(), kNone);
    for (size_t i = 0; i < program_.size(); ++i) {
      VisitReads(nodes_[program_[i]], nodes_.size(),
                 [&](HloInstruction*, NodeId read) {
                   if (run[read] != kNone) {
                     last_read_[run[read]] = static_cast<int32_t>(i);
                   }
                 });
      previous_[i] = run[program_[i]];
      run[program_[i]] = static_cast<int32_t>(i);
    }
  }

  // Fills reader_ backwards: the first reader of a run that is no clone. A
  // clone that is read by another clone inherits that one's reader, so chains
  // of clones are tied to the original consumer's other operands.
  void FindReaders() {
    std::vector<int32_t> next(nodes_.size(), kNone);
    for (size_t i = program_.size(); i-- > 0;) {
      const NodeId node = program_[i];
      const bool clone = previous_[i] != kNone;
      reader_[i] = next[node];
      next[node] = kNone;
      const int32_t reads = clone ? reader_[i] : static_cast<int32_t>(i);
      if (reads == kNone) continue;
      VisitReads(nodes_[node], nodes_.size(),
                 [&](HloInstruction*, NodeId read) {
                   if (next[read] == kNone || reads < next[read]) {
                     next[read] = reads;
                   }
                 });
    }
  }

  // Only its done may read what an all-reduce-start makes.
  bool CanWaitFor(const HloInstruction& inst) const {
    if (fused_ != nullptr && fused_->contains(inst.name())) return false;
    return inst.shape().IsArray() &&
           HloPredicateIsNotOp<HloOpcode::kAllReduceStart,
                               HloOpcode::kBroadcast, HloOpcode::kParameter>(
               &inst) &&
           !FromConstants(inst, kMaxDepth);
  }

  // Whether the run at position `made` is a first one whose values are read
  // after `position`: not the clone's original, nor anything else that a
  // barrier would keep alive. Once a node has run again, its first run is read
  // no more.
  bool IsAlive(int32_t made, int32_t position) const {
    return previous_[made] == kNone && last_read_[made] > position;
  }

  // The operand of the clone's reader that was computed last, if that was after
  // the value died. Otherwise the latest value that is alive anyway, which
  // exists in any order at this point. `run`: the latest run of each node
  // before the position.
  HloInstruction* TieAt(int32_t position, const std::vector<int32_t>& run) {
    const int32_t previous = previous_[position];
    const int32_t dead_since = previous == kNone ? kNone : last_read_[previous];
    int32_t best = kNone;
    HloInstruction* tie = nullptr;
    if (reader_[position] != kNone) {
      VisitReads(nodes_[program_[reader_[position]]], kMaxOperands,
                 [&](HloInstruction* read, NodeId node) {
                   if (run[node] <= best || !IsAlive(run[node], position) ||
                       !CanWaitFor(*read) || !CanWaitForNode(node)) {
                     return;
                   }
                   best = run[node];
                   tie = read;
                 });
    }
    if (best > dead_since) return tie;
    int64_t looked_at = 0;
    for (auto it = recent_.rbegin();
         it != recent_.rend() && *it > best && looked_at < kMaxRecent;
         ++it, ++looked_at) {
      if (IsAlive(*it, position)) return nodes_[program_[*it]];
    }
    return tie;
  }

  bool CanWaitForNode(NodeId node) const {
    return nodes_[node]->opcode() != HloOpcode::kParameter;
  }

  const absl::Span<HloInstruction* const> nodes_;
  const absl::Span<const NodeId> program_;
  const absl::flat_hash_set<std::string>* const fused_;
  absl::flat_hash_map<const HloInstruction*, NodeId> ids_;
  // By position: the run before of the same node; who reads what this run made
  // last; the first reader that is no clone, also by way of clones.
  std::vector<int32_t> previous_, last_read_, reader_;
  // First runs so far that clones may wait for.
  std::vector<int32_t> recent_;
};

}  // namespace

std::vector<HloInstruction*> FindCloneTies(
    absl::Span<HloInstruction* const> nodes, absl::Span<const NodeId> program,
    const absl::flat_hash_set<std::string>* fused) {
  return Finder(nodes, program, fused).Find();
}

// Lower is better; -1: never. Parameters are cheap to wait for, results of
// kernels stay kernels behind a barrier, and a barrier on anything else may
// keep it from being fused into its reader.
int TieRank(const HloInstruction& operand) {
  if (!operand.shape().IsArray() ||
      ShapeUtil::ElementsIn(operand.shape()) <= 1 ||
      FromConstants(operand, kMaxDepth)) {
    return -1;
  }
  const HloInstruction* source = &operand;
  while (IsRenaming(*source) && source->opcode() != HloOpcode::kTuple) {
    source = source->operand(0);
  }
  switch (source->opcode()) {
    case HloOpcode::kParameter:
      return 0;
    case HloOpcode::kConvolution:
    case HloOpcode::kCustomCall:
    case HloOpcode::kDot:
    case HloOpcode::kFft:
    case HloOpcode::kFusion:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kScatter:
    case HloOpcode::kSort:
    case HloOpcode::kWhile:
      return 1;
    default:  // Fused into its readers, as far as is known.
      return 2;
  }
}

}  // namespace xla::remat_plan
