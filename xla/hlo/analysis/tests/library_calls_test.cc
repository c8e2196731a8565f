#include "xla/hlo/analysis/library_calls.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

struct Known {
  bool pure;
  std::optional<double> flops;
};

Known Ask(const std::string& call) {
  const auto module = ParseAndReturnUnverifiedModule(absl::StrCat(R"(
HloModule m
ENTRY e {
  a = f32[4,8,16]{2,1,0} parameter(0)
  b = f32[4,16,32]{2,1,0} parameter(1)
  c = f32[4,8,32]{2,1,0} parameter(2)
  image = f32[2,10,10,3]{3,2,1,0} parameter(3)
  kernel = f32[5,3,3,3]{3,2,1,0} parameter(4)
  made = f32[2,8,8,5]{3,2,1,0} parameter(5)
  ROOT r = )",
                                                                  call, "\n}"));
  EXPECT_TRUE(module.ok()) << module.status();
  const HloInstruction& inst =
      *(*module)->entry_computation()->root_instruction();
  return {IsPureLibraryCall(inst), LibraryCallFlops(inst)};
}

constexpr char kConfig[] =
    R"(backend_config={"gemm_backend_config":{"beta":0,"dot_dimension_numbers":)"
    R"({"lhs_contracting_dimensions":["2"],"lhs_batch_dimensions":["0"]}}})";

TEST(LibraryCallsTest, Matmuls) {
  const Known known =
      Ask(absl::StrCat("(f32[4,8,32]{2,1,0}, s8[64]{0}) custom-call(a, b), "
                       "custom_call_target=\"__cublas$lt$matmul\", ",
                       kConfig));
  EXPECT_TRUE(known.pure);
  EXPECT_EQ(known.flops, 2.0 * 4 * 8 * 32 * 16);
}

TEST(LibraryCallsTest, MatmulsOverDimensionsThatAreNotThere) {
  for (const char* dimension :
       {"3", "-1", "1e300", "\"nan\"", "\"9223372036854775808\"", "\"x\""}) {
    const Known known = Ask(absl::StrCat(
        "f32[4,8,32]{2,1,0} custom-call(a, b), "
        "custom_call_target=\"__cublas$gemm\", backend_config="
        "{\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[",
        dimension, "]}}"));
    EXPECT_EQ(known.flops, std::nullopt) << dimension;
  }
}

TEST(LibraryCallsTest, MatmulsThatOverwriteAnOperandAreNotPure) {
  const Known known =
      Ask(absl::StrCat("(f32[4,8,32]{2,1,0}, s8[64]{0}) custom-call(a, b, c), "
                       "custom_call_target=\"__cublas$lt$matmul\", "
                       "output_to_operand_aliasing={{0}: (2, {})}, ",
                       kConfig));
  EXPECT_FALSE(known.pure);
  EXPECT_EQ(known.flops, 2.0 * 4 * 8 * 32 * 16);
}

TEST(LibraryCallsTest, Convolutions) {
  constexpr double kFlops = 2.0 * (2 * 8 * 8 * 5) * (3 * 3 * 3);
  const Known forward =
      Ask("(f32[2,8,8,5]{3,2,1,0}, u8[0]{0}) custom-call(image, kernel), "
          "window={size=3x3}, dim_labels=b01f_o01i->b01f, "
          "custom_call_target=\"__cudnn$convForward\"");
  EXPECT_TRUE(forward.pure);
  EXPECT_EQ(forward.flops, kFlops);
  // Adds in any order.
  const Known filter =
      Ask("(f32[5,3,3,3]{3,2,1,0}, u8[0]{0}) custom-call(image, made), "
          "window={size=3x3}, dim_labels=b01f_o01i->b01f, "
          "custom_call_target=\"__cudnn$convBackwardFilter\"");
  EXPECT_FALSE(filter.pure);
  EXPECT_EQ(filter.flops, kFlops);
}

TEST(LibraryCallsTest, NothingIsKnownOfOthers) {
  for (const char* call :
       {"f32[4]{0} custom-call(a), custom_call_target=\"mine\"",
        "f32[4,8,16]{2,1,0} negate(a)",
        "f32[4,8,32]{2,1,0} custom-call(a, b), custom_call_target=\"mine\""}) {
    const Known known = Ask(call);
    EXPECT_FALSE(known.pure) << call;
    EXPECT_EQ(known.flops, std::nullopt) << call;
  }
  // A config that says nothing about dimensions.
  EXPECT_EQ(Ask("f32[4,8,32]{2,1,0} custom-call(a, b), "
                "custom_call_target=\"__cublas$gemm\"")
                .flops,
            std::nullopt);
}

}  // namespace
}  // namespace xla
