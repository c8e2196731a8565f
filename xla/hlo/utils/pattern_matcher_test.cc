#include "xla/hlo/utils/pattern_matcher.h"

#include <complex>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/utils/pattern_matcher_test_util.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

namespace m = ::xla::match;

// A constant of the given type and text.
std::unique_ptr<HloModule> ConstantModule(const std::string& shape,
                                          const std::string& value) {
  return ParseForTest("ENTRY e { ROOT c = " + shape + " constant(" + value +
                      ") }");
}

TEST(ConstantPatternTest, ValuesAreComparedAsNumbers) {
  auto f32 = ConstantModule("f32[]", "42");
  HloInstruction* c = nullptr;
  EXPECT_TRUE(Match(RootOf(f32), m::ConstantScalar()));
  EXPECT_TRUE(Match(RootOf(f32), m::ConstantScalar(&c)));
  EXPECT_EQ(c, RootOf(f32));
  EXPECT_TRUE(Match(RootOf(f32), m::ConstantScalar(42)));
  EXPECT_TRUE(Match(RootOf(f32), m::ConstantScalar(&c, 42.0)));
  EXPECT_TRUE(Match(RootOf(f32), m::ConstantScalar(42u)));
  EXPECT_TRUE(Match(RootOf(f32), m::ConstantScalar(bfloat16(42))));
  EXPECT_TRUE(Match(RootOf(f32), m::ConstantScalar(complex64(42, 0))));
  EXPECT_FALSE(Match(RootOf(f32), m::ConstantScalar(42.5)));
  EXPECT_FALSE(Match(RootOf(f32), m::ConstantScalar(complex64(42, 1))));

  auto tenth = ConstantModule("f32[]", "0.1");
  EXPECT_TRUE(Match(RootOf(tenth), m::ConstantScalar(0.1f)));
  EXPECT_FALSE(Match(RootOf(tenth), m::ConstantScalar(0.1)));

  auto u64 = ConstantModule("u64[]", "18446744073709551615");
  EXPECT_TRUE(Match(RootOf(u64), m::ConstantScalar(~uint64_t{0})));
  EXPECT_FALSE(Match(RootOf(u64), m::ConstantScalar(-1)));

  auto truth = ConstantModule("pred[]", "true");
  EXPECT_TRUE(Match(RootOf(truth), m::ConstantScalar(true)));
  EXPECT_FALSE(Match(RootOf(truth), m::ConstantScalar(false)));
}

TEST(ConstantPatternTest, ScalarsAndEffectiveScalars) {
  auto one = ConstantModule("s32[1,1]", "{{7}}");
  auto two = ConstantModule("s32[2]", "{7, 7}");
  HloInstruction* c = nullptr;
  EXPECT_FALSE(Match(RootOf(one), m::ConstantScalar()));
  EXPECT_TRUE(Match(RootOf(one), m::ConstantEffectiveScalar(&c)));
  EXPECT_EQ(c, RootOf(one));
  EXPECT_TRUE(Match(RootOf(one), m::ConstantEffectiveScalar(7)));
  EXPECT_TRUE(Match(RootOf(one), m::ConstantEffectiveScalar(&c, 7)));
  EXPECT_FALSE(Match(RootOf(one), m::ConstantEffectiveScalar(8)));
  EXPECT_FALSE(Match(RootOf(two), m::ConstantEffectiveScalar()));
  EXPECT_TRUE(Match(RootOf(one), m::Op().IsConstantEffectiveScalar(7)));
  EXPECT_TRUE(Match(RootOf(two), m::Constant()));
  EXPECT_TRUE(Match(RootOf(two), m::Op().IsConstant()));
  EXPECT_FALSE(Match(RootOf(two), m::NonConstant()));
  EXPECT_FALSE(Match(RootOf(two), m::NonConstant(&c)));
}

TEST(ConstantPatternTest, ElidedConstantsHaveNoValue) {
  auto module = ConstantModule("f32[1]", "{...}");
  EXPECT_TRUE(Match(RootOf(module), m::ConstantEffectiveScalar()));
  EXPECT_FALSE(Match(RootOf(module), m::ConstantEffectiveScalar(0)));
}

TEST(ConstantPatternTest, Texts) {
  auto f32 = ConstantModule("f32[]", "42");
  EXPECT_EQ(Description(m::ConstantScalar()), "instruction: constant scalar");
  EXPECT_EQ(Description(m::ConstantEffectiveScalar(1.5)),
            "instruction: constant effective scalar 1.5");
  EXPECT_EQ(Explanation(RootOf(f32), m::ConstantScalar(1)),
            "value is not 1\nin c = f32[] constant(42)");
  EXPECT_EQ(Explanation(RootOf(f32), m::NonConstant()),
            "opcode is constant\nin c = f32[] constant(42)");
}

constexpr char kConvertOfAdd[] = R"(
ENTRY e {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  add = f32[4] add(a, b)
  ROOT convert = f16[4] convert(add)
})";

TEST(CombinatorTest, AnyOfInstructions) {
  auto module = ParseForTest(kConvertOfAdd);
  HloInstruction* root = RootOf(module);
  HloInstruction* add = nullptr;
  auto maybe_converted = [&](auto pattern) {
    return m::AnyOf<HloInstruction>(m::Convert(pattern), pattern);
  };
  auto pattern = maybe_converted(m::Add(&add, m::Parameter(0), m::Op()));
  EXPECT_TRUE(Match(root, pattern));
  EXPECT_EQ(add, root->operand(0));
  add = nullptr;
  EXPECT_TRUE(Match(root->mutable_operand(0), pattern));
  EXPECT_EQ(add, root->operand(0));
  EXPECT_FALSE(Match(add->mutable_operand(0), pattern));
  // The alternatives are a pattern like others.
  EXPECT_TRUE(Match(root, m::Convert(pattern.WithOneUse())));
  EXPECT_FALSE(Match(root, pattern.WithOneUse()));
}

TEST(CombinatorTest, AllOfInstructions) {
  auto module = ParseForTest(kConvertOfAdd);
  HloInstruction* x = nullptr;
  EXPECT_TRUE(
      Match(RootOf(module), m::AllOf<HloInstruction>(m::Op(&x), m::Convert())));
  EXPECT_EQ(x, RootOf(module));
  x = nullptr;
  EXPECT_FALSE(
      Match(RootOf(module), m::AllOf<HloInstruction>(m::Op(&x), m::Add())));
  EXPECT_EQ(x, nullptr);
}

TEST(CombinatorTest, SharedSubpattern) {
  auto module = ParseForTest(kConvertOfAdd);
  const HloInstruction* root = RootOf(module);
  const HloInstruction* add = nullptr;
  auto shared = m::SharedSubpattern(m::Add(&add, m::Op(), m::Parameter(1)));
  auto pattern =
      m::AnyOf<HloInstruction>(m::Negate(shared), shared, m::Convert(shared));
  EXPECT_TRUE(Match(root, pattern));
  EXPECT_EQ(add, root->operand(0));
  EXPECT_EQ(Description(m::SharedSubpattern(m::Add())),
            "instruction:\n  instruction: opcode add");
}

TEST(CombinatorTest, UniqueInstruction) {
  auto module = ParseForTest(R"(
ENTRY e {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  aa = f32[] multiply(a, a)
  ab = f32[] multiply(a, b)
  ROOT t = (f32[], f32[]) tuple(aa, ab)
})");
  auto square = [](UniqueHloInstruction* x) {
    return m::Multiply(m::Op().WithPredicate(x->capture_or_verify_fn()),
                       m::Op().WithPredicate(x->capture_or_verify_fn()));
  };
  UniqueHloInstruction x;
  EXPECT_TRUE(Match(RootOf(module)->operand(0), square(&x)));
  EXPECT_EQ(x.instr()->name(), "a");
  UniqueHloInstruction y;
  EXPECT_FALSE(Match(RootOf(module)->operand(1), square(&y)));
  y.set_instr(nullptr);
  EXPECT_TRUE(y.CaptureOrVerify(RootOf(module)));
  EXPECT_FALSE(y.CaptureOrVerify(x.instr()));
}

TEST(TextTest, Descriptions) {
  EXPECT_EQ(Description(m::Op()), "any instruction");
  EXPECT_EQ(Description(m::Add(m::Parameter(0),
                               m::Op().WithOneUse().WithShape(F32, {2, 3}))
                            .WithName("sum")),
            "instruction: opcode add, name sum\n"
            "  operand 0: instruction: opcode parameter, parameter number 0\n"
            "  operand 1: instruction: used once, "
            "shape (element type f32, dimension list [2,3])");
  EXPECT_EQ(Description(m::AddAnyOrder(m::Constant(), m::Op())),
            "instruction: opcode add\n"
            "  one operand: instruction: opcode constant\n"
            "  the other: any instruction");
  EXPECT_EQ(Description(m::Tuple(
                m::AnyOf<HloInstruction>(m::Exp(m::Iota()), m::Log()))),
            "instruction: opcode tuple, operand count 1\n"
            "  operand 0: instruction:\n"
            "    instruction: opcode exponential\n"
            "      operand 0: instruction: opcode iota\n"
            "    or instruction: opcode log");
  EXPECT_EQ(Description(m::Op().WithOperandIfPresent(2, m::Iota())),
            "instruction:\n"
            "  operand 2, if present: instruction: opcode iota");
}

TEST(TextTest, ExplanationsGoFromTheInside) {
  auto module = ParseForTest(kConvertOfAdd);
  HloInstruction* root = RootOf(module);
  EXPECT_EQ(Explanation(root, m::Op()), "(matches)");
  EXPECT_EQ(Explanation(root, m::Convert(m::Add(m::Op(), m::Parameter(0)))),
            "parameter number is 1, not 0\n"
            "in b = f32[4]{0} parameter(1)\n"
            "as operand 1\n"
            "in add = f32[4]{0} add(a, b)\n"
            "as operand 0\n"
            "in convert = f16[4]{0} convert(add)");
  EXPECT_EQ(Explanation(root, m::Op().WithShape(F32, {4})),
            "element type is f16, not f32\n"
            "in f16[4]{0}\n"
            "as shape\n"
            "in convert = f16[4]{0} convert(add)");
  EXPECT_EQ(Explanation(root, m::Op().WithOperand(1, m::Op())),
            "has no operand 1\n"
            "in convert = f16[4]{0} convert(add)");
  HloInstruction* null = nullptr;
  EXPECT_EQ(Explanation(null, m::Op()), "instruction is null");
}

TEST(TextTest, ExplanationsOfAlternatives) {
  auto module = ParseForTest(kConvertOfAdd);
  HloInstruction* root = RootOf(module);
  EXPECT_EQ(Explanation(
                root, m::AnyOf<HloInstruction>(m::Exp(), m::Convert(m::Exp()))),
            "no alternative matches\n"
            "1. opcode is convert, not exponential\n"
            "   in convert = f16[4]{0} convert(add)\n"
            "2. opcode is add, not exponential\n"
            "   in add = f32[4]{0} add(a, b)\n"
            "   as operand 0\n"
            "   in convert = f16[4]{0} convert(add)\n"
            "in convert = f16[4]{0} convert(add)");
  EXPECT_EQ(Explanation(root->mutable_operand(0),
                        m::AddAnyOrder(m::Parameter(0), m::Parameter(2))),
            "operands match in neither order\n"
            "1. parameter number is 1, not 2\n"
            "   in b = f32[4]{0} parameter(1)\n"
            "   as operand 1\n"
            "2. parameter number is 1, not 0\n"
            "   in b = f32[4]{0} parameter(1)\n"
            "   as operand 1\n"
            "in add = f32[4]{0} add(a, b)");
}

TEST(TextTest, MatchAndLogIfFailed) {
  auto module = ParseForTest(kConvertOfAdd);
  HloInstruction* root = RootOf(module);
  HloInstruction* x = nullptr;
  EXPECT_TRUE(MatchAndLogIfFailed(root, "a convert", m::Convert(&x),
                                  /*enable_logging=*/true, m::Op()));
  EXPECT_EQ(x, root);
  x = nullptr;
  EXPECT_FALSE(MatchAndLogIfFailed(root, "an add", m::Add(&x, m::Op(), m::Op()),
                                   /*enable_logging=*/true, m::Op()));
  EXPECT_EQ(x, nullptr);
}

}  // namespace
}  // namespace xla
