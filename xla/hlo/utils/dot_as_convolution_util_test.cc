#include "xla/hlo/utils/dot_as_convolution_util.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace dot_as_convolution_util {
namespace {

// The elements of lhs and of rhs that each window multiplies, by position.
using Pairs = std::vector<std::vector<std::pair<int64_t, int64_t>>>;
Pairs PairsOf(int64_t lhs_size, const WindowDimension& wd) {
  const int64_t extent =
      window_util::DilatedBound(wd.size(), wd.window_dilation());
  const int64_t base = window_util::DilatedBound(lhs_size, wd.base_dilation()) +
                       wd.padding_low() + wd.padding_high();
  Pairs result;
  for (int64_t start = 0; start + extent <= base; start += wd.stride()) {
    auto& pairs = result.emplace_back();
    for (int64_t j = 0; j < wd.size(); ++j) {
      const int64_t at = start + j * wd.window_dilation() - wd.padding_low();
      if (at < 0 || at % wd.base_dilation() != 0) continue;
      if (at / wd.base_dilation() >= lhs_size) continue;
      pairs.push_back({at / wd.base_dilation(),
                       wd.window_reversal() ? wd.size() - 1 - j : j});
    }
  }
  return result;
}

// Every window of sizes up to 4: what is called a role is one, by the
// definition of the convolution, and all batches are found.
TEST(DotAsConvolutionTest, RolesAreWhatTheWindowMultiplies) {
  int64_t batches = 0, lhs_only = 0, rhs_only = 0, contracting = 0;
  auto check = [&](int64_t n, const WindowDimension& wd) {
    const Pairs pairs = PairsOf(n, wd);
    const int64_t r = wd.size();
    Pairs batch(n), lhs(n), rhs(r), inner(1);
    for (int64_t k = 0; k < n; ++k) batch[k] = {{k, k}};
    for (int64_t k = 0; k < n; ++k) lhs[k] = {{k, 0}};
    for (int64_t k = 0; k < r; ++k) rhs[k] = {{0, k}};
    for (int64_t k = 0; k < n; ++k) inner[0].push_back({k, k});
    const bool is_batch =
        SpatialIsBatch(n, wd) != SpatialBatchRepresentation::kNone;
    // Along a dimension of one element, a window that starts in the padding is
    // left alone.
    if (n > 1 || wd.padding_low() == 0) {
      EXPECT_EQ(is_batch, pairs == batch && r == n)
          << n << window_util::ToString(wd);
    }
    batches += is_batch;
    if (SpatialIsLhsNonContracting(r, wd)) {
      ++lhs_only;
      EXPECT_EQ(pairs, lhs) << n << window_util::ToString(wd);
    }
    if (SpatialIsRhsNonContracting(n, r, wd)) {
      ++rhs_only;
      EXPECT_EQ(pairs, rhs) << n << window_util::ToString(wd);
    }
    if (SpatialIsContracting(n, r, wd)) {
      ++contracting;
      EXPECT_EQ(pairs, inner) << n << window_util::ToString(wd);
    }
  };
  for (int64_t n = 1; n <= 4; ++n) {
    for (int64_t code = 0; code < 4 * 4 * 5 * 3 * 6 * 6 * 2; ++code) {
      int64_t rest = code;
      auto take = [&](int64_t bound) {
        const int64_t value = rest % bound;
        rest /= bound;
        return value;
      };
      WindowDimension wd;
      wd.set_size(take(4) + 1);
      wd.set_base_dilation(take(4) + 1);
      wd.set_stride(take(5) + 1);
      wd.set_window_dilation(take(3) + 1);
      wd.set_padding_low(take(6) - 1);
      wd.set_padding_high(take(6) - 1);
      wd.set_window_reversal(take(2) == 1);
      check(n, wd);
    }
  }
  EXPECT_GT(batches, 50);
  EXPECT_GT(lhs_only, 10);
  EXPECT_GT(rhs_only, 5);
  EXPECT_GT(contracting, 10);
}

TEST(DotAsConvolutionTest, BatchRepresentations) {
  WindowDimension wd;
  wd.set_size(16);
  wd.set_stride(15);
  wd.set_base_dilation(16);
  wd.set_window_dilation(1);
  EXPECT_EQ(SpatialIsBatch(16, wd),
            SpatialBatchRepresentation::kUnpaddedVersion);
  EXPECT_EQ(SpatialIsBatch(15, wd), SpatialBatchRepresentation::kNone);
  wd.set_stride(16);
  wd.set_base_dilation(15);
  wd.set_padding_low(15);
  wd.set_padding_high(15);
  wd.set_window_reversal(true);
  EXPECT_EQ(SpatialIsBatch(16, wd), SpatialBatchRepresentation::kPaddedVersion);
}

std::string Text(const std::vector<DotConvolutionDimsInfo::DimNums>& dims) {
  std::string result;
  for (const auto& dim : dims) {
    absl::StrAppend(&result, "(", dim.lhs, ",", dim.rhs, ",", dim.output, ",",
                    dim.spatial_dim, ")");
  }
  return result;
}
std::string Text(const DotConvolutionDimsInfo& info) {
  return absl::StrCat(
      "b", Text(info.batch_dims), " c", Text(info.contracting_dims), " l",
      Text(info.lhs_non_contracting_dims), " r",
      Text(info.rhs_non_contracting_dims), " s", Text(info.conv_spatial_dims),
      " ", info.lhs_shape_rank, info.rhs_shape_rank, info.output_shape_rank);
}

// A module whose root reads lhs and rhs, arrays of different small integers.
std::unique_ptr<HloModule> Product(absl::string_view lhs, absl::string_view rhs,
                                   absl::string_view root) {
  auto size = [](absl::string_view shape) {
    return ShapeUtil::ElementsIn(*ParseShape(shape));
  };
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      "HloModule m\nENTRY e {\n  i = f32[", size(lhs),
      "] iota(), iota_dimension=0\n  lhs = ", lhs, " reshape(i)\n  j = f32[",
      size(rhs), "] iota(), iota_dimension=0\n  rhs = ", rhs,
      " reshape(j)\n  ROOT r = ", root, "\n}"));
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

std::string ParsedConv(absl::string_view lhs, absl::string_view rhs,
                       absl::string_view root) {
  auto module = Product(lhs, rhs, root);
  return Text(ParseConvolutionDimsInfo(
      module->entry_computation()->root_instruction()));
}

TEST(DotAsConvolutionTest, DotsHaveTheirDimensionsInTheOrderOfTheOutput) {
  auto module = Product("f32[2,3,4,5]", "f32[5,6,2]",
                        "f32[2,3,4,6] dot(lhs, rhs), lhs_batch_dims={0}, "
                        "rhs_batch_dims={2}, lhs_contracting_dims={3}, "
                        "rhs_contracting_dims={0}");
  EXPECT_EQ(Text(ParseDotGeneralFromDot(
                module->entry_computation()->root_instruction())),
            "b(0,2,0,-1) c(3,0,-1,-1) l(1,-1,1,-1)(2,-1,2,-1) r(-1,1,3,-1) s "
            "434");
}

TEST(DotAsConvolutionTest, SpatialDimensionsSlideUnlessTheyAreThoseOfADot) {
  EXPECT_EQ(ParsedConv("f32[2,8,9,3]", "f32[3,1,3,4]",
                       "f32[2,6,9,4] convolution(lhs, rhs), window={size=3x1}, "
                       "dim_labels=b01f_01io->b01f"),
            "b c(3,2,-1,-1) l(0,-1,0,-1)(2,-1,2,1) r(-1,3,3,-1) s(1,0,1,0) "
            "444");
  EXPECT_EQ(ParsedConv("f32[2,4,9,3]", "f32[4,9,3,5]",
                       "f32[2,4,1,5] convolution(lhs, rhs), window={size=4x9 "
                       "stride=3x1 lhs_dilate=4x1}, "
                       "dim_labels=b01f_01io->b01f"),
            "b(1,0,1,0) c(3,2,-1,-1)(2,1,-1,1) l(0,-1,0,-1) r(-1,3,3,-1) s "
            "444");
}

TEST(DotAsConvolutionTest, GroupsOfOneAreBatches) {
  EXPECT_EQ(ParsedConv("f32[2,8,6]", "f32[3,1,6]",
                       "f32[2,6,6] convolution(lhs, rhs), window={size=3}, "
                       "dim_labels=b0f_0io->b0f, feature_group_count=6"),
            "b(2,2,2,-1) c l(0,-1,0,-1) r s(1,0,1,0) 333");
  EXPECT_EQ(ParsedConv("f32[6,8,2]", "f32[3,2,6]",
                       "f32[1,6,6] convolution(lhs, rhs), window={size=3}, "
                       "dim_labels=b0f_0io->b0f, batch_group_count=6"),
            "b(0,2,2,-1) c(2,1,-1,-1) l r s(1,0,1,0) 333");
  // Larger groups: a part of the features is no part of the output.
  EXPECT_EQ(ParsedConv("f32[2,8,6]", "f32[3,2,6]",
                       "f32[2,6,6] convolution(lhs, rhs), window={size=3}, "
                       "dim_labels=b0f_0io->b0f, feature_group_count=3"),
            "b c l(0,-1,0,-1) r s(1,0,1,0) 333");
}

HloInstruction* Slice(HloInstruction* whole, int64_t dim, int64_t begin,
                      int64_t size) {
  const auto dims = whole->shape().dimensions();
  std::vector<int64_t> starts(dims.size(), 0);
  std::vector<int64_t> limits(dims.begin(), dims.end());
  std::vector<int64_t> sizes = limits;
  if (dim >= 0) {
    starts[dim] = begin;
    limits[dim] = begin + size;
    sizes[dim] = size;
  }
  return whole->parent()->AddInstruction(HloInstruction::CreateSlice(
      ShapeUtil::MakeShape(F32, sizes), whole, starts, limits,
      std::vector<int64_t>(sizes.size(), 1)));
}

// Convolves parts along `dim`, puts them together (sums them, without an output
// dimension), and compares with the whole.
void CheckParts(HloModule* module, const DotConvolutionDimsInfo& info,
                const DotConvolutionDimsInfo::DimNums& dim, int64_t parts) {
  HloComputation* entry = module->entry_computation();
  HloInstruction* conv = entry->root_instruction();
  HloEvaluator evaluator;
  absl::StatusOr<Literal> whole =
      evaluator.Evaluate(*module, std::vector<Literal>{});
  ASSERT_TRUE(whole.ok()) << whole.status();
  HloInstruction* lhs = conv->mutable_operand(0);
  HloInstruction* rhs = conv->mutable_operand(1);
  const auto part = [&](HloInstruction* operand, int64_t d, int64_t i) {
    if (d < 0) return operand;
    const int64_t size = operand->shape().dimensions(d) / parts;
    EXPECT_EQ(size * parts, operand->shape().dimensions(d));
    return Slice(operand, d, i * size, size);
  };
  std::vector<HloInstruction*> results;
  for (int64_t i = 0; i < parts; ++i) {
    auto result = CreateShardedConvForDotGeneralConvolution(
        *conv, info, part(lhs, dim.lhs, i), part(rhs, dim.rhs, i));
    ASSERT_TRUE(result.ok()) << result.status();
    results.push_back(entry->AddInstruction(*std::move(result)));
  }
  HloInstruction* root = results[0];
  if (dim.output >= 0) {
    root = entry->AddInstruction(
        HloInstruction::CreateConcatenate(conv->shape(), results, dim.output));
  } else {
    for (int64_t i = 1; i < parts; ++i) {
      root = entry->AddInstruction(HloInstruction::CreateBinary(
          conv->shape(), HloOpcode::kAdd, root, results[i]));
    }
  }
  entry->set_root_instruction(root);
  absl::StatusOr<Literal> sum =
      evaluator.Evaluate(*module, std::vector<Literal>{});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(*whole, *sum) << conv->ToString();
}

struct Case {
  const char* lhs;
  const char* rhs;
  const char* root;
};
// Each with dimensions that two or more parts can share.
constexpr Case kCases[] = {
    {"f32[2,4,4,2]", "f32[4,4,2,2]",
     "f32[2,4,1,2] convolution(lhs, rhs), window={size=4x4 stride=3x1 "
     "lhs_dilate=4x1}, dim_labels=b01f_01io->b01f"},
    {"f32[2,4,2]", "f32[4,2,2]",
     "f32[2,4,2] convolution(lhs, rhs), window={size=4 stride=4 pad=3_3 "
     "lhs_dilate=3 rhs_reversal=1}, dim_labels=b0f_0io->b0f"},
    {"f32[2,1,2]", "f32[4,2,2]",
     "f32[2,4,2] convolution(lhs, rhs), window={size=4 pad=3_3 "
     "rhs_reversal=1}, dim_labels=b0f_0io->b0f"},
    {"f32[2,8,6]", "f32[3,1,6]",
     "f32[2,8,6] convolution(lhs, rhs), window={size=3 pad=1_1}, "
     "dim_labels=b0f_0io->b0f, feature_group_count=6"},
    {"f32[6,8,2]", "f32[3,2,6]",
     "f32[1,6,6] convolution(lhs, rhs), window={size=3}, "
     "dim_labels=b0f_0io->b0f, batch_group_count=6"},
    {"f32[2,6,2]", "f32[1,2,4]",
     "f32[2,6,4] convolution(lhs, rhs), window={size=1}, "
     "dim_labels=b0f_0io->b0f"},
    // Gradients of the input, and of the kernel.
    {"f32[2,4,4]", "f32[3,6,4]",
     "f32[2,8,6] convolution(lhs, rhs), window={size=3 pad=1_2 lhs_dilate=2}, "
     "dim_labels=b0f_0io->b0f, convolution_kind=dgrad"},
    {"f32[2,8,8]", "f32[3,2,8]",
     "f32[2,8,8] convolution(lhs, rhs), window={size=3 pad=1_1}, "
     "dim_labels=b0f_0io->b0f, feature_group_count=4, convolution_kind=dgrad"},
    {"f32[2,8,4]", "f32[3,2,4]",
     "f32[4,8,2] convolution(lhs, rhs), window={size=3 pad=1_1}, "
     "dim_labels=b0f_0io->b0f, batch_group_count=2, convolution_kind=dgrad"},
    {"f32[2,8,6]", "f32[2,4,8]",
     "f32[3,6,8] convolution(lhs, rhs), window={size=3 stride=2 pad=0_1}, "
     "dim_labels=b0f_0io->b0f, convolution_kind=wgrad"},
    {"f32[2,8,4]", "f32[2,8,4]",
     "f32[3,2,4] convolution(lhs, rhs), window={size=3 pad=1_1}, "
     "dim_labels=b0f_0io->b0f, feature_group_count=2, convolution_kind=wgrad"},
    {"f32[4,8,2]", "f32[2,8,4]",
     "f32[3,2,4] convolution(lhs, rhs), window={size=3 pad=1_1}, "
     "dim_labels=b0f_0io->b0f, batch_group_count=2, convolution_kind=wgrad"},
};

// Parts along any dimension that has a role make the whole again.
TEST(DotAsConvolutionTest, PartsMakeTheWhole) {
  int64_t checks = 0;
  for (const Case& c : kCases) {
    const auto original = Product(c.lhs, c.rhs, c.root);
    const DotConvolutionDimsInfo info = ParseConvolutionDimsInfo(
        original->entry_computation()->root_instruction());
    for (const auto* dims :
         {&info.batch_dims, &info.contracting_dims,
          &info.lhs_non_contracting_dims, &info.rhs_non_contracting_dims}) {
      for (const auto& dim : *dims) {
        auto module = Product(c.lhs, c.rhs, c.root);
        CheckParts(module.get(), info, dim, 2);
        ++checks;
      }
    }
  }
  EXPECT_EQ(checks, 31);
}

// Half of the groups, of three features and of four batches.
TEST(DotAsConvolutionTest, PartsOfGroupsMakeTheWhole) {
  constexpr Case kGroups[] = {
      {"f32[2,8,12]", "f32[3,3,8]",
       "f32[2,8,8] convolution(lhs, rhs), window={size=3 pad=1_1}, "
       "dim_labels=b0f_0io->b0f, feature_group_count=4"},
      {"f32[16,8,2]", "f32[3,2,8]",
       "f32[4,6,8] convolution(lhs, rhs), window={size=3}, "
       "dim_labels=b0f_0io->b0f, batch_group_count=4"},
  };
  for (const auto& [c, lhs_dim] :
       {std::pair(kGroups[0], 2), std::pair(kGroups[1], 0)}) {
    const auto module = Product(c.lhs, c.rhs, c.root);
    const DotConvolutionDimsInfo info = ParseConvolutionDimsInfo(
        module->entry_computation()->root_instruction());
    CheckParts(module.get(), info, {lhs_dim, 2, 2, -1}, 2);
  }
}

TEST(DotAsConvolutionTest, PartsThatDoNotFitAreErrors) {
  auto module = Product(kCases[0].lhs, kCases[0].rhs, kCases[0].root);
  HloInstruction* conv = module->entry_computation()->root_instruction();
  const DotConvolutionDimsInfo info = ParseConvolutionDimsInfo(conv);
  HloInstruction* half = Slice(conv->mutable_operand(0), 1, 0, 2);
  absl::Status status = CreateShardedConvForDotGeneralConvolution(
                            *conv, info, half, conv->mutable_operand(1))
                            .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "r: 2 elements of lhs and 4 of rhs along spatial dimension 0");
  EXPECT_EQ(CreateShardedConvForDotGeneralConvolution(*half, info, half, half)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dot_as_convolution_util
}  // namespace xla
