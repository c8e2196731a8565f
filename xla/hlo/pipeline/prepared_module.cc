#include "xla/hlo/pipeline/prepared_module.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_partitions.h"
#include "xla/hlo/memory/report/module_facts.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/unmet_limits.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/utils/module_file.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/verifier/verify_input.h"
#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<std::unique_ptr<HloModule>> ReadVerifiedModule(
    const std::string& path) {
  TF_ASSIGN_OR_RETURN(const ModuleFile file, ReadModuleFile(path));
  HloParserOptions parser_options;
  parser_options.set_file_name(file.name);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                      ReadModule(file.contents, parser_options));
  TF_RETURN_IF_ERROR(VerifyInput(*module, file.name));
  return module;
}

absl::StatusOr<Preparation> RunPreparation(const PrepareOptions& options,
                                           const PassRegistry& registry,
                                           HloModule* module) {
  std::unique_ptr<HloPassPipeline> pipeline;
  Preparation done;
  if (!options.as.empty()) {
    if (options.passes.has_value()) {
      return absl::InvalidArgumentError("--as and --passes exclude each other");
    }
    TF_ASSIGN_OR_RETURN(pipeline,
                        options.for_report
                            ? MakePipelineForReports(registry, options.as)
                            : MakeNamedPipeline(registry, options.as));
    done.passes = options.as;
    if (options.as == "cpu") {
      module->mutable_config().set_device_type("cpu");
    } else if (options.as == "gpu" || options.as == "xla-gpu") {
      module->mutable_config().set_device_type("gpu");
    }
  } else if (options.passes.has_value()) {
    TF_ASSIGN_OR_RETURN(pipeline,
                        registry.ParsePipeline("passes", *options.passes));
    done.passes = *options.passes;
  } else if (!module->has_schedule()) {
    done.passes = "prepare";
    TF_ASSIGN_OR_RETURN(pipeline, MakeNamedPipeline(registry, done.passes));
  } else if (!CallGraph::Build(module)->IsFlattened()) {
    done.passes = "flatten-call-graph";
    TF_ASSIGN_OR_RETURN(pipeline,
                        registry.ParsePipeline("flatten", done.passes));
  } else {
    return done;
  }
  TF_RETURN_IF_ERROR(pipeline->Run(module).status());
  std::vector<absl::Status> unmet = TakeUnmetLimits(*pipeline);
  if (!unmet.empty()) done.unmet_limit = std::move(unmet.front());
  return done;
}

void SetNumPartitions(const PrepareOptions& options, HloModule* module) {
  if (options.num_partitions == 0) return;
  module->mutable_config().set_num_partitions(options.num_partitions);
  module->mutable_config().set_use_spmd_partitioning(options.num_partitions >
                                                     1);
}

absl::StatusOr<OneDevice> CompileForOneDevice(
    const PrepareOptions& options, const PassRegistry& registry,
    std::unique_ptr<HloModule>* module) {
  OneDevice result;
  if (!options.one_device || !options.as.empty() || options.passes ||
      options.schedule || (*module)->has_schedule() ||
      !IsToBePartitioned(**module)) {
    return result;
  }
  PrepareOptions as_gpu = options;
  as_gpu.as = "gpu";
  std::unique_ptr<HloModule> compiled = (*module)->Clone("");
  absl::StatusOr<Preparation> ran =
      RunPreparation(as_gpu, registry, compiled.get());
  if (ran.ok()) {
    result.preparation = *std::move(ran);
    *module = std::move(compiled);
  } else if (absl::IsInternal(ran.status())) {
    return ran.status();
  } else {
    // Nobody has asked for one device.
    result.refusal = ran.status();
  }
  return result;
}

absl::StatusOr<PreparedModule> PrepareModule(std::unique_ptr<HloModule> module,
                                             const PrepareOptions& options,
                                             const PassRegistry& registry) {
  SetNumPartitions(options, module.get());
  MemoryReport::Input input = DescribeModule(*module);
  TF_ASSIGN_OR_RETURN(OneDevice one,
                      CompileForOneDevice(options, registry, &module));
  if (!one.refusal.ok()) {
    input.set_description(
        absl::StrCat(input.description(),
                     ", as it cannot be partitioned (--as=gpu says why)"));
  }
  if (!one.preparation.has_value()) {
    TF_ASSIGN_OR_RETURN(one.preparation,
                        RunPreparation(options, registry, module.get()));
  }
  Preparation& preparation = *one.preparation;
  input.set_passes(std::move(preparation.passes));
  if (input.devices() > 1 && !input.partitioned() && IsPartitioned(*module)) {
    input.set_description(
        absl::StrCat(input.description(), ", shown for one of them"));
  }
  AliasInfo alias_info;
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias_analysis,
                      HloAliasAnalysis::Run(module.get(), &alias_info));
  ScheduleOptions schedule_options;
  schedule_options.algorithm = options.schedule.value_or(
      module->has_schedule() ? ScheduleAlgorithm::kAsIs
                             : ScheduleAlgorithm::kBest);
  schedule_options.effort = options.effort;
  schedule_options.postprocessor = MakeAsyncPostprocessor(options.async);
  schedule_options.alias_info = &alias_info;
  TF_ASSIGN_OR_RETURN(
      ScheduleResult schedule,
      ComputeSchedule(module.get(), *alias_analysis, schedule_options));
  return PreparedModule{std::move(module), std::move(input),
                        std::move(alias_analysis), std::move(schedule),
                        std::move(preparation.unmet_limit)};
}

}  // namespace xla
