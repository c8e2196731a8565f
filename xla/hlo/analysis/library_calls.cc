#include "xla/hlo/analysis/library_calls.h"

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "google/protobuf/struct.pb.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr double kFlopsOfMultiplyAdd = 2;

bool IsMatmul(const HloInstruction& inst) {
  return inst.IsCustomCall(
      {"__cublas$gemm", "__cublas$lt$matmul", "__cublas$lt$matmul$f8"});
}

const Shape& ResultShape(const HloInstruction& inst) {
  return inst.shape().IsTuple() && inst.shape().tuple_shapes_size() > 0
             ? inst.shape().tuple_shapes(0)
             : inst.shape();
}

const Value* Field(const Struct& in, const std::string& name) {
  auto it = in.fields().find(name);
  return it == in.fields().end() ? nullptr : &it->second;
}

// Each element of the result is a sum over the contracted dimensions of the
// left side, which the config lists as text or numbers.
std::optional<double> MatmulFlops(const HloInstruction& inst) {
  if (inst.operand_count() < 2 || !inst.operand(0)->shape().IsArray() ||
      !ResultShape(inst).IsArray() || !inst.has_backend_config()) {
    return std::nullopt;
  }
  const absl::StatusOr<Struct> config = inst.backend_config<Struct>();
  if (!config.ok()) return std::nullopt;
  const Value* gemm = Field(*config, "gemm_backend_config");
  const Struct& fields = gemm != nullptr ? gemm->struct_value() : *config;
  const Value* numbers = Field(fields, "dot_dimension_numbers");
  if (numbers == nullptr) return std::nullopt;
  const Value* contracting =
      Field(numbers->struct_value(), "lhs_contracting_dimensions");
  if (contracting == nullptr) return std::nullopt;
  const Shape& lhs = inst.operand(0)->shape();
  double flops = kFlopsOfMultiplyAdd *
                 static_cast<double>(ShapeUtil::ElementsIn(ResultShape(inst)));
  for (const Value& value : contracting->list_value().values()) {
    double dimension = value.number_value();
    if (value.kind_case() == Value::kStringValue &&
        !absl::SimpleAtod(value.string_value(), &dimension)) {
      return std::nullopt;
    }
    // Compared before the conversion, which is undefined for what no index can
    // be: NaN too.
    if (!(dimension >= 0 && dimension < lhs.dimensions_size())) {
      return std::nullopt;
    }
    flops *= static_cast<double>(lhs.dimensions(static_cast<int>(dimension)));
  }
  return flops;
}

// FLOPs of the convolution that relates input, kernel and output, whichever of
// the three the call computes: each element of the output takes one
// multiply-add per element of the kernel that leads to its feature. Padding
// counts.
std::optional<double> ConvolutionFlops(const HloInstruction& inst) {
  const auto* call = Cast<HloCustomCallInstruction>(&inst);
  if (!call->has_convolution_dimension_numbers() || inst.operand_count() < 2) {
    return std::nullopt;
  }
  const bool to_input = inst.IsCustomCall("__cudnn$convBackwardInput");
  const bool to_kernel = inst.IsCustomCall("__cudnn$convBackwardFilter");
  const Shape& output =
      to_input ? inst.operand(0)->shape()
               : (to_kernel ? inst.operand(1)->shape() : ResultShape(inst));
  const Shape& kernel =
      to_kernel ? ResultShape(inst) : inst.operand(1)->shape();
  const int64_t feature =
      call->convolution_dimension_numbers().output_feature_dimension();
  if (!output.IsArray() || !kernel.IsArray() || feature < 0 ||
      feature >= output.dimensions_size() || output.dimensions(feature) == 0) {
    return std::nullopt;
  }
  return kFlopsOfMultiplyAdd *
         static_cast<double>(ShapeUtil::ElementsIn(output)) *
         static_cast<double>(ShapeUtil::ElementsIn(kernel)) /
         static_cast<double>(output.dimensions(feature));
}

}  // namespace

bool IsPureLibraryCall(const HloInstruction& inst) {
  if (!IsMatmul(inst) &&
      !inst.IsCustomCall({"__cudnn$convForward", "__cudnn$convBackwardInput",
                          "__cudnn$convBiasActivationForward"})) {
    return false;
  }
  const auto* call = Cast<HloCustomCallInstruction>(&inst);
  return !call->custom_call_has_side_effect() &&
         call->output_to_operand_aliasing().empty();
}

std::optional<double> LibraryCallFlops(const HloInstruction& inst) {
  if (IsMatmul(inst)) return MatmulFlops(inst);
  if (inst.opcode() == HloOpcode::kCustomCall &&
      absl::StartsWith(inst.custom_call_target(), "__cudnn$conv")) {
    return ConvolutionFlops(inst);
  }
  return std::nullopt;
}

}  // namespace xla
