// Speed and memory of every analysis on modules of growing size, as a table.
//
//   analysis_benchmark [--sizes=1000,10000,100000] [--only=alias,live]
//     [--seconds=0.3] [--hlo=FILE,FILE...]
//
// A column per size: nanoseconds of processor time per instruction, the fastest
// of several runs, so that the first touch of memory does not count.
// Then the exponent e of time = c * size^e, fitted to all sizes (1.00: linear),
// and per instruction of the last size the bytes that a result holds and the
// most that were taken on the way. Where caches are too small for the larger
// modules, e tells more of the machine than of the work: see
// tools/bench/analysis_counts.py, which runs this with --count under Valgrind.
//
// Modules are synthetic training steps with a schedule; --hlo adds a column for
// each file, whose call graph must be flat. A dash stands for what is left out:
// analyses that need a schedule, on files without one.

#include <malloc.h>
#include <time.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/log/check.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/analysis/heap/best_fit_heap.h"
#include "xla/hlo/analysis/heap/heap_simulator.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_dfs_reachability.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_liveness_analysis.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_reachability.h"
#include "xla/hlo/analysis/tuple_points_to_analysis.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/synthetic_module.h"
#include "xla/shape_util.h"

ABSL_FLAG(std::vector<std::string>, sizes,
          std::vector<std::string>({"1000", "10000", "100000"}),
          "Instructions of the synthetic modules.");
ABSL_FLAG(std::vector<std::string>, only, {},
          "Parts of names of analyses; empty: all.");
ABSL_FLAG(std::vector<std::string>, hlo, {}, "Files for more columns.");
ABSL_FLAG(double, seconds, 0.3, "Time for each figure.");
ABSL_FLAG(bool, count, false,
          "Under Valgrind's callgrind with --instr-atstart=no: a dump for each "
          "analysis and size, named so, in place of the table.");

namespace {

// Bytes taken from the heap now, and the most since the last reset.
int64_t bytes_now = 0;
int64_t bytes_most = 0;

void Count(void* block) {
  bytes_now += static_cast<int64_t>(malloc_usable_size(block));
  bytes_most = std::max(bytes_most, bytes_now);
}

}  // namespace

void* operator new(std::size_t size) {
  void* block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) std::abort();
  Count(block);
  return block;
}
void operator delete(void* block) noexcept {
  if (block == nullptr) return;
  bytes_now -= static_cast<int64_t>(malloc_usable_size(block));
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  operator delete(block);
}

namespace xla {
namespace {

constexpr int kQueries = 1000;

struct Subject {
  std::unique_ptr<HloModule> module;
  std::unique_ptr<HloAliasAnalysis> alias;
  AliasInfo alias_info;
  // For HloSchedule::Update: a tenth of the instructions are not scheduled.
  std::unique_ptr<HloModule> grown;
  std::vector<std::pair<const HloInstruction*, const HloInstruction*>> pairs;
  std::unique_ptr<HloModule> loop;  // its body has as many instructions

  int64_t size() const { return module->instruction_count(); }
};

// A loop whose body holds that many instructions.
std::string LoopText(int64_t instructions) {
  std::string text = R"(
HloModule m
body {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x0 = f32[4] get-tuple-element(p), index=1
)";
  for (int64_t i = 1; i < instructions; ++i) {
    absl::StrAppend(&text, "  x", i, " = f32[4] negate(x", i - 1, ")\n");
  }
  return absl::StrCat(text, "  ROOT t = (s32[], f32[4]) tuple(next, x",
                      instructions - 1, R"()
}
cond {
  q = (s32[], f32[4]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  n = s32[] constant(96)
  ROOT lt = pred[] compare(j, n), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  a = f32[4] parameter(0)
  init = (s32[], f32[4]) tuple(zero, a)
  ROOT w = (s32[], f32[4]) while(init), condition=cond, body=body
})");
}

std::unique_ptr<Subject> MakeSubject(std::unique_ptr<HloModule> module) {
  auto subject = std::make_unique<Subject>();
  subject->module = std::move(module);
  auto alias =
      HloAliasAnalysis::Run(subject->module.get(), &subject->alias_info);
  CHECK_OK(alias.status());
  subject->alias = *std::move(alias);
  std::vector<const HloInstruction*> all;
  for (const HloInstruction* inst :
       subject->module->entry_computation()->instructions()) {
    all.push_back(inst);
  }
  std::mt19937 random(1);
  for (int i = 0; i < kQueries; ++i) {
    subject->pairs.emplace_back(all[random() % all.size()],
                                all[random() % all.size()]);
  }
  if (subject->module->has_schedule()) {
    subject->grown = subject->module->Clone();
    HloComputation* entry = subject->grown->entry_computation();
    const std::vector<HloInstruction*> old(entry->instructions().begin(),
                                           entry->instructions().end());
    for (int64_t i = 0; i < old.size(); i += 10) {
      if (!old[i]->shape().IsArray()) continue;
      entry->AddInstruction(HloInstruction::CreateUnary(
          old[i]->shape(), HloOpcode::kCopy, old[i]));
    }
  }
  auto loop = ParseAndReturnUnverifiedModule(LoopText(subject->size()));
  CHECK_OK(loop.status());
  subject->loop = *std::move(loop);
  return subject;
}

std::unique_ptr<Subject> SyntheticSubject(int64_t instructions) {
  SyntheticModuleOptions options;
  options.scheduled = true;
  auto module = ParseAndReturnUnverifiedModule(
      SyntheticTrainingModuleOfSize(instructions, options));
  CHECK_OK(module.status());
  return MakeSubject(*std::move(module));
}

struct Analysis {
  std::string name;
  bool needs_schedule = false;
  // Returns what the analysis keeps.
  std::function<std::shared_ptr<void>(const Subject&)> run;
};

template <typename T>
std::shared_ptr<void> Kept(absl::StatusOr<std::unique_ptr<T>> result) {
  CHECK_OK(result.status());
  return std::shared_ptr<T>(*std::move(result));
}
template <typename T>
std::shared_ptr<void> Kept(std::unique_ptr<T> result) {
  return std::shared_ptr<T>(std::move(result));
}

int64_t SizeOf(const BufferValue& value) {
  return ShapeUtil::ByteSizeOf(value.shape(), 8);
}

template <typename Heap>
std::shared_ptr<void> Simulate(const Subject& s, std::unique_ptr<Heap> heap) {
  const BufferValue::SizeFunction size = SizeOf;
  auto result =
      HeapSimulator::Run(std::move(heap), *s.module, s.module->schedule(),
                         *s.alias, &s.alias_info, &size);
  CHECK_OK(result.status());
  return std::make_shared<HeapSimulator::Result<HloValue>>(*std::move(result));
}

std::shared_ptr<void> Assign(const Subject& s,
                             std::unique_ptr<HloOrdering> ordering, bool fast) {
  BufferAssigner::Options options;
  if (fast) {
    options.assignment_algorithm_for_computations_without_ordering =
        BufferAssigner::UnorderedAlgorithm::FAST_MERGE;
  }
  return Kept(BufferAssigner::Run(
      s.module.get(), std::move(ordering), SizeOf, &s.alias_info,
      [](BufferValue::Color) { return 64; }, std::move(options)));
}

// Answers of kQueries questions.
template <typename Ask>
std::shared_ptr<void> Answers(const Subject& s, Ask ask) {
  auto answers = std::make_shared<std::vector<bool>>();
  for (const auto& [a, b] : s.pairs) answers->push_back(ask(a, b));
  return answers;
}

using BestFit = GlobalDecreasingSizeBestFitHeap<HloValue>;

std::vector<Analysis> GraphAnalyses() {
  return {
      {"call graph", false,
       [](const Subject& s) { return Kept(CallGraph::Build(s.module.get())); }},
      {"points-to", false,
       [](const Subject& s) {
         return Kept(TuplePointsToAnalysis::Run(s.module.get()));
       }},
      {"dataflow, sets", false,
       [](const Subject& s) {
         return Kept(HloDataflowAnalysis::Run(*s.module));
       }},
      {"dataflow, ssa", false,
       [](const Subject& s) {
         return Kept(HloDataflowAnalysis::Run(*s.module, /*ssa_form=*/true));
       }},
      {"alias", false,
       [](const Subject& s) {
         return Kept(HloAliasAnalysis::Run(s.module.get(), &s.alias_info));
       }},
      {"reachability", false,
       [](const Subject& s) {
         return Kept(HloReachabilityMap::Build(s.module->entry_computation()));
       }},
      {"reachability, sparse", false,
       [](const Subject& s) {
         return Kept(HloReachabilityMap::Build(s.module->entry_computation(),
                                               /*max_dense_bytes=*/0));
       }},
      {"reachability, dfs", false,
       [](const Subject& s) {
         return Kept(HloDfsReachability::Build(s.module->entry_computation()));
       }},
      {"ordering by dependency", false,
       [](const Subject& s) {
         return Kept(std::make_unique<DependencyHloOrdering>(s.module.get()));
       }},
      {"ordering by schedule", true,
       [](const Subject& s) {
         return Kept(
             std::make_unique<SequentialHloOrdering>(s.module->schedule()));
       }},
      {"1000 may-interfere", true,
       [](const Subject& s) {
         const SequentialHloOrdering ordering(s.module->schedule());
         const HloDataflowAnalysis& dataflow = s.alias->dataflow_analysis();
         return Answers(s, [&](const HloInstruction* a,
                               const HloInstruction* b) {
           return ordering.MayInterfere(*dataflow.GetValueSet(a).values()[0],
                                        *dataflow.GetValueSet(b).values()[0],
                                        dataflow, &s.alias_info);
         });
       }},
      {"liveness", false,
       [](const Subject& s) {
         return Kept(HloLivenessAnalysis::Run(*s.module));
       }},
      {"trip count", false,
       [](const Subject& s) {
         CHECK_EQ(ComputeWhileLoopTripCount(
                      s.loop->entry_computation()->root_instruction())
                      .value_or(0),
                  96);
         return std::shared_ptr<void>();
       }},
      {"cost", false,
       [](const Subject& s) {
         auto result = std::make_unique<HloCostAnalysis>();
         CHECK_OK(s.module->entry_computation()->Accept(result.get()));
         return Kept(std::move(result));
       }},
  };
}

std::vector<Analysis> MemoryAnalyses() {
  return {
      {"schedule update", true,
       [](const Subject& s) {
         auto schedule = std::make_unique<HloSchedule>(s.grown->schedule());
         CHECK_OK(schedule->Update());
         return Kept(std::move(schedule));
       }},
      {"live range", true,
       [](const Subject& s) {
         return Kept(HloLiveRange::Run(s.module->schedule(), *s.alias,
                                       s.module->entry_computation()));
       }},
      {"heap simulator, bytes", true,
       [](const Subject& s) {
         return Simulate(
             s, std::make_unique<NoFragmentationStatsHeap<HloValue>>());
       }},
      {"heap simulator, planner", true,
       [](const Subject& s) {
         return Simulate(s, std::make_unique<PlannedHeap<HloValue>>(64));
       }},
      {"heap simulator, fast merge", true,
       [](const Subject& s) {
         return Simulate(s, std::make_unique<BestFit>(64, BestFit::kFastMerge));
       }},
      {"heap simulator, fast split", true,
       [](const Subject& s) {
         return Simulate(s, std::make_unique<BestFit>(64, BestFit::kFastSplit));
       }},
      {"heap simulator, best fit", true,
       [](const Subject& s) {
         return Simulate(s, std::make_unique<BestFit>(64));
       }},
      {"buffers, scheduled", true,
       [](const Subject& s) {
         return Assign(
             s, std::make_unique<SequentialHloOrdering>(s.module->schedule()),
             /*fast=*/false);
       }},
      {"buffers, unordered", false,
       [](const Subject& s) {
         return Assign(s,
                       std::make_unique<DependencyHloOrdering>(s.module.get()),
                       /*fast=*/false);
       }},
      {"buffers, unordered, fast", false,
       [](const Subject& s) {
         return Assign(s,
                       std::make_unique<DependencyHloOrdering>(s.module.get()),
                       /*fast=*/true);
       }},
  };
}

// Processor time of this process in nanoseconds: machines may be busy.
double ProcessorTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec);
}

// Nanoseconds of the fastest run.
double Time(const Analysis& analysis, const Subject& subject) {
  double best = 1e30;
  const double end = ProcessorTime() + 1e9 * absl::GetFlag(FLAGS_seconds);
  for (int run = 0; run < 3 || ProcessorTime() < end; ++run) {
    const double start = ProcessorTime();
    std::shared_ptr<void> kept = analysis.run(subject);
    best = std::min(best, ProcessorTime() - start);
    if (best > 5e9) break;
  }
  return best;
}

// Has callgrind count one run. The first run finds what later ones share.
void Count(const Analysis& analysis, const Subject& subject) {
  analysis.run(subject);
#if defined(CALLGRIND_DUMP_STATS_AT)
  const std::string name = absl::StrCat(analysis.name, "@", subject.size());
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  std::shared_ptr<void> kept = analysis.run(subject);
  CALLGRIND_DUMP_STATS_AT(name.c_str());
  CALLGRIND_STOP_INSTRUMENTATION;
#endif
}

// The slope of the line through (log size, log cost).
double Exponent(const std::vector<std::pair<double, double>>& points) {
  double x_mean = 0;
  double y_mean = 0;
  for (const auto& [size, cost] : points) {
    x_mean += std::log(size) / static_cast<double>(points.size());
    y_mean += std::log(cost) / static_cast<double>(points.size());
  }
  double xy = 0;
  double xx = 0;
  for (const auto& [size, cost] : points) {
    xy += (std::log(size) - x_mean) * (std::log(cost) - y_mean);
    xx += (std::log(size) - x_mean) * (std::log(size) - x_mean);
  }
  return xx == 0 ? 0 : xy / xx;
}

bool IsWanted(absl::string_view name) {
  const std::vector<std::string> only = absl::GetFlag(FLAGS_only);
  return only.empty() ||
         std::any_of(only.begin(), only.end(), [&](const std::string& part) {
           return absl::StrContains(name, part);
         });
}

void PrintRow(const Analysis& analysis,
              const std::vector<std::unique_ptr<Subject>>& subjects,
              int64_t num_synthetic) {
  std::string row = absl::StrFormat("%-28s", analysis.name);
  std::vector<std::pair<double, double>> points;
  double kept_bytes = 0;
  double peak_bytes = 0;
  for (int64_t i = 0; i < subjects.size(); ++i) {
    const Subject& subject = *subjects[i];
    if (analysis.needs_schedule && !subject.module->has_schedule()) {
      absl::StrAppend(&row, absl::StrFormat("%13s", "-"));
      continue;
    }
    const double time = Time(analysis, subject);
    const auto size = static_cast<double>(subject.size());
    absl::StrAppend(&row, absl::StrFormat("%13.1f", time / size));
    if (i < num_synthetic) points.emplace_back(size, time);
  }
  if (num_synthetic > 0) {
    const Subject& subject = *subjects[num_synthetic - 1];
    const int64_t before = bytes_most = bytes_now;
    const std::shared_ptr<void> kept = analysis.run(subject);
    kept_bytes = static_cast<double>(bytes_now - before) / subject.size();
    peak_bytes = static_cast<double>(bytes_most - before) / subject.size();
  }
  absl::StrAppend(&row, absl::StrFormat("%8.2f%8.0f%8.0f", Exponent(points),
                                        kept_bytes, peak_bytes));
  std::puts(row.c_str());
  std::fflush(stdout);
}

int Main() {
  std::vector<std::unique_ptr<Subject>> subjects;
  std::string header = absl::StrFormat("%-28s", "ns per instruction");
  for (const std::string& text : absl::GetFlag(FLAGS_sizes)) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(text, &size) || size < 1) {
      std::fprintf(stderr, "--sizes: %s is not a size\n", text.c_str());
      return 1;
    }
    subjects.push_back(SyntheticSubject(size));
    absl::StrAppend(&header, absl::StrFormat("%13d", size));
  }
  const int64_t num_synthetic = subjects.size();
  for (const std::string& file : absl::GetFlag(FLAGS_hlo)) {
    std::ifstream in(file);
    const std::string text((std::istreambuf_iterator<char>(in)),
                           std::istreambuf_iterator<char>());
    auto module = ParseAndReturnUnverifiedModule(text);
    if (!module.ok()) {
      std::fprintf(stderr, "%s\n", module.status().ToString().c_str());
      return 1;
    }
    subjects.push_back(MakeSubject(*std::move(module)));
    absl::StrAppend(
        &header, absl::StrFormat("%13s", file.substr(file.rfind('/') + 1, 12)));
  }
  absl::StrAppend(&header, absl::StrFormat("%8s%8s%8s", "e", "bytes", "peak"));
  const bool count = absl::GetFlag(FLAGS_count);
  if (!count) std::puts(header.c_str());
  for (const auto& list : {GraphAnalyses(), MemoryAnalyses()}) {
    for (const Analysis& analysis : list) {
      if (!IsWanted(analysis.name)) continue;
      if (!count) {
        PrintRow(analysis, subjects, num_synthetic);
        continue;
      }
      for (const auto& subject : subjects) Count(analysis, *subject);
    }
  }
  return 0;
}

}  // namespace
}  // namespace xla

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  // What is freed is not given back to the system: how long that takes to hand
  // out large blocks again is no matter of the analyses.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, -1);
  return xla::Main();
}
