// Time to verify: of the module in the file $HLO_MODULE, and of generated ones.

#include "benchmark/benchmark.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

void Run(benchmark::State& state, const HloModule& module) {
  HloVerifierOpts opts;
  opts.allow_mixed_precision = true;
  for (auto _ : state) CHECK_OK(VerifyHloModule(&module, opts));
  state.SetItemsProcessed(state.iterations() * module.instruction_count());
  state.counters["instructions"] = module.instruction_count();
}

void BM_File(benchmark::State& state) {
  const char* path = std::getenv("HLO_MODULE");
  if (path == nullptr) {
    state.SkipWithError("HLO_MODULE names no file");
    return;
  }
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto module = ParseAndReturnUnverifiedModule(text.str());
  CHECK_OK(module.status());
  Run(state, **module);
}
BENCHMARK(BM_File)->Unit(benchmark::kMillisecond);

std::unique_ptr<HloModule> MakeModule(HloComputation::Builder& builder) {
  auto module = std::make_unique<HloModule>("m", HloModuleConfig());
  module->AddEntryComputation(builder.Build());
  return module;
}

// x + x, and again.
void BM_Chain(benchmark::State& state) {
  const Shape shape = ShapeUtil::MakeShape(F32, {128, 256});
  HloComputation::Builder builder("main");
  HloInstruction* last =
      builder.AddInstruction(HloInstruction::CreateParameter(0, shape, "x"));
  for (int64_t i = 1; i < state.range(0); ++i) {
    last = builder.AddInstruction(
        HloInstruction::CreateBinary(shape, HloOpcode::kAdd, last, last));
  }
  Run(state, *MakeModule(builder));
}
BENCHMARK(BM_Chain)->Range(1 << 10, 1 << 17)->Unit(benchmark::kMillisecond);

// One instruction with many users, and one with as many operands.
void BM_Fan(benchmark::State& state) {
  const Shape shape = ShapeUtil::MakeShape(F32, {128, 256});
  HloComputation::Builder builder("main");
  HloInstruction* x =
      builder.AddInstruction(HloInstruction::CreateParameter(0, shape, "x"));
  std::vector<HloInstruction*> all;
  for (int64_t i = 2; i < state.range(0); ++i) {
    all.push_back(builder.AddInstruction(
        HloInstruction::CreateUnary(shape, HloOpcode::kNegate, x)));
  }
  builder.AddInstruction(HloInstruction::CreateTuple(all));
  Run(state, *MakeModule(builder));
}
BENCHMARK(BM_Fan)->Range(1 << 10, 1 << 17)->Unit(benchmark::kMillisecond);

// Chains backwards in storage, where cycles have to be looked for.
void BM_Unordered(benchmark::State& state) {
  const Shape shape = ShapeUtil::MakeShape(F32, {128, 256});
  HloComputation::Builder builder("main");
  HloInstruction* x =
      builder.AddInstruction(HloInstruction::CreateParameter(0, shape, "x"));
  std::vector<HloInstruction*> chain;
  for (int64_t i = 1; i < state.range(0); ++i) {
    chain.push_back(builder.AddInstruction(
        HloInstruction::CreateUnary(shape, HloOpcode::kNegate, x)));
  }
  HloComputation* main = nullptr;
  auto module = std::make_unique<HloModule>("m", HloModuleConfig());
  main = module->AddEntryComputation(builder.Build());
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    CHECK_OK(chain[i]->ReplaceOperandWith(0, chain[i + 1]));
  }
  main->set_root_instruction(chain[0]);
  Run(state, *module);
}
BENCHMARK(BM_Unordered)->Range(1 << 10, 1 << 17)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xla

BENCHMARK_MAIN();
