#include "tools/bench/fusion_floor.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/backends/gpu/model/cost/kernel_cost.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

class Floor {
 public:
  explicit Floor(gpu::GpuPerformanceModel* model) : model_(*model) {}

  void Add(const HloComputation& computation) {
    const std::vector<HloInstruction*> order =
        computation.MakeInstructionPostOrder();
    FindApart(order);
    absl::flat_hash_map<const HloInstruction*, std::vector<Read>> reads;
    std::vector<const HloInstruction*> sources;
    for (const HloInstruction* inst : order) {
      const gpu::KernelCost& cost = model_.costs().Get(*inst);
      if (cost.is_free) continue;
      if (cost.is_library) {
        result_.library += model_.EstimateRunTime(*inst).bytes();
        continue;
      }
      if (MustBeInMemory(*inst)) {
        result_.floor += model_.EstimateRunTime(*inst).bytes_written;
      }
      for (int64_t i = 0; i < inst->operand_count(); ++i) {
        const HloInstruction* source = inst->operand(i);
        while (source->opcode() == HloOpcode::kBitcast) {
          source = source->operand(0);
        }
        if (IsGenerated(*source) || source->opcode() == HloOpcode::kConstant) {
          continue;
        }
        const double size = static_cast<double>(
            ShapeUtil::ByteSizeOfElementsRecursive(source->shape()));
        auto [it, added] = reads.try_emplace(source);
        if (added) sources.push_back(source);
        it->second.push_back(
            {inst, std::min(size, size * cost.operands[i].utilization())});
      }
    }
    for (const HloInstruction* source : sources) {
      result_.floor += BytesOfReads(reads.at(source));
    }
  }

  FusionFloor Take() {
    result_.floor += result_.library;
    return result_;
  }

 private:
  // Computations with more instructions are taken to have nothing apart.
  static constexpr size_t kMaxInstructions = 12000;
  struct Read {
    const HloInstruction* reader;
    double bytes;
  };

  // For each instruction, those before it that reach it through a library's
  // kernel.
  void FindApart(const std::vector<HloInstruction*>& order) {
    place_.clear();
    apart_.clear();
    if (order.size() > kMaxInstructions) return;
    std::vector<std::vector<bool>> above(order.size());
    apart_.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      place_[order[i]] = i;
      above[i].resize(order.size());
      apart_[i].resize(order.size());
      for (const HloInstruction* operand : order[i]->unique_operands()) {
        const size_t from = place_.at(operand);
        const bool library = model_.costs().Get(*operand).is_library;
        for (size_t j = 0; j < from; ++j) {
          if (above[from][j]) above[i][j] = true;
          if (apart_[from][j] || (library && above[from][j])) {
            apart_[i][j] = true;
          }
        }
        above[i][from] = true;
      }
    }
  }

  // Readers that must be kernels of their own each read it: the longest chain
  // of such, at least the one that reads the least.
  double BytesOfReads(const std::vector<Read>& reads) const {
    double least = reads[0].bytes;
    for (const Read& read : reads) least = std::min(least, read.bytes);
    if (apart_.empty()) return least;
    std::vector<int> chain(reads.size(), 1);
    int longest = 1;
    for (size_t i = 0; i < reads.size(); ++i) {
      const size_t to = place_.at(reads[i].reader);
      for (size_t j = 0; j < i; ++j) {
        if (!apart_[to][place_.at(reads[j].reader)]) continue;
        chain[i] = std::max(chain[i], chain[j] + 1);
      }
      longest = std::max(longest, chain[i]);
    }
    return longest * least;
  }

  bool IsGenerated(const HloInstruction& inst) {
    const gpu::KernelCost& cost = model_.costs().Get(inst);
    return !cost.is_free && !cost.is_library;
  }

  // Somebody other than a generated kernel reads it.
  bool MustBeInMemory(const HloInstruction& kernel) {
    if (kernel.IsRoot()) return true;
    for (const HloInstruction* user : kernel.users()) {
      if (IsGenerated(*user)) continue;
      if (user->opcode() != HloOpcode::kBitcast || MustBeInMemory(*user)) {
        return true;
      }
    }
    return false;
  }

  gpu::GpuPerformanceModel& model_;
  // The instructions of the current computation; empty if it is too large.
  absl::flat_hash_map<const HloInstruction*, size_t> place_;
  std::vector<std::vector<bool>> apart_;
  FusionFloor result_;
};

}  // namespace

FusionFloor FloorOfFusion(const HloModule& unfused,
                          gpu::GpuPerformanceModel* model) {
  Floor floor(model);
  for (const HloComputation* computation : ComputationsWithMemory(unfused)) {
    floor.Add(*computation);
  }
  return floor.Take();
}

}  // namespace xla
