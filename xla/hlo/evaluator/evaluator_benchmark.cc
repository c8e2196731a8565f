// Speed of the evaluator:
//
//   bazel run -c opt //xla/hlo/evaluator:evaluator_benchmark
//
// Counters: peak_bytes of values alive at a time, beside the arguments.

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"
#include "xla/literal_util.h"

namespace xla {
namespace {

void Run(benchmark::State& state, const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  std::vector<Literal> arguments;
  for (const HloInstruction* parameter :
       (*module)->entry_computation()->parameter_instructions()) {
    Literal argument(parameter->shape());
    CHECK_OK(LiteralUtil::FillDeterministic(&argument, arguments.size()));
    arguments.push_back(std::move(argument));
  }
  HloEvaluator evaluator;
  for (auto _ : state) {
    absl::StatusOr<Literal> result = evaluator.Evaluate(**module, arguments);
    CHECK_OK(result.status());
    benchmark::DoNotOptimize(result);
  }
  state.counters["peak_bytes"] = static_cast<double>(evaluator.peak_bytes());
}

std::string Entry(const std::string& body) {
  return absl::StrCat(R"(
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
less { a = f32[] parameter(0) b = f32[] parameter(1)
       ROOT c = pred[] compare(a, b), direction=LT }
argmax {
  x = f32[] parameter(0) p = s32[] parameter(1)
  y = f32[] parameter(2) q = s32[] parameter(3)
  g = pred[] compare(x, y), direction=GE
  u = f32[] select(g, x, y) v = s32[] select(g, p, q)
  ROOT o = (f32[], s32[]) tuple(u, v) }
gelu {
  x = f32[10000000] parameter(0) y = f32[10000000] parameter(1)
  h = f32[] constant(0.5) hs = f32[10000000] broadcast(h), dimensions={}
  a = f32[10000000] multiply(x, x) b = f32[10000000] add(a, y)
  c = f32[10000000] multiply(b, hs) d = f32[10000000] subtract(c, x)
  e = f32[10000000] maximum(d, y) ROOT f = f32[10000000] multiply(e, hs) }
ENTRY e {
)",
                      body, "}");
}

#define XLA_EVALUATOR_BENCHMARK(Name, body)                       \
  void Name(benchmark::State& state) { Run(state, Entry(body)); } \
  BENCHMARK(Name)->Unit(benchmark::kMillisecond)

XLA_EVALUATOR_BENCHMARK(Dot512F32, R"(
  p = f32[512,512] parameter(0) q = f32[512,512] parameter(1)
  ROOT r = f32[512,512] dot(p, q), lhs_contracting_dims={1},
    rhs_contracting_dims={0})");
XLA_EVALUATOR_BENCHMARK(Dot512BF16, R"(
  p = bf16[512,512] parameter(0) q = bf16[512,512] parameter(1)
  ROOT r = bf16[512,512] dot(p, q), lhs_contracting_dims={1},
    rhs_contracting_dims={0})");
XLA_EVALUATOR_BENCHMARK(Add10MF32, R"(
  p = f32[10000000] parameter(0) q = f32[10000000] parameter(1)
  ROOT r = f32[10000000] add(p, q))");
XLA_EVALUATOR_BENCHMARK(Add10MS32, R"(
  p = s32[10000000] parameter(0) q = s32[10000000] parameter(1)
  ROOT r = s32[10000000] add(p, q))");
XLA_EVALUATOR_BENCHMARK(Multiply10MBF16, R"(
  p = bf16[10000000] parameter(0) q = bf16[10000000] parameter(1)
  ROOT r = bf16[10000000] multiply(p, q))");
// Six operations, each with its own result in memory, and as one loop.
XLA_EVALUATOR_BENCHMARK(Call10MF32, R"(
  p = f32[10000000] parameter(0) q = f32[10000000] parameter(1)
  ROOT r = f32[10000000] call(p, q), to_apply=gelu)");
XLA_EVALUATOR_BENCHMARK(Fusion10MF32, R"(
  p = f32[10000000] parameter(0) q = f32[10000000] parameter(1)
  ROOT r = f32[10000000] fusion(p, q), kind=kLoop, calls=gelu)");
XLA_EVALUATOR_BENCHMARK(Reduce10MF32, R"(
  p = f32[1000,10000] parameter(0) z = f32[] constant(0)
  ROOT r = f32[10000] reduce(p, z), dimensions={0}, to_apply=add)");
XLA_EVALUATOR_BENCHMARK(ArgMax1MF32, R"(
  p = f32[1000,1000] parameter(0) i = s32[1000,1000] iota(), iota_dimension=1
  z = f32[] constant(0) m = s32[] constant(0)
  ROOT r = (f32[1000], s32[1000]) reduce(p, i, z, m), dimensions={1},
    to_apply=argmax)");
XLA_EVALUATOR_BENCHMARK(Transpose10MF32, R"(
  p = f32[1000,10000] parameter(0)
  ROOT r = f32[10000,1000] transpose(p), dimensions={1,0})");
XLA_EVALUATOR_BENCHMARK(Sort1MF32, R"(
  p = f32[1000000] parameter(0)
  ROOT r = f32[1000000] sort(p), dimensions={0}, to_apply=less)");
XLA_EVALUATOR_BENCHMARK(Convolution, R"(
  p = f32[8,32,32,64] parameter(0) q = f32[3,3,64,64] parameter(1)
  ROOT r = f32[8,32,32,64] convolution(p, q), window={size=3x3 pad=1_1x1_1},
    dim_labels=b01f_01io->b01f)");

void Example(benchmark::State& state, const char* name) {
  std::ifstream file(absl::StrCat("examples/", name, ".hlo"));
  CHECK(file.good()) << "run from the workspace";
  std::stringstream text;
  text << file.rdbuf();
  Run(state, text.str());
}
BENCHMARK_CAPTURE(Example, mlp_train, "mlp_train")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Example, conv_train, "conv_train")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Example, transformer_train, "transformer_train")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Example, transformer_scan_train, "transformer_scan_train")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xla

BENCHMARK_MAIN();
