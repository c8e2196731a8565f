// Speed and memory of points-to, dataflow and alias analysis.
//
//   alias_benchmark [--hlo=FILE]... [--benchmark_filter=REGEX ...]
//
// Generated modules of 1,000, 10,000 and 100,000 instructions are always there;
// a module that is not flat is reported as an error of alias analysis.
//
// Counters: ns_per_instruction, and bytes_per_instruction of what the analysis
// keeps.

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "benchmark/benchmark.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/tuple_points_to_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/synthetic_module.h"

namespace xla {
namespace {

int64_t HeapInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

template <typename Analyze>
void Register(absl::string_view analysis, absl::string_view name,
              const HloModule* module, Analyze analyze) {
  benchmark::RegisterBenchmark(
      absl::StrCat(analysis, "/", name).c_str(),
      [module, analyze](benchmark::State& state) {
        for (auto _ : state) {
          auto result = analyze(*module);
          if (!result.ok()) {
            state.SkipWithError(std::string(result.status().message()).c_str());
            return;
          }
          benchmark::DoNotOptimize(result);
          state.PauseTiming();
          result->reset();
          state.ResumeTiming();
        }
        const double count = static_cast<double>(module->instruction_count());
        state.counters["instructions"] = count;
        state.counters["ns_per_instruction"] = benchmark::Counter(
            count * 1e-9, benchmark::Counter::kIsIterationInvariantRate |
                              benchmark::Counter::kInvert);
        const int64_t before = HeapInUse();
        auto result = analyze(*module);
        state.counters["bytes_per_instruction"] =
            static_cast<double>(HeapInUse() - before) / count;
      })
      ->Unit(benchmark::kMillisecond);
}

void RegisterAll(absl::string_view name, const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> parsed =
      ParseAndReturnUnverifiedModule(text);
  if (!parsed.ok()) {
    std::cerr << name << ": " << parsed.status().message() << "\n";
    std::exit(1);
  }
  // Lives as long as the benchmarks.
  const HloModule* module = parsed->release();
  Register("CallGraph", name, module, [](const HloModule& m) {
    return absl::StatusOr<std::unique_ptr<CallGraph>>(CallGraph::Build(&m));
  });
  Register("PointsTo", name, module,
           [](const HloModule& m) { return TuplePointsToAnalysis::Run(&m); });
  Register("DataflowSets", name, module,
           [](const HloModule& m) { return HloDataflowAnalysis::Run(m); });
  Register("DataflowSsa", name, module, [](const HloModule& m) {
    return HloDataflowAnalysis::Run(m, /*ssa_form=*/true);
  });
  Register("Alias", name, module, [](const HloModule& m) {
    const AliasInfo alias_info;
    return HloAliasAnalysis::Run(&m, &alias_info);
  });
}

}  // namespace
}  // namespace xla

int main(int argc, char** argv) {
  std::vector<std::string> files;
  for (int i = 1; i < argc;) {
    if (std::strncmp(argv[i], "--hlo=", 6) != 0) {
      ++i;
      continue;
    }
    files.emplace_back(argv[i] + 6);
    std::rotate(argv + i, argv + i + 1, argv + argc);
    --argc;
  }
  benchmark::Initialize(&argc, argv);
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in) {
      std::cerr << "cannot read " << file << "\n";
      return 1;
    }
    std::stringstream text;
    text << in.rdbuf();
    xla::RegisterAll(file.substr(file.rfind('/') + 1), text.str());
  }
  for (int64_t size : {1000, 10000, 100000}) {
    xla::RegisterAll(absl::StrCat("synthetic_", size),
                     xla::SyntheticTrainingModuleOfSize(size));
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
