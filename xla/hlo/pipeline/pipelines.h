#ifndef XLA_HLO_PIPELINE_PIPELINES_H_
#define XLA_HLO_PIPELINE_PIPELINES_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/pass_registry.h"

namespace xla {

// A named pipeline: steps in the text syntax of PassRegistry, in order. A step
// `#name: what belongs there` is a place, where other passes may be put.
struct NamedPipeline {
  absl::string_view name;
  absl::string_view help;
  absl::Span<const absl::string_view> steps;
};

// Where both passes occur in a pipeline, the first `first` stands before the
// first `second`.
struct OrderingConstraint {
  absl::string_view first;
  absl::string_view second;
  absl::string_view reason;
};

// The tables.
absl::Span<const NamedPipeline> NamedPipelines();
absl::Span<const OrderingConstraint> OrderingConstraints();

// Checks every pipeline: its passes exist, its order keeps the constraints.
absl::Status CheckPipelines(const PassRegistry& registry);

// Makes the pipeline of that name. Errors: InvalidArgument for an unknown name.
absl::StatusOr<std::unique_ptr<HloPassPipeline>> MakeNamedPipeline(
    const PassRegistry& registry, absl::string_view name);

// The same for reports on memory and kernels: without its last steps that only
// write down, in backend_configs, what kernels will take of a multiprocessor.
absl::StatusOr<std::unique_ptr<HloPassPipeline>> MakePipelineForReports(
    const PassRegistry& registry, absl::string_view name);

// Returns the steps, numbered, and the reasons for their order.
absl::StatusOr<std::string> PipelineToText(absl::string_view name);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_PIPELINES_H_
