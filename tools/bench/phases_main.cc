// Times the phases that every use of a module goes through, one CSV line a
// file.

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_format.h"
#include "tools/tool_main.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/simplifiers/call_inliner.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/verifier/hlo_verifier.h"

ABSL_FLAG(int, repetitions, 5, "Best of this many.");

namespace {

// Seconds of processor time, which other processes disturb least.
double ProcessorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * time.tv_nsec;
}

// Milliseconds of the fastest of several runs; `prepare` is not timed.
double Best(const std::function<void()>& prepare,
            const std::function<void()>& run) {
  double best = 1e30;
  for (int i = 0; i < absl::GetFlag(FLAGS_repetitions); ++i) {
    prepare();
    const double start = ProcessorSeconds();
    run();
    best = std::min(best, 1e3 * (ProcessorSeconds() - start));
  }
  return best;
}

// Peak resident set so far, in bytes.
int64_t PeakBytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{1024} * usage.ru_maxrss;
}

// Code and tables that reading any module touches first are not its memory.
absl::Status WarmUp() {
  return xla::ParseAndReturnUnverifiedModule(R"(HloModule warm_up
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY main { p = f32[8,8]{1,0} parameter(0), sharding={replicated}, metadata={op_name="p"}
  z = f32[] constant(0)
  r = f32[8]{0} reduce(p, z), dimensions={1}, to_apply=sum
  ROOT d = f32[8]{0} dot(p, r), lhs_contracting_dims={1}, rhs_contracting_dims={0} })")
      .status();
}

// Preconditions of alias analysis: no calls, each callee called from one place.
absl::Status Prepare(xla::HloModule* module) {
  absl::Status status = xla::CallInliner().Run(module).status();
  status.Update(xla::FlattenCallGraph().Run(module).status());
  status.Update(xla::TupleSimplifier().Run(module).status());
  status.Update(xla::HloDCE().Run(module).status());
  return status;
}

absl::Status TimeFile(const std::string& path) {
  absl::StatusOr<std::string> text = xla::ReadFileOrStdin(path);
  if (!text.ok()) return text.status();
  absl::Status status = WarmUp();
  const int64_t peak_before = PeakBytes();
  std::unique_ptr<xla::HloModule> module;
  auto parse = [&] {
    // Not while or after another module is there: allocation pays for what was
    // freed before it.
    module.reset();
    auto parsed = xla::ParseAndReturnUnverifiedModule(*text);
    status.Update(parsed.status());
    if (parsed.ok()) module = *std::move(parsed);
  };
  parse();
  if (!status.ok()) return status;
  const double bytes_per_instruction =
      static_cast<double>(PeakBytes() - peak_before) /
      module->instruction_count();
  const int64_t instructions = module->instruction_count();
  const int64_t computations = module->computation_count();
  auto nothing = [] {};
  int64_t lines = 0;
  const double lines_ms = Best(
      nothing, [&] { lines += std::count(text->begin(), text->end(), '\n'); });
  const double parse_ms = Best([&] { module.reset(); }, parse);
  std::string printed;
  const double print_ms =
      Best([&] { printed.clear(); }, [&] { printed = module->ToString(); });
  const double verify_ms = Best(nothing, [&] {
    xla::HloVerifierOpts options;
    options.allow_mixed_precision = true;
    status.Update(xla::VerifyHloModule(module.get(), options));
  });
  const double call_graph_ms =
      Best(nothing, [&] { xla::CallGraph::Build(module.get()); });
  const double dce_ms = Best(
      parse, [&] { status.Update(xla::HloDCE().Run(module.get()).status()); });
  const double prepare_ms =
      Best(parse, [&] { status.Update(Prepare(module.get())); });
  const xla::AliasInfo alias_info;
  const double alias_ms = Best(nothing, [&] {
    status.Update(
        xla::HloAliasAnalysis::Run(module.get(), &alias_info).status());
  });
  if (!status.ok() || lines == 0) return status;
  std::string name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.find('.'));
  std::cout << absl::StrFormat(
      "%s,%d,%d,%d,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.0f,%.0f,%.0f,%.0f\n",
      name, text->size(), instructions, computations, parse_ms, print_ms,
      verify_ms, dce_ms, call_graph_ms, prepare_ms, alias_ms,
      text->size() / parse_ms / 1e3, printed.size() / print_ms / 1e3,
      text->size() / lines_ms / 1e3, bytes_per_instruction);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files = xla::InitTool(
      argc, argv, "phases FILE...: milliseconds per phase, as CSV\n");
  std::cout << "model,bytes,instr,computations,parse_ms,print_ms,verify_ms,"
               "dce_ms,callgraph_ms,prepare_ms,alias_ms,parse_MBps,print_MBps,"
               "count_lines_MBps,"
               "bytes_per_instr\n";
  for (const std::string& file : files) {
    absl::Status status = TimeFile(file);
    if (!status.ok()) return xla::ExitStatus(status);
  }
  return 0;
}
