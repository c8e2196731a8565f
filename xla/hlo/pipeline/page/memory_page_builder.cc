#include "xla/hlo/pipeline/page/memory_page_builder.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/lowering/kernel_prices.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/hlo/analysis/cost/collective_report.h"
#include "xla/hlo/analysis/cost/computation_runs.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/analysis/cost/mesh_cost.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/instruction_source.h"
#include "xla/hlo/memory/report/layer_name.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Interval = MemoryTimeline::Interval;

// JSON is UTF-8: bytes that are not become '?'.
std::string Utf8(absl::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = text[i];
    const size_t length = c < 0x80             ? 1
                          : (c & 0xe0) == 0xc0 ? 2
                          : (c & 0xf0) == 0xe0 ? 3
                          : (c & 0xf8) == 0xf0 ? 4
                                               : 0;
    bool valid = length > 0 && i + length <= text.size() && c != 0xc0 &&
                 c != 0xc1 && c <= 0xf4;
    for (size_t k = 1; valid && k < length; ++k) {
      valid = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    }
    if (valid && length == 3) {
      // Overlong forms and halves of surrogate pairs.
      const unsigned char next = text[i + 1];
      valid = !(c == 0xe0 && next < 0xa0) && !(c == 0xed && next >= 0xa0);
    } else if (valid && length == 4) {
      const unsigned char next = text[i + 1];
      valid = !(c == 0xf0 && next < 0x90) && !(c == 0xf4 && next >= 0x90);
    }
    if (valid) {
      absl::StrAppend(&result, text.substr(i, length));
      i += length;
    } else {
      result.push_back('?');
      ++i;
    }
  }
  return result;
}

class Builder {
 public:
  Builder(const HloModule& module, const BuiltMemoryReport& report,
          const HloAliasAnalysis& alias_analysis,
          const MemoryPageOptions& options)
      : module_(module),
        report_(report),
        timeline_(report.timeline),
        alias_analysis_(alias_analysis),
        options_(options) {}

  absl::StatusOr<MemoryPage> Build() {
    *page_.mutable_memory() = report_.report;
    page_.mutable_memory()->clear_live_at_peak();
    page_.mutable_memory()->clear_curve();
    for (const HloInstruction* inst : timeline_.ticks) {
      page_.add_ticks(Instruction(inst));
    }
    FillBuffers();
    TF_RETURN_IF_ERROR(FillKernels());
    TF_RETURN_IF_ERROR(FillCollectives());
    return std::move(page_);
  }

 private:
  // Where a string is in the page's table.
  int32_t Name(absl::string_view text) {
    auto [it, is_new] = names_.emplace(text, page_.strings_size());
    if (is_new) page_.add_strings(Utf8(text));
    return it->second;
  }

  int32_t Instruction(const HloInstruction* inst) {
    if (inst == nullptr) return -1;
    MemoryPage::Instructions& table = *page_.mutable_instructions();
    auto [it, is_new] = instructions_.emplace(inst, table.name_size());
    if (is_new) {
      const std::string& op_name = inst->metadata().op_name();
      table.add_name(Utf8(inst->name()));
      table.add_opcode(Name(HloOpcodeString(inst->opcode())));
      table.add_computation(Name(inst->parent()->name()));
      table.add_op_name(Name(op_name));
      table.add_layer(Name(LayerName(op_name)));
      table.add_source(Name(InstructionSource(*inst)));
    }
    return it->second;
  }

  void FillBuffers() {
    for (size_t tick = 0; tick < timeline_.ticks.size(); ++tick) {
      last_tick_[timeline_.ticks[tick]] = tick;
    }
    MemoryPage::Buffers& table = *page_.mutable_buffers();
    for (size_t i = 0; i < timeline_.intervals.size(); ++i) {
      const Interval& interval = timeline_.intervals[i];
      const bool known = interval.value != nullptr;
      table.add_instruction(Instruction(interval.at));
      table.add_shape_index(
          Name(known ? interval.value->index().ToString() : "{}"));
      table.add_shape(Name(ShapeUtil::HumanString(
          known ? interval.value->shape() : interval.at->shape())));
      table.add_kind(Name(report_.kinds[i]));
      table.add_first(static_cast<int32_t>(interval.begin));
      table.add_last(static_cast<int32_t>(interval.end - 1));
      table.add_bytes(interval.bytes);
      table.add_offset(report_.offsets[i]);
      table.add_kept_by(Instruction(LastReader(interval)));
    }
  }

  // The last instruction that reads the buffer during its live range.
  const HloInstruction* LastReader(const Interval& interval) const {
    if (interval.buffer == nullptr) return nullptr;
    const HloInstruction* last = nullptr;
    int64_t last_tick = -1;
    for (const HloValue* value : interval.buffer->values()) {
      for (const HloUse& use : value->GetUses()) {
        const auto it = last_tick_.find(use.instruction);
        if (it == last_tick_.end() || it->second < interval.begin ||
            it->second > interval.end || it->second <= last_tick) {
          continue;
        }
        last_tick = it->second;
        last = use.instruction;
      }
    }
    return last;
  }

  // "3 add, dot" of a fusion; empty for other kernels.
  static std::string Contents(const HloInstruction& kernel) {
    if (kernel.opcode() != HloOpcode::kFusion) return "";
    std::map<absl::string_view, int> counts;
    for (const HloInstruction* inst : kernel.fused_instructions()) {
      if (inst->opcode() != HloOpcode::kParameter) {
        ++counts[HloOpcodeString(inst->opcode())];
      }
    }
    std::vector<std::pair<absl::string_view, int>> sorted(counts.begin(),
                                                          counts.end());
    absl::c_stable_sort(sorted, [](const auto& a, const auto& b) {
      return a.second > b.second;
    });
    return absl::StrJoin(sorted, ", ", [](std::string* out, const auto& entry) {
      if (entry.second > 1) absl::StrAppend(out, entry.second, " ");
      absl::StrAppend(out, entry.first);
    });
  }

  struct Kernel {
    const HloInstruction* inst;
    double runs;
    gpu::EstimateRunTimeData cost;
    double microseconds() const {
      return absl::ToDoubleMicroseconds(cost.time);
    }
  };

  absl::Status FillKernels() {
    TF_ASSIGN_OR_RETURN(const auto device, gpu::LoadGpuDevice(options_.device));
    gpu::KernelPrices prices(device);
    const ComputationRuns runs(module_);
    std::vector<Kernel> kernels;
    absl::flat_hash_map<const HloInstruction*, bool> seen;
    for (const HloInstruction* inst : timeline_.ticks) {
      if (inst == nullptr || !seen.emplace(inst, true).second) continue;
      Kernel kernel{inst, runs.Of(inst->parent()), prices.Of(*inst)};
      if (kernel.cost.time > absl::ZeroDuration() && kernel.runs > 0) {
        kernels.push_back(std::move(kernel));
      }
    }
    absl::c_stable_sort(kernels, [](const Kernel& a, const Kernel& b) {
      return a.runs * a.microseconds() > b.runs * b.microseconds();
    });
    MemoryPage::Kernels& table = *page_.mutable_kernels();
    double total_runs = 0, total_bytes = 0, total_microseconds = 0;
    for (const Kernel& kernel : kernels) {
      total_runs += kernel.runs;
      total_bytes += kernel.runs * kernel.cost.bytes();
      total_microseconds += kernel.runs * kernel.microseconds();
      if (table.instruction_size() >= options_.max_kernels) continue;
      table.add_instruction(Instruction(kernel.inst));
      table.add_shape(Name(ShapeUtil::HumanString(kernel.inst->shape())));
      table.add_contents(Name(Contents(*kernel.inst)));
      table.add_runs(kernel.runs);
      table.add_flops(kernel.cost.flops);
      table.add_bytes(kernel.cost.bytes());
      table.add_microseconds(Rounded(kernel.microseconds()));
      const double memory =
          kernel.cost.bytes() / static_cast<double>(device.memory_bandwidth());
      const double arithmetic = absl::ToDoubleSeconds(kernel.cost.compute_time);
      table.add_bound(Name(memory >= arithmetic ? "memory" : "arithmetic"));
      table.add_roofline(
          Rounded(std::min(1.0, std::max(memory, arithmetic) /
                                    absl::ToDoubleSeconds(kernel.cost.time))));
    }
    table.set_device(options_.device);
    table.set_total_count(kernels.size());
    table.set_total_runs(total_runs);
    table.set_total_bytes(total_bytes);
    table.set_total_microseconds(Rounded(total_microseconds));
    return absl::OkStatus();
  }

  absl::Status FillCollectives() {
    const HloModuleConfig& config = module_.config();
    const int64_t devices = std::max<int64_t>(config.replica_count(), 1) *
                            std::max<int64_t>(config.num_partitions(), 1);
    TF_ASSIGN_OR_RETURN(
        const MeshCost mesh,
        MeshCost::FromText(options_.mesh.empty() ? absl::StrCat(devices)
                                                 : options_.mesh));
    MemoryPage::Collectives& table = *page_.mutable_collectives();
    const absl::StatusOr<CollectiveReport> report =
        BuildCollectiveReport(module_, mesh);
    if (!report.ok()) {
      // Groups that do not fit the header do not invalidate the memory report.
      table.set_note(Utf8(report.status().message()));
      return absl::OkStatus();
    }
    for (const CollectiveUse& use : report->uses) {
      table.add_instruction(Instruction(use.instruction));
      table.add_kind(Name(CollectiveKindToString(use.kind)));
      table.add_runs(use.runs);
      table.add_bytes(use.cost.bytes_per_device);
      table.add_microseconds(Rounded(1e6 * use.cost.seconds));
    }
    table.set_mesh(report->mesh);
    return absl::OkStatus();
  }

  // A model's figures are not accurate to more than four digits.
  static double Rounded(double value) {
    double parsed = 0;
    return absl::SimpleAtod(absl::StrFormat("%.4g", value), &parsed) ? parsed
                                                                     : value;
  }

  const HloModule& module_;
  const BuiltMemoryReport& report_;
  const MemoryTimeline& timeline_;
  const HloAliasAnalysis& alias_analysis_;
  const MemoryPageOptions& options_;
  MemoryPage page_;
  absl::flat_hash_map<std::string, int32_t> names_;
  absl::flat_hash_map<const HloInstruction*, int32_t> instructions_;
  absl::flat_hash_map<const HloInstruction*, int64_t> last_tick_;
};

}  // namespace

absl::StatusOr<MemoryPage> BuildMemoryPage(
    const HloModule& module, const BuiltMemoryReport& report,
    const HloAliasAnalysis& alias_analysis, const MemoryPageOptions& options) {
  return Builder(module, report, alias_analysis, options).Build();
}

MemoryPage::Before DescribeBefore(const BuiltMemoryReport& report) {
  constexpr size_t kStretches = 2000;
  MemoryPage::Before before;
  before.set_peak_bytes(report.report.peak_bytes());
  const size_t points = report.curve.size();
  const size_t stretches = std::min(points, kStretches);
  for (size_t i = 0; i < stretches; ++i) {
    before.add_live(
        *std::max_element(report.curve.begin() + i * points / stretches,
                          report.curve.begin() + (i + 1) * points / stretches));
  }
  return before;
}

}  // namespace xla
