#ifndef XLA_BACKENDS_GPU_CODEGEN_KIR_OPT_DRIVER_H_
#define XLA_BACKENDS_GPU_CODEGEN_KIR_OPT_DRIVER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/plan/plan_shared_memory.h"

// The work of the kir-opt tool: reads kernels, plans their shared memory and
// writes the kernels, CUDA, a picture or a report. The tool adds flags to it.

namespace xla::gpu {

struct KirOptOptions {
  enum class Mode { kPlan, kStack };
  enum class Emit { kKir, kCuda, kSvg, kNone };
  enum class Report { kNone, kText, kJson };

  Mode mode = Mode::kPlan;
  // Which passes run, in their fixed order, by name:
  //   circular  splits loops of circular buffers into prologue, main, epilogue
  //   matmul    decides whether operands of a matmul are promoted
  //   alias     (stack) buffers become references to others; (plan) arrays in
  //             registers do
  //   promote   (stack) barriers for promoted buffers
  //   plan      addresses
  //   syncs     RAW, WAR and asynchronous syncs
  // "none": the kernel is read, verified and written.
  std::string passes = "circular,alias,promote,plan,syncs";
  // Unset: kir, or none where a report is asked for.
  std::optional<Emit> emit;
  Report report = Report::kNone;
  // Comments with positions and lives.
  bool annotate = false;
  std::string output = "-";  // "-" is standard output
  // Shared memory a block may have, occupancy.
  std::string device = "sm_90";
  // Extents of the block instead of the kernel's: "128" or "32x4x1".
  std::string threads;
  // Values of symbols: "H=5,W=6".
  std::string bind;
  // Alignment of buffers that ask for none; bytes.
  std::optional<int64_t> min_align;
  // Barriers that threads may miss are taken as they are.
  bool allow_divergent_barriers = false;
  // Checks the plan's conditions (smem_plan_checker.h).
  bool check_plan = false;
  // Runs the planned kernel so often on the race checker's machine; 0: not.
  int check_races = 0;
  // Steps of each run there and of the interpreter that cuda_main asks; -1: no
  // limit.
  int64_t max_steps = int64_t{1} << 25;
  // A main() in the CUDA that compares results with the interpreter's.
  bool cuda_main = false;
  // (plan) Barriers for reuse: auto, never, min-bytes; at most so many.
  SmemPlanOptions::ReuseSyncs reuse_syncs = SmemPlanOptions::ReuseSyncs::kAuto;
  std::optional<int> max_reuse_syncs;
  // (plan) Registers of a thread, which bound occupancy; 0: not looked at.
  int registers = 0;
  // (plan) Cycles between the halves of a barrier that make it worth two; 0:
  // barriers are never split.
  int64_t split_cycles = SmemPlanOptions().split_cycles;
};

bool AbslParseFlag(absl::string_view text, KirOptOptions::Mode* mode,
                   std::string* error);
std::string AbslUnparseFlag(KirOptOptions::Mode mode);
bool AbslParseFlag(absl::string_view text, KirOptOptions::Emit* emit,
                   std::string* error);
std::string AbslUnparseFlag(KirOptOptions::Emit emit);
bool AbslParseFlag(absl::string_view text, KirOptOptions::Report* report,
                   std::string* error);
std::string AbslUnparseFlag(KirOptOptions::Report report);

bool AbslParseFlag(absl::string_view text, SmemPlanOptions::ReuseSyncs* syncs,
                   std::string* error);
std::string AbslUnparseFlag(SmemPlanOptions::ReuseSyncs syncs);

// Sets symbols from "H=5,W=6" and the block from "32x4x1"; either may be empty.
absl::Status BindKernel(absl::string_view bind, absl::string_view threads,
                        kir::Kernel& kernel);

// Errors name file, line and column; ResourceExhausted when a kernel needs more
// than the device has.
absl::Status RunKirOpt(const KirOptOptions& options,
                       const std::vector<std::string>& paths);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_CODEGEN_KIR_OPT_DRIVER_H_
