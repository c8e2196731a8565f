#include "xla/backends/gpu/transforms/softmax/softmax_rewriter_triton.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/lowering/check_lowered.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/tiling/tiled_performance_model.h"
#include "xla/backends/gpu/transforms/softmax/row_kernels.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/hlo_traversal.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

double Bytes(const HloInstruction& value) {
  return static_cast<double>(
      ShapeUtil::ByteSizeOfElementsRecursive(value.shape()));
}

class Rewriter {
 public:
  Rewriter(HloComputation* computation, const se::DeviceDescription& device,
           const SoftmaxRewriterTritonOptions& options)
      : computation_(computation),
        device_(device),
        target_(options.kernels_for),
        upstream_(options.upstream),
        model_(device, options.kernels_for) {}

  // For each kernel, tries the whole and smaller versions, without producers,
  // without readers, without both, and of its last reduction alone, and takes
  // the first for which the cost model finds a tiling that is faster than
  // separate kernels.
  absl::StatusOr<bool> Run() {
    bool changed = false;
    for (const RowKernel& kernel : FindRowKernels(*computation_)) {
      const RowKernel inner = WithoutProducers(kernel);
      const RowKernel smallest = WithoutReaders(inner);
      for (const RowKernel& part : {kernel, inner, WithoutReaders(kernel),
                                    smallest, OfLastReduction(smallest)}) {
        if (part.empty()) continue;
        TF_ASSIGN_OR_RETURN(const bool done, TryFuse(part));
        changed |= done;
        if (done) break;
      }
    }
    return changed;
  }

 private:
  // A fusion that computes the kernel's result, which nothing reads yet.
  // Constants that all elements share go inside, where they cost no read;
  // whatever else comes from outside is an operand.
  HloInstruction* MakeFusion(const RowKernel& kernel);
  // The time of a kernel for each reduction and one for the rest, at best.
  absl::Duration TimeApart(const HloInstruction& fusion) const;
  absl::StatusOr<bool> TryFuse(const RowKernel& kernel);

  HloComputation* computation_;
  const se::DeviceDescription& device_;
  const KernelTarget target_;
  const bool upstream_;
  TiledPerformanceModel model_;
};

HloInstruction* Rewriter::MakeFusion(const RowKernel& kernel) {
  const absl::flat_hash_set<const HloInstruction*> inside(kernel.begin(),
                                                          kernel.end());
  HloComputation::Builder builder("triton_softmax_computation");
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> clones;
  std::vector<HloInstruction*> operands;
  const auto add = [&](HloInstruction* instruction) {
    std::vector<HloInstruction*> values;
    for (const HloInstruction* operand : instruction->operands()) {
      values.push_back(clones.at(operand));
    }
    HloInstruction* clone = builder.AddInstruction(
        instruction->CloneWithNewOperands(instruction->shape(), values));
    clones[instruction] = clone;
    return clone;
  };
  HloInstruction* result = nullptr;
  for (HloInstruction* instruction : kernel) {
    for (HloInstruction* operand : instruction->operands()) {
      if (inside.contains(operand) || clones.contains(operand)) continue;
      if (IsUniformConstant(*operand)) {
        if (operand->operand_count() > 0 &&
            !clones.contains(operand->operand(0))) {
          add(operand->mutable_operand(0));
        }
        add(operand);
        continue;
      }
      const int64_t number = static_cast<int64_t>(operands.size());
      operands.push_back(operand);
      clones[operand] = builder.AddInstruction(HloInstruction::CreateParameter(
          number, operand->shape(), absl::StrCat("param_", number)));
    }
    result = add(instruction);
  }
  HloComputation* body =
      computation_->parent()->AddEmbeddedComputation(builder.Build(result));
  body->SetExecutionThread(computation_->execution_thread());
  HloInstruction* fusion =
      computation_->AddInstruction(HloInstruction::CreateFusion(
          result->shape(), HloInstruction::FusionKind::kCustom, operands, body,
          "triton_softmax_"));
  fusion->set_metadata_ptr(kernel.back()->metadata_ptr());
  return fusion;
}

// A lower bound for the alternative: one kernel for all reductions that have
// equally many others before them, and one for the result. Each reads the
// fusion's operands that it needs at full bandwidth, and results of reductions
// for nothing. O(instructions * operands).
absl::Duration Rewriter::TimeApart(const HloInstruction& fusion) const {
  const HloComputation& body = *fusion.fused_instructions_computation();
  // By instruction: the reductions in a row that it waits for, itself included,
  // and the operands that it is computed from since the last of them.
  struct Known {
    int reductions = 0;
    absl::btree_set<int64_t> operands;
  };
  absl::flat_hash_map<const HloInstruction*, Known> known;
  std::vector<absl::btree_set<int64_t>> read;  // by the kernel's place
  const auto add = [&](size_t place, const absl::btree_set<int64_t>& operands) {
    if (read.size() <= place) read.resize(place + 1);
    read[place].insert(operands.begin(), operands.end());
  };
  for (const HloInstruction* instruction : body.MakeInstructionPostOrder()) {
    Known own;
    if (instruction->opcode() == HloOpcode::kParameter) {
      own.operands.insert(instruction->parameter_number());
    }
    for (const HloInstruction* operand : instruction->operands()) {
      const Known& of = known.at(operand);
      own.reductions = std::max(own.reductions, of.reductions);
      own.operands.insert(of.operands.begin(), of.operands.end());
    }
    if (instruction->opcode() == HloOpcode::kReduce) {
      add(own.reductions, own.operands);
      ++own.reductions;
      own.operands.clear();
    }
    known[instruction] = std::move(own);
  }
  const Known& result = known.at(body.root_instruction());
  add(result.reductions, result.operands);
  double bytes = Bytes(fusion);
  for (const absl::btree_set<int64_t>& operands : read) {
    for (int64_t operand : operands) bytes += Bytes(*fusion.operand(operand));
  }
  return static_cast<double>(read.size()) *
             GpuPerformanceModel::LaunchOverhead() +
         absl::Seconds(bytes / static_cast<double>(device_.memory_bandwidth()));
}

absl::StatusOr<bool> Rewriter::TryFuse(const RowKernel& kernel) {
  if (upstream_ && !CombinesPairs(kernel)) return false;
  if (target_ == KernelTarget::kOwn &&
      !absl::c_all_of(kernel, [](const HloInstruction* instruction) {
        return CheckIsLowered(*instruction).ok();
      })) {
    return false;
  }
  HloInstruction* fusion = MakeFusion(kernel);
  HloComputation* body = fusion->fused_instructions_computation();
  absl::StatusOr<TiledRunTimeData> tiled =
      absl::ResourceExhaustedError("too many operands");
  if (fusion->operand_count() < MaxOperandsAndOutputsPerFusion()) {
    tiled = model_.TryFindBestTilingForFusion(
        *HloFusionAdaptor::ForInstruction(fusion));
  }
  if (!tiled.ok() || tiled->runtime_data.time > TimeApart(*fusion)) {
    TF_RETURN_IF_ERROR(computation_->RemoveInstruction(fusion));
    TF_RETURN_IF_ERROR(computation_->parent()->RemoveEmbeddedComputation(body));
    return false;
  }
  TF_RETURN_IF_ERROR(
      SetBlockLevelParameters(tiled->block_level_parameters, fusion));
  TF_RETURN_IF_ERROR(computation_->ReplaceInstruction(kernel.back(), fusion));
  return true;
}

}  // namespace

absl::StatusOr<bool> SoftmaxRewriterTriton::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  TF_ASSIGN_OR_RETURN(const se::DeviceDescription device,
                      GivenOrLoadedGpuDevice(device_, options_.device));
  bool changed = false;
  for (HloComputation* computation :
       GetFusibleComputations(*module, execution_threads)) {
    TF_ASSIGN_OR_RETURN(const bool rewritten,
                        Rewriter(computation, device, options_).Run());
    changed |= rewritten;
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla::gpu
