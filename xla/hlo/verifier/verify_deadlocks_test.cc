#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

// Each level calls the one below twice, with a send of its own under way or
// none: there are 2^40 sets of sends around the innermost one.
TEST(VerifyDeadlocksTest, SendsOfCallersMakeNoDifference) {
  constexpr int kLevels = 40;
  std::string text =
      "HloModule m, is_scheduled=true\n"
      "c0 { ROOT p = f32[4] parameter(0) }\n"
      "add { a = f32[] parameter(0) b = f32[] parameter(1) "
      "ROOT s = f32[] add(a, b) }\n";
  for (int level = 1; level <= kLevels; ++level) {
    const std::string callee = absl::StrCat("to_apply=c", level - 1);
    const std::string transfer = absl::StrCat(
        "channel_id=", level,
        ", frontend_attributes={_xla_send_recv_source_target_pairs=\"{{0,",
        level, "}}\"}\n");
    absl::StrAppend(
        &text, level == kLevels ? "ENTRY e" : absl::StrCat("c", level),
        " {\n  p = f32[4] parameter(0)\n  t = token[] after-all()\n"
        "  a = f32[4] call(p), ",
        callee, "\n  s = (f32[4], u32[], token[]) send(a, t), ", transfer,
        "  b = f32[4] call(a), ", callee,
        "\n  r = (f32[4], u32[], token[]) recv(t), ", transfer,
        "  rd = (f32[4], token[]) recv-done(r), channel_id=", level,
        "\n  sd = token[] send-done(s), channel_id=", level,
        "\n  g = f32[4] get-tuple-element(rd), index=0\n"
        "  ROOT y = f32[4] all-reduce(g), replica_groups={}, to_apply=add\n}"
        "\n");
  }
  const auto module = ParseAndReturnUnverifiedModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(
      VerifyHloModule(module->get(),
                      HloVerifierOpts().WithVerifyNoCollectiveDeadlocks(true)),
      absl::OkStatus());
}

}  // namespace
}  // namespace xla
