// Speed and memory of reachability, orderings, live ranges, liveness, trip
// counts and cost.
//
//   ordering_benchmark [--benchmark_filter=REGEX ...]
//
// Generated modules of 1,000, 10,000 and 100,000 instructions, scheduled.
// Counters: ns_per_instruction, and bytes_per_instruction of what an analysis
// keeps. Queries run on 1,000 random pairs; ns_per_query counts one.

#include <malloc.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_dfs_reachability.h"
#include "xla/hlo/analysis/hlo_live_range.h"
#include "xla/hlo/analysis/hlo_liveness_analysis.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_reachability.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/synthetic_module.h"

namespace xla {
namespace {

constexpr int kQueries = 1000;

int64_t HeapInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// A module of about that size, made once.
struct Subject {
  std::unique_ptr<HloModule> module;
  std::unique_ptr<HloAliasAnalysis> alias;
  std::vector<std::pair<const HloInstruction*, const HloInstruction*>> pairs;
};

const Subject& SubjectOfSize(int64_t instructions) {
  static auto& subjects = *new std::map<int64_t, Subject>();
  Subject& subject = subjects[instructions];
  if (subject.module != nullptr) return subject;
  SyntheticModuleOptions options;
  options.scheduled = true;
  auto module = ParseAndReturnUnverifiedModule(
      SyntheticTrainingModuleOfSize(instructions, options));
  CHECK_OK(module.status());
  subject.module = *std::move(module);
  AliasInfo alias_info;
  auto alias = HloAliasAnalysis::Run(subject.module.get(), &alias_info);
  CHECK_OK(alias.status());
  subject.alias = *std::move(alias);
  std::vector<const HloInstruction*> all;
  for (const HloInstruction* inst :
       subject.module->entry_computation()->instructions()) {
    all.push_back(inst);
  }
  std::mt19937 rng(1);
  for (int i = 0; i < kQueries; ++i) {
    subject.pairs.emplace_back(all[rng() % all.size()],
                               all[rng() % all.size()]);
  }
  return subject;
}

// Times `analyze`, which returns a pointer to what it keeps.
template <typename Analyze>
void Run(benchmark::State& state, Analyze analyze) {
  const Subject& subject = SubjectOfSize(state.range(0));
  const double count = subject.module->instruction_count();
  const int64_t before = HeapInUse();
  auto kept = analyze(subject);
  const double bytes = static_cast<double>(HeapInUse() - before);
  kept.reset();
  for (auto _ : state) {
    auto result = analyze(subject);
    benchmark::DoNotOptimize(result);
  }
  state.counters["ns_per_instruction"] = benchmark::Counter(
      count * 1e-9, benchmark::Counter::kIsIterationInvariantRate |
                        benchmark::Counter::kInvert);
  state.counters["bytes_per_instruction"] = bytes / count;
}

// Times `ask` over the pairs.
template <typename Ask>
void Query(benchmark::State& state, Ask ask) {
  const Subject& subject = SubjectOfSize(state.range(0));
  for (auto _ : state) {
    for (const auto& [a, b] : subject.pairs) {
      benchmark::DoNotOptimize(ask(a, b));
    }
  }
  state.counters["ns_per_query"] = benchmark::Counter(
      kQueries * 1e-9, benchmark::Counter::kIsIterationInvariantRate |
                           benchmark::Counter::kInvert);
}

#define SIZES \
  ->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond)

void BM_ReachabilityMap(benchmark::State& state) {
  Run(state, [](const Subject& subject) {
    return HloReachabilityMap::Build(subject.module->entry_computation());
  });
}
BENCHMARK(BM_ReachabilityMap) SIZES;

void BM_ReachabilityMapSparse(benchmark::State& state) {
  Run(state, [](const Subject& subject) {
    return HloReachabilityMap::Build(subject.module->entry_computation(),
                                     /*max_dense_bytes=*/0);
  });
}
BENCHMARK(BM_ReachabilityMapSparse) SIZES;

void BM_ReachabilityMapQuery(benchmark::State& state) {
  auto map = HloReachabilityMap::Build(
      SubjectOfSize(state.range(0)).module->entry_computation());
  Query(state, [&](const HloInstruction* a, const HloInstruction* b) {
    return map->IsReachable(a, b);
  });
}
BENCHMARK(BM_ReachabilityMapQuery) SIZES;

void BM_DfsReachability(benchmark::State& state) {
  Run(state, [](const Subject& subject) {
    return HloDfsReachability::Build(subject.module->entry_computation());
  });
}
BENCHMARK(BM_DfsReachability) SIZES;

void BM_DfsReachabilityQuery(benchmark::State& state) {
  auto reachability = HloDfsReachability::Build(
      SubjectOfSize(state.range(0)).module->entry_computation());
  Query(state, [&](const HloInstruction* a, const HloInstruction* b) {
    return reachability->IsReachable(a, b);
  });
}
BENCHMARK(BM_DfsReachabilityQuery) SIZES;

void BM_SequentialOrdering(benchmark::State& state) {
  Run(state, [](const Subject& subject) {
    return std::make_unique<SequentialHloOrdering>(subject.module->schedule());
  });
}
BENCHMARK(BM_SequentialOrdering) SIZES;

void BM_MayInterfere(benchmark::State& state) {
  const Subject& subject = SubjectOfSize(state.range(0));
  const SequentialHloOrdering ordering(subject.module->schedule());
  const HloDataflowAnalysis& dataflow = subject.alias->dataflow_analysis();
  AliasInfo alias_info;
  Query(state, [&](const HloInstruction* a, const HloInstruction* b) {
    return ordering.MayInterfere(*dataflow.GetValueSet(a).values()[0],
                                 *dataflow.GetValueSet(b).values()[0], dataflow,
                                 &alias_info);
  });
}
BENCHMARK(BM_MayInterfere) SIZES;

void BM_LiveRange(benchmark::State& state) {
  Run(state, [](const Subject& subject) {
    auto result = HloLiveRange::Run(subject.module->schedule(), *subject.alias,
                                    subject.module->entry_computation());
    CHECK_OK(result.status());
    return *std::move(result);
  });
}
BENCHMARK(BM_LiveRange) SIZES;

void BM_Liveness(benchmark::State& state) {
  Run(state, [](const Subject& subject) {
    auto result = HloLivenessAnalysis::Run(*subject.module);
    CHECK_OK(result.status());
    return *std::move(result);
  });
}
BENCHMARK(BM_Liveness) SIZES;

void BM_Cost(benchmark::State& state) {
  Run(state, [](const Subject& subject) {
    auto result = std::make_unique<HloCostAnalysis>();
    CHECK_OK(subject.module->entry_computation()->Accept(result.get()));
    return result;
  });
}
BENCHMARK(BM_Cost) SIZES;

// A loop whose body holds that many instructions.
void BM_TripCount(benchmark::State& state) {
  std::string text = R"(
HloModule m
body {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x0 = f32[4] get-tuple-element(p), index=1
)";
  for (int64_t i = 1; i < state.range(0); ++i) {
    absl::StrAppend(&text, "  x", i, " = f32[4] negate(x", i - 1, ")\n");
  }
  absl::StrAppend(&text, "  ROOT t = (s32[], f32[4]) tuple(next, x",
                  state.range(0) - 1, R"()
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
  auto module = ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  const HloInstruction* loop =
      (*module)->entry_computation()->root_instruction();
  for (auto _ : state) {
    CHECK_EQ(ComputeWhileLoopTripCount(loop).value_or(0), 96);
  }
}
BENCHMARK(BM_TripCount)->Arg(1000)->Arg(10000)->Arg(100000);

}  // namespace
}  // namespace xla

BENCHMARK_MAIN();
