#include "xla/backends/gpu/transforms/gemm/gemm_fusion.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/backends/gpu/model/tiling/tiled_performance_model.h"
#include "xla/backends/gpu/transforms/gemm/gemm_body.h"
#include "xla/backends/gpu/transforms/gemm/gemm_epilogue.h"
#include "xla/backends/gpu/transforms/gemm/gemm_operand.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// How much longer the compiler's dots compute than the library's.
constexpr double kSlowerThanLibrary = 0.25;
// Whether the result is row-major in memory, but for dimensions of size 1: its
// dimensions are batches, rows and columns in this order.
bool HasRowMajorResult(const Shape& shape) {
  int64_t last = -1;
  const auto order = shape.layout().minor_to_major();
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    if (shape.dimensions(*dim) == 1) continue;
    if (*dim < last) return false;
    last = *dim;
  }
  return true;
}

std::optional<Gemm> FindGemm(HloInstruction* instruction, bool upstream) {
  if (instruction->opcode() != HloOpcode::kDot ||
      instruction->operand_count() != 2 ||
      instruction->HasControlDependencies()) {
    return std::nullopt;
  }
  Gemm gemm;
  gemm.dot = Cast<HloDotInstruction>(instruction);
  const PrimitiveType type = gemm.dot->operand(0)->shape().element_type();
  const PrimitiveType result = gemm.dot->shape().element_type();
  if (gemm.dot->precision_config().algorithm() != PrecisionConfig::ALG_UNSET ||
      type != gemm.dot->operand(1)->shape().element_type() ||
      (result != type && result != F32) ||
      !HasRowMajorResult(gemm.dot->shape())) {
    return std::nullopt;
  }
  for (int64_t i = 0; i < 2; ++i) {
    std::optional<GemmOperand> operand =
        FindGemmOperand(*gemm.dot, i, upstream);
    if (!operand.has_value()) return std::nullopt;
    gemm.operands[i] = *std::move(operand);
  }
  gemm.has_batch = gemm.operands[0].dims.size() == 3;
  if (gemm.has_batch) {
    gemm.result_dims.push_back(
        SizeOf(gemm.operands[0], DotDimensionKind::kBatch));
  }
  for (const GemmOperand& operand : gemm.operands) {
    gemm.result_dims.push_back(SizeOf(operand, DotDimensionKind::kFree));
  }
  return gemm;
}

// Whether the time for the copies is more than what the library computes
// faster.
//
// A dot in a library needs its operands in memory: converts and slices in front
// of it are copies, read and written once. Compiled into the dot they are free,
// but the compiler's dots compute more slowly than the library's. A copy that
// several dots read is shared between them.
bool SavesTime(const Gemm& gemm, const se::DeviceDescription& device,
               GpuPerformanceModel* model) {
  absl::Duration saved = absl::ZeroDuration();
  for (int64_t i = 0; i < 2; ++i) {
    const GemmOperand& operand = gemm.operands[i];
    if (!operand.IsComputed()) continue;
    if (i == 1 && gemm.HasOneOperand()) break;  // one copy
    const double bytes = 2.0 * ShapeUtil::ByteSizeOfElementsRecursive(
                                   gemm.dot->operand(i)->shape());
    const absl::Duration copying =
        GpuPerformanceModel::LaunchOverhead() +
        absl::Seconds(bytes / static_cast<double>(device.memory_bandwidth()));
    saved += copying / operand.readers;
  }
  return saved >
         kSlowerThanLibrary * model->EstimateRunTime(*gemm.dot).compute_time;
}

// How many operands its fusion may have beside those of the dot.
int64_t FreeOperands(const Gemm& gemm) {
  int64_t taken = 1;  // the result
  for (const GemmOperand& operand : gemm.operands) {
    taken += 1 + absl::c_count_if(operand.cuts, [](const auto& cut) {
               return cut.at != nullptr;
             });
    if (gemm.HasOneOperand()) break;
  }
  return MaxOperandsAndOutputsPerFusion() - taken;
}

// The tiles of the result, for a compiler that leaves them to others.
BlockLevelParameters TilesOf(const Gemm& gemm) {
  BlockLevelParameters blocks;
  std::vector<int64_t>& tile = blocks.output_tile_sizes.emplace_back();
  for (size_t i = 0; i < gemm.result_dims.size(); ++i) {
    tile.push_back(
        gemm.has_batch && i == 0 ? 1 : GemmBody::TileOf(gemm.result_dims[i]));
  }
  blocks.num_warps = 4;
  return blocks;
}

absl::Status MakeFusion(const Gemm& gemm, bool upstream) {
  HloComputation* computation = gemm.dot->parent();
  HloInstruction* last =
      gemm.epilogue.empty() ? gemm.dot : gemm.epilogue.back();
  GemmBody body(gemm);
  HloComputation* fused =
      computation->parent()->AddEmbeddedComputation(body.Build());
  fused->SetExecutionThread(computation->execution_thread());
  HloInstruction* fusion = computation->AddInstruction(
      HloInstruction::CreateFusion(fused->root_instruction()->shape(),
                                   HloInstruction::FusionKind::kCustom,
                                   body.operands(), fused, "gemm_"));
  fusion->set_metadata_ptr(last->metadata_ptr());
  if (upstream) {
    fusion->set_raw_backend_config_string(
        absl::StrCat(R"({"fusion_backend_config":{"kind":")",
                     kTritonGemmFusionKind, R"("}})"));
  } else {
    TF_RETURN_IF_ERROR(SetBlockLevelParameters(TilesOf(gemm), fusion));
  }
  HloInstruction* result = fusion;
  if (!ShapeUtil::Equal(fusion->shape(), last->shape())) {
    result = computation->AddInstruction(
        HloInstruction::CreateBitcast(last->shape(), fusion));
  }
  // The dot and what followed it go along.
  return computation->ReplaceInstruction(last, result);
}

}  // namespace

absl::StatusOr<bool> GemmFusion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  TF_ASSIGN_OR_RETURN(const se::DeviceDescription device,
                      LoadGpuDevice(options_.device));
  GpuPerformanceModel model(device);
  bool changed = false;
  for (HloComputation* computation :
       GetFusibleComputations(*module, execution_threads)) {
    std::vector<HloInstruction*> dots = computation->MakeInstructionPostOrder();
    // What follows a dot may go with it; dots themselves stay.
    dots.erase(std::remove_if(dots.begin(), dots.end(),
                              HloPredicateIsNotOp<HloOpcode::kDot>),
               dots.end());
    for (HloInstruction* instruction : dots) {
      if (options_.upstream) {
        TF_ASSIGN_OR_RETURN(HloInstruction * exchanged,
                            TakeInTranspose(instruction));
        changed |= exchanged != instruction;
        instruction = exchanged;
      }
      std::optional<Gemm> gemm = FindGemm(instruction, options_.upstream);
      if (!gemm.has_value()) continue;
      if (options_.upstream) gemm->epilogue = FindEpilogue(*gemm->dot);
      if (gemm->epilogue.empty() &&
          !absl::c_any_of(gemm->operands,
                          [](auto& o) { return o.IsComputed(); })) {
        continue;
      }
      if (!options_.upstream) {
        if (!SavesTime(*gemm, device, &model)) continue;
        gemm->epilogue_of_matrices = true;
        gemm->epilogue = FindMatrixEpilogue(*gemm->dot, gemm->result_dims,
                                            FreeOperands(*gemm));
        for (HloInstruction* hlo : gemm->epilogue) model.Invalidate(*hlo);
      }
      model.Invalidate(*instruction);
      TF_RETURN_IF_ERROR(MakeFusion(*gemm, options_.upstream));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla::gpu
