#include "xla/backends/gpu/model/cost/gpu_hlo_cost_analysis.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/cost/fusion_uses.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/hlo/analysis/cost/mesh_cost.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/collectives/collective_ops_utils.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

constexpr double kFlopsPerElement = 3;
// Smaller constants are part of the instructions that read them.
constexpr int64_t kMaxImmediateElements = 8;
// Depth of nested fusions; operands of deeper ones count as read in full.
constexpr int kMaxDepth = 64;

const Shape& FirstArray(const Shape& shape) {
  return shape.IsTuple() && !shape.tuple_shapes().empty()
             ? shape.tuple_shapes(0)
             : shape;
}

// The number after `key` in JSON text, which may be quoted itself.
std::optional<double> NumberOf(absl::string_view json, absl::string_view key) {
  size_t at = json.find(key);
  while (at != absl::string_view::npos) {
    size_t end = at + key.size();
    const size_t number = json.find_first_not_of("\\\": ", end);
    const bool is_key = at > 0 && json[at - 1] == '"' && end < json.size() &&
                        (json[end] == '"' || json[end] == '\\');
    if (is_key && number != absl::string_view::npos) {
      const size_t past = json.find_first_not_of("0123456789.eE+-", number);
      double value = 0;
      if (absl::SimpleAtod(json.substr(number, past - number), &value)) {
        return value;
      }
    }
    at = json.find(key, end);
  }
  return std::nullopt;
}

// The operations of a convolution that a library computes, padding left out;
// nullopt for other calls. The gradients do those of the convolution itself.
std::optional<double> ConvolutionFlops(const HloInstruction& call) {
  const absl::string_view target = call.custom_call_target();
  if (!absl::StartsWith(target, "__cudnn$conv") || call.operand_count() < 2 ||
      !Cast<HloCustomCallInstruction>(&call)
           ->has_convolution_dimension_numbers()) {
    return std::nullopt;
  }
  const Shape* shapes[] = {&call.operand(0)->shape(), &call.operand(1)->shape(),
                           &FirstArray(call.shape())};
  if (target == "__cudnn$convBackwardInput") std::swap(shapes[0], shapes[2]);
  if (target == "__cudnn$convBackwardFilter") std::swap(shapes[1], shapes[2]);
  // Nothing verifies the attributes of custom calls.
  const ConvolutionDimensionNumbers& dims =
      call.convolution_dimension_numbers();
  const auto fits = [&](const Shape& shape, int64_t batch, int64_t feature,
                        const auto& spatial) {
    const auto exists = [&](int64_t dim) {
      return dim >= 0 && dim < shape.dimensions_size();
    };
    return shape.IsArray() && exists(batch) && exists(feature) &&
           spatial.size() == call.window().dimensions_size() &&
           absl::c_all_of(spatial, exists);
  };
  if (!fits(*shapes[0], dims.input_batch_dimension(),
            dims.input_feature_dimension(), dims.input_spatial_dimensions()) ||
      !fits(*shapes[1], dims.kernel_input_feature_dimension(),
            dims.kernel_output_feature_dimension(),
            dims.kernel_spatial_dimensions()) ||
      !absl::c_equal(call.window().dimensions(),
                     dims.kernel_spatial_dimensions(),
                     [&](const WindowDimension& window, int64_t dim) {
                       return window.size() == shapes[1]->dimensions(dim);
                     }) ||
      !fits(*shapes[2], dims.output_batch_dimension(),
            dims.output_feature_dimension(),
            dims.output_spatial_dimensions())) {
    return std::nullopt;
  }
  return HloCostAnalysis::GetConvolutionFlops(&call, *shapes[0], *shapes[1],
                                              *shapes[2]);
}

// Devices in the first group, or all of the module where none is listed.
int64_t GroupSize(const HloInstruction& collective) {
  const auto& groups = collective.replica_groups();
  if (!groups.empty()) return std::max(1, groups[0].replica_ids_size());
  auto all = GetReplicaGroupCountAndSize(&collective);
  return all.ok() && all->has_value() ? (*all)->second : 1;
}

}  // namespace

absl::Status GpuHloCostAnalysis::HandleElementwiseOp(
    const HloInstruction* hlo) {
  TF_RETURN_IF_ERROR(HloCostAnalysis::HandleElementwiseOp(hlo));
  if (hlo->shape().IsArray()) {
    current_properties_.flops =
        kFlopsPerElement * ShapeUtil::ElementsIn(hlo->shape());
  }
  return absl::OkStatus();
}

absl::Status GpuHloCostAnalysis::HandleReduce(const HloInstruction* reduce) {
  TF_RETURN_IF_ERROR(HloCostAnalysis::HandleReduce(reduce));
  const int64_t count = reduce->operand_count() / 2;
  for (int64_t i = count; i < reduce->operand_count(); ++i) {
    const double size = TotalBytes(reduce->operand(i)->shape());
    const double reads = ReadsOfOperand(*reduce, i);
    current_properties_.set_operand_bytes_accessed(i, size * reads);
    current_properties_.set_operand_utilization(i, reads);
    current_properties_.bytes_accessed += size * (reads - 1);
  }
  return absl::OkStatus();
}

absl::Status GpuHloCostAnalysis::HandleCustomCall(
    const HloInstruction* custom_call) {
  TF_RETURN_IF_ERROR(HloCostAnalysis::HandleCustomCall(custom_call));
  const std::string& config = custom_call->raw_backend_config_string();
  const size_t estimate = config.find("cost_estimate_json");
  if (estimate != std::string::npos) {
    const absl::string_view json = absl::string_view(config).substr(estimate);
    current_properties_.flops = NumberOf(json, "flops").value_or(0);
    current_properties_.transcendentals =
        NumberOf(json, "transcendentals").value_or(0);
    if (auto bytes = NumberOf(json, "bytes_accessed")) {
      current_properties_.bytes_accessed = *bytes;
    }
    current_should_compute_bottleneck_time_ = true;
    return absl::OkStatus();
  }
  if (auto flops = ConvolutionFlops(*custom_call)) {
    current_properties_.flops = *flops;
  }
  const absl::string_view target = custom_call->custom_call_target();
  const bool is_library = absl::StartsWith(target, "__cublas$") ||
                          absl::StartsWith(target, "__cudnn$");
  if (!is_library || !custom_call->shape().IsTuple()) return absl::OkStatus();
  const double whole = current_properties_.output_bytes_accessed();
  const double result = TotalBytes(FirstArray(custom_call->shape()));
  for (int64_t i = 0; i < custom_call->shape().tuple_shapes_size(); ++i) {
    current_properties_.set_output_bytes_accessed({i}, i == 0 ? result : 0);
  }
  current_properties_.set_output_bytes_accessed(result);
  current_properties_.bytes_accessed += result - whole;
  return absl::OkStatus();
}

absl::Status GpuHloCostAnalysis::HandleConcatenate(
    const HloInstruction* concatenate) {
  constexpr int64_t kWarp = 32;
  const int64_t dim = concatenate->concatenate_dimension();
  const bool splits_warps =
      dim > 0 && concatenate->operand(0)->shape().dimensions(dim) % kWarp != 0;
  current_properties_.flops =
      (splits_warps ? 400 : 6) * ShapeUtil::ElementsIn(concatenate->shape());
  return absl::OkStatus();
}

// Arithmetic counts as often as elements are computed, which the utilization
// says: a value that two users read at different indices is computed twice.
// Memory is read once at most, since repeated reads are taken to hit a cache,
// unless count_multiple_input_accesses asks for all of them.
absl::Status GpuHloCostAnalysis::HandleFusion(const HloInstruction* fusion) {
  // Visits the body, and finds what of the outputs is written.
  TF_RETURN_IF_ERROR(HloCostAnalysis::HandleFusion(fusion));
  uses_.erase(fusion);
  const UsesInBody& uses = UsesOf(*fusion);
  double flops = 0, transcendentals = 0;
  double bytes = current_properties_.output_bytes_accessed();
  auto read = [&](const HloInstruction& value, double utilization) {
    return TotalBytes(value.shape()) * (options_.count_multiple_input_accesses
                                            ? utilization
                                            : std::min(utilization, 1.0));
  };
  for (const HloInstruction* inst :
       fusion->fused_instructions_computation()->instructions()) {
    const double utilization = uses.at(inst).utilization();
    const Properties properties = this->properties(*inst);
    flops += properties.flops * utilization;
    transcendentals += properties.transcendentals * utilization;
    if (inst->opcode() == HloOpcode::kConstant && inst->shape().IsArray() &&
        ShapeUtil::ElementsIn(inst->shape()) > kMaxImmediateElements) {
      bytes += read(*inst, utilization);
    }
  }
  for (int64_t i = 0; i < fusion->operand_count(); ++i) {
    const double utilization =
        uses.at(fusion->fused_parameter(i)).utilization();
    const double accessed = read(*fusion->operand(i), utilization);
    current_properties_.set_operand_bytes_accessed(i, accessed);
    current_properties_.set_operand_utilization(i, utilization);
    bytes += accessed;
  }
  current_properties_.flops = flops;
  current_properties_.transcendentals = transcendentals;
  current_properties_.bytes_accessed = bytes;
  return absl::OkStatus();
}

int64_t GpuHloCostAnalysis::BytesTransferred(const HloInstruction& hlo) const {
  const HloInstruction* collective = hlo.opcode() == HloOpcode::kAsyncStart
                                         ? hlo.async_wrapped_instruction()
                                         : &hlo;
  const std::optional<CollectiveKind> kind =
      CollectiveKindOf(collective->opcode());
  if (!kind.has_value()) return 0;
  int64_t bytes = 0;
  for (const HloInstruction* operand : hlo.operands()) {
    bytes += TotalBytes(operand->shape());
  }
  const Shape& result = collective->opcode() == HloOpcode::kAllGatherStart
                            ? collective->shape().tuple_shapes(1)
                            : collective->shape();
  switch (*kind) {
    case CollectiveKind::kAllGather:
      return TotalBytes(result) - bytes;
    case CollectiveKind::kReduceScatter:
      return bytes - TotalBytes(result);
    case CollectiveKind::kAllToAll:
      return bytes - bytes / GroupSize(*collective);
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kCollectivePermute:
    case CollectiveKind::kCollectiveBroadcast:
      return bytes;
  }
  return 0;
}

const GpuHloCostAnalysis::UsesInBody& GpuHloCostAnalysis::UsesOf(
    const HloInstruction& fusion) {
  auto known = uses_.find(&fusion);
  if (known != uses_.end()) return known->second;
  ++depth_;
  UsesInBody found = FindBodyUses(
      fusion, [&](const HloInstruction& inner, int64_t operand) -> BodyUses {
        if (depth_ > kMaxDepth) return {{{nullptr, 1, 1}}};
        return UsesOf(inner).at(inner.fused_parameter(operand));
      });
  --depth_;
  return uses_[&fusion] = std::move(found);
}

int64_t GpuHloCostAnalysis::IrSize(const HloInstruction& kernel) {
  if (kernel.opcode() != HloOpcode::kFusion || depth_ > kMaxDepth) return 1;
  ++depth_;
  double size = 0;
  for (const auto* inst :
       kernel.fused_instructions_computation()->instructions()) {
    size += UsesOf(kernel).at(inst).copies() * IrSize(*inst);
  }
  --depth_;
  constexpr double kMost = 1e18;
  return static_cast<int64_t>(std::min(size, kMost));
}

bool GpuHloCostAnalysis::ProducerConsumerMergedTooLarge(
    const HloInstruction& producer, const HloInstruction& consumer) {
  double copies = 0;
  for (int64_t i : consumer.OperandIndices(&producer)) {
    copies += consumer.opcode() == HloOpcode::kFusion
                  ? UsesOf(consumer).at(consumer.fused_parameter(i)).copies()
                  : 1;
  }
  return copies * IrSize(producer) + IrSize(consumer) >
         GpuPerformanceModel::kMaxIrSize;
}

double GpuHloCostAnalysis::OperandUtilization(const HloInstruction& fusion,
                                              int64_t operand) {
  if (fusion.opcode() != HloOpcode::kFusion) {
    return ReadsOfOperand(fusion, operand);
  }
  return UsesOf(fusion).at(fusion.fused_parameter(operand)).utilization();
}

float GpuHloCostAnalysis::CommonElementwiseUtilization(
    const HloInstruction* a, const HloInstruction* b) {
  const HloInstruction* fusion = a->parent()->FusionInstruction();
  if (fusion == nullptr || b->parent() != a->parent()) return 0;
  const UsesInBody& uses = UsesOf(*fusion);
  double common = 0;
  for (const BodyUses::Place& place : uses.at(a).places) {
    auto same =
        absl::c_find_if(uses.at(b).places, [&](const BodyUses::Place& other) {
          return other.reader == place.reader;
        });
    if (same == uses.at(b).places.end()) continue;
    common += std::min(place.utilization, same->utilization);
  }
  return static_cast<float>(common);
}

}  // namespace xla::gpu
