#include "xla/hlo/pipeline/page/explain_kernels.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/pipeline/page/kernel_timings.h"
#include "xla/hlo/pipeline/page/memory_page_builder.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// All kernels, as modeled on `device`.
MemoryPageOptions PageOn(const std::string& device,
                         const ExplainKernelsOptions& options) {
  MemoryPageOptions page_options;
  page_options.device = device;
  page_options.mesh = options.mesh;
  page_options.max_kernels = std::numeric_limits<int>::max();
  return page_options;
}

// The calibrated device, written as the text that every --device reads.
absl::StatusOr<stream_executor::GpuDeviceInfoProto> WriteCalibrated(
    const ExplainKernelsOptions& options, const MemoryPage& page,
    const KernelTimings& timings, const std::vector<MeasuredKernel>& measured) {
  TF_ASSIGN_OR_RETURN(const auto device, gpu::LoadGpuDevice(options.device));
  TF_ASSIGN_OR_RETURN(const auto calibrated,
                      CalibrateDevice(page, measured, device));
  std::string text;
  google::protobuf::TextFormat::PrintToString(calibrated, &text);
  TF_RETURN_IF_ERROR(WriteFileOrStdout(
      options.calibrate,
      absl::StrCat("# ", options.device, ", with memory_bandwidth and clocks",
                   " by which the model says best what ", measured.size(),
                   " kernels of\n# ", timings.module(), " took on ",
                   timings.device(), ".\n", text)));
  return calibrated;
}

}  // namespace

absl::StatusOr<KernelReport> ExplainKernels(
    const ExplainKernelsOptions& options, const HloModule& module,
    const BuiltMemoryReport& built, const HloAliasAnalysis& alias_analysis) {
  TF_ASSIGN_OR_RETURN(const MemoryPage page,
                      BuildMemoryPage(module, built, alias_analysis,
                                      PageOn(options.device, options)));
  if (options.timings.empty()) return BuildKernelReport(page, {});
  TF_ASSIGN_OR_RETURN(const std::string json, ReadFileOrStdin(options.timings));
  TF_ASSIGN_OR_RETURN(const KernelTimings timings,
                      ParseKernelTimings(json, options.timings));
  const std::vector<MeasuredKernel> measured = FindMeasured(page, timings);
  KernelReport report = BuildKernelReport(page, measured);
  TF_ASSIGN_OR_RETURN(*report.mutable_measured(),
                      CompareWithMeasured(page, timings, measured));
  if (options.calibrate.empty()) return report;

  TF_ASSIGN_OR_RETURN(const auto before, gpu::LoadGpuDevice(options.device));
  TF_ASSIGN_OR_RETURN(const auto after,
                      WriteCalibrated(options, page, timings, measured));
  TF_ASSIGN_OR_RETURN(const MemoryPage again,
                      BuildMemoryPage(module, built, alias_analysis,
                                      PageOn(options.calibrate, options)));
  TF_ASSIGN_OR_RETURN(
      const KernelReport::Measured compared,
      CompareWithMeasured(again, timings, FindMeasured(again, timings)));
  KernelReport::Calibration& calibration = *report.mutable_calibration();
  calibration.set_file(options.calibrate);
  calibration.set_memory_bandwidth_before(before.memory_bandwidth());
  calibration.set_memory_bandwidth_after(after.memory_bandwidth());
  calibration.set_clock_rate_ghz_before(before.clock_rate_ghz());
  calibration.set_clock_rate_ghz_after(after.clock_rate_ghz());
  calibration.set_median_error(compared.median_error());
  calibration.set_rank_correlation(compared.rank_correlation());
  return report;
}

}  // namespace xla
