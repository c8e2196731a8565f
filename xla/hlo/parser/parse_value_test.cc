// Pieces of HLO text that have functions of their own.

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/layout.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/types.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::string MessageOf(const absl::StatusOr<T>& result) {
  return result.ok() ? "OK" : std::string(result.status().message());
}

// --- Shapes ------------------------------------------------------------------

std::string ShapeRoundTrip(absl::string_view text) {
  absl::StatusOr<Shape> shape = ParseShape(text);
  if (!shape.ok()) return MessageOf(shape);
  return ShapeUtil::HumanStringWithLayout(*shape);
}

TEST(ParseShapeTest, PrintsAsItWasWritten) {
  for (absl::string_view text : {"f32[]",
                                 "f32[2,3]",
                                 "f32[2,3]{1,0}",
                                 "bf16[4,<=8,?]",
                                 "pred[0]",
                                 "f32[2,3]{0,1:T(8,128)}",
                                 "f32[2,3]{1,0:T(8,128)(2,1)}",
                                 "f32[4,8]{1,0:T(*,8)}",
                                 "u4[16]{0:E(4)}",
                                 "f32[8]{0:S(5)}",
                                 "f32[8,4]{1,0:T(8,128)E(32)S(1)}",
                                 "f32[2,3]{1,0:SC(0:1)}",
                                 "f32[8]{0:SC(0:2,4)}",
                                 "f32[8]{0:SC(0:)(0:3)}",
                                 "f32[8]{0:M(32)}",
                                 "f32[8]{0:L(4)}",
                                 "f32[8]{0:#(u32)*(u16)}",
                                 "f32[]{:T(128)}",
                                 "()",
                                 "token[]",
                                 "opaque[]",
                                 "(f32[2]{0}, (s32[], token[]), ())",
                                 "b(f32[2,3]{1,0})",
                                 "(b(f32[2]{0}), f8e4m3b11fnuz[3])"}) {
    EXPECT_EQ(ShapeRoundTrip(text), text);
  }
}

TEST(ParseShapeTest, BlanksAndIndexCommentsDoNotCount) {
  EXPECT_EQ(ShapeRoundTrip(" ( f32[ 2 , 3 ]{1,0} ,\n /*index=1*/ s32[] ) "),
            "(f32[2,3]{1,0}, s32[])");
}

TEST(ParseShapeTest, SuffixesAloneMeanTheDescendingOrder) {
  EXPECT_EQ(ShapeRoundTrip("f32[2,3]{:T(8)}"), "f32[2,3]{1,0:T(8)}");
}

TEST(ParseShapeTest, RefusesBadShapes) {
  auto error = [](absl::string_view text) {
    return MessageOf(ParseShape(text));
  };
  EXPECT_THAT(error(""), HasSubstr("1:1: error: expected a shape"));
  EXPECT_THAT(error("f33[2]"), HasSubstr("expected a shape, found 'f33'"));
  // The letter of one type, the digits of another.
  for (absl::string_view text : {"b8[]", "c32[]", "s128[]", "u12[]", "f8[]"}) {
    EXPECT_THAT(error(text), HasSubstr("expected a shape, found")) << text;
  }
  EXPECT_THAT(error("f32[2"), HasSubstr("',' or ']'"));
  EXPECT_THAT(error("f32[-2]"), HasSubstr("1:5: error: a dimension size must"));
  EXPECT_THAT(error("f32[2]{0"), HasSubstr("'}'"));
  EXPECT_THAT(error("f32[2]{1}"), HasSubstr("every dimension exactly once"));
  EXPECT_THAT(error("f32[2,2]{0,0}"), HasSubstr("exactly once"));
  EXPECT_THAT(error("f32[2,2]{0}"), HasSubstr("1 dimensions, the shape 2"));
  EXPECT_THAT(error("f32[2] x"), HasSubstr("the end of the text"));
  EXPECT_THAT(error("token[2]"), HasSubstr("no dimensions"));
  EXPECT_THAT(error("f32[8]{0:P(f32[8])}"), HasSubstr("no physical shape"));
  EXPECT_THAT(error("f32[8]{0:D(C)}"), HasSubstr("dense"));
  EXPECT_THAT(error("f32[8]{0:S(1)T(8)}"), HasSubstr("in this order"));
  EXPECT_THAT(error("f32[8]{0:#(f32)}"), HasSubstr("integer type"));
  EXPECT_THAT(error("b(token[])"), HasSubstr("a buffer holds an array"));
  // What counts is the size in bytes.
  EXPECT_THAT(error("f32[2305843009213693952]"),
              HasSubstr("too many elements"));
  EXPECT_THAT(error("f32[4611686018427387904,8,0]"),
              HasSubstr("too many elements"));
  for (absl::string_view large :
       {"f32[2305843009213693951]", "pred[9223372036854775807,0]"}) {
    EXPECT_TRUE(ParseShape(large).ok()) << large;
  }
}

TEST(ParseShapeTest, DeepNestingIsAnErrorAndNoCrash) {
  const std::string deep = std::string(100000, '(') + std::string(100000, ')');
  EXPECT_THAT(MessageOf(ParseShape(deep)), HasSubstr("nested"));
  // What is accepted can also be copied, printed and destroyed.
  const std::string fine = std::string(8000, '(') + std::string(8000, ')');
  absl::StatusOr<Shape> shape = ParseShape(fine);
  if (shape.ok()) {
    const Shape copy = *shape;
    EXPECT_EQ(ShapeUtil::HumanString(copy), fine);
  } else {
    EXPECT_THAT(MessageOf(shape), HasSubstr("nested"));
  }
}

TEST(ParseShardingTest, DeepNestingIsAnErrorAndNoCrash) {
  for (int levels : {100, 10000, 100000}) {
    const std::string text =
        std::string(levels, '{') + std::string(levels, '}');
    EXPECT_FALSE(ParseSharding(text).ok()) << levels;
  }
  EXPECT_THAT(MessageOf(ParseSharding(std::string(100000, '{'))),
              HasSubstr("nested"));
}

TEST(ParseShapeListTest, AnyNumber) {
  auto list = ParseShapeList("f32[2]{0}, s32[]");
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 2);
  EXPECT_EQ((*list)[1].element_type(), S32);
  EXPECT_EQ(ParseShapeList("")->size(), 0);
  EXPECT_FALSE(ParseShapeList("f32[],").ok());
}

TEST(ParseLayoutTest, StandsAlone) {
  auto layout = ParseLayout("{0,1:T(8,128)S(3)}");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->ToString(), "{0,1:T(8,128)S(3)}");
  EXPECT_EQ(layout->memory_space(), 3);
  EXPECT_FALSE(ParseLayout("{0,1").ok());
}

// --- Literals ----------------------------------------------------------------

std::string LiteralRoundTrip(absl::string_view text) {
  absl::StatusOr<Literal> literal = ParseLiteral(text);
  if (!literal.ok()) return MessageOf(literal);
  return literal->ToStringWithLayoutOneline();
}

TEST(ParseLiteralTest, PrintsAsItWasWritten) {
  for (absl::string_view text : {"s32[] 5",
                                 "s32[] -5",
                                 "f32[] 1.5",
                                 "f32[] inf",
                                 "f32[] -inf",
                                 "f32[] nan",
                                 "pred[] true",
                                 "pred[] false",
                                 "s32[3]{0} {1, 2, 3}",
                                 "f32[2,2]{1,0} { { 1, 2 }, { 3, 4 } }",
                                 "c64[] (1, 2)",
                                 "c128[2]{0} {(1, 0), (0, -1)}",
                                 "s64[] 9223372036854775807",
                                 "s64[] -9223372036854775808",
                                 "u64[] 18446744073709551615",
                                 "u64[] 9223372036854775808",
                                 "f64[] 1e+300",
                                 "s4[2]{0} {-8, 7}",
                                 "u4[2]{0} {0, 15}",
                                 "s2[2]{0} {-2, 1}",
                                 "u2[2]{0} {0, 3}",
                                 "f8e5m2[] 1.5",
                                 "bf16[] 1.5",
                                 "f16[] 65504",
                                 "f32[0]{0} {}"}) {
    EXPECT_EQ(LiteralRoundTrip(text), text);
  }
}

TEST(ParseLiteralTest, LayoutsChangeTheMemoryNotTheElements) {
  auto literal = ParseLiteral("s32[2,3]{0,1} {{1,2,3},{4,5,6}}");
  ASSERT_TRUE(literal.ok()) << literal.status();
  EXPECT_EQ(literal->Get<int32_t>({1, 0}), 4);
  EXPECT_THAT(literal->data<int32_t>(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(ParseLiteralTest, ElidedElementsStayElided) {
  auto literal = ParseLiteral("f32[100000000] {...}");
  ASSERT_TRUE(literal.ok()) << literal.status();
  EXPECT_TRUE(literal->is_elided());
  EXPECT_THAT(LiteralRoundTrip("f32[<=4] {...}"),
              HasSubstr("no dynamic dimensions"));
}

TEST(ParseLiteralTest, IntegersOutOfRange) {
  for (absl::string_view text :
       {"s8[] 128", "s8[] -129", "u8[] 256", "u8[] -1", "s16[] 32768",
        "u16[] 65536", "s32[] 2147483648", "s32[] -2147483649",
        "u32[] 4294967296", "u32[] -1", "s64[] 9223372036854775808", "s4[] 8",
        "s4[] -9", "u4[] 16", "s2[] 2", "u2[] 4", "s1[] 1", "u1[] 2"}) {
    EXPECT_THAT(LiteralRoundTrip(text), HasSubstr("out of range")) << text;
  }
  EXPECT_THAT(LiteralRoundTrip("u64[] 18446744073709551616"),
              HasSubstr("integer does not fit in 64 bits"));
  // Two's complement of 64 bits is how some print the largest ones.
  EXPECT_EQ(LiteralRoundTrip("u64[] -1"), "u64[] 18446744073709551615");
  EXPECT_THAT(LiteralRoundTrip("s32[] 1.5"), HasSubstr("an integer for s32"));
  EXPECT_THAT(LiteralRoundTrip("pred[] 2"), HasSubstr("true or false"));
}

TEST(ParseLiteralTest, FloatsOutOfRange) {
  for (absl::string_view text :
       {"f16[] 65520", "f16[] -1e6", "bf16[] 3.4e38", "bf16[] 1e39",
        "f32[] 1e39", "f32[] 3.5e38", "f64[] 1e309", "f64[] -1e999",
        "f8e5m2[] 1e6", "f8e4m3fn[] 1000", "f8e4m3fn[] inf", "f4e2m1fn[] 7",
        "f4e2m1fn[] nan", "f8e8m0fnu[] -1"}) {
    EXPECT_THAT(LiteralRoundTrip(text), HasSubstr("out of range")) << text;
  }
  // Too small is zero, and too precise is rounded.
  EXPECT_EQ(LiteralRoundTrip("f32[] 1e-60"), "f32[] 0");
  EXPECT_EQ(LiteralRoundTrip("f64[] 1e-400"), "f64[] 0");
  EXPECT_EQ(LiteralRoundTrip("bf16[] 1e-50"), "bf16[] 0");
  EXPECT_EQ(LiteralRoundTrip("f32[] 16777217"), "f32[] 16777216");
  EXPECT_EQ(LiteralRoundTrip("bf16[] 3.38953e+38"), "bf16[] 3.39e+38");
}

// To f64 first, and to f32 on the way to 16 bits, as XLA rounds: what a step
// leaves right between two numbers the next one rounds to even.
TEST(ParseLiteralTest, FloatsAreRoundedInSteps) {
  EXPECT_EQ(LiteralRoundTrip("f32[] 1.00000005960464477539062500001"),
            "f32[] 1");
  EXPECT_EQ(LiteralRoundTrip("f32[] 1.0000000596046449"), "f32[] 1.00000012");
  EXPECT_EQ(LiteralRoundTrip("bf16[] 1.00390626"), "bf16[] 1");
  EXPECT_EQ(LiteralRoundTrip("bf16[] 1.003907"), "bf16[] 1.008");
  EXPECT_EQ(LiteralRoundTrip("f16[] 1.00048829"), "f16[] 1");
  EXPECT_EQ(LiteralRoundTrip("f8e4m3fn[] 1.0625000001"), "f8e4m3fn[] 1.12");
  for (absl::string_view text :
       {"f16[] 65519.9999999",
        "f32[] 3.40282356779733661637539395458142568447e38"}) {
    EXPECT_THAT(LiteralRoundTrip(text), HasSubstr("out of range")) << text;
  }
}

TEST(ParseLiteralTest, NanPayloads) {
  auto bits = [](absl::string_view text) -> uint32_t {
    auto literal = ParseLiteral(text);
    EXPECT_TRUE(literal.ok()) << literal.status();
    return absl::bit_cast<uint32_t>(literal->Get<float>({}));
  };
  EXPECT_EQ(bits("f32[] nan(0x1)"), 0x7f800001u);
  EXPECT_EQ(bits("f32[] -nan(0x400123)"), 0xffc00123u);
  auto half_literal = ParseLiteral("f16[] nan(0x3)");
  ASSERT_TRUE(half_literal.ok());
  EXPECT_EQ(half_literal->Get<half>({}).rep(), 0x7c03);
  EXPECT_THAT(LiteralRoundTrip("f32[] nan(0x800000)"),
              HasSubstr("does not fit in f32"));
  EXPECT_THAT(LiteralRoundTrip("bf16[] nan(0x0)"), HasSubstr("does not fit"));
}

TEST(ParseLiteralTest, TheListMustFitTheShape) {
  EXPECT_THAT(LiteralRoundTrip("s32[3] {1, 2}"),
              HasSubstr("2 of 3 elements in dimension 0"));
  EXPECT_THAT(LiteralRoundTrip("s32[2] {1, 2, 3}"),
              HasSubstr("more than 2 elements in dimension 0"));
  EXPECT_THAT(LiteralRoundTrip("s32[2,2] {{1, 2}, {3}}"),
              HasSubstr("1 of 2 elements in dimension 1"));
  EXPECT_THAT(LiteralRoundTrip("s32[1] {{1}}"), HasSubstr("{"));
  EXPECT_THAT(LiteralRoundTrip("s32[] {1}"), HasSubstr("an integer for s32"));
  EXPECT_THAT(LiteralRoundTrip("(s32[], s32[]) (1)"),
              HasSubstr("the tuple needs 2 elements, found 1"));
  EXPECT_THAT(LiteralRoundTrip("(s32[]) (1, 2)"),
              HasSubstr("the tuple has only 1 elements"));
  EXPECT_THAT(LiteralRoundTrip("token[] 1"), HasSubstr("constant values"));
  // Not what it says, and no 4 TB either.
  EXPECT_THAT(LiteralRoundTrip("f32[1000000000000] {1}"),
              HasSubstr("the text ends before"));
}

// --- Shardings ---------------------------------------------------------------

std::string ShardingRoundTrip(absl::string_view text) {
  absl::StatusOr<HloSharding> sharding = ParseSharding(text);
  if (!sharding.ok()) return MessageOf(sharding);
  return sharding->ToString(/*include_metadata=*/true);
}

TEST(ParseShardingTest, PrintsAsItWasWritten) {
  for (absl::string_view text :
       {"{replicated}",
        "{manual}",
        "{unknown}",
        "{unreduced}",
        "{unreduced=max}",
        "{maximal device=3}",
        "{maximal device=-1}",
        "{devices=[2,1,2]2,3,5,7}",
        "{devices=[1,2]<=[2]}",
        "{devices=[4,4,1]<=[4,2,2]T(1,0,2)}",
        "{devices=[2,1,2]<=[4] last_tile_dim_replicate}",
        "{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}",
        "{devices=[2,2]<=[4] last_tile_dims={unreduced}}",
        "{{replicated}, {devices=[2]<=[2]}}",
        "{replicated shard_as 3}",
        "{unknown shard_like 0}",
        "{replicated metadata={op_name=\"a\"}}",
        "{devices=[2]<=[2] metadata={{op_name=\"a\"}, {op_name=\"b\"}}}",
        "{mesh['x'=2,'y'=2], [{'x'}, {}]}",
        "{mesh['x'=2,'y'=2], [{'x', ?}, {?}], replicated={'y'}}",
        "{mesh['a'=4,'b'=2], [{'a':(1)2}, {}], unreduced=max{'b'}}",
        "{mesh['x'=2,'y'=2], device_ids=(1,0,3,2), [{}], manual={'x'}}",
        "{maximal_mesh[device_id=5]}"}) {
    EXPECT_EQ(ShardingRoundTrip(text), text);
  }
}

TEST(ParseShardingTest, WordsOverMeshes) {
  for (const auto& [text, printed] :
       std::vector<std::pair<absl::string_view, absl::string_view>>{
           {"{mesh['a'=2,'b'=4], replicated}", "{replicated}"},
           {"{mesh[], replicated}", "{replicated}"},
           {"{mesh['a'=2,'b'=4], unreduced}", "{unreduced}"},
           {"{mesh['a'=2,'b'=4], unreduced=max}", "{unreduced=max}"},
           {"{unreduced metadata={op_type=\"reduction_op\" op_name=\"max\"}}",
            "{unreduced=max}"},
           {"{mesh['a'=2,'b'=4], manual}", "{mesh['a'=2,'b'=4], manual}"}}) {
    EXPECT_EQ(ShardingRoundTrip(text), printed) << text;
  }
}

TEST(ParseShardingTest, OneGroupOfAllDevices) {
  for (const auto& [text, printed] :
       std::vector<std::pair<absl::string_view, absl::string_view>>{
           {"{devices=[1,4]<=[4] last_tile_dims={unreduced}}", "{unreduced}"},
           {"{devices=[1,4]<=[4] last_tile_dims={unreduced} "
            "metadata={op_type=\"reduction_op\" op_name=\"max\"}}",
            "{unreduced=max}"},
           {"{devices=[4,1]<=[4] last_tile_dims={unreduced,replicated}}",
            "{unreduced}"},
           {"{devices=[2,2]<=[4] last_tile_dims={unreduced,replicated}}",
            "{devices=[2,2]<=[4] last_tile_dims={unreduced, replicated}}"},
           {"{devices=[1,1]<=[1] last_tile_dims={manual,replicated}}",
            "{replicated}"},
           {"{devices=[1]<=[1] last_tile_dims={manual}}", "{manual}"},
           {"{devices=[1,2,2]<=[4] last_tile_dims={manual,manual}}",
            "{manual}"}}) {
    EXPECT_EQ(ShardingRoundTrip(text), printed) << text;
  }
}

TEST(ParseShardingTest, IndexCommentsInTuples) {
  EXPECT_EQ(ShardingRoundTrip("{{replicated}, {replicated}, {manual}, "
                              "{replicated}, {replicated}, /*index=5*/"
                              "{replicated}}"),
            "{{replicated}, {replicated}, {manual}, {replicated}, "
            "{replicated}, /*index=5*/{replicated}}");
}

TEST(ParseShardingTest, RefusesBadShardings) {
  EXPECT_THAT(ShardingRoundTrip("{}"), HasSubstr("devices=[...]"));
  EXPECT_THAT(ShardingRoundTrip("{replicated manual}"),
              HasSubstr("more than one kind"));
  EXPECT_THAT(ShardingRoundTrip("{maximal}"), HasSubstr("exactly one device"));
  EXPECT_THAT(ShardingRoundTrip("{maximal devices=[2]0,1}"),
              HasSubstr("has no tiles"));
  EXPECT_THAT(ShardingRoundTrip("{replicated devices=[2]<=[2]}"),
              HasSubstr("has no tiles"));
  EXPECT_THAT(ShardingRoundTrip("{devices=[2,2]0,1,2}"),
              HasSubstr("need 4 devices, found 3"));
  EXPECT_THAT(ShardingRoundTrip("{devices=[2,2]<=[5]}"), HasSubstr("error"));
  EXPECT_THAT(ShardingRoundTrip("{devices=[0]<=[0]}"), HasSubstr("positive"));
  EXPECT_THAT(ShardingRoundTrip("{devices=[2]<=[2]T(1)}"),
              HasSubstr("no dimension 1"));
  EXPECT_THAT(ShardingRoundTrip("{devices=[2]0,0}"), HasSubstr("error"));
  EXPECT_THAT(ShardingRoundTrip("{device=[2]0,1}"), HasSubstr("an integer"));
  EXPECT_THAT(ShardingRoundTrip("{devics=[2]0,1}"),
              HasSubstr("did you mean 'device"));
  EXPECT_THAT(ShardingRoundTrip("{replicatd}"), HasSubstr("a sharding"));
  EXPECT_THAT(ShardingRoundTrip("{{{replicated}}}"), HasSubstr("flat list"));
  EXPECT_THAT(ShardingRoundTrip("{mesh['x'=2], [{'y'}]}"),
              HasSubstr("the mesh has no axis 'y'"));
  EXPECT_THAT(ShardingRoundTrip("{mesh['x'=2], [{'x'}, {'x'}]}"),
              HasSubstr("error"));
  EXPECT_THAT(ShardingRoundTrip("{mesh['x'=0], [{'x'}]}"),
              HasSubstr("is not within 1"));
}

// --- Replica groups ----------------------------------------------------------

std::string GroupsRoundTrip(absl::string_view text) {
  auto groups = ParseCollectiveDeviceListBase(text);
  return groups.ok() ? (*groups)->ToString() : MessageOf(groups);
}

TEST(ParseDeviceListTest, ThreeSyntaxes) {
  for (absl::string_view text :
       {"{}", "{{0,1},{2,3}}", "{{0},{1},{2}}", "[2,4]<=[8]",
        "[4,2]<=[2,4]T(1,0)", "mesh['a'=2,'b'=4] {'b'}",
        "mesh['a'=2,'b'=4] {'a','b':(1)2}",
        "mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)) {'a'}",
        "mesh['a'=4], device_ids=(0,2,1,3) {'a'}"}) {
    EXPECT_EQ(GroupsRoundTrip(text), text);
  }
}

TEST(ParseDeviceListTest, RefusesBadGroups) {
  EXPECT_THAT(GroupsRoundTrip("[2,2,2]<=[8]"), HasSubstr("2 dimensions"));
  EXPECT_THAT(GroupsRoundTrip("[2,2]<=[5]"), HasSubstr("error"));
  EXPECT_THAT(GroupsRoundTrip("[2,2]"), HasSubstr("expected '<='"));
  EXPECT_THAT(GroupsRoundTrip("{{0,1}"), HasSubstr("',' or '}'"));
  EXPECT_THAT(GroupsRoundTrip("{0,1}"), HasSubstr("expected '{'"));
  EXPECT_THAT(GroupsRoundTrip("mesh['data'=2] {'dta'}"),
              HasSubstr("did you mean 'data'?"));
  EXPECT_THAT(GroupsRoundTrip("mesh['a'=4] {'a':(8)2}"), HasSubstr("error"));
  EXPECT_THAT(GroupsRoundTrip("mesh['a'=4], device_ids=(0,1) {'a'}"),
              HasSubstr("device ids"));
}

TEST(ParseReplicaGroupsOnlyTest, Lists) {
  auto groups = ParseReplicaGroupsOnly("{{0,2},{1,3}}");
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups->size(), 2);
  EXPECT_THAT((*groups)[1].replica_ids(), ElementsAre(1, 3));
}

TEST(ParseReplicaGroupsOnlyTest, Meshes) {
  const auto ids = [](absl::string_view text) {
    std::vector<std::vector<int64_t>> lists;
    auto groups = ParseReplicaGroupsOnly(text);
    EXPECT_TRUE(groups.ok()) << groups.status();
    if (!groups.ok()) return lists;
    for (const ReplicaGroup& group : *groups) {
      lists.emplace_back(group.replica_ids().begin(),
                         group.replica_ids().end());
    }
    return lists;
  };
  EXPECT_THAT(ids("mesh['i'=2,'j'=2] {'j'}"),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(ids("mesh['i'=2,'j'=2] {'i'}"),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(ids("maximal_mesh[device_id=1] {}"), ElementsAre(ElementsAre(1)));
}

// --- Windows and dimension numbers -------------------------------------------

TEST(ParseWindowTest, FieldsInAnyOrder) {
  for (absl::string_view text :
       {"size=7x7 stride=2x2 pad=3_3x3_3", "size=3 pad=-1_2",
        "size=2x2 lhs_dilate=2x1 rhs_dilate=1x3", "size=3x3 rhs_reversal=1x1",
        "size=1x2x3"}) {
    auto window = ParseWindow(text);
    ASSERT_TRUE(window.ok()) << window.status();
    EXPECT_EQ(window_util::ToString(*window), text);
    EXPECT_TRUE(ParseWindow(absl::StrCat("{", text, "}")).ok());
  }
  EXPECT_EQ(
      window_util::ToString(*ParseWindow("size=3x3, pad=1_1x1_1, stride=2x2")),
      "size=3x3 stride=2x2 pad=1_1x1_1");
}

TEST(ParseWindowTest, RefusesBadWindows) {
  auto error = [](absl::string_view text) {
    return MessageOf(ParseWindow(text));
  };
  EXPECT_THAT(error("{stride=2x2}"), HasSubstr("a window needs size="));
  EXPECT_THAT(error("{size=2x2 stride=2}"), HasSubstr("1 dimensions"));
  EXPECT_THAT(error("{size=2x2 pad=1_1}"), HasSubstr("1 dimensions"));
  EXPECT_THAT(error("{size=2 pad=1_1_1}"), HasSubstr("no interior padding"));
  EXPECT_THAT(error("{size=2 size=2}"), HasSubstr("given twice"));
  EXPECT_THAT(error("{size=2 strid=2}"), HasSubstr("did you mean 'stride'?"));
  EXPECT_THAT(error("{size=b01f}"), HasSubstr("sizes such as 3x3"));
  EXPECT_THAT(error("{size=99999999999999999999x2}"), HasSubstr("64 bits"));
}

TEST(ParseConvolutionDimensionNumbersTest, Labels) {
  auto dims = ParseConvolutionDimensionNumbers("f01b_i01o->01bf");
  ASSERT_TRUE(dims.ok()) << dims.status();
  EXPECT_EQ(dims->input_batch_dimension(), 3);
  EXPECT_EQ(dims->input_feature_dimension(), 0);
  EXPECT_THAT(dims->kernel_spatial_dimensions(), ElementsAre(1, 2));
  EXPECT_EQ(dims->output_feature_dimension(), 3);
  EXPECT_TRUE(ParseConvolutionDimensionNumbers("bf_io->bf").ok());
}

TEST(ParseConvolutionDimensionNumbersTest, RefusesBadLabels) {
  auto error = [](absl::string_view text) {
    return MessageOf(ParseConvolutionDimensionNumbers(text));
  };
  EXPECT_THAT(error("b00f_01io->b01f"), HasSubstr("input labels"));
  EXPECT_THAT(error("b02f_01io->b01f"), HasSubstr("input labels"));
  EXPECT_THAT(error("b01f_01ii->b01f"), HasSubstr("kernel labels"));
  EXPECT_THAT(error("b01f_01io->b01b"), HasSubstr("output labels"));
  EXPECT_THAT(error("b01f_0io->b01f"), HasSubstr("same spatial labels"));
  EXPECT_THAT(error("3x3"), HasSubstr("dimension labels"));
}

TEST(ParsePaddingConfigTest, EdgesAndInterior) {
  auto padding = ParsePaddingConfig("0_-1x2_3_4");
  ASSERT_TRUE(padding.ok());
  ASSERT_EQ(padding->dimensions_size(), 2);
  EXPECT_EQ(padding->dimensions(0).edge_padding_high(), -1);
  EXPECT_EQ(padding->dimensions(1).interior_padding(), 4);
  EXPECT_FALSE(ParsePaddingConfig("1").ok());
  EXPECT_THAT(MessageOf(ParsePaddingConfig("1_1_-1")),
              HasSubstr("interior padding"));
}

// --- Small things ------------------------------------------------------------

TEST(ParseBooleanListTest, ListOrOne) {
  EXPECT_THAT(*ParseBooleanListOnly("{true,false,1}"),
              ElementsAre(true, false, true));
  EXPECT_THAT(*ParseBooleanListOnly("true"), ElementsAre(true));
  EXPECT_THAT(*ParseParameterReplication("{}"), ElementsAre());
  EXPECT_FALSE(ParseBooleanListOnly("{yes}").ok());
}

TEST(ParseFrontendAttributesTest, StringsAndDictionaries) {
  auto attributes = ParseFrontendAttributes(
      R"({xla.sdy.sharding="#sdy<@mesh, [{\"x\"}]>",_b={"k": {"n": 1}}})");
  ASSERT_TRUE(attributes.ok()) << attributes.status();
  EXPECT_EQ(attributes->map().at("xla.sdy.sharding"), "#sdy<@mesh, [{\"x\"}]>");
  EXPECT_EQ(attributes->map().at("_b"), R"({"k": {"n": 1}})");
  EXPECT_THAT(MessageOf(ParseFrontendAttributes("{a=\"1\",a=\"2\"}")),
              HasSubstr("'a' is given twice"));
  EXPECT_FALSE(ParseFrontendAttributes("{a}").ok());
}

TEST(ParseStatisticsVizTest, IndexAndValues) {
  auto statistics =
      ParseStatisticsViz("{visualizing_index=1,stat-1=33,stat-2=0.5}");
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  EXPECT_EQ(statistics->stat_index_to_visualize(), 1);
  EXPECT_EQ(statistics->statistics(1).stat_name(), "stat-2");
  EXPECT_EQ(statistics->statistics(1).stat_val(), 0.5);
  EXPECT_FALSE(ParseStatisticsViz("{stat-1=33}").ok());
  EXPECT_FALSE(ParseStatisticsViz("{visualizing_index=2,a=1}").ok());
}

TEST(ParseOriginalValueTest, Trees) {
  for (absl::string_view text :
       {R"({"a"})", R"({"b" {1,0}})", R"({})",
        R"(({"a"}, ({"b"}, {}), {"c" {2}}))", "[synthetic_call]"}) {
    auto value = ParseOriginalValue(text);
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ((*value)->ToString(), text);
  }
  EXPECT_FALSE(ParseOriginalValue("a").ok());
  EXPECT_FALSE(ParseOriginalValue("[other]").ok());
}

TEST(ParseOriginalValueTest, DeepNestingIsAnErrorAndNoCrash) {
  EXPECT_THAT(MessageOf(ParseOriginalValue(std::string(100000, '('))),
              HasSubstr("nested"));
}

}  // namespace
}  // namespace xla
