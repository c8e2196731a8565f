#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/value_parser.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

// {size=3x3 stride=2x2 pad=0_1x0_1 lhs_dilate=2x2 rhs_dilate=2x2
// rhs_reversal=1x1}, fields in any order.
bool ValueParser::ParseWindow(Window* result, bool braces) {
  const Loc start = loc();
  result->Clear();
  if (braces && !Expect(TokKind::kLbrace, "to begin a window")) return false;
  uint32_t seen = 0;
  // Fields before size=, which says how many dimensions there are.
  struct Early {
    absl::string_view key;
    Loc key_loc, value_loc;
  };
  // They are skipped, and parsed once the number of dimensions is known.
  std::vector<Early> early;
  while (kind() != TokKind::kRbrace && kind() != TokKind::kEof) {
    static constexpr absl::string_view kKeys[] = {
        "size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
    const Loc key_loc = loc();
    absl::string_view key;
    if (!ParseAttributeName(&key)) return false;
    size_t which = 0;
    while (which < std::size(kKeys) && kKeys[which] != key) ++which;
    if (which == std::size(kKeys)) {
      return Error(key_loc, absl::StrCat("unknown window field '", key, "'",
                                         DidYouMean(key, kKeys)));
    }
    if (seen & (1u << which)) {
      return Error(key_loc, absl::StrCat("'", key, "' is given twice"));
    }
    seen |= 1u << which;
    if ((seen & 1) == 0) {
      early.push_back({key, key_loc, loc()});
      if (kind() != TokKind::kInt && kind() != TokKind::kDxD &&
          kind() != TokKind::kPad) {
        return Expected("a value of a window field");
      }
      Next();
    } else if (!ParseWindowField(key, key_loc, result)) {
      return false;
    }
    Eat(TokKind::kComma);
  }
  if (braces && !Expect(TokKind::kRbrace, "to end a window")) return false;
  if ((seen & 1) == 0 && seen != 0) {
    return Error(start, "a window needs size=");
  }
  const Loc end = lexer_.GetPreviousEndLoc();
  for (const Early& field : early) {
    lexer_.Reset(field.value_loc);
    if (!ParseWindowField(field.key, field.key_loc, result)) return false;
  }
  if (!early.empty()) lexer_.Reset(end);
  return true;
}

bool ValueParser::ParseWindowField(absl::string_view key, Loc key_loc,
                                   Window* result) {
  if (key == "pad") {
    std::vector<std::vector<int64_t>> pads;
    if (!ParsePads(&pads)) return false;
    if (pads.size() != result->dimensions_size()) {
      return Error(key_loc, absl::StrCat("pad has ", pads.size(),
                                         " dimensions, size has ",
                                         result->dimensions_size()));
    }
    for (size_t i = 0; i < pads.size(); ++i) {
      if (pads[i].size() != 2) {
        return Error(key_loc, "a window has no interior padding");
      }
      result->mutable_dimensions(i)->set_padding_low(pads[i][0]);
      result->mutable_dimensions(i)->set_padding_high(pads[i][1]);
    }
    return true;
  }
  std::vector<int64_t> values;
  if (!ParseDxD(&values)) return false;
  if (key == "size") {
    for (int64_t size : values) {
      WindowDimension* dim = result->add_dimensions();
      dim->set_size(size);
      dim->set_stride(1);
      dim->set_base_dilation(1);
      dim->set_window_dilation(1);
    }
    return true;
  }
  if (values.size() != result->dimensions_size()) {
    return Error(key_loc, absl::StrCat("'", key, "' has ", values.size(),
                                       " dimensions, size has ",
                                       result->dimensions_size()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    WindowDimension* dim = result->mutable_dimensions(i);
    if (key == "stride") {
      dim->set_stride(values[i]);
    } else if (key == "lhs_dilate") {
      dim->set_base_dilation(values[i]);
    } else if (key == "rhs_dilate") {
      dim->set_window_dilation(values[i]);
    } else {
      dim->set_window_reversal(values[i] != 0);
    }
  }
  return true;
}

// 3 or 3x3
bool ValueParser::ParseDxD(std::vector<int64_t>* result) {
  if (kind() == TokKind::kInt) {
    int64_t value;
    if (!ParseInt(&value)) return false;
    result->push_back(value);
    return true;
  }
  if (kind() != TokKind::kDxD) return Expected("sizes such as 3x3");
  for (absl::string_view part : absl::StrSplit(lexer_.GetStrView(), 'x')) {
    if (!absl::SimpleAtoi(part, &result->emplace_back())) {
      return Error(loc(), "integer does not fit in 64 bits");
    }
  }
  Next();
  return true;
}

// 1_1 or 0_0x1_1_2
bool ValueParser::ParsePads(std::vector<std::vector<int64_t>>* result) {
  if (kind() != TokKind::kPad) return Expected("padding such as 0_0x1_1");
  for (absl::string_view dim : absl::StrSplit(lexer_.GetStrView(), 'x')) {
    std::vector<int64_t>& numbers = result->emplace_back();
    for (absl::string_view part : absl::StrSplit(dim, '_')) {
      if (!absl::SimpleAtoi(part, &numbers.emplace_back())) {
        return Error(loc(), "integer does not fit in 64 bits");
      }
    }
  }
  Next();
  return true;
}

bool ValueParser::ParsePaddingConfig(PaddingConfig* result) {
  result->Clear();
  const Loc start = loc();
  std::vector<std::vector<int64_t>> pads;
  if (!ParsePads(&pads)) return false;
  for (const std::vector<int64_t>& numbers : pads) {
    PaddingConfig::PaddingConfigDimension* dim = result->add_dimensions();
    dim->set_edge_padding_low(numbers[0]);
    dim->set_edge_padding_high(numbers[1]);
    if (numbers.size() == 3) {
      if (numbers[2] < 0) {
        return Error(start, "interior padding must not be negative");
      }
      dim->set_interior_padding(numbers[2]);
    }
  }
  return true;
}

namespace {

// The dimensions that one group of labels gives to batch and feature (or input
// and output feature) and to spatial dimensions 0, 1, ...; '?' gives nothing,
// and stands for what is missing (-1). False if a label is missing otherwise,
// repeated or foreign.
bool ReadLabels(absl::string_view labels, char first, char second,
                int64_t* first_dim, int64_t* second_dim,
                std::vector<int64_t>* spatial) {
  *first_dim = *second_dim = -1;
  int64_t digits = 0;
  for (char c : labels) digits += c >= '0' && c <= '9';
  spatial->assign(digits, -1);
  for (size_t i = 0; i < labels.size(); ++i) {
    const char c = labels[i];
    int64_t* slot;
    if (c == '?') continue;
    if (c == first) {
      slot = first_dim;
    } else if (c == second) {
      slot = second_dim;
    } else if (c >= '0' && c - '0' < digits) {
      slot = &(*spatial)[c - '0'];
    } else {
      return false;
    }
    if (*slot != -1) return false;
    *slot = static_cast<int64_t>(i);
  }
  const int64_t missing = (*first_dim < 0) + (*second_dim < 0);
  return missing <= absl::c_count(labels, '?');
}

}  // namespace

// b01f_01io->b01f: input, kernel and output.
bool ValueParser::ParseConvolutionDimensionNumbers(
    ConvolutionDimensionNumbers* result) {
  result->Clear();
  if (kind() != TokKind::kDimLabels) {
    return Expected("dimension labels such as b01f_01io->b01f");
  }
  absl::string_view text = lexer_.GetStrView();
  const size_t underscore = text.find('_');
  const size_t arrow = text.find("->");
  int64_t a, b;
  std::vector<int64_t> spatial;
  if (!ReadLabels(text.substr(0, underscore), 'b', 'f', &a, &b, &spatial)) {
    return Error(loc(), "input labels must be b, f and 0, 1, ... once each");
  }
  result->set_input_batch_dimension(a);
  result->set_input_feature_dimension(b);
  for (int64_t dim : spatial) result->add_input_spatial_dimensions(dim);
  const size_t rank = spatial.size();
  if (!ReadLabels(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o',
                  &a, &b, &spatial)) {
    return Error(loc(), "kernel labels must be i, o and 0, 1, ... once each");
  }
  result->set_kernel_input_feature_dimension(a);
  result->set_kernel_output_feature_dimension(b);
  for (int64_t dim : spatial) result->add_kernel_spatial_dimensions(dim);
  if (spatial.size() != rank) {
    return Error(loc(), "input and kernel must have the same spatial labels");
  }
  if (!ReadLabels(text.substr(arrow + 2), 'b', 'f', &a, &b, &spatial)) {
    return Error(loc(), "output labels must be b, f and 0, 1, ... once each");
  }
  result->set_output_batch_dimension(a);
  result->set_output_feature_dimension(b);
  for (int64_t dim : spatial) result->add_output_spatial_dimensions(dim);
  if (spatial.size() != rank) {
    return Error(loc(), "input and output must have the same spatial labels");
  }
  Next();
  return true;
}

bool ValueParser::ParseSliceRanges(std::vector<int64_t>* starts,
                                   std::vector<int64_t>* limits,
                                   std::vector<int64_t>* strides) {
  starts->clear();
  limits->clear();
  strides->clear();
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    int64_t start, limit, stride = 1;
    if (!Expect(TokKind::kLsquare) || !ParseInt(&start) ||
        !Expect(TokKind::kColon) || !ParseInt(&limit) ||
        (Eat(TokKind::kColon) && !ParseInt(&stride)) ||
        !Expect(TokKind::kRsquare)) {
      return false;
    }
    starts->push_back(start);
    limits->push_back(limit);
    strides->push_back(stride);
    return true;
  });
}

}  // namespace xla::hlo_text
