#include "xla/hlo/analysis/hlo_reachability.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"

// Two representations. Dense: a bit matrix in which row b has a bit for every
// instruction that reaches b; queries are one bit test, updates whole-row
// unions. Sparse, for computations whose matrix would be too large: the direct
// inputs of each node, topological ranks for pruning, and a search per query.
// After queries have walked more steps than there are nodes, labels are built
// that answer most queries in constant time (ReachabilityLabels).

namespace xla {

using BitSet = HloReachabilityMap::BitSet;
using Index = HloReachabilityMap::Index;

// --- BitSet
// --------------------------------------------------------------------

bool BitSet::OrUpdate(const BitSet& other) {
  Word added = 0;
  for (size_t i = 0; i < num_words_; ++i) {
    added |= other.ptr_[i] & ~ptr_[i];
    ptr_[i] |= other.ptr_[i];
  }
  return added != 0;
}

void BitSet::GetDifferingWordUnions(
    const BitSet& other,
    std::vector<std::pair<size_t, Word>>& diff_buffer) const {
  diff_buffer.clear();
  for (size_t i = 0; i < num_words_; ++i) {
    if (ptr_[i] != other.ptr_[i]) {
      diff_buffer.emplace_back(i, ptr_[i] | other.ptr_[i]);
    }
  }
}

void BitSet::CopyBitSet(const BitSet& other) {
  std::copy(other.ptr_, other.ptr_ + num_words_, ptr_);
}

void BitSet::SetToZero() { std::fill(ptr_, ptr_ + num_words_, Word{0}); }

bool BitSet::operator==(const BitSet& other) const {
  return std::equal(ptr_, ptr_ + num_words_, other.ptr_);
}

// --- Construction
// --------------------------------------------------------------

HloReachabilityMap::HloReachabilityMap(
    absl::Span<const HloInstruction* const> instructions,
    size_t max_dense_bytes)
    : instructions_(instructions.begin(), instructions.end()) {
  const size_t size = instructions.size();
  words_per_row_ = (size + BitSet::kBits - 1) / BitSet::kBits;
  dense_ = size * words_per_row_ * sizeof(BitSet::Word) <= max_dense_bytes;
  for (Index i = 0; i < size; ++i) Register(instructions[i], i);
  if (!dense_) {
    nodes_.resize(size);
    ranks_.resize(size);
    for (Index i = 0; i < size; ++i) ranks_[i] = static_cast<int32_t>(i);
    return;
  }
  for (Index first = 0; first < size; first += kRowsPerBlock) {
    blocks_.emplace_back(std::min(kRowsPerBlock, size - first) *
                         words_per_row_);
  }
  for (Index i = 0; i < size; ++i) Row(i).Set(i);
}

void HloReachabilityMap::Register(const HloInstruction* instruction,
                                  Index index) {
  CHECK_GE(instruction->local_id(), 0) << instruction->name();
  const size_t id = instruction->local_id();
  if (index_of_.size() <= id) index_of_.resize(id + 1, -1);
  index_of_[id] = static_cast<int32_t>(index);
}

std::unique_ptr<HloReachabilityMap> HloReachabilityMap::Build(
    const HloComputation* computation, size_t max_dense_bytes) {
  return BuildWithRestrictions(
      computation,
      [](const HloInstruction* instruction,
         std::vector<HloInstruction*>* inputs) {
        inputs->insert(inputs->end(), instruction->operands().begin(),
                       instruction->operands().end());
        inputs->insert(inputs->end(),
                       instruction->control_predecessors().begin(),
                       instruction->control_predecessors().end());
      },
      max_dense_bytes);
}

std::unique_ptr<HloReachabilityMap> HloReachabilityMap::BuildWithRestrictions(
    const HloComputation* computation,
    absl::FunctionRef<void(const HloInstruction*,
                           std::vector<HloInstruction*>*)>
        add_dependencies,
    size_t max_dense_bytes) {
  const std::vector<HloInstruction*> order =
      computation->MakeInstructionPostOrder();
  auto result = std::make_unique<HloReachabilityMap>(order, max_dense_bytes);
  std::vector<HloInstruction*> inputs;
  std::vector<Index> indices;
  for (size_t i = 0; i < order.size(); ++i) {
    // Instructions and the lists of their operands lie apart in memory.
    constexpr size_t kStep = 8;
    if (i + 2 * kStep < order.size()) {
      __builtin_prefetch(order[i + 2 * kStep]);
      __builtin_prefetch(order[i + kStep]->operands().data());
    }
    const HloInstruction* instruction = order[i];
    inputs.clear();
    indices.clear();
    add_dependencies(instruction, &inputs);
    for (const HloInstruction* input : inputs) {
      indices.push_back(result->GetIndex(input));
    }
    result->FastSetReachabilityToUnion(indices, result->GetIndex(instruction));
  }
  return result;
}

Index HloReachabilityMap::GetIndex(const HloInstruction* instruction) const {
  CHECK(IsPresent(instruction))
      << instruction->name() << " is not in the reachability map";
  return index_of_[instruction->local_id()];
}

bool HloReachabilityMap::IsPresent(const HloInstruction* instruction) const {
  const int32_t id = instruction->local_id();
  if (id < 0 || id >= static_cast<int64_t>(index_of_.size())) return false;
  return index_of_[id] >= 0 && instructions_[index_of_[id]] == instruction;
}

void HloReachabilityMap::Replace(const HloInstruction* original,
                                 const HloInstruction* replacement) {
  if (original == replacement) return;
  const Index index = GetIndex(original);
  index_of_[original->local_id()] = -1;
  instructions_[index] = replacement;
  Register(replacement, index);
}

size_t HloReachabilityMap::MemoryBytes() const {
  size_t bytes = instructions_.capacity() * sizeof(instructions_[0]) +
                 index_of_.capacity() * sizeof(index_of_[0]) +
                 ranks_.capacity() * sizeof(ranks_[0]) +
                 seen_by_.capacity() * sizeof(seen_by_[0]) +
                 nodes_.capacity() * sizeof(Node);
  if (labels_.has_value()) bytes += labels_->MemoryBytes();
  for (const auto& block : blocks_)
    bytes += block.capacity() * sizeof(block[0]);
  for (const Node& node : nodes_) {
    if (node.inputs.size() <= 2) continue;
    bytes += node.inputs.capacity() * sizeof(node.inputs[0]);
  }
  return bytes;
}

// --- Queries
// -------------------------------------------------------------------

bool HloReachabilityMap::IsReachable(Index a, Index b) const {
  return dense_ ? Row(b).Get(a) : IsReachableSparse(a, b);
}

// --- Updates
// -------------------------------------------------------------------

// Recomputes a row in scratch space; returns whether it changed.
bool HloReachabilityMap::SetRow(absl::Span<const Index> inputs, Index index,
                                BitSet scratch) {
  BitSet row = Row(index);
  scratch.SetToZero();
  for (Index input : inputs) scratch |= Row(input);
  scratch.Set(index);
  if (scratch == row) return false;
  row.CopyBitSet(scratch);
  return true;
}

bool HloReachabilityMap::SetReachabilityToUnion(
    absl::Span<const HloInstruction* const> inputs,
    const HloInstruction* instruction) {
  const Index index = GetIndex(instruction);
  std::vector<Index> indices;
  for (const HloInstruction* input : inputs) indices.push_back(GetIndex(input));
  if (!dense_) {
    const auto before = nodes_[Representative(index)].inputs;
    SetInputs(index, indices);
    return nodes_[Representative(index)].inputs != before;
  }
  std::vector<BitSet::Word> words(words_per_row_);
  return SetRow(indices, index, BitSet(words.data(), instructions_.size()));
}

void HloReachabilityMap::FastSetReachabilityToUnion(
    absl::Span<const HloInstruction* const> inputs,
    const HloInstruction* instruction) {
  std::vector<Index> indices;
  for (const HloInstruction* input : inputs) indices.push_back(GetIndex(input));
  FastSetReachabilityToUnion(indices, GetIndex(instruction));
}

void HloReachabilityMap::FastSetReachabilityToUnion(
    absl::Span<const Index> input_indices, Index index) {
  if (!dense_) return SetInputs(index, input_indices);
  BitSet row = Row(index);
  // A row that is its own input must not be cleared first.
  if (!absl::c_linear_search(input_indices, index)) row.SetToZero();
  for (Index input : input_indices) row |= Row(input);
  row.Set(index);
}

void HloReachabilityMap::SetReachable(Index a, Index b) {
  if (dense_) {
    Row(b).Set(a);
  } else {
    AddInput(b, a);
  }
}

void HloReachabilityMap::AppendPredecessors(const HloInstruction* instruction,
                                            std::vector<Index>* indices) const {
  indices->clear();
  auto append = [&](const HloInstruction* predecessor) {
    if (IsPresent(predecessor)) indices->push_back(GetIndex(predecessor));
  };
  for (const HloInstruction* operand : instruction->operands()) append(operand);
  for (const HloInstruction* predecessor :
       instruction->control_predecessors()) {
    append(predecessor);
  }
}

// All transitive successors of the changed instructions in topological order
// (reverse post order of a depth-first search along users).
std::vector<Index> HloReachabilityMap::AffectedInOrder(
    absl::Span<const HloInstruction* const> changed) const {
  std::vector<Index> post_order;
  std::vector<bool> seen(instructions_.size());
  struct Frame {
    const HloInstruction* instruction;
    size_t next;
  };
  std::vector<Frame> stack;
  auto push = [&](const HloInstruction* instruction) {
    if (!IsPresent(instruction)) return;
    const Index index = GetIndex(instruction);
    if (seen[index]) return;
    seen[index] = true;
    stack.push_back({instruction, 0});
  };
  for (const HloInstruction* start : changed) {
    push(start);
    while (!stack.empty()) {
      const HloInstruction* instruction = stack.back().instruction;
      const size_t next = stack.back().next++;
      const size_t users = instruction->users().size();
      const auto& successors = instruction->control_successors();
      if (next < users) {
        push(instruction->users()[next]);
      } else if (next < users + successors.size()) {
        push(successors[next - users]);
      } else {
        post_order.push_back(GetIndex(instruction));
        stack.pop_back();
      }
    }
  }
  absl::c_reverse(post_order);
  return post_order;
}

// Dense: propagates along the topological order and stops where a row does not
// change.
void HloReachabilityMap::UpdateFrom(
    absl::Span<const HloInstruction* const> changed) {
  std::vector<Index> inputs;
  if (!dense_) {
    for (const HloInstruction* instruction : changed) {
      AppendPredecessors(instruction, &inputs);
      SetInputs(GetIndex(instruction), inputs);
    }
    return;
  }
  std::vector<BitSet::Word> words(words_per_row_);
  const BitSet scratch(words.data(), instructions_.size());
  std::vector<bool> dirty(instructions_.size());
  for (const HloInstruction* instruction : changed) {
    dirty[GetIndex(instruction)] = true;
  }
  for (Index index : AffectedInOrder(changed)) {
    if (!dirty[index]) continue;
    const HloInstruction* instruction = instructions_[index];
    AppendPredecessors(instruction, &inputs);
    if (!SetRow(inputs, index, scratch)) continue;
    auto mark = [&](const HloInstruction* successor) {
      if (IsPresent(successor)) dirty[GetIndex(successor)] = true;
    };
    for (const HloInstruction* user : instruction->users()) mark(user);
    for (const HloInstruction* successor : instruction->control_successors()) {
      mark(successor);
    }
  }
}

void HloReachabilityMap::UpdateReachabilityThroughInstruction(
    const HloInstruction* instruction) {
  if (dense_) {
    // The common case without a change costs one row.
    std::vector<Index> inputs;
    AppendPredecessors(instruction, &inputs);
    std::vector<BitSet::Word> words(words_per_row_);
    BitSet scratch(words.data(), instructions_.size());
    for (Index input : inputs) scratch |= Row(input);
    scratch.Set(GetIndex(instruction));
    if (scratch == Row(GetIndex(instruction))) return;
  }
  UpdateFrom({instruction});
}

void HloReachabilityMap::UpdateMultipleInstructions(
    const absl::flat_hash_map<const HloInstruction*,
                              absl::flat_hash_set<const HloInstruction*>>&
        to_update) {
  std::vector<const HloInstruction*> changed;
  for (const auto& [instruction, others] : to_update) {
    changed.push_back(instruction);
    changed.insert(changed.end(), others.begin(), others.end());
  }
  // The result does not depend on the order; this makes the work repeatable.
  absl::c_sort(changed, [](const HloInstruction* a, const HloInstruction* b) {
    return a->local_id() < b->local_id();
  });
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  UpdateFrom(changed);
}

// After merging l and r, whatever was reachable from one of them must contain
// everything that reached the other. Sparse: union-find by size, the inputs of
// both parts are concatenated.
void HloReachabilityMap::UpdateReachabilityForMerge(
    const HloInstruction* left, const HloInstruction* right) {
  const Index l = GetIndex(left);
  const Index r = GetIndex(right);
  if (l == r) return;
  if (!dense_) {
    Index into = Representative(l);
    Index from = Representative(r);
    if (into == from) return;
    if (nodes_[into].merged_count < nodes_[from].merged_count) {
      std::swap(into, from);
    }
    nodes_[from].merged_into = static_cast<int32_t>(into);
    nodes_[into].merged_count += nodes_[from].merged_count;
    const auto inputs = nodes_[from].inputs;
    nodes_[from].inputs.clear();
    for (int32_t input : inputs) AddInput(into, input);
    // Readers of `from` may rank before `into`.
    ranks_are_stale_ = true;
    ForgetLabels();
    return;
  }
  // What only one of them reaches lacks the other's row; where the two rows
  // are alike, only the words in which they differ need to be added.
  std::vector<std::pair<size_t, BitSet::Word>> diff;
  Row(l).GetDifferingWordUnions(Row(r), diff);
  const bool sparse_diff = diff.size() * 4 < words_per_row_;
  std::vector<BitSet::Word> words(words_per_row_);
  BitSet merged(words.data(), instructions_.size());
  if (!sparse_diff) {
    merged.CopyBitSet(Row(l));
    merged |= Row(r);
  }
  for (Index i = 0; i < instructions_.size(); ++i) {
    BitSet row = Row(i);
    if (row.Get(l) == row.Get(r)) continue;
    if (sparse_diff) {
      row.OrUpdatePartial(diff);
    } else {
      row |= merged;
    }
  }
}

// --- Sparse form
// ---------------------------------------------------------------

// Union by size without path compression: chains are at most logarithmic.
Index HloReachabilityMap::Representative(Index index) const {
  while (nodes_[index].merged_into >= 0) index = nodes_[index].merged_into;
  return index;
}

void HloReachabilityMap::CheckRank(Index from, Index to) {
  if (from != to && ranks_[from] >= ranks_[to]) ranks_are_stale_ = true;
}

void HloReachabilityMap::SetInputs(Index index,
                                   absl::Span<const Index> inputs) {
  index = Representative(index);
  ForgetLabels();
  // Merged instructions keep the inputs of the other parts.
  if (nodes_[index].merged_count == 1) nodes_[index].inputs.clear();
  for (Index input : inputs) AddInput(index, input);
}

void HloReachabilityMap::AddInput(Index index, Index input) {
  index = Representative(index);
  input = Representative(input);
  if (index == input) return;
  ForgetLabels();
  nodes_[index].inputs.push_back(static_cast<int32_t>(input));
  CheckRank(input, index);
}

// Topological ranks by iterative depth-first search; merged nodes count as one.
void HloReachabilityMap::ComputeRanks() const {
  int32_t next = 0;
  std::vector<bool> seen(nodes_.size());
  std::vector<std::pair<Index, size_t>> stack;
  for (Index start = 0; start < nodes_.size(); ++start) {
    if (nodes_[start].merged_into >= 0 || seen[start]) continue;
    seen[start] = true;
    stack.emplace_back(start, 0);
    while (!stack.empty()) {
      auto& [index, position] = stack.back();
      const auto& inputs = nodes_[index].inputs;
      if (position == inputs.size()) {
        ranks_[index] = next++;
        stack.pop_back();
        continue;
      }
      const Index input = Representative(inputs[position++]);
      if (!seen[input]) {
        seen[input] = true;
        stack.emplace_back(input, 0);
      }
    }
  }
  ranks_are_stale_ = false;
}

void HloReachabilityMap::MakeLabels() const {
  std::vector<int32_t> node_of(nodes_.size(), -1);
  for (Index i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].merged_into < 0) node_of[ranks_[i]] = static_cast<int32_t>(i);
  }
  labels_.emplace(static_cast<int32_t>(node_of.size()),
                  [&](int32_t rank, std::vector<int32_t>* inputs) {
                    if (node_of[rank] < 0) return;
                    for (int32_t input : nodes_[node_of[rank]].inputs) {
                      const Index its = Representative(input);
                      if (its != node_of[rank]) inputs->push_back(ranks_[its]);
                    }
                  });
}

// Backward search from b for a. Nodes ranked below a cannot be behind it and
// are not entered; labels cut off most of the rest. seen_by_ holds query
// numbers, so it needs no clearing between queries.
bool HloReachabilityMap::IsReachableSparse(Index a, Index b) const {
  using Answer = ReachabilityLabels::Answer;
  a = Representative(a);
  b = Representative(b);
  if (a == b) return true;
  if (ranks_are_stale_) ComputeRanks();
  const int32_t rank = ranks_[a];
  if (ranks_[b] < rank) return false;
  if (!labels_.has_value() && steps_walked_ > nodes_.size()) MakeLabels();
  if (labels_.has_value()) {
    const Answer answer = labels_->Reaches(rank, ranks_[b]);
    if (answer != Answer::kUnknown) return answer == Answer::kYes;
  }
  if (seen_by_.size() != nodes_.size() || ++query_ == 0) {
    seen_by_.assign(nodes_.size(), 0);
    query_ = 1;
  }
  std::vector<Index> work = {b};
  seen_by_[b] = query_;
  while (!work.empty()) {
    const Index index = work.back();
    work.pop_back();
    ++steps_walked_;
    for (int32_t raw_input : nodes_[index].inputs) {
      const Index input = Representative(raw_input);
      if (input == a) return true;
      if (ranks_[input] < rank || seen_by_[input] == query_) continue;
      seen_by_[input] = query_;
      if (labels_.has_value()) {
        const Answer answer = labels_->Reaches(rank, ranks_[input]);
        if (answer == Answer::kYes) return true;
        if (answer == Answer::kNo) continue;
      }
      work.push_back(input);
    }
  }
  return false;
}

}  // namespace xla
