// Speed of the passes that work across calls and loops: flatten-call-graph and
// hlo-module-dce. Counter: ns_per_instruction of the module before the pass.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/hlo_module_dce.h"

namespace xla {
namespace {

// One callee, and calls of it, one after the other.
std::string Calls(int64_t instructions) {
  std::string text = R"(
HloModule m
f {
  x = f32[] parameter(0)
  n = f32[] negate(x)
  ROOT s = f32[] sine(n)
}
ENTRY e {
  c0 = f32[] parameter(0)
)";
  for (int64_t i = 1; i < instructions; ++i) {
    absl::StrAppend(&text, "  c", i, " = f32[] call(c", i - 1,
                    "), to_apply=f\n");
  }
  return text + "}";
}

// Loops with a dead element each, one after the other.
std::string Loops(int64_t instructions) {
  std::string text = "HloModule m\n";
  const int64_t loops = instructions / 14;
  for (int64_t i = 0; i < loops; ++i) {
    absl::StrAppend(&text, "body", i, R"( {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[4] get-tuple-element(p), index=1
  y = f32[4] negate(x)
  z = f32[4] sine(y)
  ROOT t = (s32[], f32[4]) tuple(next, z)
}
cond)",
                    i, R"( {
  q = (s32[], f32[4]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  n = s32[] constant(96)
  ROOT lt = pred[] compare(j, n), direction=LT
}
)");
  }
  absl::StrAppend(&text, R"(ENTRY e {
  zero = s32[] constant(0)
  a = f32[4] parameter(0)
  w0 = (s32[], f32[4]) tuple(zero, a)
)");
  for (int64_t i = 0; i < loops; ++i) {
    absl::StrAppend(&text, "  w", i + 1, " = (s32[], f32[4]) while(w", i,
                    "), condition=cond", i, ", body=body", i, "\n");
  }
  return absl::StrCat(text, "  ROOT r = s32[] get-tuple-element(w", loops,
                      "), index=0\n}");
}

template <typename Pass>
void Run(benchmark::State& state, const std::string& text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  for (auto _ : state) {
    state.PauseTiming();
    std::unique_ptr<HloModule> clone = (*module)->Clone("");
    state.ResumeTiming();
    CHECK(Pass().Run(clone.get()).value());
    state.PauseTiming();
    clone.reset();
    state.ResumeTiming();
  }
  state.counters["ns_per_instruction"] = benchmark::Counter(
      static_cast<double>((*module)->instruction_count()) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate |
          benchmark::Counter::kInvert);
}

void BM_Flatten(benchmark::State& state) {
  Run<FlattenCallGraph>(state, Calls(state.range(0)));
}
BENCHMARK(BM_Flatten)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);

void BM_ModuleDce(benchmark::State& state) {
  Run<HloModuleDCE>(state, Loops(state.range(0)));
}
BENCHMARK(BM_ModuleDce)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xla

BENCHMARK_MAIN();
