#include "xla/util.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/types.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Pair;

TEST(UtilTest, RatiosRoundTowardsTheirInfinity) {
  for (int a = -7; a <= 7; ++a) {
    for (int b : {-3, -2, -1, 1, 2, 3}) {
      EXPECT_EQ(FloorOfRatio(a, b), std::floor(static_cast<double>(a) / b));
      EXPECT_EQ(CeilOfRatio(a, b), std::ceil(static_cast<double>(a) / b));
      const DivMod<int> result = FloorDivMod(a, b);
      EXPECT_EQ(result.quotient * b + result.modulo, a);
      EXPECT_TRUE(result.modulo == 0 || (result.modulo < 0) == (b < 0));
    }
  }
  EXPECT_EQ(RoundUpTo<int64_t>(13, 8), 16);
  EXPECT_EQ(RoundUpTo<int64_t>(16, 8), 16);
  EXPECT_EQ(RoundDownTo<int64_t>(-1, 8), -8);
  EXPECT_EQ(CeilOfRatio<uint64_t>(~uint64_t{0}, 2), uint64_t{1} << 63);
}

TEST(UtilTest, ProductOfNothingIsOne) {
  EXPECT_EQ(Product({}), 1);
  EXPECT_EQ(Product({2, 3, 4}), 24);
  EXPECT_THAT(ElemwiseProduct({1, 2}, {3, 4}), ElementsAre(3, 8));
}

TEST(UtilTest, MixedRadixCountsTheLastDigitFastest) {
  EXPECT_THAT(ToMixedRadix(0, {2, 3}), ElementsAre(0, 0));
  EXPECT_THAT(ToMixedRadix(5, {2, 3}), ElementsAre(1, 2));
  EXPECT_THAT(ToMixedRadix<DimensionVector>(23, {2, 3, 4}),
              ElementsAre(1, 2, 3));
}

TEST(UtilTest, CommonFactorsFindsTheFinestRuns) {
  using Runs = std::vector<std::pair<int64_t, int64_t>>;
  struct Case {
    std::vector<int64_t> a, b;
    Runs expected;
  };
  const Case cases[] = {
      {{}, {}, {{0, 0}}},
      {{0}, {0}, {{0, 0}, {1, 1}}},
      {{2, 3}, {2, 3}, {{0, 0}, {1, 1}, {2, 2}}},
      {{2, 6}, {2, 2, 3}, {{0, 0}, {1, 1}, {2, 3}}},
      {{4, 9}, {2, 18}, {{0, 0}, {2, 2}}},
      {{4, 5, 6}, {20, 6}, {{0, 0}, {2, 1}, {3, 2}}},
      {{2, 5, 1, 3},
       {1, 10, 3, 1},
       {{0, 0}, {0, 1}, {2, 2}, {3, 2}, {4, 3}, {4, 4}}},
      {{}, {1, 1}, {{0, 0}, {0, 1}, {0, 2}}},
      {{0, 10, 3}, {0, 3}, {{0, 0}, {3, 2}}},
      {{10, 0, 3}, {10, 0}, {{0, 0}, {3, 2}}},
      {{5, 0, 7}, {5, 3, 0}, {{0, 0}, {1, 1}, {3, 3}}},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(CommonFactors(c.a, c.b), ElementsAreArray(c.expected))
        << VectorString(c.a) << " " << VectorString(c.b);
  }
}

TEST(UtilTest, ConvertDimensionNumbersFollowsAReshape) {
  const ConvertedDimensionNumbers kept =
      ConvertDimensionNumbers({0, 2}, {2, 3, 4}, {2, 3, 2, 2});
  EXPECT_THAT(kept.transformed_from_dimensions, ElementsAre(0, 2));
  EXPECT_THAT(kept.to_dimensions, ElementsAre(0, 2, 3));
  EXPECT_TRUE(kept.untransformed_from_dimensions.empty());

  const ConvertedDimensionNumbers merged =
      ConvertDimensionNumbers({1}, {2, 3, 4}, {6, 4});
  EXPECT_TRUE(merged.transformed_from_dimensions.empty());
  EXPECT_THAT(merged.untransformed_from_dimensions, ElementsAre(1));

  // 8 x 3 -> 4 x 6: the major 4 of dimension 0 stay on their own.
  const ConvertedDimensionNumbers split =
      ConvertDimensionNumbers({0}, {8, 3}, {4, 6});
  EXPECT_THAT(split.split_from_dimensions, ElementsAre(0));
  EXPECT_THAT(split.split_from_sizes, ElementsAre(4));
  EXPECT_THAT(split.split_to_dimensions, ElementsAre(0));
}

TEST(UtilTest, DimensionHelpers) {
  EXPECT_THAT(GetNonContractingDims(4, {1}, {3}), ElementsAre(0, 2));
  EXPECT_TRUE(DistinctNumbersAreConsecutiveIfSorted({4, 2, 3}));
  EXPECT_FALSE(DistinctNumbersAreConsecutiveIfSorted({4, 2, 5}));
  EXPECT_TRUE(DistinctNumbersAreConsecutiveIfSorted({}));
  const PaddingConfig edge = MakeEdgePaddingConfig({{1, 2}, {0, 3}});
  EXPECT_EQ(edge.dimensions(1).edge_padding_high(), 3);
  EXPECT_FALSE(HasInteriorPadding(edge));
  EXPECT_EQ(MakeNoPaddingConfig(3).dimensions_size(), 3);
}

TEST(UtilTest, PackedIntegersFillBytesFromTheLowBits) {
  const std::vector<char> values = {1, 2, 15, 4, 5};
  std::vector<char> packed(3);
  PackIntN(4, values, absl::MakeSpan(packed));
  EXPECT_THAT(packed, ElementsAre(0x21, 0x4f, 0x05));
  std::vector<char> unpacked(5);
  UnpackIntN(4, packed, absl::MakeSpan(unpacked));
  EXPECT_EQ(unpacked, values);
  std::vector<char> bits(1);
  PackIntN<1>(std::vector<char>{1, 0, 1, 1}, absl::MakeSpan(bits));
  EXPECT_THAT(bits, ElementsAre(0x0d));
  PackIntN<2>(std::vector<char>{3, 0, 1}, absl::MakeSpan(bits));
  EXPECT_THAT(bits, ElementsAre(0x13));
}

TEST(UtilTest, ErrorsHaveTheirCodeAndMessage) {
  EXPECT_EQ(InvalidArgument("%d is not %s", 3, "four"),
            absl::InvalidArgumentError("3 is not four"));
  EXPECT_EQ(Internal("plain"), absl::InternalError("plain"));
  EXPECT_EQ(ResourceExhaustedStrCat("needs ", 3, " bytes"),
            absl::ResourceExhaustedError("needs 3 bytes"));
  absl::Status error = NotFound("no file");
  error.SetPayload("url", absl::Cord("payload"));
  const absl::Status added = AddStatus(error, "while opening");
  EXPECT_EQ(added.message(), "while opening: no file");
  EXPECT_EQ(added.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(added.GetPayload("url").has_value());
  EXPECT_EQ(AppendStatus(error, "x").message(), "no file: x");
}

TEST(UtilTest, ListsAsText) {
  EXPECT_EQ(CommaSeparatedString(std::vector<int>{}), "");
  EXPECT_EQ(CommaSeparatedString({57, 1}, "{", "}"), "{57, 1}");
  EXPECT_EQ(VectorString(std::vector<int64_t>{1, 2}), "(1, 2)");
  EXPECT_EQ(VectorString({1}), "(1)");
}

TEST(UtilTest, TextHelpers) {
  EXPECT_EQ(Reindent("  a\n    b\n\n", "--"), "--a\n--b\n\n");
  EXPECT_EQ(SanitizeFileName("a/b[c] d:e\\f"), "a_b_c__d_e_f");
  EXPECT_EQ(SanitizeOpName("a//b/c", '/', "."), "a.b.c");
  EXPECT_EQ(HumanReadableNumFlops(2.5e9, 1e9), "2.50GFLOP/s");
  EXPECT_EQ(HumanReadableNumTranscendentalOps(10, 1e9), "10.00TROP/s");
}

TEST(UtilTest, ContainerHelpers) {
  std::vector<int64_t> v = {5, 6, 7};
  EXPECT_EQ(PositionInContainer(v, 7), 2);
  EXPECT_EQ(PositionInContainer(v, 8), 3);
  EXPECT_EQ(FindIndex(v, 8), -1);
  InsertAt(&v, 1, 9);
  EraseAt(&v, 0);
  EXPECT_THAT(v, ElementsAre(9, 6, 7));
  EXPECT_THAT(RemoveElements<std::vector<int64_t>>({0, 2}, v), ElementsAre(6));
  DimensionVector d = {1, 2};
  EXPECT_TRUE(EraseElementFromVector(&d, int64_t{1}));
  EXPECT_FALSE(EraseElementFromVector(&d, int64_t{1}));
  EXPECT_TRUE(ContainersEqual(v, {9, 6, 7}));
}

TEST(UtilTest, LoggingMacrosRunTheirArgumentsOnlyWhenOn) {
  int evaluated = 0;
  const auto text = [&]() -> std::string {
    ++evaluated;
    return "two\nlines";
  };
  XLA_VLOG_LINES(5, text());
  EXPECT_EQ(evaluated, 0);
  XLA_LOG_LINES(INFO, text());
  EXPECT_EQ(evaluated, 1);
  {
    XLA_SCOPED_LOGGING_TIMER("quiet");
    XLA_SCOPED_LOGGING_TIMER_IF(
        [] {
          ADD_FAILURE() << "the label of a timer that does not run";
          return "";
        }(),
        false);
    XLA_SCOPED_LOGGING_TIMER_IF("loud", true);
  }
  EXPECT_EQ(WithLogBacktrace(absl::InternalError("x")),
            absl::InternalError("x"));
}

TEST(UtilTest, PrintAllFieldsShowsDefaults) {
  PaddingConfig config = MakeEdgePaddingConfig({{1, 0}});
  EXPECT_EQ(PrintAllFields(config),
            "dimensions {\n  edge_padding_low: 1\n  edge_padding_high: 0\n"
            "  interior_padding: 0\n}\n");
}

// ---- Bits -------------------------------------------------------------------

TEST(BitUtilTest, MasksAndLogarithms) {
  EXPECT_EQ(LsbMask<uint8_t>(0), 0);
  EXPECT_EQ(LsbMask<uint8_t>(3), 7);
  EXPECT_EQ(LsbMask<uint64_t>(64), ~uint64_t{0});
  EXPECT_EQ(Log2Floor<uint64_t>(0), -1);
  EXPECT_EQ(Log2Floor<uint32_t>(9), 3);
  EXPECT_EQ(Log2Ceiling<uint64_t>(0), -1);
  EXPECT_EQ(Log2Ceiling<uint64_t>(1), 0);
  EXPECT_EQ(Log2Ceiling<uint32_t>(9), 4);
  EXPECT_EQ(Log2Ceiling<uint32_t>(8), 3);
  EXPECT_EQ(CountLeadingSignBits<int32_t>(0), 31);
  EXPECT_EQ(CountLeadingSignBits<int32_t>(-1), 31);
  EXPECT_EQ(CountLeadingSignBits<int8_t>(-128), 0);
  EXPECT_EQ(KeepLowerBits<uint32_t>(0xff, 4), 0xfu);
  EXPECT_EQ(IPow<int64_t>(3, 4), 81);
  EXPECT_EQ(IPow(2.0, 0), 1.0);
}

TEST(BitUtilTest, SignMagnitudeOrdersAllValues) {
  const float ordered[] = {-std::numeric_limits<float>::quiet_NaN(),
                           -INFINITY,
                           -1.0f,
                           -0.0f,
                           0.0f,
                           1e-40f,
                           2.0f,
                           INFINITY,
                           std::numeric_limits<float>::quiet_NaN()};
  for (size_t i = 0; i + 1 < std::size(ordered); ++i) {
    EXPECT_LT(ToSignMagnitude(ordered[i]), ToSignMagnitude(ordered[i + 1]));
  }
  EXPECT_LT(ToSignMagnitude(float6_e3m2fn(-1.0f)),
            ToSignMagnitude(float6_e3m2fn(-0.0f)));
  EXPECT_LT(ToSignMagnitude(float4_e2m1fn(-0.0f)),
            ToSignMagnitude(float4_e2m1fn(0.0f)));
  EXPECT_LT(ToSignMagnitude(float8_e8m0fnu(1.0f)),
            ToSignMagnitude(float8_e8m0fnu(2.0f)));
  EXPECT_LT(ToSignMagnitude(half(-2.0f)), ToSignMagnitude(half(-1.0f)));
}

TEST(BitUtilTest, NanPayloads) {
  EXPECT_EQ(NanPayloadBits<float>(), 23);
  EXPECT_EQ(NanPayloadBits<float8_e4m3fn>(), 0);
  EXPECT_EQ(QuietNanWithoutPayload<float>(), 0x400000u);
  const float nan = NanWithSignAndPayload<float>(true, 0x123);
  EXPECT_EQ(absl::bit_cast<uint32_t>(nan), 0xff800123u);
  EXPECT_EQ((NanWithSignAndPayload<bfloat16>(false, 0x41).rep()), 0x7fc1);
  EXPECT_TRUE(isnan(NanWithSignAndPayload<float8_e4m3fnuz>(true, 0)));
  EXPECT_EQ((NanWithSignAndPayload<float8_e4m3fn>(true, 0).rep()), 0xff);
}

// ---- Numbers as text --------------------------------------------------------

TEST(RoundTripTest, FewDigitsWhereTheyAreEnough) {
  EXPECT_EQ(RoundTripFpToString(0.1f), "0.1");
  EXPECT_EQ(RoundTripFpToString(1e-6f), "1e-06");
  EXPECT_EQ(RoundTripFpToString(1.0f / 3), "0.333333343");
  EXPECT_EQ(RoundTripFpToString(-0.0f), "-0");
  EXPECT_EQ(RoundTripFpToString(3.40282347e+38f), "3.40282347e+38");
  EXPECT_EQ(RoundTripFpToString(1e-45f), "1.4013e-45");
  EXPECT_EQ(RoundTripFpToString(0.1), "0.1");
  EXPECT_EQ(RoundTripFpToString(1.0 / 3), "0.33333333333333331");
  EXPECT_EQ(RoundTripFpToString(INFINITY), "inf");
  EXPECT_EQ(RoundTripFpToString(-INFINITY), "-inf");
  EXPECT_EQ(RoundTripFpToString(bfloat16(0.1f)), "0.1001");
  EXPECT_EQ(RoundTripFpToString(half(0.1f)), "0.099976");
}

TEST(RoundTripTest, NanKeepsSignAndPayload) {
  EXPECT_EQ(RoundTripFpToString(NAN), "nan");
  EXPECT_EQ(RoundTripFpToString(-std::numeric_limits<double>::quiet_NaN()),
            "-nan");
  EXPECT_EQ(RoundTripFpToString(NanWithSignAndPayload<float>(true, 0x123)),
            "-nan(0x123)");
  EXPECT_EQ(RoundTripFpToString(NanWithSignAndPayload<bfloat16>(false, 1)),
            "nan(0x1)");
  EXPECT_EQ(RoundTripFpToString(float8_e4m3fnuz::FromRep(0x80)), "-nan");
  EXPECT_EQ(RoundTripFpToString(float8_e8m0fnu::FromRep(0xff)), "nan");
  EXPECT_EQ(RoundTripFpToString(float8_e4m3fn::FromRep(0xff)), "-nan");
}

template <typename T>
void ExpectEveryCodeRoundTrips() {
  for (uint32_t code = 0; code < (1u << T::kTotalBits); ++code) {
    const T x = T::FromRep(static_cast<typename T::Rep>(code));
    if (isnan(x)) continue;
    const std::string text = RoundTripFpToString(x);
    double parsed = 0;
    ASSERT_TRUE(absl::SimpleAtod(text, &parsed)) << text;
    EXPECT_EQ(T(parsed).rep(), x.rep()) << text;
  }
}

TEST(RoundTripTest, EveryNarrowValue) {
  ExpectEveryCodeRoundTrips<bfloat16>();
  ExpectEveryCodeRoundTrips<half>();
  ExpectEveryCodeRoundTrips<float8_e5m2>();
  ExpectEveryCodeRoundTrips<float8_e4m3>();
  ExpectEveryCodeRoundTrips<float8_e3m4>();
  ExpectEveryCodeRoundTrips<float8_e4m3fn>();
  ExpectEveryCodeRoundTrips<float8_e4m3b11fnuz>();
  ExpectEveryCodeRoundTrips<float8_e5m2fnuz>();
  ExpectEveryCodeRoundTrips<float8_e4m3fnuz>();
  ExpectEveryCodeRoundTrips<float8_e8m0fnu>();
  ExpectEveryCodeRoundTrips<float6_e3m2fn>();
  ExpectEveryCodeRoundTrips<float6_e2m3fn>();
  ExpectEveryCodeRoundTrips<float4_e2m1fn>();
}

}  // namespace
}  // namespace xla
