#ifndef XLA_HLO_PIPELINE_HLO_OPT_H_
#define XLA_HLO_PIPELINE_HLO_OPT_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/transforms/layouts/transpose_layouts.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/xla.pb.h"

namespace xla {

// The values that HloOptOptions::stage may have, separated by newlines.
inline constexpr char kHloOptStages[] = "hlo";

// The work of the hlo-opt tool: reads modules, runs a pipeline on each, writes
// what came out. The tool adds flags to it.
struct HloOptOptions {
  enum class Emit {
    kHlo,
    kShort,
    kProto,
    kTextProto,
    kDot,
    kKir,
    kCuda,
    kNone
  };
  enum class Report { kNone, kText, kJson };

  // Passes as text (see PassRegistry), or the name of a pipeline; passes run
  // after the pipeline where both are given.
  std::string passes;
  std::string pipeline;
  // Where they are not empty: values of the options `device`, `memory-limit`,
  // `mesh`, `kernels-for` and `layouts` of all passes that have them, whatever
  // the texts above say.
  std::string device;
  std::string memory_limit;
  std::string mesh;
  std::optional<gpu::KernelTarget> kernels_for;
  std::optional<gpu::EntryLayouts> layouts;
  // Number of partitions, overriding the headers of modules; 0: as in the
  // header.
  int64_t num_partitions = 0;

  // The options of the modules' configs (see ReadXlaFlags); unset: none.
  std::optional<DebugOptions> debug_options;

  // How to read: unset detects the format from the contents.
  std::optional<ModuleFormat> format;
  // Inputs hold several modules, separated by lines `// -----`.
  bool split_input = false;
  // Keep attributes that an opcode does not have, with a warning.
  bool lenient = false;
  // Give elided constants (`{...}`) deterministic elements.
  bool fill_elided_constants = false;

  // How to write. Unset: hlo, or none where a report is asked for.
  std::optional<Emit> emit;
  // For kDot: only what is at most `radius` edges from the instruction of this
  // name (InstructionsAround()); empty: all.
  std::string around;
  int64_t radius = 2;
  // Constants of more than ten elements in full, not as `{...}`. Unset: in
  // files, so that they hold the module; not on standard output, with a note.
  std::optional<bool> print_large_constants;
  // The set of passes and the stage of OpenXLA's tool: other values than these
  // need a hardware compiler and are refused.
  std::string platform = "transforms";
  std::string stage = "hlo";
  // "-" is standard output. Of kCuda, a folder for the program of one module.
  std::string output = "-";
  Report report = Report::kNone;

  // Checks: the input always, the result always, after each pass if asked.
  bool verify_each = false;
  bool layout_sensitive = false;
  // Evaluate before and after each pass, with inputs of this many seeds, and
  // fail passes that change what the module computes; 0: do not. Modules that
  // take more than about max_equivalence_work operations for one of the runs
  // are skipped (-1: none). Notes on what is skipped and why go to standard
  // error, or are appended to equivalence_notes.
  int64_t check_equivalent = 0;
  int64_t max_equivalence_work = 10'000'000'000;
  std::string equivalence_notes;
  // Fail passes that change the module but report that they did not.
  bool check_changed = true;

  // Observation.
  bool time = false;
  // Passes, separated by commas, whose decisions are printed instead of the
  // module (see PassExplainer); text or json; a folder for graphs.
  std::string explain;
  Report explain_format = Report::kText;
  std::string explain_dot;
  bool stats = false;
  bool print_after_change = false;
  std::string print_before;
  std::string print_after;
  std::string fuel;
  // Where to write a reproducer when a pass fails; empty: nowhere.
  std::string reproducer;
  // Tell a terminal which pass runs, once a run takes over a second.
  bool progress = false;
};

bool AbslParseFlag(absl::string_view text, HloOptOptions::Emit* emit,
                   std::string* error);
std::string AbslUnparseFlag(HloOptOptions::Emit emit);
bool AbslParseFlag(absl::string_view text, HloOptOptions::Report* report,
                   std::string* error);
std::string AbslUnparseFlag(HloOptOptions::Report report);

// Runs on every input ("-": standard input) and writes the output in one piece
// at the end. Warnings, tables of --stats and --time and progress go to `err`.
//
// ResourceExhausted, after the output, where a LimitedPass missed its limit.
//
// A failure in one module does not keep the others from being tried; then
// nothing is written, and the errors are returned, joined.
absl::Status RunHloOpt(const HloOptOptions& options,
                       const PassRegistry& registry,
                       const std::vector<std::string>& inputs,
                       std::ostream& err);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_HLO_OPT_H_
