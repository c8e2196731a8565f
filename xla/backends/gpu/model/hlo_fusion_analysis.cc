#include "xla/backends/gpu/model/hlo_fusion_analysis.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/util/json_util.h"
#include "xla/backends/gpu/model/fusion_hero.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/hlo_traversal.h"
#include "xla/primitive_util.h"
#include "xla/service/gpu/backend_configs.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace gpu {
namespace {

// Each operand of a concatenation gets a loop of its own: beyond, one loop with
// a choice per element is smaller.
constexpr int64_t kMaxConcatenateOperands = 4;

constexpr int kWidestBits = 64;

void NarrowTo(const Shape& shape, int* bits) {
  ShapeUtil::ForEachLeafShape(shape, [&](const Shape& leaf, const ShapeIndex&) {
    if (!leaf.IsArray()) return;
    const PrimitiveType type = leaf.element_type();
    const int leaf_bits = primitive_util::IsSubByteNonPredType(type)
                              ? primitive_util::BitWidth(type)
                              : 8 * ShapeUtil::ByteSizeOfPrimitiveType(type);
    *bits = std::min(*bits, leaf_bits);
  });
}

// One loop can visit the elements of both in the order of memory.
bool RunOverSameElements(const Shape& a, const Shape& b) {
  if (ShapeUtil::EqualIgnoringElementType(a, b)) return true;
  return a.IsArray() && b.IsArray() && a.has_layout() && b.has_layout() &&
         ShapeUtil::IsReshapeOrTransposeBitcast(a, b,
                                                /*ignore_element_type=*/true);
}

}  // namespace

FusionBackendConfig FusionBackendConfigOf(const HloInstruction& fusion) {
  if (!fusion.IsCustomFusion() || !fusion.has_backend_config()) return {};
  GpuBackendConfig config;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(
           fusion.raw_backend_config_string(), &config, options)
           .ok()) {
    return {};
  }
  return std::move(*config.mutable_fusion_backend_config());
}

bool IsGpuFusionKind(const HloInstruction& hlo, absl::string_view kind) {
  return hlo.IsCustomFusion() && FusionBackendConfigOf(hlo).kind() == kind;
}

HloFusionSpec::HloFusionSpec(std::unique_ptr<HloFusionAdaptor> fusion)
    : fusion_(std::move(fusion)), roots_(fusion_->GetRoots()) {
  for (const HloInstructionAdaptor& root : roots_) {
    heroes_.push_back(FindNonTrivialHero(root));
  }
}

void HloFusionSpec::DropConcatenateHeroes() {
  for (size_t i = 0; i < heroes_.size(); ++i) {
    if (heroes_[i].opcode() == HloOpcode::kConcatenate) heroes_[i] = roots_[i];
  }
}

HloFusionAnalysis::HloFusionAnalysis(FusionBackendConfig backend_config,
                                     std::unique_ptr<HloFusionAdaptor> fusion,
                                     const se::DeviceDescription* device_info)
    : backend_config_(std::move(backend_config)),
      spec_(std::move(fusion)),
      device_info_(device_info),
      input_output_info_{kWidestBits, kWidestBits} {
  for (const HloInstruction* parameter : spec_.fusion().GetParameters()) {
    NarrowTo(parameter->shape(), &input_output_info_.smallest_input_dtype_bits);
  }
  for (const HloInstructionAdaptor& root : fusion_roots()) {
    NarrowTo(root.shape(), &input_output_info_.smallest_output_dtype_bits);
  }
  kind_ = ComputeKind();
  if (kind_ == EmitterFusionKind::kLoop) spec_.DropConcatenateHeroes();
}

HloFusionAnalysis HloFusionAnalysis::Create(
    FusionBackendConfig backend_config,
    std::unique_ptr<HloFusionAdaptor> fusion,
    const se::DeviceDescription* device_info) {
  return HloFusionAnalysis(std::move(backend_config), std::move(fusion),
                           device_info);
}

HloFusionAnalysis HloFusionAnalysis::Create(
    const HloInstruction& instruction,
    const se::DeviceDescription& device_info) {
  return Create(FusionBackendConfigOf(instruction),
                HloFusionAdaptor::ForInstruction(&instruction), &device_info);
}

HloFusionAnalysis HloFusionAnalysis::Create(
    const HloInstruction& producer, const HloInstruction& consumer,
    const se::DeviceDescription& device_info) {
  // A custom fusion that takes in others stays what it is.
  FusionBackendConfig config = FusionBackendConfigOf(consumer);
  if (config.kind().empty()) config = FusionBackendConfigOf(producer);
  return Create(std::move(config),
                HloFusionAdaptor::ForProducerConsumer(&producer, &consumer),
                &device_info);
}

// All outputs must fit into the loop of the first reduction: other reductions
// with equal dimensions, and arrays with the elements of its input.
bool HloFusionAnalysis::HasReductionKernel() const {
  const HloInstruction* first = nullptr;
  for (int64_t i = 0; i < fusion_root_count() && first == nullptr; ++i) {
    const HloInstruction& hero = fusion_hero(i).instruction();
    if (IsRealReductionHero(fusion_root(i).instruction(), hero,
                            *device_info_)) {
      first = &hero;
    }
  }
  if (first == nullptr) return false;
  for (int64_t i = 0; i < fusion_root_count(); ++i) {
    const HloInstruction& root = fusion_root(i).instruction();
    const HloInstruction& hero = fusion_hero(i).instruction();
    const bool fits =
        IsRealReductionHero(root, hero, *device_info_)
            ? AreReductionsMultiOutputFusionCompatible(&hero, first)
            : RunOverSameElements(root.shape(), first->operand(0)->shape());
    if (!fits) return false;
  }
  return true;
}

bool HloFusionAnalysis::FindTiledTranspose() {
  std::optional<TransposeDescription> first;
  for (int64_t i = 0; i < fusion_root_count() && !first.has_value(); ++i) {
    first =
        GetDescriptionForTiledTransposeEmitter(fusion_hero(i).instruction());
  }
  if (!first.has_value()) return false;
  for (int64_t i = 0; i < fusion_root_count(); ++i) {
    std::optional<TransposeDescription> other =
        GetDescriptionForTiledTransposeEmitter(fusion_hero(i).instruction());
    const bool fits =
        other.has_value()
            ? other->IsEquivalent(*first)
            : RunOverSameElements(fusion_root(i).shape(),
                                  first->instr->operand(0)->shape());
    if (!fits) return false;
  }
  tiled_transpose_ = *first;
  return true;
}

// A kind named by the backend config is final. Otherwise the first kind that
// all outputs fit: the loop of a reduction or of a transpose must visit the
// elements of every other output too, while one scatter or sort among the
// outputs decides.
HloFusionAnalysis::EmitterFusionKind HloFusionAnalysis::ComputeKind() {
  const absl::string_view kind = backend_config_.kind();
  if (kind == kTritonFusionKind || kind == kTritonGemmFusionKind) {
    return EmitterFusionKind::kTriton;
  }
  if (kind == kCuDnnFusionKind) return EmitterFusionKind::kCuDnn;
  if (!kind.empty()) return EmitterFusionKind::kCustomFusion;

  if (HasReductionKernel()) return EmitterFusionKind::kReduction;
  if (FindTiledTranspose()) return EmitterFusionKind::kTranspose;
  for (const HloInstructionAdaptor& root : fusion_roots()) {
    if (root.opcode() == HloOpcode::kScatter) {
      return EmitterFusionKind::kScatter;
    }
    if (root.opcode() == HloOpcode::kSort) return EmitterFusionKind::kSort;
  }
  if (fusion_root_count() == 1 &&
      fusion_hero(0).opcode() == HloOpcode::kConcatenate &&
      fusion_hero(0).instruction().operand_count() <= kMaxConcatenateOperands) {
    return EmitterFusionKind::kConcatenate;
  }
  return EmitterFusionKind::kLoop;
}

const HloInstruction* HloFusionAnalysis::FindHeroReduction() const {
  if (kind_ != EmitterFusionKind::kReduction) return nullptr;
  for (int64_t i = 0; i < fusion_root_count(); ++i) {
    const HloInstruction& hero = fusion_hero(i).instruction();
    if (IsRealReductionHero(fusion_root(i).instruction(), hero,
                            *device_info_)) {
      return &hero;
    }
  }
  return nullptr;
}

const Shape& HloFusionAnalysis::first_result_shape() const {
  // A tuple of nothing.
  static const Shape* const kNil = new Shape(ShapeUtil::MakeNil());
  if (fusion_root_count() == 0) return *kNil;
  const Shape* shape = &fusion_root(0).shape();
  while (shape->IsTuple() && shape->tuple_shapes_size() > 0) {
    shape = &shape->tuple_shapes(0);
  }
  return *shape;
}

absl::string_view ToString(HloFusionAnalysis::EmitterFusionKind kind) {
  using Kind = HloFusionAnalysis::EmitterFusionKind;
  switch (kind) {
    case Kind::kLoop:
      return "loop";
    case Kind::kCustomFusion:
      return "custom";
    case Kind::kTriton:
      return "triton";
    case Kind::kReduction:
      return "reduction";
    case Kind::kTranspose:
      return "transpose";
    case Kind::kConcatenate:
      return "concatenate";
    case Kind::kScatter:
      return "scatter";
    case Kind::kCuDnn:
      return "cudnn";
    case Kind::kSort:
      return "sort";
  }
  return "unknown";
}

}  // namespace gpu
}  // namespace xla
