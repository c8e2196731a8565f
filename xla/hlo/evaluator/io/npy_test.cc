#include "xla/hlo/evaluator/io/npy.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/io/inflate.h"
#include "xla/hlo/evaluator/io/zip_archive.h"
#include "xla/layout_util.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

// A .npy file of format 1 with this header.
std::string Npy(absl::string_view descr, absl::string_view shape,
                absl::string_view data, absl::string_view fortran = "False") {
  std::string header =
      absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran,
                   ", 'shape': ", shape, ", }\n");
  return absl::StrCat(std::string("\x93NUMPY\x01\x00", 8),
                      std::string(1, static_cast<char>(header.size())),
                      std::string(1, '\0'), header, data);
}

std::string FromHex(absl::string_view hex) {
  std::string bytes;
  EXPECT_TRUE(absl::HexStringToBytes(hex, &bytes));
  return bytes;
}

TEST(InflateTest, FixedAndDynamicCodes) {
  // zlib.compressobj(9, DEFLATED, -15) of a .npy file of 40 floats i % 4.
  const std::string fixed = FromHex(
      "9bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498"
      "179f5f94920a12774bcc294e058a17672416a402f91a26063a9a3a0ab50ae4032e063"
      "068b007120e40e430d8f800");
  absl::StatusOr<std::string> npy = Inflate(fixed, 288);
  ASSERT_TRUE(npy.ok()) << npy.status();
  absl::StatusOr<Literal> literal = ReadNpy(*npy);
  ASSERT_TRUE(literal.ok()) << literal.status();
  EXPECT_EQ(literal->Get<float>({39}), 3);
  EXPECT_EQ(literal->shape().dimensions(0), 40);
  // Too short, too long, cut.
  EXPECT_FALSE(Inflate(fixed, 287).ok());
  EXPECT_FALSE(Inflate(fixed, 289).ok());
  for (size_t i = 0; i < fixed.size(); ++i) {
    EXPECT_FALSE(Inflate(absl::string_view(fixed).substr(0, i), 288).ok());
  }
  const std::string dynamic = FromHex(
      "65943b6e03410c43fb9c620f9062f49bcf811cc08013177191e327c10eb7205bdab312"
      "9f443dee5fb7a31dcf8fe3fbf9793b5eb79fd7fbd1de1effb2916ca7ec24e72907c9eb"
      "94933fd24fbd48f73af54e7aecff0faebabf3f49efbb9d45fadcdd1b9bb506bbe2d7f1"
      "862d5bee2a16626ff765627c6d2726d6e1ddba40c11bb6ef13751840387a5b82121364"
      "060906ce0c32f146c63e771d6706e5bb37670635b61f67061d0c9c19f4eb0d3318571d"
      "6630aede640de02798c1028360060bdc42f6a00176c822344c2864130c638d92950387"
      "e8f2131628188405b62ea66e2a3a641456d8ef944c74c0480945479252680c842f85c6"
      "445e53738188a704a381464a320c8724251ade508b69783474c8343cdbf6554d5208"
      "1ac534bc5faf98860fd4aa90f0a2c3621abeae03c934e2a25172240d0c6be839402db9"
      "148179959c8afc9bf22f");
  absl::StatusOr<std::string> text = Inflate(dynamic, 1564);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->substr(0, 26), "line 0 of some text, 0\nlin");
  EXPECT_EQ(Crc32(*text), 116521402u);
}

TEST(InflateTest, DamageIsAnError) {
  const std::string fixed = FromHex(
      "9bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498"
      "179f5f94920a12774bcc294e058a17672416a402f91a26063a9a3a0ab50ae4032e063"
      "068b007120e40e430d8f800");
  // Any result, no crash.
  for (size_t i = 0; i < fixed.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = fixed;
      damaged[i] ^= 1 << bit;
      Inflate(damaged, 288).IgnoreError();
    }
  }
  EXPECT_FALSE(Inflate("", 0).ok());
  EXPECT_FALSE(Inflate("\x07", 0).ok());
}

TEST(NpyTest, EveryTypeComesBack) {
  for (int i = PrimitiveType_MIN; i <= PrimitiveType_MAX; ++i) {
    if (!PrimitiveType_IsValid(i)) continue;
    const PrimitiveType type = static_cast<PrimitiveType>(i);
    if (!primitive_util::IsArrayType(type)) continue;
    absl::StatusOr<Literal> literal =
        MakeFakeLiteral(ShapeUtil::MakeShape(type, {2, 3}));
    ASSERT_TRUE(literal.ok());
    absl::StatusOr<std::string> bytes = WriteNpy(*literal);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    // Data starts at a multiple of 64.
    EXPECT_EQ((bytes->size() - literal->size_bytes()) % 64, 0);
    absl::StatusOr<Literal> back = ReadNpy(*bytes, &literal->shape());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, *literal) << PrimitiveType_Name(type);
  }
}

TEST(NpyTest, WritesWhatNumpyWrites) {
  absl::StatusOr<std::string> bytes =
      WriteNpy(LiteralUtil::CreateR1<int32_t>({1, 2}));
  ASSERT_TRUE(bytes.ok());
  std::string header =
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  header.append(118 - header.size() - 1, ' ');
  EXPECT_EQ(*bytes,
            absl::StrCat(std::string("\x93NUMPY\x01\x00\x76\x00", 10), header,
                         "\n", std::string("\x01\0\0\0\x02\0\0\0", 8)));
}

TEST(NpyTest, OrdersAndLayouts) {
  // Fortran order: the first dimension is the fastest.
  absl::StatusOr<Literal> fortran =
      ReadNpy(Npy("|u1", "(2, 3)", std::string("\0\1\2\3\4\5", 6), "True"));
  ASSERT_TRUE(fortran.ok()) << fortran.status();
  EXPECT_EQ(*fortran, LiteralUtil::CreateR2<uint8_t>({{0, 2, 4}, {1, 3, 5}}));
  absl::StatusOr<Literal> big =
      ReadNpy(Npy(">i2", "()", std::string("\x01\x02", 2)));
  ASSERT_TRUE(big.ok()) << big.status();
  EXPECT_EQ(*big, LiteralUtil::CreateR0<int16_t>(0x102));
  // A literal of another layout is written in C order.
  const Literal column = LiteralUtil::CreateR2WithLayout<int8_t>(
      {{1, 2}, {3, 4}}, LayoutUtil::MakeLayout({0, 1}));
  EXPECT_EQ(*ReadNpy(*WriteNpy(column)),
            LiteralUtil::CreateR2<int8_t>({{1, 2}, {3, 4}}));
}

// What lies above the bits of a type is as the writer had it.
TEST(NpyTest, BitsBelowAByte) {
  const std::string data = "\x08\xf9\x07\x7f";
  Shape shape = ShapeUtil::MakeShape(S4, {4});
  absl::StatusOr<Literal> literal = ReadNpy(Npy("|V1", "(4,)", data), &shape);
  ASSERT_TRUE(literal.ok()) << literal.status();
  EXPECT_EQ(literal->ToStringWithoutShape(), "{-8, -7, 7, -1}");
  shape = ShapeUtil::MakeShape(U4, {4});
  literal = ReadNpy(Npy("|V1", "(4,)", data), &shape);
  ASSERT_TRUE(literal.ok()) << literal.status();
  EXPECT_EQ(literal->ToStringWithoutShape(), "{8, 9, 7, 15}");
}

TEST(NpyTest, FloatsOfOneByte) {
  const Shape shape = ShapeUtil::MakeShape(F8E5M2, {2});
  absl::StatusOr<Literal> literal =
      ReadNpy(Npy("<f1", "(2,)", "\x3c\xc0"), &shape);
  ASSERT_TRUE(literal.ok()) << literal.status();
  EXPECT_EQ(literal->ToStringWithoutShape(), "{1, -2}");
}

TEST(NpyTest, BadFiles) {
  const std::string good = Npy("<f4", "(2,)", std::string(8, '\0'));
  EXPECT_TRUE(ReadNpy(good).ok());
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(ReadNpy(absl::string_view(good).substr(0, i)).ok()) << i;
  }
  const Shape shape = ShapeUtil::MakeShape(F32, {3});
  EXPECT_THAT(ReadNpy(good, &shape).status().message(),
              HasSubstr("expected f32[3], found f32[2]"));
  EXPECT_THAT(ReadNpy(Npy("|V2", "(1,)", "ab")).status().message(),
              HasSubstr("raw bytes"));
  EXPECT_FALSE(ReadNpy(Npy("|O", "(1,)", "ab")).ok());
  EXPECT_FALSE(ReadNpy(Npy("<f4", "(-1,)", "")).ok());
  EXPECT_FALSE(ReadNpy(Npy("<f4", "(4611686018427387904,4)", "abcd")).ok());
  EXPECT_FALSE(WriteNpy(Literal::CreateElided(shape)).ok());
  EXPECT_FALSE(
      WriteNpy(LiteralUtil::MakeTupleOwned(LiteralUtil::CreateR0<float>(1)))
          .ok());
}

TEST(NpzTest, WriteAndRead) {
  const Literal a = LiteralUtil::CreateR1<float>({1, 2, 3});
  const Literal b = LiteralUtil::CreateR0<bfloat16>(bfloat16(1.5f));
  absl::StatusOr<std::string> bytes = WriteNpz({{"arg0", &a}, {"arg1", &b}});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  absl::StatusOr<NpzFile> file = NpzFile::Parse(*bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->names(), (std::vector<std::string>{"arg0", "arg1"}));
  EXPECT_EQ(*file->Read("arg0"), a);
  EXPECT_EQ(*file->Read("arg1", &b.shape()), b);
  EXPECT_THAT(file->Read("arg2").status().message(),
              HasSubstr("no array 'arg2'; known: arg0, arg1"));
  EXPECT_THAT(file->Read("arg1").status().message(), HasSubstr("arg1: "));
  // Damage is noticed.
  std::string damaged = *bytes;
  damaged[150] ^= 1;
  EXPECT_THAT(NpzFile::Parse(damaged).status().message(),
              HasSubstr("arg0.npy: bad zip archive: checksum mismatch"));
  for (size_t i = 0; i < bytes->size(); ++i) {
    EXPECT_FALSE(NpzFile::Parse(absl::string_view(*bytes).substr(0, i)).ok());
  }
  EXPECT_FALSE(NpzFile::Parse("PK").ok());
}

}  // namespace
}  // namespace xla
