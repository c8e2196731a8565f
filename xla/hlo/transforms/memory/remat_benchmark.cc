// Speed of the two greedy algorithms of rematerialization, and of the planner.
// Counters:
// ns_per_instruction of the module before the pass, instructions recomputed.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"
#include "xla/hlo/transforms/memory/remat/planner/remat_planner.h"

namespace xla {
namespace {

// Stretches that find a value of theirs live and read it again at their end.
// The one that needs most is the first, then the last, then the second, and so
// on: the next peak lies at the other end.
std::string FarPeaks(int64_t instructions) {
  const int64_t stretches = instructions / 8;
  std::string text = R"(
HloModule m, is_scheduled=true
ENTRY main {
  p = f32[] parameter(0)
  sum0 = f32[1]{0} parameter(1)
)";
  for (int64_t i = 0; i < stretches; ++i) {
    const int64_t rank =
        2 * i < stretches ? 2 * i : 2 * (stretches - 1 - i) + 1;
    const int64_t wide = 2 * stretches - rank;
    absl::StrAppend(&text, "  bcast", i, " = f32[", 2 * stretches,
                    "]{0} broadcast(p), dimensions={}\n");
    absl::StrAppend(&text, "  early", i, " = f32[1]{0} slice(bcast", i,
                    "), slice={[0:1]}\n");
    absl::StrAppend(&text, "  wide", i, " = f32[", wide,
                    "]{0} broadcast(p), dimensions={}\n");
    absl::StrAppend(&text, "  cut", i, " = f32[1]{0} slice(wide", i,
                    "), slice={[0:1]}\n");
    absl::StrAppend(&text, "  late", i, " = f32[1]{0} slice(bcast", i,
                    "), slice={[1:2]}\n");
    absl::StrAppend(&text, "  m_", i, " = f32[1]{0} add(early", i, ", cut", i,
                    ")\n");
    absl::StrAppend(&text, "  n_", i, " = f32[1]{0} add(m_", i, ", late", i,
                    ")\n");
    absl::StrAppend(&text, "  sum", i + 1, " = f32[1]{0} add(sum", i, ", n_", i,
                    ")\n");
  }
  return absl::StrCat(text, "  ROOT r = f32[1]{0} negate(sum", stretches,
                      ")\n}");
}

// A chain of layers whose three values each wait for the way back; two of them
// can be recomputed from the third.
std::string TrainingStep(int64_t instructions) {
  const int64_t layers = instructions / 9;
  std::string text = R"(
HloModule m, is_scheduled=true
ENTRY main {
  a_0 = f32[1024]{0} parameter(0)
)";
  for (int64_t i = 0; i < layers; ++i) {
    absl::StrAppend(&text, "  z_", i, " = f32[1024]{0} custom-call(a_", i,
                    "), custom_call_target=\"layer\"\n");
    absl::StrAppend(&text, "  g_", i, " = f32[1024]{0} logistic(z_", i, ")\n");
    absl::StrAppend(&text, "  a_", i + 1, " = f32[1024]{0} multiply(z_", i,
                    ", g_", i, ")\n");
  }
  absl::StrAppend(&text, "  d_", layers, " = f32[1024]{0} negate(a_", layers,
                  ")\n");
  for (int64_t i = layers - 1; i >= 0; --i) {
    absl::StrAppend(&text, "  u_", i, " = f32[1024]{0} multiply(z_", i, ", g_",
                    i, ")\n");
    absl::StrAppend(&text, "  v_", i, " = f32[1024]{0} add(u_", i, ", a_",
                    i + 1, ")\n");
    absl::StrAppend(&text, "  x_", i, " = f32[1024]{0} multiply(v_", i, ", d_",
                    i + 1, ")\n");
    absl::StrAppend(&text, "  d_", i, " = f32[1024]{0} custom-call(x_", i,
                    "), custom_call_target=\"layer_back\"\n");
  }
  return absl::StrCat(text, "  ROOT r = f32[1024]{0} negate(d_0)\n}");
}

void Run(benchmark::State& state, const std::string& text,
         HloRematerialization::RematAlgorithm algorithm, int percent) {
  auto module = ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  const auto peak = ComputeRematPeak(**module, (*module)->schedule());
  CHECK_OK(peak.status());
  HloCostAnalysis cost;
  int64_t made_again = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::unique_ptr<HloModule> clone = (*module)->Clone("");
    HloRematerialization::RematerializationSizes sizes;
    HloRematerialization pass(
        HloRematerialization::Options(cost, {/*recompute=*/true, false, false},
                                      peak->bytes / 100 * percent,
                                      /*block_size_limit=*/1, 1, 0, nullptr,
                                      std::nullopt, {}, algorithm),
        sizes);
    state.ResumeTiming();
    CHECK(pass.Run(clone.get()).value());
    state.PauseTiming();
    made_again = pass.instructions_rematerialized();
    clone.reset();
    state.ResumeTiming();
  }
  state.counters["made_again"] = static_cast<double>(made_again);
  state.counters["ns_per_instruction"] = benchmark::Counter(
      static_cast<double>((*module)->instruction_count()) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate |
          benchmark::Counter::kInvert);
}

// Layers with rectifiers, whose zeros all layers read.
std::string Rectifiers(int64_t instructions) {
  const int64_t layers = instructions / 5;
  std::string text = R"(
HloModule m, is_scheduled=true
ENTRY main {
  x_0 = f32[1024]{0} parameter(0)
  zero = f32[] constant(0)
  zeros = f32[1024]{0} broadcast(zero), dimensions={}
)";
  for (int64_t i = 0; i < layers; ++i) {
    absl::StrAppend(&text, "  e_", i, " = f32[1024]{0} exponential(x_", i,
                    ")\n");
    absl::StrAppend(&text, "  x_", i + 1, " = f32[1024]{0} maximum(e_", i,
                    ", zeros)\n");
  }
  absl::StrAppend(&text, "  g_", layers, " = f32[1024]{0} negate(x_", layers,
                  ")\n");
  for (int64_t i = layers - 1; i >= 0; --i) {
    absl::StrAppend(&text, "  p_", i, " = pred[1024]{0} compare(x_", i + 1,
                    ", zeros), direction=GT\n");
    absl::StrAppend(&text, "  t_", i, " = f32[1024]{0} select(p_", i, ", g_",
                    i + 1, ", zeros)\n");
    absl::StrAppend(&text, "  g_", i, " = f32[1024]{0} multiply(t_", i, ", e_",
                    i, ")\n");
  }
  return absl::StrCat(text, "  ROOT r = f32[1024]{0} negate(g_0)\n}");
}

void BM_PlanRectifiers(benchmark::State& state) {
  auto module = ParseAndReturnUnverifiedModule(Rectifiers(state.range(0)));
  CHECK_OK(module.status());
  const auto peak = ComputeRematPeak(**module, (*module)->schedule());
  CHECK_OK(peak.status());
  RematPlanOptions options;
  options.limit_bytes = peak->bytes / 2;
  for (auto _ : state) {
    state.PauseTiming();
    std::unique_ptr<HloModule> clone = (*module)->Clone("");
    state.ResumeTiming();
    CHECK(PlanRematerialization(clone.get(), options).value().met);
    state.PauseTiming();
    clone.reset();
    state.ResumeTiming();
  }
  state.counters["ns_per_instruction"] = benchmark::Counter(
      static_cast<double>((*module)->instruction_count()) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate |
          benchmark::Counter::kInvert);
  state.SetComplexityN(state.range(0));
}

void BM_FarPeaks(benchmark::State& state) {
  Run(state, FarPeaks(state.range(0)), HloRematerialization::kPeakPriority, 60);
}
void BM_TrainingStep(benchmark::State& state) {
  Run(state, TrainingStep(state.range(0)), HloRematerialization::kPeakPriority,
      60);
}
void BM_AlwaysFarPeaks(benchmark::State& state) {
  Run(state, FarPeaks(state.range(0)), HloRematerialization::kAlwaysRemat, 60);
}
void BM_AlwaysTrainingStep(benchmark::State& state) {
  Run(state, TrainingStep(state.range(0)), HloRematerialization::kAlwaysRemat,
      60);
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_PlanRectifiers)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(45000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();
BENCHMARK(BM_FarPeaks)->Apply(Sizes);
BENCHMARK(BM_TrainingStep)->Apply(Sizes);
BENCHMARK(BM_AlwaysFarPeaks)->Apply(Sizes);
BENCHMARK(BM_AlwaysTrainingStep)->Apply(Sizes);

}  // namespace
}  // namespace xla

BENCHMARK_MAIN();
