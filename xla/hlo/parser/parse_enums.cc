#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/value_parser.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

bool ValueParser::ParseBoolList(std::vector<bool>* result) {
  result->clear();
  auto element = [&] {
    bool value;
    if (!ParseBool(&value)) return false;
    result->push_back(value);
    return true;
  };
  if (kind() != TokKind::kLbrace) return element();
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, element);
}

// {tolerance={atol=1e-3,rtol=0,ulps=2}} or {mode=highest}
bool ValueParser::ParseResultAccuracy(ResultAccuracy* result) {
  result->Clear();
  if (!Expect(TokKind::kLbrace)) return false;
  const Loc key_loc = loc();
  absl::string_view key;
  if (!ParseAttributeName(&key)) return false;
  if (key == "mode") {
    int mode;
    if (!ParseEnum("accuracy mode", {"default", "highest"}, &mode)) {
      return false;
    }
    result->set_mode(static_cast<ResultAccuracy::Mode>(mode));
  } else if (key == "tolerance") {
    if (!ParseTolerance(result->mutable_tolerance())) return false;
  } else {
    return Error(key_loc, "expected mode= or tolerance=");
  }
  return Expect(TokKind::kRbrace);
}

bool ValueParser::ParseTolerance(ResultAccuracy::Tolerance* result) {
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    const Loc key_loc = loc();
    absl::string_view key;
    if (!ParseAttributeName(&key)) return false;
    if (key == "ulps") {
      int64_t ulps;
      if (!ParseIntInRange(0, std::numeric_limits<int64_t>::max(), &ulps)) {
        return false;
      }
      result->set_ulps(ulps);
      return true;
    }
    const Loc value_loc = loc();
    double value;
    if (!ParseDouble(&value)) return false;
    if (!(value >= 0)) {
      return Error(value_loc, "a tolerance must not be negative");
    }
    if (key == "atol") {
      result->set_atol(value);
    } else if (key == "rtol") {
      result->set_rtol(value);
    } else {
      return Error(key_loc,
                   absl::StrCat("unknown tolerance '", key, "'",
                                DidYouMean(key, {"atol", "rtol", "ulps"})));
    }
    return true;
  });
}

// {highest,default}
bool ValueParser::ParseOperandPrecision(PrecisionConfig* result) {
  result->clear_operand_precision();
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    int precision;
    if (!ParseEnum("precision", {"default", "high", "highest"}, &precision)) {
      return false;
    }
    result->add_operand_precision(
        static_cast<PrecisionConfig::Precision>(precision));
    return true;
  });
}

// dot_bf16_bf16_f32, the enumerator without ALG_ in lower case.
bool ValueParser::ParseDotAlgorithm(PrecisionConfig::Algorithm* result) {
  static const std::vector<std::string>* const kNames = [] {
    auto* names = new std::vector<std::string>();
    for (int i = PrecisionConfig::Algorithm_MIN;
         i <= PrecisionConfig::Algorithm_MAX; ++i) {
      absl::string_view name = PrecisionConfig::Algorithm_Name(
          static_cast<PrecisionConfig::Algorithm>(i));
      names->push_back(absl::AsciiStrToLower(
          absl::StartsWith(name, "ALG_") ? name.substr(4) : name));
    }
    return names;
  }();
  std::vector<absl::string_view> names(kNames->begin(), kNames->end());
  int index;
  if (!ParseEnum("dot algorithm", names, &index)) return false;
  *result = static_cast<PrecisionConfig::Algorithm>(
      index + PrecisionConfig::Algorithm_MIN);
  return true;
}

// {lhs={sparsity=2x4 dimension=1 stride=1 idx=0} rhs={...}}
bool ValueParser::ParseSparsityConfig(SparsityConfig* result) {
  result->Clear();
  if (!Expect(TokKind::kLbrace)) return false;
  while (!Eat(TokKind::kRbrace)) {
    const Loc key_loc = loc();
    absl::string_view key;
    if (!ParseAttributeName(&key)) return false;
    if (key != "lhs" && key != "rhs") {
      return Error(key_loc, "expected lhs= or rhs=");
    }
    if (!ParseTensorSparsity(key == "lhs" ? result->mutable_lhs()
                                          : result->mutable_rhs())) {
      return false;
    }
  }
  return true;
}

bool ValueParser::ParseTensorSparsity(
    SparsityConfig::TensorSparsityConfig* result) {
  if (!Expect(TokKind::kLbrace)) return false;
  while (!Eat(TokKind::kRbrace)) {
    const Loc key_loc = loc();
    absl::string_view key;
    int64_t value;
    if (!ParseAttributeName(&key)) return false;
    if (key == "idx") {
      int32_t idx;
      if (!ParseInt32(&idx)) return false;
      result->set_idx(idx);
    } else if (key == "sparsity") {
      const Loc value_loc = loc();
      std::vector<int64_t> sizes;
      if (!ParseDxD(&sizes)) return false;
      if (sizes.size() != 2) {
        return Error(value_loc, "sparsity is NxB: N of B elements are stored");
      }
      result->set_num_non_zero(sizes[0]);
      result->set_block_size(sizes[1]);
    } else if (!ParseInt(&value)) {
      return false;
    } else if (key == "dimension") {
      result->set_dimension(value);
    } else if (key == "stride") {
      result->set_stride(value);
    } else {
      return Error(key_loc,
                   absl::StrCat("unknown sparsity field '", key, "'",
                                DidYouMean(key, {"sparsity", "dimension",
                                                 "stride", "idx"})));
    }
  }
  return true;
}

bool ValueParser::ParseOutputOperandAliases(OutputOperandAliases* result) {
  result->clear();
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    auto& [output, operand] = result->emplace_back();
    // What it points to is for the verifier to say.
    constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
    return ParseShapeIndex(&output, kLeast) && Expect(TokKind::kColon) &&
           Expect(TokKind::kLparen) &&
           ParseIntInRange(kLeast, std::numeric_limits<int32_t>::max(),
                           &operand.first) &&
           Expect(TokKind::kComma) &&
           ParseShapeIndex(&operand.second, kLeast) && Expect(TokKind::kRparen);
  });
}

}  // namespace xla::hlo_text
