#include "xla/backends/gpu/kernel_ir/race_checker.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kernel_code.h"
#include "xla/backends/gpu/kernel_ir/kernel_machine.h"
#include "xla/status_macros.h"

namespace xla::gpu {

namespace {

using Op = CodeInstruction::Op;

// Shadow memory for each byte of shared memory, in bytes.
constexpr double kShadowBytes = 128;
constexpr double kThreadBytes = 1024;

double BytesOf(const KernelCode& code, const KernelRunOptions& options) {
  const double threads = code.num_threads;
  double bytes = threads * kThreadBytes;
  for (size_t b = 0; b < code.elements.size(); ++b) {
    const kir::Buffer& buffer = code.kernel->buffers[b];
    const double elements = static_cast<double>(code.elements[b]);
    bytes += elements * sizeof(double);
    if (buffer.memory == kir::Memory::kLocal ||
        buffer.memory == kir::Memory::kTmem) {
      bytes += threads * elements * (sizeof(double) + 1);
    }
    if (buffer.memory != kir::Memory::kShared || !options.check_races) continue;
    double end = elements * kir::ElementBytes(buffer.type);
    if (buffer.address.has_value()) {
      absl::StatusOr<int64_t> address =
          buffer.address->Evaluate(code.kernel->Bindings());
      if (address.ok()) end += std::max(0.0, static_cast<double>(*address));
    }
    bytes += end * kShadowBytes;
  }
  for (kir::BufferId own : code.kernel->OwnArrays()) {
    bytes += static_cast<double>(code.elements[own]) * sizeof(int);
  }
  return bytes;
}

// How often the body of a loop runs, on average over the threads of a block; 0
// where its bounds are no constants.
double TripsOf(const kir::Kernel& kernel, const kir::Loop& loop,
               const KernelCode& code) {
  const AffineExpr::Binding bindings = kernel.Bindings();
  absl::StatusOr<int64_t> start = loop.start.Evaluate(bindings);
  absl::StatusOr<int64_t> stop = loop.stop.Evaluate(bindings);
  if (!start.ok() || !stop.ok() || *stop <= *start) return 0;
  const double step = static_cast<double>(
      std::max<int64_t>(loop.step.AsConstant().value_or(1), 1));
  const double trips = std::ceil(
      (static_cast<double>(*stop) - static_cast<double>(*start)) / step);
  const int dimension = kir::ThreadDimension(loop.kind);
  if (dimension >= 0) {
    return std::min(1.0, trips / static_cast<double>(code.block[dimension]));
  }
  return kir::BlockDimension(loop.kind) >= 0 ||
                 loop.kind == kir::LoopKind::kDevice ||
                 loop.kind == kir::LoopKind::kStream
             ? 1
             : trips;
}

// No more than what one block takes: what branches and loops without constant
// bounds do is not counted.
double LeastStepsOfBlock(const KernelCode& code) {
  double steps = 0, times = code.num_threads;
  std::vector<double> outer;
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    const CodeInstruction& instruction = code.instructions[i];
    steps += times;
    switch (instruction.op) {
      case Op::kLoopBegin:
        outer.push_back(times);
        times *= TripsOf(*code.kernel, *instruction.statement->As<kir::Loop>(),
                         code);
        break;
      case Op::kLoopEnd:
        times = outer.back();
        outer.pop_back();
        break;
      case Op::kIf: {
        // The jump behind the branch leads to the end of the other one.
        const CodeInstruction& jump =
            code.instructions[static_cast<size_t>(instruction.target) - 1];
        i = static_cast<size_t>(jump.target) - 1;
        break;
      }
      default:
        break;
    }
  }
  return steps;
}

absl::Status CheckLimits(const KernelCode& code,
                         const KernelRunOptions& options) {
  const kir::Kernel& kernel = *code.kernel;
  const double bytes = BytesOf(code, options);
  if (options.max_bytes >= 0 &&
      bytes > static_cast<double>(options.max_bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("running @", kernel.name, " takes about ", bytes,
                     " bytes; the limit is ", options.max_bytes));
  }
  double blocks = 1;
  for (int d = 0; d < 3 && options.all_blocks; ++d) {
    blocks *= std::max(1.0, static_cast<double>(code.initial[9 + d]));
  }
  const double steps = blocks * LeastStepsOfBlock(code);
  if (options.max_steps >= 0 &&
      steps > static_cast<double>(options.max_steps)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("running @", kernel.name, " takes at least ", steps,
                     " steps; the limit is ", options.max_steps));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KernelRun> RunKernel(
    const kir::Kernel& kernel, const std::vector<std::vector<double>>& inputs,
    const KernelRunOptions& options) {
  ASSIGN_OR_RETURN(KernelCode code, CompileKernel(kernel));
  RETURN_IF_ERROR(CheckLimits(code, options));
  // Behind the three of tid.* come those of the block, bdim.* and gdim.*.
  int64_t* const block = &code.initial[3];
  const int64_t* const grid = &code.initial[9];
  if (!options.all_blocks) block[0] = options.block;
  KernelRun run;
  run.params = inputs;
  KernelRunOptions block_options = options;
  do {
    ASSIGN_OR_RETURN(KernelRun one, kernel_machine::Machine(code, block_options)
                                        .Run(std::move(run.params)));
    run.steps += one.steps;
    if (options.max_steps >= 0) {
      block_options.max_steps = options.max_steps - run.steps;
    }
    run.params = std::move(one.params);
    run.races.insert(run.races.end(), one.races.begin(), one.races.end());
    for (int d = 0; d < 3; ++d) {
      if (++block[d] < grid[d]) break;
      block[d] = 0;
    }
  } while (options.all_blocks && block[0] + block[1] + block[2] > 0);
  absl::c_sort(run.races);
  run.races.erase(std::unique(run.races.begin(), run.races.end()),
                  run.races.end());
  return run;
}

namespace {

// The first block, and the first that skips a loop over blocks.
std::set<int64_t> UnlikeBlocks(const kir::Kernel& kernel) {
  std::set<int64_t> blocks = {0};
  if (!kernel.launch.has_value()) return blocks;
  const AffineExpr::Binding bindings = kernel.Bindings();
  const std::optional<int64_t> grid =
      kernel.launch->grid[0].Bind(bindings).AsConstant();
  kir::ForEachStatement(kernel.body, [&](const kir::Statement& statement) {
    const auto* loop = statement.As<kir::Loop>();
    if (loop == nullptr || loop->kind != kir::LoopKind::kBidX) return;
    const std::optional<int64_t> stop = loop->stop.Bind(bindings).AsConstant();
    if (stop.has_value() && *stop > 0 && *stop < grid.value_or(0)) {
      blocks.insert(*stop);
    }
  });
  return blocks;
}

// Two independent tests for each seed: the shadow memory finds pairs of
// conflicting accesses that nothing orders, even if this schedule happened to
// execute them in the right order; and the results are compared with a run of
// the same schedule in which no two buffers share memory, which finds wrong
// addresses and lost values.
absl::Status CheckRacesOfBlock(const kir::Kernel& kernel, int seeds,
                               KernelRunOptions options) {
  for (int seed = 1; seed <= seeds; ++seed) {
    options.own_memory = false;
    options.check_races = true;
    options.seed = static_cast<uint64_t>(seed);
    ASSIGN_OR_RETURN(KernelRun run, RunKernel(kernel, {}, options));
    if (!run.races.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("@", kernel.name, ": ", absl::StrJoin(run.races, "; ")));
    }
    // Threads take the same turns, so that only memory tells the two apart.
    options.own_memory = true;
    options.check_races = false;
    ASSIGN_OR_RETURN(KernelRun expected, RunKernel(kernel, {}, options));
    for (size_t p = 0; p < run.params.size(); ++p) {
      for (size_t e = 0; e < run.params[p].size(); ++e) {
        const double a = run.params[p][e], b = expected.params[p][e];
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        return absl::FailedPreconditionError(
            absl::StrCat("@", kernel.name, ": parameter ", p, " differs at ", e,
                         ": ", a, " and with memory of its own ", b));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRaces(const kir::Kernel& kernel, int seeds,
                        KernelRunOptions options) {
  if (options.all_blocks) return CheckRacesOfBlock(kernel, seeds, options);
  for (int64_t block : UnlikeBlocks(kernel)) {
    options.block = block;
    RETURN_IF_ERROR(CheckRacesOfBlock(kernel, seeds, options));
  }
  return absl::OkStatus();
}

}  // namespace xla::gpu
