#include "xla/backends/gpu/model/cost/kernel_cost.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "xla/backends/gpu/model/cost/kernel_cost_walk.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

// How a kernel reads an operand is a short list of accesses. Each has a place,
// an identity for "which element is read": place 0 is the element with the
// index of the kernel's result, other places are numbered as they come up.
// Reads at the same place hit the same element and are combined by maximum;
// reads at different places add up. An access also knows how often it happens
// per element (utilization), how often its producer would be emitted there
// (copies), whether neighboring threads read neighboring memory (coalesced),
// and whether it is near a common center, as in stencils.
//
// The cost of fusing a producer into a consumer is composed from the two lists
// without looking into either kernel (AddReadsWithin), so pricing a pair is
// independent of the size of the kernels.

namespace xla::gpu {
namespace {

constexpr size_t kMaxAccesses = 8;
// Beyond this nesting, fusions within fusions cost nothing.
constexpr int kMaxFusionDepth = 16;
// Up to here a list of operands is searched, beyond it is hashed.
constexpr size_t kMaxSearched = 12;
// An index of fewer operands costs more than looking through them.
constexpr int64_t kManyOperands = 32;

// The distinct operands of a hypothetical kernel. Short lists are searched
// linearly; long ones switch to a hash table.
class OperandList {
 public:
  explicit OperandList(size_t expected) {
    result_.operands.reserve(expected);
    result_.cost.operands.reserve(expected);
  }

  OperandCost* Slot(const HloInstruction* operand) {
    std::vector<const HloInstruction*>& operands = result_.operands;
    if (operands.size() <= kMaxSearched) {
      auto it = std::find(operands.begin(), operands.end(), operand);
      if (it != operands.end()) {
        return &result_.cost.operands[it - operands.begin()];
      }
    } else {
      for (size_t i = positions_.size(); i < operands.size(); ++i) {
        positions_.emplace(operands[i], i);
      }
      auto it = positions_.find(operand);
      if (it != positions_.end()) return &result_.cost.operands[it->second];
    }
    operands.push_back(operand);
    return &result_.cost.operands.emplace_back();
  }

  // How one operand is read by a kernel of the pair.
  void Add(const HloInstruction* operand, const OperandCost& reads) {
    OperandCost* slot = Slot(operand);
    for (const ValueAccess& access : reads.accesses) slot->Add(access);
    if (reads.in_place) {
      slot->in_place = true;
      slot->kept_bytes = reads.kept_bytes;
    }
  }

  KernelCost& cost() { return result_.cost; }
  KernelCostWithOperands Take() && { return std::move(result_); }

 private:
  KernelCostWithOperands result_;
  absl::flat_hash_map<const HloInstruction*, size_t> positions_;
};

bool IsSameRead(const ValueAccess& a, const ValueAccess& b) {
  return a.place == b.place && a.bitcast == b.bitcast;
}

bool IsAtPlace0(const OperandCost& reads) {
  return !reads.accesses.empty() && reads.accesses[0].place == 0;
}

// Composition of accesses: the consumer reads the producer as `reads`, the
// producer reads the operand as `operand`; adds to `slot` how the fused kernel
// reads the operand. Utilizations and copies multiply. The producer's place 0
// becomes each place at which the consumer reads it; its other places stay
// distinct. `nested_place` stands for the producer's place 0 where the consumer
// reads it elsewhere than at its own place 0; 0 if the producer's place 0 is
// simply where it is read. The fused kernel has bitcasts of its own, which
// `new_bitcast` numbers.
void AddReadsWithin(const OperandCost& operand, const OperandCost& reads,
                    int32_t nested_place,
                    absl::FunctionRef<int32_t()> new_bitcast,
                    OperandCost* slot) {
  const bool as_written = IsAtPlace0(reads) && reads.accesses.size() == 1;
  bool coalesced = true, nested_coalesced = true;
  for (const ValueAccess& read : reads.accesses) {
    coalesced &= read.coalesced;
    nested_coalesced &= read.nested_coalesced;
  }
  const std::optional<int32_t> center = reads.center();
  for (const ValueAccess& access : operand.accesses) {
    const int32_t bitcast = access.bitcast == 0 ? 0 : new_bitcast();
    if (access.place != 0) {
      ValueAccess sum = access;
      sum.bitcast = bitcast;
      // A value for many elements is the same for all in a window.
      sum.utilization *= access.utilization > 1 && !access.near
                             ? reads.utilization_by_place()
                             : reads.utilization();
      sum.copies *= reads.copies();
      if (access.near && access.center == 0) {
        sum.near = center.has_value();
        sum.center = center.value_or(0) != 0 && nested_place != 0
                         ? nested_place
                         : center.value_or(0);
      }
      sum.coalesced = coalesced &&
                      (as_written ? access.coalesced : access.nested_coalesced);
      sum.nested_coalesced &= nested_coalesced;
      slot->Add(sum);
      continue;
    }
    for (const ValueAccess& read : reads.accesses) {
      ValueAccess part;
      const bool nested = read.place != 0 && nested_place != 0;
      part.place = nested ? nested_place : read.place;
      part.near = read.near && !nested;
      part.center = read.center;
      part.utilization = access.utilization * read.utilization;
      part.copies = access.copies * read.copies;
      part.coalesced =
          read.coalesced &&
          (read.place == 0 ? access.coalesced : access.nested_coalesced);
      part.nested_coalesced = read.nested_coalesced && access.nested_coalesced;
      part.bitcast = bitcast == 0 ? read.bitcast : bitcast;
      if (bitcast == 0) {
        slot->Add(part);
      } else {
        slot->AddUp(part);
      }
    }
  }
}

}  // namespace

double OperandCost::utilization() const {
  double sum = 0;
  for (const ValueAccess& access : accesses) sum += access.utilization;
  return sum;
}

double OperandCost::utilization_by_place() const {
  double sum = 0;
  for (const ValueAccess& access : accesses) {
    sum += access.near ? std::min(access.utilization, 1.0) : access.utilization;
  }
  return sum;
}

std::optional<int32_t> OperandCost::center() const {
  std::optional<int32_t> center;
  for (const ValueAccess& access : accesses) {
    const int32_t here = access.near ? access.center : access.place;
    if (center.value_or(here) != here) return std::nullopt;
    center = here;
  }
  return center;
}

double OperandCost::copies() const {
  double sum = 0;
  for (const ValueAccess& access : accesses) sum += access.copies;
  return sum;
}

// Accesses at a known place are combined. Beyond kMaxAccesses the rest is
// summed into the last entry, which loses places but keeps totals.
void OperandCost::Add(const ValueAccess& access) {
  for (ValueAccess& known : accesses) {
    if (!IsSameRead(known, access)) continue;
    known.utilization = std::max(known.utilization, access.utilization);
    known.copies = std::max(known.copies, access.copies);
    known.coalesced &= access.coalesced;
    known.nested_coalesced &= access.nested_coalesced;
    return;
  }
  if (accesses.size() == kMaxAccesses) {
    ValueAccess& last = accesses.back();
    last.near &= access.near && access.center == last.center;
    last.utilization += access.utilization;
    last.copies += access.copies;
    last.coalesced &= access.coalesced;
    last.nested_coalesced &= access.nested_coalesced;
    return;
  }
  accesses.push_back(access);
  // Place 0 first.
  if (access.place == 0) std::swap(accesses.front(), accesses.back());
}

void OperandCost::AddUp(const ValueAccess& access) {
  for (ValueAccess& known : accesses) {
    if (!IsSameRead(known, access)) continue;
    known.utilization += access.utilization;
    known.copies += access.copies;
    known.coalesced &= access.coalesced;
    known.nested_coalesced &= access.nested_coalesced;
    return;
  }
  Add(access);
}

KernelCost KernelCosts::Compute(const HloInstruction& kernel) {
  auto new_place = [this] { return NewPlace(); };
  auto inner = [this](const HloInstruction& fusion) -> const KernelCost& {
    static const KernelCost& unknown = *new KernelCost();
    if (depth_ == kMaxFusionDepth) return unknown;
    ++depth_;
    const KernelCost& cost = Get(fusion);
    --depth_;
    return cost;
  };
  KernelCostWalk walk(device_, kernels_for_, prices_, &flops_, new_place,
                      inner);
  return kernel.opcode() == HloOpcode::kFusion ? walk.OfFusion(kernel)
                                               : walk.OfInstruction(kernel);
}

const KernelCost& KernelCosts::Get(const HloInstruction& kernel) {
  auto known = costs_.find(&kernel);
  if (known != costs_.end()) return known->second;
  KernelCost cost = Compute(kernel);
  return costs_.emplace(&kernel, std::move(cost)).first->second;
}

KernelCosts::Positions KernelCosts::PositionsOf(
    const HloInstruction& operand, const HloInstruction& kernel) const {
  if (&kernel == indexed_) {
    const auto known = positions_.find(&operand);
    return known == positions_.end() ? Positions() : known->second;
  }
  Positions positions;
  for (int64_t i = 0; i < kernel.operand_count(); ++i) {
    if (kernel.operand(i) == &operand) positions.push_back(i);
  }
  return positions;
}

void KernelCosts::IndexOperands(const HloInstruction* kernel) {
  indexed_ = nullptr;
  positions_.clear();
  if (kernel == nullptr || kernel->operand_count() < kManyOperands) return;
  indexed_ = kernel;
  for (int64_t i = 0; i < kernel->operand_count(); ++i) {
    positions_[kernel->operand(i)].push_back(i);
  }
}

OperandCost KernelCosts::ReadsOf(const HloInstruction& kernel,
                                 const KernelCost& cost,
                                 const HloInstruction& operand) const {
  OperandCost reads;
  for (int64_t i : PositionsOf(operand, kernel)) {
    for (const ValueAccess& access : cost.operands[i].accesses) {
      reads.Add(access);
    }
    if (cost.operands[i].in_place) {
      reads.in_place = true;
      reads.kept_bytes = cost.operands[i].kept_bytes;
    }
  }
  return reads;
}

// The cost of the pair and only the operands that change, so that callers can
// update sums incrementally.
PairCost KernelCosts::OfPair(const HloInstruction& producer,
                             const HloInstruction& consumer, bool keep_output) {
  const KernelCost& inner = Get(producer);
  const KernelCost& outer = Get(consumer);
  PairCost pair;
  KernelCost& cost = pair.cost;
  cost.bytes_written = outer.bytes_written;
  pair.removed = ReadsOf(consumer, outer, producer);
  OperandCost reads = pair.removed;
  if (reads.in_place) {
    // Values that were left out before have to be computed and written now.
    reads.Add(ValueAccess());
    cost.bytes_written += reads.kept_bytes;
  }
  if (keep_output) {
    reads.Add(ValueAccess());
    cost.bytes_written += inner.bytes_written;
  }
  cost.flops = outer.flops + inner.flops * reads.utilization();
  cost.ir_size = outer.ir_size + inner.ir_size * reads.copies();
  cost.has_hero = outer.has_hero || (inner.has_hero && IsAtPlace0(reads));
  cost.is_library = outer.is_library || inner.is_library;
  cost.is_free = outer.is_free && inner.is_free;
  cost.iterations = outer.iterations;
  if (keep_output || cost.has_hero != outer.has_hero) {
    cost.iterations = std::max(cost.iterations, inner.iterations);
  }
  // Place 0 of the producer, where that is not the consumer's.
  const int32_t nested_place = inner.has_hero ? NewPlace() : 0;
  for (int64_t j = 0; j < producer.operand_count(); ++j) {
    const HloInstruction* operand = producer.operand(j);
    PairCost::Operand* changed = nullptr;
    for (PairCost::Operand& known : pair.operands) {
      if (known.operand == operand) changed = &known;
    }
    if (changed == nullptr) {
      changed = &pair.operands.emplace_back();
      changed->operand = operand;
      if (consumer.IsUserOf(operand)) {
        changed->before = ReadsOf(consumer, outer, *operand);
      }
      changed->after = changed->before;
    }
    AddReadsWithin(
        inner.operands[j], reads, nested_place, [this] { return NewPlace(); },
        &changed->after);
    if (!inner.operands[j].in_place) continue;
    if (keep_output) {
      changed->after.in_place = true;
      changed->after.kept_bytes = inner.operands[j].kept_bytes;
    } else {
      ValueAccess kept;
      kept.place = NewPlace();
      kept.utilization =
          prices_ == OperationPrices::kXla ? 0 : reads.utilization();
      changed->after.Add(kept);
    }
  }
  return pair;
}

KernelCostWithOperands KernelCosts::Fused(const HloInstruction& producer,
                                          const HloInstruction& consumer,
                                          bool keep_output) {
  PairCost pair = OfPair(producer, consumer, keep_output);
  const KernelCost& outer = Get(consumer);
  OperandList list(outer.operands.size() + pair.operands.size());
  list.cost() = std::move(pair.cost);
  for (int64_t i = 0; i < consumer.operand_count(); ++i) {
    if (consumer.operand(i) == &producer) continue;
    list.Add(consumer.operand(i), outer.operands[i]);
  }
  for (PairCost::Operand& changed : pair.operands) {
    *list.Slot(changed.operand) = std::move(changed.after);
  }
  return std::move(list).Take();
}

KernelCostWithOperands KernelCosts::Unique(const HloInstruction& kernel) {
  const KernelCost& known = Get(kernel);
  OperandList list(known.operands.size());
  list.cost() = known;
  list.cost().operands.clear();
  for (int64_t i = 0; i < kernel.operand_count(); ++i) {
    list.Add(kernel.operand(i), known.operands[i]);
  }
  return std::move(list).Take();
}

// Two kernels side by side in one launch. Operands that both read are read
// once; results of `a` that only `b` reads are not written.
KernelCostWithOperands KernelCosts::Siblings(const HloInstruction& a,
                                             const HloInstruction& b) {
  const KernelCost& first = Get(a);
  const KernelCost& second = Get(b);
  OperandList list(first.operands.size() + second.operands.size());
  KernelCost& cost = list.cost();
  cost.flops = first.flops + second.flops;
  cost.iterations = std::max(first.iterations, second.iterations);
  cost.bytes_written = first.bytes_written + second.bytes_written;
  cost.ir_size = first.ir_size + second.ir_size;
  cost.has_hero = first.has_hero || second.has_hero;
  cost.is_library = first.is_library || second.is_library;
  cost.is_free = first.is_free && second.is_free;
  for (int64_t i = 0; i < a.operand_count(); ++i) {
    list.Add(a.operand(i), first.operands[i]);
  }
  for (int64_t i = 0; i < b.operand_count(); ++i) {
    const HloInstruction* operand = b.operand(i);
    if (operand->opcode() != HloOpcode::kGetTupleElement ||
        operand->operand(0) != &a) {
      list.Add(operand, second.operands[i]);
    } else if (operand->user_count() == 1 && !operand->IsRoot() &&
               b.operand_index(operand) == i) {
      cost.bytes_written -=
          std::min(cost.bytes_written,
                   ShapeUtil::ByteSizeOfElementsRecursive(operand->shape()));
    }
  }
  return std::move(list).Take();
}

void KernelCosts::Set(const HloInstruction& kernel,
                      KernelCostWithOperands cost) {
  Invalidate(kernel);
  if (kernel.operand_count() != static_cast<int64_t>(cost.operands.size())) {
    return;
  }
  absl::flat_hash_map<const HloInstruction*, size_t> positions;
  for (size_t i = 0; i < cost.operands.size(); ++i) {
    positions[cost.operands[i]] = i;
  }
  std::vector<OperandCost> operands;
  operands.reserve(cost.operands.size());
  for (const HloInstruction* operand : kernel.operands()) {
    auto it = positions.find(operand);
    if (it == positions.end()) return;
    operands.push_back(cost.cost.operands[it->second]);
  }
  cost.cost.operands = std::move(operands);
  costs_.emplace(&kernel, std::move(cost.cost));
}

}  // namespace xla::gpu
