#include "xla/hlo/transforms/memory/remat/planner/fused_values.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

// b and d are to be fused into their readers; so is `late`, which leaves the
// computation and stays.
constexpr char kModule[] = R"(
HloModule m, is_scheduled=true
ENTRY main {
  p = f32[64]{0} parameter(0)
  a = f32[64]{0} exponential(p)
  b = f32[64]{0} negate(a)
  d = f32[64]{0} add(b, p)
  c = f32[64]{0} reverse(b), dimensions={0}
  e = f32[64]{0} reverse(d), dimensions={0}
  late = f32[64]{0} add(c, e)
  ROOT r = (f32[64]{0}, f32[64]{0}) tuple(late, e)
}
)";

class FusedValuesTest : public testing::Test {
 protected:
  FusedValuesTest() : module_(*ParseAndReturnUnverifiedModule(kModule)) {}

  FusedValues Fuse(const std::vector<std::string>& names) {
    ComputationProblem whole = MakeComputationProblem(
        module_->schedule().sequence(module_->entry_computation()),
        [](const Shape& shape) { return ShapeUtil::ByteSizeOf(shape, 8); },
        [](const HloInstruction&) { return 1.0; },
        [](const HloInstruction&) { return int64_t{0}; });
    std::vector<bool> fused;
    for (const HloInstruction* inst : whole.instructions) {
      fused.push_back(std::count(names.begin(), names.end(), inst->name()) > 0);
    }
    return FusedValues(std::move(whole), std::move(fused));
  }

  // The program of the nodes with these names.
  static std::vector<NodeId> Program(const FusedValues& fused,
                                     const std::vector<std::string>& names) {
    std::vector<NodeId> program;
    for (const std::string& name : names) {
      for (size_t n = 0; n < fused.rest().instructions.size(); ++n) {
        if (fused.rest().instructions[n]->name() == name) {
          program.push_back(static_cast<NodeId>(n));
        }
      }
    }
    return program;
  }

  static std::string Expand(const FusedValues& fused,
                            const std::vector<std::string>& names) {
    std::string text;
    for (NodeId node : fused.Expand(Program(fused, names))) {
      text += std::string(fused.instructions()[node]->name()) + " ";
    }
    return text;
  }

  std::unique_ptr<HloModule> module_;
};

// What is left reads what its fused operands read, and takes its memory only.
TEST_F(FusedValuesTest, LeavesOutWhatIsFused) {
  const FusedValues fused = Fuse({"b", "d", "late"});
  const RematProblem& rest = fused.rest().problem;
  ASSERT_EQ(rest.nodes.size(), 5);  // p a c e late
  const NodeId e = Program(fused, {"e"})[0];
  std::vector<std::string> reads;
  for (ValueId value : rest.nodes[e].reads) {
    reads.push_back(std::string(
        fused.rest().instructions[rest.values[value].node]->name()));
  }
  EXPECT_EQ(reads, (std::vector<std::string>{"p", "a"}));
  RematTrace trace;
  ASSERT_TRUE(TraceProgram(rest, rest.order, &trace).ok());
  // a and c; what leaves the computation counts nothing.
  EXPECT_EQ(trace.peak_bytes, 2 * 256);
}

// The first runs share what is fused into them; those that come again bring
// their own, and so do first ones after what that reads has run again.
TEST_F(FusedValuesTest, ExpandsPrograms) {
  const FusedValues fused = Fuse({"b", "d"});
  EXPECT_EQ(Expand(fused, {"p", "a", "c", "e", "late"}), "p a b c d e late ");
  EXPECT_EQ(Expand(fused, {"p", "a", "c", "e", "c", "late"}),
            "p a b c d e b c late ");
  EXPECT_EQ(Expand(fused, {"p", "a", "c", "a", "e", "late"}),
            "p a b c a b d e late ");
}

}  // namespace
}  // namespace xla::remat_plan
