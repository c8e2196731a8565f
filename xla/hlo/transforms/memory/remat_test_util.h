#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_TEST_UTIL_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/schedulers/remat_checker.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/transforms/memory/hlo_rematerialization.h"

// Shared by the tests of rematerialization. Numbered cases are those that
// OpenXLA's pass is tested with: 2, 3, 8, 11, 13-20, 22-25, 28, 30 and 32 are
// in testdata, the others in the C++ tests.
namespace xla::remat_test {

// A value kept for the second to last instruction; $0 prefixes names.
inline constexpr char kLateReader[] = R"(
  param$0 = f32[1]{0} parameter(0)
  reshape$0 = f32[] reshape(param$0)
  bcast$0 = f32[1024]{0} broadcast(reshape$0), dimensions={}
  negate$0 = f32[1024]{0} negate(bcast$0)
  concat$0 = f32[2048]{0} concatenate(negate$0, negate$0), dimensions={0}
  slice$0 = f32[1]{0} slice(concat$0), slice={[0:1]}
  concat2$0 = f32[1025]{0} concatenate(bcast$0, slice$0), dimensions={0}
  ROOT slice2$0 = f32[1]{0} slice(concat2$0), slice={[0:1]}
)";

inline std::string LateReader(absl::string_view suffix = "") {
  return absl::Substitute(kLateReader, suffix);
}

// A value of two dimensions is live while memory is scarce.
inline constexpr char kCompressible[] = R"(
  p = f32[] parameter(0)
  big = f32[64,64]{1,0} broadcast(p), dimensions={}
  wide = f32[8192]{0} broadcast(p), dimensions={}
  cut = f32[1]{0} slice(wide), slice={[0:1]}
  part = f32[1,1]{1,0} slice(big), slice={[0:1], [0:1]}
  flat = f32[1]{0} bitcast(part)
  ROOT r = f32[1]{0} add(flat, cut)
)";

// A loop during which a broadcast of 4 KiB is live; $0 prefixes names, $1 is
// its body.
inline constexpr char kLoop[] = R"(
no$0 {
  p = f32[1]{0} parameter(0)
  ROOT no = pred[] constant(false)
}
loop$0 {
  param$0 = f32[1]{0} parameter(0)
  reshape$0 = f32[] reshape(param$0)
  bcast$0 = f32[1024]{0} broadcast(reshape$0), dimensions={}
  slice$0 = f32[1]{0} slice(bcast$0), slice={[0:1]}
  while$0 = f32[1]{0} while(slice$0), condition=no$0, body=$1
  concat$0 = f32[1025]{0} concatenate(bcast$0, while$0), dimensions={0}
  ROOT slice2$0 = f32[1]{0} slice(concat$0), slice={[0:1]}
}
)";

// The late reader in a loop, or in a loop in a loop.
inline std::string LoopText(bool nested) {
  std::string text = absl::StrCat("HloModule m, is_scheduled=true\nbody {",
                                  LateReader(".b"), "}\n");
  if (nested) absl::StrAppend(&text, absl::Substitute(kLoop, ".i", "body"));
  std::string entry = absl::Substitute(kLoop, ".o", nested ? "loop.i" : "body");
  entry.insert(entry.find("loop.o {"), "ENTRY ");
  return text + entry;
}

inline std::unique_ptr<HloModule> Parse(const std::string& text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << text;
  return *std::move(module);
}

inline std::string ModuleText(absl::string_view body) {
  return absl::StrCat("HloModule m, is_scheduled=true\nENTRY main {", body,
                      "}\n");
}

inline std::unique_ptr<HloModule> Scheduled(absl::string_view body) {
  return Parse(ModuleText(body));
}

// A run of the pass: recomputation of single instructions, unless the options
// are changed before it.
struct Trial {
  HloCostAnalysis cost;
  HloRematerialization::RematerializationSizes sizes;
  std::unique_ptr<HloRematerialization::Options> options;
  // The callback fails on the call after this many; -1: never.
  int64_t calls_before_error = -1;
  // Names of what the callback got.
  std::vector<std::pair<std::string, std::string>> pairs;
  bool warned_too_long = false;
  bool warned_slow_progress = false;
  // Whether the bytes of the pass are those of the checker.
  absl::Status peak_agrees;

  explicit Trial(int64_t limit,
                 HloRematerialization::RematerializationModeConfig mode =
                     {true, false, false})
      : options(std::make_unique<HloRematerialization::Options>(
            cost, mode, limit, /*block_size_limit=*/1,
            /*block_rematerialization_factor=*/1, /*min_remat_size=*/0,
            /*compact_shape_function=*/nullptr)) {}

  absl::StatusOr<bool> On(HloModule* module,
                          absl::flat_hash_set<absl::string_view> threads = {},
                          absl::Duration ago = absl::ZeroDuration()) {
    HloRematerialization pass(
        *options, sizes, [&](HloInstruction* from, HloInstruction* to) {
          pairs.push_back({std::string(from->name()), std::string(to->name())});
          return static_cast<int64_t>(pairs.size()) == calls_before_error + 1
                     ? absl::AbortedError("enough")
                     : absl::OkStatus();
        });
    pass.set_start_time(absl::Now() - ago);
    auto changed = pass.Run(module, threads);
    warned_too_long = pass.warned_too_long();
    warned_slow_progress = pass.warned_slow_progress();
    if (changed.ok() && sizes.after_bytes >= 0) {
      peak_agrees = CheckRematPeak(*module, sizes.after_bytes);
    }
    return changed;
  }
};

inline HloInstruction* Named(HloModule* module, absl::string_view name) {
  for (HloComputation* computation : module->computations()) {
    if (HloInstruction* inst = computation->GetInstructionWithName(name)) {
      return inst;
    }
  }
  return nullptr;
}

inline int64_t Count(const HloComputation& computation, HloOpcode opcode) {
  int64_t count = 0;
  for (const HloInstruction* inst : computation.instructions()) {
    count += inst->opcode() == opcode;
  }
  return count;
}

}  // namespace xla::remat_test

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_TEST_UTIL_H_
