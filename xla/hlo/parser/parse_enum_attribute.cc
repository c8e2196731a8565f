#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/service/hlo.pb.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {
namespace {

// The words of an attribute and what they stand for.
struct Words {
  std::vector<std::string> texts;
  std::vector<int64_t> values;

  template <typename Enum>
  void Add(absl::string_view text, Enum value) {
    texts.emplace_back(text);
    values.push_back(static_cast<int64_t>(value));
  }
  // All enumerators of a proto enum.
  void AddAll(const google::protobuf::EnumDescriptor* descriptor,
              bool lower_case = false) {
    for (int i = 0; i < descriptor->value_count(); ++i) {
      const google::protobuf::EnumValueDescriptor* value = descriptor->value(i);
      Add(lower_case ? absl::AsciiStrToLower(value->name()) : value->name(),
          value->number());
    }
  }
};

Words MakeWords(Attribute attribute) {
  Words words;
  switch (attribute) {
    case Attribute::kDirection:
      words.Add("EQ", ComparisonDirection::kEq);
      words.Add("NE", ComparisonDirection::kNe);
      words.Add("GE", ComparisonDirection::kGe);
      words.Add("GT", ComparisonDirection::kGt);
      words.Add("LE", ComparisonDirection::kLe);
      words.Add("LT", ComparisonDirection::kLt);
      break;
    case Attribute::kType:
      words.Add("FLOAT", Comparison::Type::kFloat);
      words.Add("TOTALORDER", Comparison::Type::kFloatTotalOrder);
      words.Add("SIGNED", Comparison::Type::kSigned);
      words.Add("UNSIGNED", Comparison::Type::kUnsigned);
      break;
    case Attribute::kOrder:
      words.Add("TOTAL", Comparison::Order::kTotal);
      words.Add("PARTIAL", Comparison::Order::kPartial);
      break;
    case Attribute::kKind:
      words.Add("kLoop", HloInstruction::FusionKind::kLoop);
      words.Add("kInput", HloInstruction::FusionKind::kInput);
      words.Add("kOutput", HloInstruction::FusionKind::kOutput);
      words.Add("kCustom", HloInstruction::FusionKind::kCustom);
      break;
    case Attribute::kConvolutionKind:
      words.Add("unset", CONVOLUTION_KIND_UNSET);
      words.Add("fprop", CONVOLUTION_KIND_FPROP);
      words.Add("dgrad", CONVOLUTION_KIND_DGRAD);
      words.Add("wgrad", CONVOLUTION_KIND_WGRAD);
      break;
    case Attribute::kDistribution:
      words.AddAll(RandomDistribution_descriptor(), /*lower_case=*/true);
      break;
    case Attribute::kAlgorithm:
      words.AddAll(RandomAlgorithm_descriptor(), /*lower_case=*/true);
      break;
    case Attribute::kFftType:
      words.AddAll(FftType_descriptor());
      break;
    case Attribute::kTransposeA:
      words.AddAll(TriangularSolveOptions::Transpose_descriptor());
      break;
    case Attribute::kSchedule:
      words.AddAll(CustomCallSchedule_descriptor());
      break;
    case Attribute::kApiVersion:
      words.AddAll(CustomCallApiVersion_descriptor());
      break;
    case Attribute::kPaddingType:
      words.AddAll(PaddingType_descriptor());
      break;
    default:
      break;
  }
  return words;
}

const Words& WordsOf(Attribute attribute) {
  using Table = std::array<Words, kNumEnumAttributes>;
  static const Table* const table = [] {
    auto* result = new Table();
    for (int i = 0; i < kNumEnumAttributes; ++i) {
      (*result)[i] = MakeWords(static_cast<Attribute>(kFirstEnumAttribute + i));
    }
    return result;
  }();
  return (*table)[static_cast<int>(attribute) - kFirstEnumAttribute];
}

}  // namespace

bool ModuleParser::ParseEnumAttribute(HloOpcode opcode, Attribute attribute,
                                      int64_t* result) {
  if (attribute == Attribute::kAlgorithm &&
      opcode != HloOpcode::kRngBitGenerator) {
    PrecisionConfig::Algorithm algorithm;
    if (!ParseDotAlgorithm(&algorithm)) return false;
    *result = algorithm;
    return true;
  }
  const Words& words = WordsOf(attribute);
  std::vector<absl::string_view> texts(words.texts.begin(), words.texts.end());
  int index;
  if (!ParseEnum(AttributeText(attribute), texts, &index)) return false;
  *result = words.values[index];
  return true;
}

}  // namespace xla::hlo_text
