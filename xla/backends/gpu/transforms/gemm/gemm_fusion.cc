#include "xla/backends/gpu/transforms/gemm/gemm_fusion.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/tiling/tiled_performance_model.h"
#include "xla/backends/gpu/transforms/gemm/gemm_operand.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// How much longer the compiler's dots compute than the library's.
constexpr double kSlowerThanLibrary = 0.25;
// The compiler's smallest and largest tiles that are sensible for any dot.
constexpr int64_t kMinTile = 16;
constexpr int64_t kMaxTile = 64;

struct Gemm {
  HloDotInstruction* dot;
  GemmOperand operands[2];
  bool has_batch;
  // Batch, rows, columns.
  std::vector<int64_t> result_dims;
};

int64_t SizeOf(const GemmOperand& operand, DotDimensionKind kind) {
  return operand
      .dims[absl::c_find(operand.kinds, kind) - operand.kinds.begin()];
}

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

std::optional<Gemm> FindGemm(HloInstruction* instruction) {
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
    std::optional<GemmOperand> operand = FindGemmOperand(*gemm.dot, i);
    if (!operand.has_value()) return std::nullopt;
    gemm.operands[i] = *std::move(operand);
  }
  if (gemm.operands[0].source == gemm.operands[1].source) return std::nullopt;
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

// The body of the fusion.
class GemmBody {
 public:
  explicit GemmBody(const Gemm& gemm)
      : gemm_(gemm), builder_("gemm_fusion_computation") {}

  // The operands of the fusion, bitcasts to its parameters' shapes included.
  const std::vector<HloInstruction*>& operands() const { return operands_; }

  std::unique_ptr<HloComputation> Build() {
    HloInstruction* factors[2];
    DotDimensionNumbers dnums;
    for (int i = 0; i < 2; ++i) {
      const GemmOperand& operand = gemm_.operands[i];
      factors[i] = Add(operand);
      const int64_t contracting =
          absl::c_find(operand.kinds, DotDimensionKind::kContracting) -
          operand.kinds.begin();
      if (i == 0) {
        dnums.add_lhs_contracting_dimensions(contracting);
      } else {
        dnums.add_rhs_contracting_dimensions(contracting);
      }
    }
    if (gemm_.has_batch) {
      dnums.add_lhs_batch_dimensions(0);
      dnums.add_rhs_batch_dimensions(0);
    }
    HloInstruction* dot = builder_.AddInstruction(HloInstruction::CreateDot(
        ShapeUtil::MakeShapeWithDescendingLayout(
            gemm_.dot->shape().element_type(), gemm_.result_dims),
        factors[0], factors[1], dnums, gemm_.dot->precision_config()));
    dot->set_metadata_ptr(gemm_.dot->metadata_ptr());
    dot->set_raw_backend_config_string(
        absl::StrCat(R"({"sizes":[")", ContractingTile(), R"("]})"));
    return builder_.Build(dot);
  }

  static int64_t TileOf(int64_t size) {
    int64_t tile = kMinTile;
    while (tile < std::min(size, kMaxTile)) tile *= 2;
    return tile;
  }

 private:
  int64_t ContractingTile() const {
    const int64_t size =
        SizeOf(gemm_.operands[0], DotDimensionKind::kContracting);
    const bool is_wide = gemm_.dot->operand(0)->shape().element_type() == F32;
    return std::min<int64_t>(TileOf(size), is_wide ? 32 : 64);
  }

  HloInstruction* Parameter(HloInstruction* operand, const Shape& shape) {
    HloInstruction*& parameter = parameters_[operand];
    if (parameter != nullptr) return parameter;
    const int64_t number = static_cast<int64_t>(operands_.size());
    operands_.push_back(
        ShapeUtil::Equal(operand->shape(), shape)
            ? operand
            : operand->AddInstruction(
                  HloInstruction::CreateBitcast(shape, operand)));
    parameter = builder_.AddInstruction(HloInstruction::CreateParameter(
        number, shape, absl::StrCat("param_", number)));
    return parameter;
  }

  HloInstruction* Add(const GemmOperand& operand) {
    const PrimitiveType type = operand.source->shape().element_type();
    HloInstruction* value = Parameter(
        operand.source,
        ShapeUtil::MakeShapeWithDescendingLayout(type, operand.source_dims));
    if (!operand.cuts.empty()) value = AddSlice(operand, value);
    if (value->shape().dimensions().size() != operand.dims.size()) {
      value = builder_.AddInstruction(HloInstruction::CreateBitcast(
          ShapeUtil::MakeShapeWithDescendingLayout(type, operand.dims), value));
    }
    for (PrimitiveType converted : operand.types) {
      value = builder_.AddInstruction(HloInstruction::CreateConvert(
          ShapeUtil::ChangeElementType(value->shape(), converted), value));
    }
    return value;
  }

  HloInstruction* AddSlice(const GemmOperand& operand, HloInstruction* value) {
    std::vector<int64_t> sizes, starts, limits;
    HloInstruction* any_at = nullptr;
    for (const GemmOperand::Cut& cut : operand.cuts) {
      sizes.push_back(cut.size);
      starts.push_back(cut.start);
      limits.push_back(cut.start + cut.size);
      if (cut.at != nullptr) any_at = cut.at;
    }
    const Shape shape = ShapeUtil::MakeShapeWithDescendingLayout(
        value->shape().element_type(), sizes);
    if (any_at == nullptr) {
      return builder_.AddInstruction(HloInstruction::CreateSlice(
          shape, value, starts, limits, std::vector<int64_t>(sizes.size(), 1)));
    }
    std::vector<HloInstruction*> places;
    HloInstruction* zero = nullptr;
    for (const GemmOperand::Cut& cut : operand.cuts) {
      if (cut.at != nullptr) {
        places.push_back(cut.at->opcode() == HloOpcode::kConstant
                             ? builder_.AddInstruction(cut.at->Clone())
                             : Parameter(cut.at, cut.at->shape()));
        continue;
      }
      if (zero == nullptr) {
        zero = builder_.AddInstruction(HloInstruction::CreateConstant(
            LiteralUtil::Zero(any_at->shape().element_type())));
      }
      places.push_back(zero);
    }
    return builder_.AddInstruction(
        HloInstruction::CreateDynamicSlice(shape, value, places, sizes));
  }

  const Gemm& gemm_;
  HloComputation::Builder builder_;
  std::vector<HloInstruction*> operands_;
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> parameters_;
};

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

absl::Status MakeFusion(const Gemm& gemm) {
  HloComputation* computation = gemm.dot->parent();
  GemmBody body(gemm);
  HloComputation* fused =
      computation->parent()->AddEmbeddedComputation(body.Build());
  HloInstruction* fusion = computation->AddInstruction(
      HloInstruction::CreateFusion(fused->root_instruction()->shape(),
                                   HloInstruction::FusionKind::kCustom,
                                   body.operands(), fused, "gemm_"));
  fusion->set_metadata_ptr(gemm.dot->metadata_ptr());
  BlockLevelParameters blocks;
  std::vector<int64_t>& tile = blocks.output_tile_sizes.emplace_back();
  for (size_t i = 0; i < gemm.result_dims.size(); ++i) {
    tile.push_back(
        gemm.has_batch && i == 0 ? 1 : GemmBody::TileOf(gemm.result_dims[i]));
  }
  blocks.num_warps = 4;
  TF_RETURN_IF_ERROR(SetBlockLevelParameters(blocks, fusion));
  HloInstruction* result = fusion;
  if (!ShapeUtil::Equal(fusion->shape(), gemm.dot->shape())) {
    result = computation->AddInstruction(
        HloInstruction::CreateBitcast(gemm.dot->shape(), fusion));
  }
  return computation->ReplaceInstruction(gemm.dot, result);
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
    for (HloInstruction* instruction :
         computation->MakeInstructionPostOrder()) {
      const std::optional<Gemm> gemm = FindGemm(instruction);
      if (!gemm.has_value() || !absl::c_any_of(gemm->operands, [](auto& o) {
            return o.IsComputed();
          })) {
        continue;
      }
      if (!SavesTime(*gemm, device, &model)) continue;
      model.Invalidate(*instruction);
      TF_RETURN_IF_ERROR(MakeFusion(*gemm));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla::gpu
