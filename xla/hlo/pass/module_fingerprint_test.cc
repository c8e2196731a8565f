#include "xla/hlo/pass/module_fingerprint.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

constexpr absl::string_view kModule = R"(
HloModule m, entry_computation_layout={(f32[4,8]{1,0}, f32[4,8]{1,0})->(f32[8,4]{1,0}, f32[4]{0})}

sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}

ENTRY main {
  p = f32[4,8]{1,0} parameter(0)
  q = f32[4,8]{1,0} parameter(1)
  c = f32[] constant(0)
  small = s32[2]{0} constant({1, 2})
  large = s32[12]{0} constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  a = f32[4,8]{1,0} subtract(p, q), metadata={op_type="sub" op_name="f/g" source_file="m.py" source_line=3 source_column=5}
  b = f32[4,8]{1,0} exponential(a), sharding={devices=[2,1]<=[2]}
  d = f32[4,8]{1,0} negate(b), frontend_attributes={k="v"}
  t = f32[8,4]{1,0} transpose(d), dimensions={1,0}, backend_config={"n":"1"}
  s = f32[4,2]{1,0} slice(d), slice={[0:4], [0:2]}
  e = f32[4,8]{1,0} tanh(q), control-predecessors={b}
  r = f32[4]{0} reduce(e, c), dimensions={1}, to_apply=sum
  ROOT out = (f32[8,4]{1,0}, f32[4]{0}) tuple(t, r)
}
)";

struct Change {
  absl::string_view from;
  absl::string_view to;
};

// Each makes another text, but for those that say so.
constexpr Change kChanges[] = {
    {"", ""},
    // Names, also where they say the same in other places.
    {"HloModule m,", "HloModule n,"},
    {"sum", "plus"},
    {" small = ", " tiny = "},
    {"(a)", "(p)"},
    // Structure.
    {"subtract(p, q)", "subtract(q, p)"},
    {"subtract(p, q)", "add(p, q)"},
    {"add(x, y)", "add(y, x)"},
    {"add(x, y)", "multiply(x, y)"},
    {"tuple(t, r)", "tuple(t, r), sharding={{replicated}, {replicated}}"},
    {", control-predecessors={b}", ""},
    {"control-predecessors={b}", "control-predecessors={a}"},
    {"control-predecessors={b}", "control-predecessors={a, b}"},
    // Shapes and layouts.
    {"b = f32[4,8]{1,0}", "b = f32[4,8]{0,1}"},
    {"b = f32[4,8]{1,0}", "b = f32[4,8]"},
    {"b = f32[4,8]{1,0}", "b = f16[4,8]{1,0}"},
    {"b = f32[4,8]{1,0}", "b = f32[4,9]{1,0}"},
    {"b = f32[4,8]{1,0}", "b = f32[8,4]{1,0}"},
    {"b = f32[4,8]{1,0}", "b = f32[32]{0}"},
    {"b = f32[4,8]{1,0}", "b = f32[4,8,1]{2,1,0}"},
    {"b = f32[4,8]{1,0}", "b = f32[4,<=8]{1,0}"},
    {"b = f32[4,8]{1,0}", "b = f32[<=4,8]{1,0}"},
    {"b = f32[4,8]{1,0}", "b = f32[4,8]{1,0:S(1)}"},
    {"b = f32[4,8]{1,0}", "b = f32[4,8]{1,0:T(2,4)}"},
    {"b = f32[4,8]{1,0}", "b = (f32[4,8]{1,0})"},
    {"->(f32[8,4]{1,0}", "->(f32[8,4]{0,1}"},
    // Attributes.
    {"dimensions={1,0}", "dimensions={0,1}"},
    {"[0:2]", "[1:3]"},
    {"[0:4], [0:2]", "[0:4:1], [0:4:2]"},
    {"devices=[2,1]", "devices=[1,2]"},
    {"<=[2]", "<=[2] metadata={op_name=\"f\"}"},
    {"sharding={devices=[2,1]<=[2]}", "sharding={replicated}"},
    {"{k=\"v\"}", "{k=\"w\"}"},
    {"{k=\"v\"}", "{k=\"v\",l=\"\"}"},
    {"{k=\"v\"}", "{k=\"v,l=\"}"},
    {"{k=\"v\"}", "{k=\"v\\\",l=\\\"\"}"},
    {"{\"n\":\"1\"}", "{\"n\":\"2\"}"},
    {"{\"n\":\"1\"}", "\"n\""},
    // Metadata: each field, and texts with what separates fields in them.
    {"op_type=\"sub\" ", ""},
    {"op_type=\"sub\"", "op_type=\"sub\\\" op_name=\\\"f/g\""},
    {"op_type=\"sub\" op_name=\"f/g\"", "op_type=\"sub\\\" op_name=\\\"f/g\""},
    {"op_type=\"sub\" op_name=\"f/g\"", "op_type=\"f/g\" op_name=\"sub\""},
    {"op_name=\"f/g\"", "op_name=\"f/h\""},
    {"m.py", "n.py"},
    {"source_line=3", "source_line=4"},
    {"source_line=3", "source_end_line=3"},
    {"source_column=5", "source_end_column=5"},
    {"source_line=3 source_column=5", "source_line=5 source_column=3"},
    {"source_line=3", "source_line=3 stack_frame_id=2"},
    {"source_line=3", "source_line=3 deduplicated_name=\"d\""},
    {"source_line=3", "source_line=3 scheduling_name=\"d\""},
    {"source_line=3", "source_line=3 metadata_payload=\"d\""},
    {", metadata={op_type=\"sub\" op_name=\"f/g\" source_file=\"m.py\" "
     "source_line=3 source_column=5}",
     ""},
    // None: the text of nothing is no text.
    {"negate(b)", "negate(b), metadata={}"},
    // Constants; of large ones, the text that is hashed keeps the shape only.
    {"constant(0)", "constant(1)"},
    {"({1, 2})", "({2, 1})"},
    {"({1, 2, 3,", "({0, 2, 3,"},
};

TEST(ModuleFingerprintTest, SaysWhatTheTextSays) {
  std::vector<std::string> texts;
  std::vector<uint64_t> fingerprints;
  for (const Change& change : kChanges) {
    std::string text(kModule);
    if (!change.from.empty()) {
      text = absl::StrReplaceAll(kModule, {{change.from, change.to}});
      EXPECT_NE(text, kModule) << change.from;
    }
    absl::StatusOr<std::unique_ptr<HloModule>> module =
        ParseAndReturnUnverifiedModule(text);
    ASSERT_TRUE(module.ok()) << change.to << module.status();
    texts.push_back((*module)->ToString(HloPrintOptions::Default()));
    fingerprints.push_back(ModuleFingerprint(**module));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_EQ(fingerprints[i] == fingerprints[j], texts[i] == texts[j])
          << kChanges[i].from << " -> " << kChanges[i].to << " against "
          << kChanges[j].from << " -> " << kChanges[j].to;
    }
  }
}

// The text of a scheduled module has its order.
TEST(ModuleFingerprintTest, SeesTheSchedule) {
  constexpr absl::string_view kScheduled = R"(
HloModule m, is_scheduled=true
ENTRY main {
  p = f32[] parameter(0)
  a = f32[] negate(p)
  b = f32[] exponential(p)
  ROOT r = f32[] add(a, b)
}
)";
  constexpr absl::string_view kOther = R"(
HloModule m, is_scheduled=true
ENTRY main {
  p = f32[] parameter(0)
  b = f32[] exponential(p)
  a = f32[] negate(p)
  ROOT r = f32[] add(a, b)
}
)";
  auto module = ParseAndReturnUnverifiedModule(kScheduled);
  auto other = ParseAndReturnUnverifiedModule(kOther);
  ASSERT_TRUE(module.ok() && other.ok());
  const uint64_t scheduled = ModuleFingerprint(**module);
  EXPECT_NE(scheduled, ModuleFingerprint(**other));
  (*module)->clear_schedule();
  EXPECT_NE(scheduled, ModuleFingerprint(**module));
}

}  // namespace
}  // namespace xla
