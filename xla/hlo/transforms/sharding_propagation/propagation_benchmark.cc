// Speed of the passes that spread shardings: sharding-propagation and
// factor-propagation. Counter: ns_per_instruction of the module before the
// pass.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/sharding_propagation/factor_propagation.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_propagation.h"

namespace xla {
namespace {

constexpr int64_t kPerLayer = 6;

// Layers of a network whose weights are parameters; the first activation is cut
// along its batch, and every weight along its columns.
std::string Layers(int64_t instructions) {
  std::string text = R"(
HloModule m, num_partitions=8
ENTRY e {
  x_0 = f32[64,64] parameter(0), sharding={devices=[4,1,2]<=[8] last_tile_dim_replicate}
)";
  for (int64_t i = 0; i < instructions / kPerLayer; ++i) {
    // w and b weights, d their product, v the bias for every row.
    absl::StrAppend(&text, "  w_", i, " = f32[64,64] parameter(", 2 * i + 1,
                    "), sharding={devices=[1,2,4]<=[4,2]T(1,0) "
                    "last_tile_dim_replicate}\n  b_",
                    i, " = f32[64] parameter(", 2 * i + 2, ")\n  d_", i,
                    " = f32[64,64] dot(x_", i, ", w_", i,
                    "), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
    absl::StrAppend(&text, "  v_", i, " = f32[64,64] broadcast(b_", i,
                    "), dimensions={1}\n  sum_", i, " = f32[64,64] add(d_", i,
                    ", v_", i, ")\n  x_", i + 1, " = f32[64,64] tanh(sum_", i,
                    ")\n");
  }
  return absl::StrCat(text, "  ROOT r = f32[64,64] negate(x_",
                      instructions / kPerLayer, ")\n}");
}

template <typename Pass, typename Options>
void Run(benchmark::State& state) {
  auto module = ParseAndReturnUnverifiedModule(Layers(state.range(0)));
  CHECK_OK(module.status());
  for (auto _ : state) {
    state.PauseTiming();
    std::unique_ptr<HloModule> clone = (*module)->Clone("");
    state.ResumeTiming();
    CHECK(Pass(Options()).Run(clone.get()).value());
    state.PauseTiming();
    clone.reset();
    state.ResumeTiming();
  }
  state.counters["ns_per_instruction"] = benchmark::Counter(
      static_cast<double>((*module)->instruction_count()) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate |
          benchmark::Counter::kInvert);
}

void BM_ShardingPropagation(benchmark::State& state) {
  Run<ShardingPropagation, ShardingPropagationOptions>(state);
}
BENCHMARK(BM_ShardingPropagation)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);

void BM_FactorPropagation(benchmark::State& state) {
  Run<FactorPropagation, FactorPropagationOptions>(state);
}
BENCHMARK(BM_FactorPropagation)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xla

BENCHMARK_MAIN();
