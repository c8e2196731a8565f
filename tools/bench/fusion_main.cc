// Effects of GPU fusion on modules: kernels, bytes, times, peaks, as CSV.

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "tools/bench/fusion_floor.h"
#include "tools/tool_main.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/cost/kernel_cost.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/testlib/synthetic_module.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

ABSL_FLAG(std::string, device, "h200", "The GPU, by name or file.");
ABSL_FLAG(std::string, mof, "multi-output-fusion{order=best}",
          "The pass for multi-output fusion, with options.");
ABSL_FLAG(std::string, priority, "priority-fusion",
          "The pass for priority fusion, with options.");
ABSL_FLAG(int64_t, synthetic, 0,
          "Instead of files, a module of about this many instructions.");
ABSL_FLAG(std::string, graph, "training",
          "Of --synthetic: training, a step of a network of equal layers; "
          "random, operands drawn from a window of recent values; wide, "
          "readers of one value; results, loops that are a result each.");
ABSL_FLAG(int64_t, kernels, 0,
          "Instead of figures, so many kernels with the most bytes in the end, "
          "each with what it writes and how much it reads of what.");
ABSL_FLAG(bool, schedule, true,
          "Schedule, to know the peaks; else they are 0.");

namespace {

constexpr char kPrepare[] =
    "hlo-descheduler,call-inliner,flatten-call-graph,tuple-simplifier,"
    "fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce)";
// Figures before fusion are those before this: what it adds is fusion's to
// save.
constexpr char kExpand[] =
    "batchnorm-expander,fix(canonicalizer,tuple-simplifier,hlo-cse,hlo-dce)";

double ProcessorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

// Runs passes; returns the seconds they took.
absl::StatusOr<double> Run(xla::HloModule* module, const std::string& passes) {
  xla::PassRegistry registry = xla::AllPasses();
  registry.OverrideOption("device", absl::GetFlag(FLAGS_device));
  TF_ASSIGN_OR_RETURN(auto pipeline, registry.ParsePipeline("bench", passes));
  const double start = ProcessorSeconds();
  TF_RETURN_IF_ERROR(pipeline->Run(module).status());
  return ProcessorSeconds() - start;
}

// `,kernels,bytes,microseconds,peak bytes`: each computation counts once.
absl::StatusOr<std::string> Figures(xla::HloModule* module) {
  TF_ASSIGN_OR_RETURN(auto device,
                      xla::gpu::LoadGpuDevice(absl::GetFlag(FLAGS_device)));
  xla::gpu::GpuPerformanceModel model(device);
  int64_t kernels = 0;
  double bytes = 0;
  absl::Duration time;
  // Executed computations: the entry and callees of control flow, not reducers.
  for (const xla::HloComputation* computation :
       xla::ComputationsWithMemory(*module)) {
    for (const xla::HloInstruction* inst : computation->instructions()) {
      const auto& data = model.EstimateRunTime(*inst);
      if (data.time <= absl::ZeroDuration()) continue;
      ++kernels;
      bytes += data.bytes();
      time += data.time;
    }
  }
  int64_t peak = 0;
  if (absl::GetFlag(FLAGS_schedule)) {
    xla::ScheduleOptions options;
    options.algorithm = xla::ScheduleAlgorithm::kDefault;
    TF_ASSIGN_OR_RETURN(auto schedule, xla::ComputeSchedule(module, options));
    peak = schedule.peak_bytes;
  }
  return absl::StrFormat(",%d,%.0f,%.1f,%d", kernels, bytes,
                         absl::ToDoubleMicroseconds(time), peak);
}

// The most interesting results first.
absl::Status PrintKernels(const xla::HloModule& module, int64_t count) {
  TF_ASSIGN_OR_RETURN(auto device,
                      xla::gpu::LoadGpuDevice(absl::GetFlag(FLAGS_device)));
  xla::gpu::GpuPerformanceModel model(device);
  std::vector<std::pair<double, std::string>> lines;
  for (const xla::HloComputation* computation :
       xla::ComputationsWithMemory(module)) {
    for (const xla::HloInstruction* inst : computation->instructions()) {
      const auto& data = model.EstimateRunTime(*inst);
      if (data.bytes() <= 0) continue;
      std::string line = absl::StrFormat(
          "%12.0f B read, %12.0f B written, %8.2f us  %s = %s %s",
          data.bytes_read, data.bytes_written,
          absl::ToDoubleMicroseconds(data.time), inst->name(),
          xla::ShapeUtil::HumanString(inst->shape()),
          xla::HloOpcodeString(inst->opcode()));
      const xla::gpu::KernelCost& cost = model.costs().Get(*inst);
      for (int64_t i = 0; i < inst->operand_count(); ++i) {
        absl::StrAppendFormat(
            &line, "%s%.3g of %s %s", i == 0 ? " of " : ", ",
            cost.operands[i].utilization(), inst->operand(i)->name(),
            xla::ShapeUtil::HumanString(inst->operand(i)->shape()));
      }
      lines.emplace_back(data.bytes(), std::move(line));
    }
  }
  std::stable_sort(
      lines.begin(), lines.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [bytes, line] : lines) {
    if (--count < 0) break;
    std::cout << line << "\n";
  }
  return absl::OkStatus();
}

// The traffic of any program for the module: parameters and results.
int64_t LowerBound(const xla::HloModule& module) {
  const xla::HloComputation& entry = *module.entry_computation();
  int64_t bytes = xla::ShapeUtil::ByteSizeOfElementsRecursive(
      entry.root_instruction()->shape());
  for (const xla::HloInstruction* parameter : entry.parameter_instructions()) {
    bytes += xla::ShapeUtil::ByteSizeOfElementsRecursive(parameter->shape());
  }
  return bytes;
}

absl::Status Measure(const std::string& name, xla::HloModule* module) {
  std::string line =
      absl::StrFormat("%s,%d", name, module->instruction_count());
  TF_RETURN_IF_ERROR(Run(module, kPrepare).status());
  TF_ASSIGN_OR_RETURN(auto device,
                      xla::gpu::LoadGpuDevice(absl::GetFlag(FLAGS_device)));
  TF_ASSIGN_OR_RETURN(std::string figures, Figures(module));
  TF_RETURN_IF_ERROR(Run(module, kExpand).status());
  xla::gpu::GpuPerformanceModel model(device);
  const xla::FusionFloor floor = xla::FloorOfFusion(*module, &model);
  absl::StrAppendFormat(&line, ",%d,%.0f,%.0f%s", LowerBound(*module),
                        floor.library, floor.floor, figures);
  TF_ASSIGN_OR_RETURN(double priority,
                      Run(module, absl::GetFlag(FLAGS_priority)));
  TF_RETURN_IF_ERROR(Run(module, "hlo-cse,hlo-dce").status());
  TF_ASSIGN_OR_RETURN(figures, Figures(module));
  absl::StrAppend(&line, figures);
  TF_ASSIGN_OR_RETURN(double mof, Run(module, absl::GetFlag(FLAGS_mof)));
  TF_RETURN_IF_ERROR(Run(module, "hlo-cse,hlo-dce").status());
  if (absl::GetFlag(FLAGS_kernels) > 0) {
    return PrintKernels(*module, absl::GetFlag(FLAGS_kernels));
  }
  TF_ASSIGN_OR_RETURN(figures, Figures(module));
  std::cout << line << figures << absl::StrFormat(",%.4f,%.4f\n", priority, mof)
            << std::flush;
  return absl::OkStatus();
}

// Loops over one parameter and one each of their own, whose results go
// elsewhere.
std::string WideModule(int64_t instructions) {
  constexpr char kShape[] = "f32[4096,256]{1,0}";
  std::string body, shapes, results;
  for (int64_t i = 0; i < instructions / 4; ++i) {
    absl::StrAppend(&body, "v", i, " = ", kShape, " parameter(", i + 1, ")\nb",
                    i, " = ", kShape, " add(p, v", i, ")\na", i, " = ", kShape,
                    " exponential(b", i, ")\nr", i, " = ", kShape,
                    " all-reduce(a", i, "), to_apply=sum\n");
    absl::StrAppend(&shapes, i == 0 ? "" : ", ", kShape);
    absl::StrAppend(&results, i == 0 ? "r" : ", r", i);
  }
  return absl::StrCat(
      "HloModule wide\nsum { x = f32[] parameter(0)\ny = f32[] parameter(1)\n"
      "ROOT z = f32[] add(x, y) }\nENTRY e {\np = ",
      kShape, " parameter(0)\n", body, "ROOT t = (", shapes, ") tuple(",
      results, ")\n}\n");
}

// Two loops over a parameter, both of which are results; and so on.
std::string ResultsModule(int64_t instructions) {
  constexpr char kShape[] = "f32[4096]{0}";
  std::string body, shapes, results;
  for (int64_t i = 0; i < instructions / 5; ++i) {
    absl::StrAppend(&body, "p", i, " = ", kShape, " parameter(", i, ")\na", i,
                    " = ", kShape, " exponential(p", i, ")\nb", i, " = ",
                    kShape, " negate(a", i, ")\nx", i, " = ", kShape, " abs(p",
                    i, ")\nd", i, " = ", kShape, " log(x", i, ")\n");
    const std::string comma = i == 0 ? "" : ", ";
    absl::StrAppend(&shapes, comma, kShape, ", ", kShape);
    absl::StrAppend(&results, comma, "b", i, ", d", i);
  }
  return absl::StrCat("HloModule results\nENTRY e {\n", body, "ROOT t = (",
                      shapes, ") tuple(", results, ")\n}\n");
}

absl::StatusOr<std::unique_ptr<xla::HloModule>> SyntheticModule(int64_t size) {
  const std::string graph = absl::GetFlag(FLAGS_graph);
  if (graph == "training") {
    return xla::ParseAndReturnUnverifiedModule(
        xla::SyntheticTrainingModuleOfSize(size));
  }
  if (graph == "wide") {
    return xla::ParseAndReturnUnverifiedModule(WideModule(size));
  }
  if (graph == "results") {
    return xla::ParseAndReturnUnverifiedModule(ResultsModule(size));
  }
  if (graph != "random") {
    return absl::InvalidArgumentError(absl::StrCat("--graph=", graph));
  }
  xla::RandomModuleOptions options;
  options.steps = size / 2;  // a step makes about two instructions
  options.max_dimension = 40;
  options.max_elements = 65536;
  options.max_depth = 0;
  return xla::RandomModule(/*seed=*/1, options);
}

absl::Status MeasureAll(const std::vector<std::string>& files) {
  const int64_t size = absl::GetFlag(FLAGS_synthetic);
  if (size > 0) {
    TF_ASSIGN_OR_RETURN(auto module, SyntheticModule(size));
    return Measure(absl::GetFlag(FLAGS_graph), module.get());
  }
  for (const std::string& file : files) {
    std::string name = file.substr(file.rfind('/') + 1);
    TF_ASSIGN_OR_RETURN(auto module, xla::ReadModuleFromFile(file));
    TF_RETURN_IF_ERROR(Measure(name.substr(0, name.find('.')), module.get()));
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files = xla::InitTool(
      argc, argv, "fusion FILE...: figures before and after, as CSV\n");
  if (absl::GetFlag(FLAGS_kernels) == 0) {
    std::cout
        << "model,instructions,lower_bound,library,floor,kernels0,bytes0,us0,"
           "peak0,kernels1,bytes1,us1,peak1,kernels2,bytes2,us2,peak2,"
           "priority_s,mof_s\n";
  }
  absl::Status status = MeasureAll(files);
  return status.ok() ? 0 : xla::ExitStatus(status);
}
