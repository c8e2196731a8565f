// Speed and memory of parsing and printing.
//
//   benchmark [--hlo=FILE] [--benchmark_filter=REGEX ...]
//
// FILE, or else the environment variable HLO_BENCHMARK_FILE, names a module to
// parse and print; generated modules of 1,000, 10,000 and 100,000 instructions
// are always there. CountLines is the floor: it looks at every byte once.
//
// Counters: bytes_per_second is of text; memory_per_instruction is what the
// module keeps, peak_per_instruction what parsing touches at most (Linux).

#include "benchmark/benchmark.h"

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

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/synthetic_module.h"

namespace xla {
namespace {

std::unique_ptr<HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(text);
  if (!module.ok()) {
    std::cerr << module.status().message() << "\n";
    std::exit(1);
  }
  return *std::move(module);
}

int64_t HeapInUse() {
  struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// A line of /proc/self/status in KiB; 0 where there is no such file.
int64_t StatusKib(absl::string_view key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (!absl::StartsWith(line, key)) continue;
    int64_t kib = 0;
    absl::string_view digits = line;
    digits.remove_prefix(digits.find_first_of("0123456789"));
    digits = digits.substr(0, digits.find(' '));
    if (absl::SimpleAtoi(digits, &kib)) return kib;
  }
  return 0;
}

void MeasureMemory(const std::string& text, benchmark::State& state) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // resets VmHWM
  const int64_t resident = StatusKib("VmRSS:");
  const int64_t before = HeapInUse();
  std::unique_ptr<HloModule> module = Parse(text);
  const double count = static_cast<double>(module->instruction_count());
  state.counters["instructions"] = count;
  state.counters["memory_per_instruction"] =
      static_cast<double>(HeapInUse() - before) / count;
  state.counters["peak_per_instruction"] =
      static_cast<double>(StatusKib("VmHWM:") - resident) * 1024 / count;
}

void BenchmarkParse(benchmark::State& state, const std::string& text) {
  double instructions = 0;
  for (auto _ : state) {
    std::unique_ptr<HloModule> module = Parse(text);
    benchmark::DoNotOptimize(module);
    state.PauseTiming();
    instructions += static_cast<double>(module->instruction_count());
    module.reset();
    state.ResumeTiming();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
  state.counters["instructions/s"] =
      benchmark::Counter(instructions, benchmark::Counter::kIsRate);
  MeasureMemory(text, state);
}

void BenchmarkPrint(benchmark::State& state, const std::string& text) {
  std::unique_ptr<HloModule> module = Parse(text);
  int64_t bytes = 0;
  for (auto _ : state) {
    std::string printed = module->ToString();
    benchmark::DoNotOptimize(printed);
    bytes += static_cast<int64_t>(printed.size());
  }
  state.SetBytesProcessed(bytes);
}

void BenchmarkLex(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    HloLexer lexer(text);
    int64_t tokens = 0;
    while (lexer.Lex() != TokKind::kEof) ++tokens;
    benchmark::DoNotOptimize(tokens);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}

void BenchmarkCountLines(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    std::istringstream lines(text);
    std::string line;
    int64_t count = 0;
    while (std::getline(lines, line)) ++count;
    benchmark::DoNotOptimize(count);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) *
                          static_cast<int64_t>(text.size()));
}

void Register(const std::string& name, std::string text) {
  // Lives as long as the benchmarks.
  const std::string* kept = new std::string(std::move(text));
  auto add = [&](const char* what,
                 void (*run)(benchmark::State&, const std::string&)) {
    benchmark::RegisterBenchmark(
        absl::StrCat(what, "/", name).c_str(),
        [run, kept](benchmark::State& state) { run(state, *kept); })
        ->Unit(benchmark::kMillisecond);
  };
  add("Parse", BenchmarkParse);
  add("Print", BenchmarkPrint);
  add("Lex", BenchmarkLex);
  add("CountLines", BenchmarkCountLines);
}

}  // namespace
}  // namespace xla

int main(int argc, char** argv) {
  const char* file = std::getenv("HLO_BENCHMARK_FILE");
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--hlo=", 6) != 0) continue;
    file = argv[i] + 6;
    std::rotate(argv + i, argv + i + 1, argv + argc);
    --argc;
    break;
  }
  benchmark::Initialize(&argc, argv);
  if (file != nullptr) {
    std::ifstream in(file);
    if (!in) {
      std::cerr << "cannot read " << file << "\n";
      return 1;
    }
    std::stringstream text;
    text << in.rdbuf();
    absl::string_view name = file;
    name.remove_prefix(name.rfind('/') + 1);
    xla::Register(std::string(name), text.str());
  }
  for (int64_t size : {1000, 10000, 100000}) {
    xla::Register(absl::StrCat("synthetic_", size),
                  xla::SyntheticTrainingModuleOfSize(size));
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
