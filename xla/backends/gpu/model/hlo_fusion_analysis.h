#ifndef XLA_BACKENDS_GPU_MODEL_HLO_FUSION_ANALYSIS_H_
#define XLA_BACKENDS_GPU_MODEL_HLO_FUSION_ANALYSIS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/model/fusion_hero.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/hlo_traversal.h"
#include "xla/service/gpu/backend_configs.pb.h"
#include "xla/shape.h"

namespace xla {
namespace gpu {

// Kinds of custom fusions, as their backend_config names them:
//   fusion(..), kind=kCustom,
//     backend_config={"fusion_backend_config":{"kind":"__triton"}}
inline constexpr absl::string_view kTritonFusionKind = "__triton";
inline constexpr absl::string_view kTritonGemmFusionKind = "__triton_gemm";
inline constexpr absl::string_view kCuDnnFusionKind = "__cudnn$fusion";
inline constexpr absl::string_view kCustomFusionKind = "__custom_fusion";

// The config of a fusion of kind kCustom; empty for other fusions and for a
// config that does not parse.
FusionBackendConfig FusionBackendConfigOf(const HloInstruction& fusion);

// A custom fusion of that kind.
bool IsGpuFusionKind(const HloInstruction& hlo, absl::string_view kind);

// A fusion, its results, and the hero of each.
class HloFusionSpec {
 public:
  using Adaptors = absl::InlinedVector<HloInstructionAdaptor, 2>;

  explicit HloFusionSpec(std::unique_ptr<HloFusionAdaptor> fusion);

  const HloFusionAdaptor& fusion() const { return *fusion_; }
  absl::Span<const HloInstructionAdaptor> fusion_roots() const {
    return roots_;
  }
  HloInstructionAdaptor fusion_root(int64_t i) const { return roots_[i]; }
  int64_t fusion_root_count() const { return roots_.size(); }
  absl::Span<const HloInstructionAdaptor> fusion_heroes() const {
    return heroes_;
  }
  HloInstructionAdaptor fusion_hero(int64_t i) const { return heroes_[i]; }

  // A concatenation without a kernel of its own is not a hero: its root is.
  void DropConcatenateHeroes();

 private:
  std::unique_ptr<HloFusionAdaptor> fusion_;
  Adaptors roots_;
  Adaptors heroes_;
};

// The kind of kernel that a fusion, existing or considered, becomes.
//
//   fused { p0 = ..  r = reduce(exp(p0), 0)  ROOT n = negate(r) }
//   → kReduction, root n, hero r
//
// Inspects the instructions on demand; they must not change meanwhile.
class HloFusionAnalysis {
 public:
  enum class EmitterFusionKind {
    kLoop,          // a thread per (few) elements of the result
    kCustomFusion,  // something hand-written
    kTriton,        // a tiling compiler
    kReduction,     // threads share a reduction
    kTranspose,     // tiles through shared memory
    kConcatenate,   // a loop over each operand
    kScatter,       // a thread per update
    kCuDnn,         // a library
    kSort,          // in place, stage by stage
  };

  struct InputOutputInfo {
    int smallest_input_dtype_bits;
    int smallest_output_dtype_bits;
  };

  static HloFusionAnalysis Create(FusionBackendConfig backend_config,
                                  std::unique_ptr<HloFusionAdaptor> fusion,
                                  const se::DeviceDescription* device_info);
  // A fusion, or a plain instruction as if it were one.
  static HloFusionAnalysis Create(const HloInstruction& instruction,
                                  const se::DeviceDescription& device_info);
  // The fusion of the first into the second, without making it.
  static HloFusionAnalysis Create(const HloInstruction& producer,
                                  const HloInstruction& consumer,
                                  const se::DeviceDescription& device_info);

  const HloFusionAdaptor& fusion() const { return spec_.fusion(); }
  const HloFusionSpec& fusion_spec() const { return spec_; }
  absl::Span<const HloInstructionAdaptor> fusion_roots() const {
    return spec_.fusion_roots();
  }
  HloInstructionAdaptor fusion_root(int64_t i) const {
    return spec_.fusion_root(i);
  }
  int64_t fusion_root_count() const { return spec_.fusion_root_count(); }
  absl::Span<const HloInstructionAdaptor> fusion_heroes() const {
    return spec_.fusion_heroes();
  }
  HloInstructionAdaptor fusion_hero(int64_t i) const {
    return spec_.fusion_hero(i);
  }

  // Computed when created.
  EmitterFusionKind emitter_fusion_kind() const { return kind_; }
  // The first reduction that is a hero; null if the kind is not kReduction.
  const HloInstruction* FindHeroReduction() const;

  const se::DeviceDescription& device_info() const { return *device_info_; }
  const FusionBackendConfig& fusion_backend_config() const {
    return backend_config_;
  }
  // The shape of root 0, or of its first element if that is a tuple.
  const Shape& first_result_shape() const;
  // `instr` is null if the kind is not kTranspose.
  const TransposeDescription& tiled_transpose() const {
    return tiled_transpose_;
  }
  // Bits of array elements; a predicate has 8. The widest type's if there are
  // no arrays.
  const InputOutputInfo& input_output_info() const {
    return input_output_info_;
  }

 private:
  HloFusionAnalysis(FusionBackendConfig backend_config,
                    std::unique_ptr<HloFusionAdaptor> fusion,
                    const se::DeviceDescription* device_info);

  EmitterFusionKind ComputeKind();
  bool HasReductionKernel() const;
  bool FindTiledTranspose();

  FusionBackendConfig backend_config_;
  HloFusionSpec spec_;
  const se::DeviceDescription* device_info_;
  TransposeDescription tiled_transpose_;
  InputOutputInfo input_output_info_;
  EmitterFusionKind kind_;
};

absl::string_view ToString(HloFusionAnalysis::EmitterFusionKind kind);

}  // namespace gpu
}  // namespace xla

#endif  // XLA_BACKENDS_GPU_MODEL_HLO_FUSION_ANALYSIS_H_
