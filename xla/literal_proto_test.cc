#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// One literal of each element type, and some that are composed.
std::vector<Literal> Samples() {
  std::vector<Literal> samples;
  std::vector<PrimitiveType> types = {PRED, C64, C128};
  primitive_util::IntegralTypeForEach(
      [&](auto type) { types.push_back(type); });
  primitive_util::FloatingPointTypeForEach(
      [&](auto type) { types.push_back(type); });
  for (PrimitiveType type : types) {
    Literal literal(ShapeUtil::MakeShapeWithDenseLayout(type, {3, 5}, {0, 1}));
    EXPECT_TRUE(LiteralUtil::FillDeterministic(&literal, type).ok());
    samples.push_back(std::move(literal));
  }
  Literal dynamic(ShapeUtil::MakeShape(U16, {4, 2}, {true, false}));
  dynamic.SetDynamicSize(0, 3);
  samples.push_back(std::move(dynamic));
  samples.push_back(LiteralUtil::CreateToken());
  samples.push_back(Literal());
  samples.push_back(LiteralUtil::CreateR1<float>({}));
  samples.push_back(LiteralUtil::MakeTupleOwned(
      LiteralUtil::CreateR1<s4>({s4(-8), s4(7), s4(-1)}),
      LiteralUtil::MakeTupleOwned(LiteralUtil::CreateR0<float>(
          std::numeric_limits<float>::quiet_NaN()))));
  return samples;
}

TEST(LiteralProtoTest, RoundTripsEveryType) {
  for (const Literal& literal : Samples()) {
    absl::StatusOr<Literal> read = Literal::CreateFromProto(literal.ToProto());
    ASSERT_TRUE(read.ok()) << literal.shape().ToString() << read.status();
    EXPECT_TRUE(read->Equal(literal, /*layout_sensitive=*/true))
        << literal.ToString();
  }
}

TEST(LiteralProtoTest, WireForm) {
  EXPECT_EQ(LiteralUtil::CreateR1<uint16_t>({0x0201, 0x0403}).ToProto().u16s(),
            "\x01\x02\x03\x04");
  EXPECT_EQ(LiteralUtil::CreateR1<bfloat16>({bfloat16(1.0f)}).ToProto().bf16s(),
            "\x80\x3f");
  EXPECT_EQ(LiteralUtil::CreateR1<u4>({u4(1), u4(15)}).ToProto().u4s(),
            "\x01\x0f");
  const LiteralProto complex =
      LiteralUtil::CreateR1<complex64>({{1, 2}}).ToProto();
  EXPECT_EQ(complex.c64s_size(), 2);
  EXPECT_EQ(complex.c64s(1), 2);
  EXPECT_EQ(LiteralUtil::CreateR1<bool>({true, false}).ToProto().preds_size(),
            2);
}

TEST(LiteralProtoTest, SpareBitsOfNarrowTypesDoNotMatter) {
  LiteralProto proto = LiteralUtil::CreateR1<s4>({s4(0), s4(0)}).ToProto();
  proto.set_s4s("\x0f\xf7");
  EXPECT_EQ(Literal::CreateFromProto(proto).value(),
            LiteralUtil::CreateR1<s4>({s4(-1), s4(7)}));
}

TEST(LiteralProtoTest, ElidedIsTheShapeAlone) {
  const Shape shape = ShapeUtil::MakeShape(F32, {int64_t{1} << 40});
  const LiteralProto proto = LiteralBase::CreateElided(shape).ToProto();
  EXPECT_EQ(proto.f32s_size(), 0);
  EXPECT_FALSE(Literal::CreateFromProto(proto).ok());
  absl::StatusOr<Literal> read =
      Literal::CreateFromProto(proto, /*prohibit_empty_literal=*/false);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->is_elided());
  EXPECT_EQ(read->shape(), shape);
}

TEST(LiteralProtoTest, BadProtosAreErrors) {
  const LiteralProto good = LiteralUtil::CreateR1<float>({1, 2}).ToProto();
  const auto code = [](const LiteralProto& proto) {
    return Literal::CreateFromProto(proto).status().code();
  };
  EXPECT_EQ(code(LiteralProto()), absl::StatusCode::kInvalidArgument);
  LiteralProto proto = good;
  proto.add_f32s(3);
  EXPECT_EQ(code(proto), absl::StatusCode::kInvalidArgument);
  proto = good;
  proto.add_tuple_literals();
  EXPECT_EQ(code(proto), absl::StatusCode::kInvalidArgument);
  // Asks for a petabyte: must not be allocated before the count is checked.
  proto = good;
  proto.mutable_shape()->set_dimensions(0, int64_t{1} << 48);
  EXPECT_EQ(code(proto), absl::StatusCode::kInvalidArgument);
  proto = good;
  proto.mutable_shape()->clear_layout();
  EXPECT_EQ(code(proto), absl::StatusCode::kInvalidArgument);
  proto = LiteralUtil::MakeTupleOwned(LiteralUtil::CreateR1<float>({1}),
                                      LiteralUtil::CreateR1<float>({2}))
              .ToProto();
  proto.mutable_shape()->mutable_tuple_shapes(1)->clear_layout();
  EXPECT_EQ(code(proto), absl::StatusCode::kInvalidArgument);
  proto = LiteralUtil::CreateR1<uint16_t>({1, 2}).ToProto();
  proto.set_u16s("abc");
  EXPECT_EQ(code(proto), absl::StatusCode::kInvalidArgument);
  proto = LiteralUtil::MakeTupleOwned(LiteralUtil::CreateR0(1)).ToProto();
  proto.clear_tuple_literals();
  EXPECT_EQ(code(proto), absl::StatusCode::kInvalidArgument);
  Literal dynamic(ShapeUtil::MakeShape(U16, {4}, std::vector<bool>{true}));
  proto = dynamic.ToProto();
  proto.set_dynamic_sizes(0, 5);
  EXPECT_EQ(code(proto), absl::StatusCode::kInvalidArgument);
  proto.add_dynamic_sizes(1);
  EXPECT_EQ(code(proto), absl::StatusCode::kInvalidArgument);
}

TEST(LiteralSerializeTest, RoundTripsEveryType) {
  for (const Literal& literal : Samples()) {
    const std::string bytes = literal.SerializeAsString().value();
    EXPECT_EQ(static_cast<int64_t>(bytes.size()),
              literal.SerializedSize().value());
    absl::StatusOr<Literal> read = Literal::DeserializeFromString(bytes);
    ASSERT_TRUE(read.ok()) << literal.shape().ToString() << read.status();
    EXPECT_TRUE(read->Equal(literal, /*layout_sensitive=*/true))
        << literal.ToString();
    std::string copy;
    ASSERT_TRUE(literal.Serialize(std::back_inserter(copy)).ok());
    EXPECT_EQ(copy, bytes);
    EXPECT_TRUE(Literal::Deserialize(bytes.begin(), bytes.end()).ok());
  }
}

TEST(LiteralSerializeTest, PacksNarrowTypes) {
  const Literal bits = LiteralUtil::CreateR1<bool>(
      {true, false, false, true, false, false, false, false, true});
  const std::string bytes = bits.SerializeAsString().value();
  EXPECT_EQ(bytes.substr(bytes.size() - 2), "\x09\x01");
  const std::string nibbles =
      LiteralUtil::CreateR1<s4>({s4(-1), s4(2)}).SerializeAsString().value();
  EXPECT_EQ(nibbles.back(), '\x2f');
}

TEST(LiteralSerializeTest, EveryTruncationIsAnError) {
  const std::string bytes =
      LiteralUtil::CreateR1<float>({1, 2}).SerializeAsString().value();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Literal::DeserializeFromString(bytes.substr(0, size)).ok());
  }
  EXPECT_FALSE(Literal::DeserializeFromString(bytes + "x").ok());
  EXPECT_FALSE(LiteralBase::CreateElided(ShapeUtil::MakeShape(F32, {2}))
                   .SerializeAsString()
                   .ok());
}

TEST(LiteralSerializeTest, BytesAsString) {
  EXPECT_EQ(LiteralUtil::CreateR1U8("hi\n").GetR1U8AsString(), "hi\n");
}

}  // namespace
}  // namespace xla
