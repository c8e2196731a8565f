#include "xla/backends/gpu/codegen/kir_opt_driver.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "xla/backends/gpu/codegen/cuda_emitter.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/backends/gpu/kernel_ir/kir_printer.h"
#include "xla/backends/gpu/kernel_ir/kir_verifier.h"
#include "xla/backends/gpu/kernel_ir/race_checker.h"
#include "xla/backends/gpu/smem/baseline/matmul_promotion.h"
#include "xla/backends/gpu/smem/baseline/stack_liveness.h"
#include "xla/backends/gpu/smem/baseline/stack_planner.h"
#include "xla/backends/gpu/smem/check/smem_plan_checker.h"
#include "xla/backends/gpu/smem/kernel_positions.h"
#include "xla/backends/gpu/smem/report/smem_report_json.h"
#include "xla/backends/gpu/smem/report/smem_svg.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/backends/gpu/smem/smem_plan.h"
#include "xla/hlo/pass/nearest_name.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/flag_check.h"
#include "xla/hlo/utils/foreign_format.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using Emit = KirOptOptions::Emit;
using Mode = KirOptOptions::Mode;
using Report = KirOptOptions::Report;

constexpr absl::string_view kModes[] = {"plan", "stack"};
constexpr absl::string_view kEmits[] = {"kir", "cuda", "svg", "none"};
constexpr absl::string_view kReports[] = {"none", "text", "json"};
constexpr absl::string_view kReuseSyncs[] = {"auto", "never", "min-bytes"};
constexpr absl::string_view kPasses[] = {"circular", "matmul", "alias",
                                         "promote",  "plan",   "syncs"};

template <typename E, size_t N>
bool ParseEnum(absl::string_view text, const absl::string_view (&names)[N],
               E* value, std::string* error) {
  auto it = std::find(std::begin(names), std::end(names), text);
  if (it == std::end(names)) {
    *error = absl::StrCat("expected one of ", absl::StrJoin(names, ", "));
    return false;
  }
  *value = static_cast<E>(it - std::begin(names));
  return true;
}

absl::StatusOr<absl::btree_set<std::string>> PassesOf(absl::string_view text) {
  absl::btree_set<std::string> passes;
  std::vector<std::string> known(std::begin(kPasses), std::end(kPasses));
  known.push_back("none");
  for (absl::string_view name : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    if (name == "none") continue;
    if (std::find(std::begin(kPasses), std::end(kPasses), name) ==
        std::end(kPasses)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: unknown pass '", name, "'", DidYouMean(name, known)));
    }
    passes.insert(std::string(name));
  }
  return passes;
}

// Positions of a kernel's statements and lives of its buffers, as comments.
absl::StatusOr<std::string> Annotated(const kir::Kernel& kernel,
                                      const SmemPlan* plan) {
  KernelPositions positions(kernel);
  absl::StatusOr<StackLiveness> liveness =
      StackLiveness::Compute(kernel, positions);
  kir::KirPrintOptions options;
  options.comment = [&](const kir::Statement& statement, bool end) {
    int position = positions.PositionOf(statement);
    if (end) return absl::StrCat(positions.EndOf(position));
    std::string comment = absl::StrCat(position);
    const auto* loop = statement.As<kir::Loop>();
    if (loop != nullptr && IsTrivialLoop(kernel, *loop)) comment += " trivial";
    const auto* alloc = statement.As<kir::Alloc>();
    if (alloc == nullptr) return comment;
    if (liveness.ok()) {
      if (const AllocLiveness* life = liveness->Find(alloc->buffer)) {
        absl::StrAppend(&comment, " inner [", life->inner.first, ", ",
                        life->inner.last, "] outer [", life->outer.first, ", ",
                        life->outer.last, "]");
        if (life->inner_aliasing_disabled) comment += " no inner aliasing";
      }
    }
    const SmemBufferPlan* buffer =
        plan == nullptr ? nullptr : plan->Find(alloc->buffer);
    if (buffer != nullptr) {
      absl::StrAppend(&comment, " at ", buffer->address_bytes, ", ",
                      buffer->bytes, " bytes");
    }
    return comment;
  };
  return kir::PrintKernel(kernel, options);
}

absl::Status CheckFits(const SmemPlan& plan, const GpuDevice& device,
                       int64_t static_bytes) {
  int64_t available = device.shared_per_block_max - static_bytes;
  if (plan.total_bytes <= available) return absl::OkStatus();
  std::vector<const SmemBufferPlan*> buffers;
  for (const SmemBufferPlan& buffer : plan.buffers) {
    if (!buffer.alias_of.has_value()) buffers.push_back(&buffer);
  }
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const SmemBufferPlan* a, const SmemBufferPlan* b) {
                     return a->bytes > b->bytes;
                   });
  std::vector<std::string> largest;
  for (const SmemBufferPlan* buffer : buffers) {
    if (largest.size() == 3) break;
    largest.push_back(absl::StrCat("%", buffer->name, " ", buffer->bytes));
  }
  kir::SourceLocation location = plan.planned.location;
  if (!buffers.empty()) {
    location = plan.planned.buffers[buffers[0]->buffer].location;
  }
  return plan.planned.ErrorAt(
      location,
      absl::StrCat(
          "@", plan.planned.name, " needs ", plan.total_bytes,
          " bytes of shared memory",
          static_bytes > 0 ? absl::StrCat(" and ", static_bytes, " static ones")
                           : "",
          ", and a block of ", device.name, " has ", available,
          " available; largest buffers: ", absl::StrJoin(largest, ", "),
          " bytes"),
      absl::StatusCode::kResourceExhausted);
}

// Tells of promoted buffers whose bytes nothing uses after them.
void NoteIdlePromotions(SmemPlan& plan) {
  for (const SmemBufferPlan& buffer : plan.buffers) {
    if (!plan.planned.buffers[buffer.buffer].promote) continue;
    bool reused = false;
    for (kir::BufferId other : buffer.shares_with) {
      const SmemBufferPlan* later = plan.Find(other);
      reused |= later != nullptr && later->first >= buffer.last;
    }
    if (!reused) {
      plan.notes.push_back(absl::StrCat("promoting %", buffer.name,
                                        " had no effect: nothing takes its "
                                        "place"));
    }
  }
}

// Sizes of shared memory must be numbers by now.
absl::Status CheckBound(const kir::Kernel& kernel) {
  AffineExpr::Binding bindings = kernel.Bindings();
  for (const kir::Buffer& buffer : kernel.buffers) {
    if (buffer.memory != kir::Memory::kShared) continue;
    AffineExpr bytes = buffer.Bytes();
    for (const std::string& name : bytes.Symbols()) {
      if (bindings.contains(name)) continue;
      return kernel.ErrorAt(
          buffer.location,
          absl::StrCat("the size of %", buffer.name, " depends on '", name,
                       "', which is bound to no number; --bind=", name,
                       "=N binds it"));
    }
    absl::StatusOr<int64_t> value = bytes.Evaluate(bindings);
    if (!value.ok() || *value < 0) {
      return kernel.ErrorAt(buffer.location,
                            absl::StrCat("the size of %", buffer.name,
                                         " is not a number of bytes"));
    }
  }
  return absl::OkStatus();
}

class Driver {
 public:
  explicit Driver(const KirOptOptions& options) : options_(options) {}

  absl::Status Run(const std::vector<std::string>& paths) {
    RETURN_IF_ERROR(CheckNumbers());
    ASSIGN_OR_RETURN(passes_, PassesOf(options_.passes));
    ASSIGN_OR_RETURN(device_, FindGpuDevice(options_.device));
    std::vector<kir::Kernel> all;
    for (const std::string& path : paths) {
      ASSIGN_OR_RETURN(std::string text, ReadFileOrStdin(path));
      const std::string name = path == "-" ? "<stdin>" : path;
      if (const std::string other = NameOfUnwantedFile(text); !other.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(
            name, ": error: ", other,
            "; kir-opt reads kernels, as hlo-opt MODULE --pipeline=gpu "
            "--emit=kir writes them"));
      }
      ASSIGN_OR_RETURN(std::vector<kir::Kernel> kernels,
                       kir::ParseKernels(text, name));
      std::move(kernels.begin(), kernels.end(), std::back_inserter(all));
    }
    has_several_ = all.size() > 1;
    for (kir::Kernel& kernel : all) RETURN_IF_ERROR(RunOn(kernel));
    if (has_several_ && options_.emit == Emit::kCuda && options_.cuda_main) {
      texts_.push_back(MainOfAll(all));
    }
    std::string output = absl::StrJoin(texts_, "\n");
    if (options_.report == Report::kJson) {
      ASSIGN_OR_RETURN(std::string json, SmemReportsToJson(reports_));
      absl::StrAppend(&output, json);
    }
    return WriteFileOrStdout(options_.output, output);
  }

 private:
  absl::Status CheckNumbers() const {
    RETURN_IF_ERROR(
        CheckFlag("check-races", int64_t{options_.check_races}, 0, 1000));
    RETURN_IF_ERROR(CheckFlag("max-steps", options_.max_steps, -1));
    RETURN_IF_ERROR(
        CheckFlag("registers", int64_t{options_.registers}, 0, 255));
    RETURN_IF_ERROR(CheckFlag("split-cycles", options_.split_cycles, 0));
    if (options_.min_align.has_value()) {
      RETURN_IF_ERROR(CheckFlag("min-align", *options_.min_align, 1, 1 << 20));
    }
    if (options_.max_reuse_syncs.has_value()) {
      RETURN_IF_ERROR(
          CheckFlag("max-reuse-syncs", int64_t{*options_.max_reuse_syncs}, 0));
    }
    return absl::OkStatus();
  }

  absl::Status RunOn(kir::Kernel& kernel) {
    RETURN_IF_ERROR(BindKernel(options_.bind, options_.threads, kernel));
    kir::KirVerifierOptions verify;
    verify.allow_divergent_barriers = options_.allow_divergent_barriers;
    RETURN_IF_ERROR(kir::VerifyKernel(kernel, verify));
    if (!passes_.contains("plan")) return Write(kernel, nullptr);
    RETURN_IF_ERROR(CheckBound(kernel));
    std::string note;
    if (passes_.contains("matmul")) {
      RETURN_IF_ERROR(ApplyMatmulPromotion(device_, kernel, &note).status());
    }
    ASSIGN_OR_RETURN(SmemPlan plan, Plan(kernel));
    if (!note.empty()) plan.notes.insert(plan.notes.begin(), note);
    NoteIdlePromotions(plan);
    int64_t static_bytes = options_.mode == Mode::kStack ? kSharedSetAside : 0;
    RETURN_IF_ERROR(CheckFits(plan, device_, static_bytes));
    if (options_.check_plan) {
      RETURN_IF_ERROR(CheckSmemPlan(plan));
    }
    if (options_.check_races > 0) {
      KernelRunOptions run_options;
      run_options.max_steps = options_.max_steps;
      absl::Status races =
          CheckRaces(plan.planned, options_.check_races, run_options);
      if (!races.ok()) {
        return kernel.ErrorAt(
            kernel.location,
            absl::StrCat("@", kernel.name, ": ", races.message()),
            races.code());
      }
    }
    return Write(plan.planned, &plan);
  }

  absl::StatusOr<SmemPlan> Plan(const kir::Kernel& kernel) {
    if (options_.mode == Mode::kPlan) return PlanBySearch(kernel);
    StackPlanOptions options;
    options.circular = passes_.contains("circular");
    options.alias = passes_.contains("alias");
    options.promote = passes_.contains("promote");
    options.required_syncs = passes_.contains("syncs");
    options.min_align = options_.min_align;
    return PlanSharedMemoryAsStack(kernel, options);
  }

  absl::StatusOr<SmemPlan> PlanBySearch(const kir::Kernel& kernel) {
    SmemPlanOptions options;
    options.min_align = options_.min_align;
    options.allow_divergent_barriers = options_.allow_divergent_barriers;
    options.reuse_syncs = options_.reuse_syncs;
    options.max_reuse_syncs = options_.max_reuse_syncs;
    options.registers = options_.registers;
    options.circular = passes_.contains("circular");
    options.global_syncs = passes_.contains("syncs");
    options.register_slots = passes_.contains("alias");
    options.split_cycles = options_.split_cycles;
    return PlanSharedMemory(kernel, device_, options);
  }

  absl::Status Write(const kir::Kernel& kernel, const SmemPlan* plan) {
    bool reports = options_.report != Report::kNone;
    Emit emit = options_.emit.value_or(reports ? Emit::kNone : Emit::kKir);
    bool needs_plan = reports || emit == Emit::kCuda || emit == Emit::kSvg;
    if (needs_plan && plan == nullptr) {
      return absl::InvalidArgumentError(
          "error: reports, CUDA and pictures need the pass 'plan'");
    }
    switch (emit) {
      case Emit::kKir:
        if (options_.annotate) {
          ASSIGN_OR_RETURN(std::string text, Annotated(kernel, plan));
          texts_.push_back(std::move(text));
        } else {
          texts_.push_back(kir::PrintKernel(kernel));
        }
        break;
      case Emit::kCuda: {
        CudaEmitOptions options;
        options.with_main = options_.cuda_main;
        options.is_part = has_several_;
        options.max_steps = options_.max_steps;
        ASSIGN_OR_RETURN(std::string text, EmitCuda(*plan, options));
        texts_.push_back(std::move(text));
        break;
      }
      case Emit::kSvg:
        texts_.push_back(SmemPlanToSvg(*plan));
        break;
      case Emit::kNone:
        break;
    }
    if (options_.report == Report::kText)
      texts_.push_back(
          SmemReportToText(SmemPlanToProto(*plan, AllGpuDevices())));
    if (options_.report == Report::kJson) {
      reports_.push_back(SmemPlanToProto(*plan, AllGpuDevices()));
    }
    return absl::OkStatus();
  }

  const KirOptOptions& options_;
  // Runs the checks of all kernels, and fails if one does.
  static std::string MainOfAll(const std::vector<kir::Kernel>& kernels) {
    std::string text =
        "#ifndef __CUDACC_RTC__\nint main() {\n  int result = 0;\n";
    for (const kir::Kernel& kernel : kernels) {
      absl::StrAppend(&text, "  result |= check_", CudaKernelName(kernel.name),
                      "();\n");
    }
    return absl::StrCat(text, "  return result;\n}\n#endif\n");
  }

  absl::btree_set<std::string> passes_;
  bool has_several_ = false;
  GpuDevice device_;
  std::vector<std::string> texts_;
  std::vector<SmemReportProto> reports_;
};

}  // namespace

bool AbslParseFlag(absl::string_view text, Mode* mode, std::string* error) {
  return ParseEnum(text, kModes, mode, error);
}
std::string AbslUnparseFlag(Mode mode) {
  return std::string(kModes[static_cast<int>(mode)]);
}
bool AbslParseFlag(absl::string_view text, Emit* emit, std::string* error) {
  return ParseEnum(text, kEmits, emit, error);
}
std::string AbslUnparseFlag(Emit emit) {
  return std::string(kEmits[static_cast<int>(emit)]);
}
bool AbslParseFlag(absl::string_view text, Report* report, std::string* error) {
  return ParseEnum(text, kReports, report, error);
}
std::string AbslUnparseFlag(Report report) {
  return std::string(kReports[static_cast<int>(report)]);
}

bool AbslParseFlag(absl::string_view text, SmemPlanOptions::ReuseSyncs* syncs,
                   std::string* error) {
  return ParseEnum(text, kReuseSyncs, syncs, error);
}
std::string AbslUnparseFlag(SmemPlanOptions::ReuseSyncs syncs) {
  return std::string(kReuseSyncs[static_cast<int>(syncs)]);
}

absl::Status BindKernel(absl::string_view bind, absl::string_view threads,
                        kir::Kernel& kernel) {
  for (absl::string_view item : absl::StrSplit(bind, ',', absl::SkipEmpty())) {
    std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(item, absl::MaxSplits('=', 1));
    int64_t value;
    if (!absl::SimpleAtoi(parts.second, &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: a binding is NAME=INTEGER, not '", item, "'"));
    }
    auto symbol = std::find_if(
        kernel.symbols.begin(), kernel.symbols.end(),
        [&](const kir::Symbol& s) { return s.name == parts.first; });
    if (symbol == kernel.symbols.end()) {
      return kernel.ErrorAt(
          kernel.location,
          absl::StrCat("@", kernel.name, " has no symbol '", parts.first, "'"));
    }
    symbol->binding = value;
  }
  if (threads.empty()) return absl::OkStatus();
  std::vector<absl::string_view> extents = absl::StrSplit(threads, 'x');
  if (extents.size() > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: a block has at most 3 extents, but '", threads,
                     "' has ", extents.size()));
  }
  if (!kernel.launch.has_value()) {
    kernel.launch.emplace();
    kernel.launch->grid = {1, 1, 1};
  }
  kernel.launch->block = {1, 1, 1};
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t extent;
    if (!absl::SimpleAtoi(extents[i], &extent)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "error: the block is given as 128 or 32x4x1, not '", threads, "'"));
    }
    kernel.launch->block[i] = extent;
  }
  return absl::OkStatus();
}

absl::Status RunKirOpt(const KirOptOptions& options,
                       const std::vector<std::string>& paths) {
  return Driver(options).Run(paths);
}

}  // namespace xla::gpu
