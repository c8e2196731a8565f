#include "xla/hlo/pipeline/page/kernel_timings.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "google/protobuf/util/json_util.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"

namespace xla {
namespace {

using ::stream_executor::ExecutionUnitDescriptionProto;
using ::stream_executor::GpuDeviceInfoProto;

// The name that programs give the kernel of an instruction.
std::string ProgramName(absl::string_view name) {
  std::string result(name);
  for (char& c : result) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  return result;
}

// Ranks from 0; equal values have the mean of theirs.
std::vector<double> Ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  absl::c_stable_sort(
      order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    for (size_t i = begin; i < end; ++i) {
      ranks[order[i]] = 0.5 * (begin + end - 1);
    }
    begin = end;
  }
  return ranks;
}

// The correlation of ranks (Spearman's); 1 for a single kernel, 0 if all times
// of one side are equal.
double Correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2) return 1;
  const double mean = 0.5 * (a.size() - 1);
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

struct Weighted {
  double value;
  double weight;
};

// The least value such that it and the smaller ones have half of the weight.
double WeightedMedian(std::vector<Weighted> values) {
  absl::c_stable_sort(values, [](const Weighted& a, const Weighted& b) {
    return a.value < b.value;
  });
  double left = 0;
  for (const Weighted& value : values) left += 0.5 * value.weight;
  for (const Weighted& value : values) {
    left -= value.weight;
    if (left <= 0) return value.value;
  }
  return values.back().value;
}

}  // namespace

absl::StatusOr<KernelTimings> ParseKernelTimings(absl::string_view json,
                                                 absl::string_view file) {
  KernelTimings timings;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(
      std::string(json), &timings, options);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": not a file written by a program's --timings: ",
                     std::string(status.message())));
  }
  absl::flat_hash_set<std::string> names;
  for (const KernelTimings::Kernel& kernel : timings.kernels()) {
    if (kernel.name().empty() || !(kernel.microseconds() > 0) ||
        !std::isfinite(kernel.microseconds())) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": kernel '", kernel.name(), "' takes ",
                       kernel.microseconds(), " microseconds"));
    }
    if (!names.insert(kernel.name()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": kernel '", kernel.name(), "' appears twice"));
    }
  }
  return timings;
}

std::vector<MeasuredKernel> FindMeasured(const MemoryPage& page,
                                         const KernelTimings& timings) {
  absl::flat_hash_map<absl::string_view, double> measured;
  for (const KernelTimings::Kernel& kernel : timings.kernels()) {
    measured[kernel.name()] = kernel.microseconds();
  }
  const MemoryPage::Kernels& kernels = page.kernels();
  std::vector<MeasuredKernel> found;
  for (int i = 0; i < kernels.instruction_size(); ++i) {
    const auto it = measured.find(
        ProgramName(page.instructions().name(kernels.instruction(i))));
    if (it == measured.end()) continue;
    found.push_back({i, kernels.microseconds(i), it->second});
  }
  return found;
}

absl::StatusOr<KernelReport::Measured> CompareWithMeasured(
    const MemoryPage& page, const KernelTimings& timings,
    const std::vector<MeasuredKernel>& kernels) {
  if (kernels.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "none of the ", timings.kernels_size(), " measured kernels",
        " (of module ", timings.module(), ") is in ", page.memory().module(),
        ": use the passes and --device that ",
        "the program was compiled with"));
  }
  KernelReport::Measured result;
  result.set_device(timings.device());
  result.set_count(kernels.size());
  absl::flat_hash_set<std::string> known;
  std::vector<double> modelled, measured, errors;
  double modelled_sum = 0, measured_sum = 0;
  for (const MeasuredKernel& kernel : kernels) {
    const double runs = page.kernels().runs(kernel.kernel);
    known.insert(ProgramName(
        page.instructions().name(page.kernels().instruction(kernel.kernel))));
    modelled.push_back(kernel.modelled_microseconds);
    measured.push_back(kernel.measured_microseconds);
    errors.push_back(std::fabs(
        kernel.modelled_microseconds / kernel.measured_microseconds - 1));
    modelled_sum += runs * kernel.modelled_microseconds;
    measured_sum += runs * kernel.measured_microseconds;
  }
  absl::c_sort(errors);
  result.set_modelled_microseconds(modelled_sum);
  result.set_measured_microseconds(measured_sum);
  result.set_median_error(
      0.5 * (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]));
  result.set_rank_correlation(Correlation(Ranks(modelled), Ranks(measured)));
  for (const KernelTimings::Kernel& kernel : timings.kernels()) {
    if (!known.contains(kernel.name())) result.add_unknown(kernel.name());
  }
  return result;
}

absl::StatusOr<GpuDeviceInfoProto> CalibrateDevice(
    const MemoryPage& page, const std::vector<MeasuredKernel>& kernels,
    const stream_executor::DeviceDescription& device) {
  const double launch =
      absl::ToDoubleMicroseconds(gpu::GpuPerformanceModel::LaunchOverhead());
  std::vector<Weighted> memory, arithmetic;
  for (const MeasuredKernel& kernel : kernels) {
    const double modelled = kernel.modelled_microseconds - launch;
    const double measured = kernel.measured_microseconds - launch;
    if (modelled < launch || measured <= 0) continue;
    const int bound = page.kernels().bound(kernel.kernel);
    (page.strings(bound) == "memory" ? memory : arithmetic)
        .push_back({modelled / measured,
                    page.kernels().runs(kernel.kernel) * measured});
  }
  if (memory.empty() && arithmetic.empty()) {
    return absl::FailedPreconditionError(
        "no kernel takes longer than its launch, both modeled and measured; "
        "calibration needs larger kernels");
  }
  GpuDeviceInfoProto info = device.ToProto();
  if (!memory.empty()) {
    info.set_memory_bandwidth(std::llround(info.memory_bandwidth() *
                                           WeightedMedian(std::move(memory))));
  }
  if (!arithmetic.empty()) {
    const double scale = WeightedMedian(std::move(arithmetic));
    info.set_clock_rate_ghz(info.clock_rate_ghz() * scale);
    const auto scale_clocks = [&](ExecutionUnitDescriptionProto* unit) {
      for (auto& [type, rate] : *unit->mutable_rate_infos()) {
        rate.set_clock_rate_ghz(rate.clock_rate_ghz() * scale);
      }
    };
    if (info.has_scalar_unit_description()) {
      scale_clocks(info.mutable_scalar_unit_description());
    }
    if (info.has_matrix_unit_description()) {
      scale_clocks(info.mutable_matrix_unit_description());
    }
  }
  return info;
}

}  // namespace xla
