#include "xla/hlo/utils/module_io.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "xla/hlo/ir/name_uniquer.h"
#include "xla/hlo/utils/foreign_format.h"
#include "xla/hlo/utils/module_file.h"
#include "xla/service/hlo.pb.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Skips blanks and comments of either kind of text.
absl::string_view SkipBlanks(absl::string_view text) {
  while (true) {
    text = absl::StripLeadingAsciiWhitespace(text);
    size_t end;
    if (absl::StartsWith(text, "//") || absl::StartsWith(text, "#")) {
      end = text.find('\n');
    } else if (absl::StartsWith(text, "/*")) {
      end = text.find("*/");
      if (end != text.npos) ++end;
    } else {
      return text;
    }
    if (end == text.npos) return "";
    text.remove_prefix(end + 1);
  }
}

// Whether the text starts with `field:` or `field {` as a module's proto does.
bool StartsLikeTextProto(absl::string_view text) {
  text = SkipBlanks(text);
  size_t end = 0;
  while (end < text.size() &&
         (absl::ascii_isalnum(text[end]) || text[end] == '_')) {
    ++end;
  }
  absl::string_view field = text.substr(0, end);
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(text.substr(end));
  for (const auto* descriptor :
       {HloModuleProto::descriptor(), HloProto::descriptor(),
        HloSnapshot::descriptor(), HloUnoptimizedSnapshot::descriptor()}) {
    if (descriptor->FindFieldByName(std::string(field)) != nullptr) {
      return absl::StartsWith(rest, ":") || absl::StartsWith(rest, "{");
    }
  }
  return false;
}

// Collects the messages of protobuf's text parser.
class ErrorList : public google::protobuf::io::ErrorCollector {
 public:
  explicit ErrorList(absl::string_view file_name) : file_name_(file_name) {}
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ = absl::StrCat(file_name_, ":", line + 1, ":", column + 1,
                         ": error: ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string file_name_;
  std::string text_;
};

// Parses `Message` with `parse` and returns the module in it, or nothing.
template <typename Message, typename Parse>
bool TakeModule(const Parse& parse,
                const HloModuleProto& (*module_of)(const Message&),
                HloModuleProto* module) {
  Message message;
  if (!parse(&message)) return false;
  *module = module_of(message);
  // Bytes of another message can look like computations, but hardly like their
  // instructions.
  return module->computations_size() > 0 &&
         module->computations(0).instructions_size() > 0;
}

// Tries each message that can hold a module; the one with computations is it.
template <typename Parse>
bool FindModule(const Parse& parse, HloModuleProto* module) {
  // Bytes that are no UTF-8 in what the wrong message takes for a name.
  google::protobuf::LogSilencer silencer;
  return TakeModule<HloProto>(
             parse,
             +[](const HloProto& p) -> const HloModuleProto& {
               return p.hlo_module();
             },
             module) ||
         TakeModule<HloModuleProto>(
             parse,
             +[](const HloModuleProto& p) -> const HloModuleProto& {
               return p;
             },
             module) ||
         TakeModule<HloSnapshot>(
             parse,
             +[](const HloSnapshot& p) -> const HloModuleProto& {
               return p.hlo().hlo_module();
             },
             module) ||
         TakeModule<HloUnoptimizedSnapshot>(
             parse,
             +[](const HloUnoptimizedSnapshot& p) -> const HloModuleProto& {
               return p.hlo_module();
             },
             module);
}

absl::StatusOr<std::unique_ptr<HloModule>> FromProto(
    const HloModuleProto& proto, absl::string_view file_name) {
  auto config = HloModule::CreateModuleConfigFromProto(
      proto, DebugOptions::default_instance());
  absl::Status status = config.status();
  if (config.ok()) {
    auto module = HloModule::CreateFromProto(proto, *config);
    if (module.ok()) return module;
    status = module.status();
  }
  return absl::Status(status.code(),
                      absl::StrCat(file_name, ": error: ", status.message()));
}

// Adds to the error of a text with more opening than closing braces that the
// rest may be missing: a full disk, or a copy from a terminal.
absl::StatusOr<std::unique_ptr<HloModule>> WithHintOfTruncation(
    absl::string_view contents, absl::string_view file_name,
    absl::StatusOr<std::unique_ptr<HloModule>> module) {
  if (module.ok() || std::count(contents.begin(), contents.end(), '{') <=
                         std::count(contents.begin(), contents.end(), '}')) {
    return module;
  }
  return absl::Status(
      module.status().code(),
      absl::StrCat(module.status().message(), "\n", file_name,
                   ": note: more '{' than '}'; is the file cut off?"));
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadFormat(
    absl::string_view contents, ModuleFormat format,
    const HloParserOptions& options) {
  if (const std::string advice = ForeignFormatAdvice(contents);
      !advice.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.file_name(), ": error: ", advice));
  }
  if (format == ModuleFormat::kHlo) {
    if (absl::StripAsciiWhitespace(contents).empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(options.file_name(), ": error: an empty file"));
    }
    // A parser would blame some word of it.
    if (!absl::StrContains(contents, "HloModule") &&
        !absl::StrContains(contents, '=')) {
      return absl::InvalidArgumentError(absl::StrCat(
          options.file_name(),
          ": error: not HLO text, which begins with `HloModule NAME` and has a "
          "line `name = shape opcode(operands)` for each instruction"));
    }
    return WithHintOfTruncation(
        contents, options.file_name(),
        ParseAndReturnUnverifiedModule(contents, HloModuleConfig(), options));
  }
  const std::string& file_name = options.file_name();
  if (contents.size() >= INT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_name, ": error: a proto of 2 GiB or more"));
  }
  HloModuleProto module;
  if (format == ModuleFormat::kProto) {
    auto parse = [&](auto* message) {
      return message->ParseFromArray(contents.data(),
                                     static_cast<int>(contents.size()));
    };
    if (!FindModule(parse, &module)) {
      return absl::InvalidArgumentError(absl::StrCat(
          file_name,
          ": error: neither HLO text nor a proto that holds an HLO module; or "
          "the file is cut off"));
    }
    return FromProto(module, file_name);
  }
  ErrorList errors(file_name);
  auto parse = [&](auto* message) {
    google::protobuf::io::ArrayInputStream stream(
        contents.data(), static_cast<int>(contents.size()));
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&errors);
    parser.SetRecursionLimit(1000);
    return parser.Parse(&stream, message);
  };
  if (!FindModule(parse, &module)) {
    return absl::InvalidArgumentError(
        errors.text().empty()
            ? absl::StrCat(file_name, ": error: no HLO module in this proto")
            : errors.text());
  }
  return FromProto(module, file_name);
}

}  // namespace

bool AbslParseFlag(absl::string_view text, ModuleFormat* format,
                   std::string* error) {
  if (text == "hlo" || text == "txt") {
    *format = ModuleFormat::kHlo;
  } else if (text == "pb" || text == "proto") {
    *format = ModuleFormat::kProto;
  } else if (text == "pbtxt" || text == "textproto") {
    *format = ModuleFormat::kTextProto;
  } else {
    *error = "expected hlo, pb or pbtxt";
    return false;
  }
  return true;
}

std::string AbslUnparseFlag(ModuleFormat format) {
  switch (format) {
    case ModuleFormat::kHlo:
      return "hlo";
    case ModuleFormat::kProto:
      return "pb";
    case ModuleFormat::kTextProto:
      return "pbtxt";
  }
  return "";
}

ModuleFormat DetectModuleFormat(absl::string_view contents) {
  for (char c : contents.substr(0, 1024)) {
    if (!absl::ascii_isspace(c) && absl::ascii_iscntrl(c)) {
      return ModuleFormat::kProto;
    }
  }
  // A binary proto may open with printable bytes; its first tag is field 1 with
  // a length (10, which is also a newline), then that length.
  if (!contents.empty() && contents[0] == '\n') {
    HloModuleProto module;
    auto parse = [&](auto* message) {
      return message->ParseFromArray(contents.data(),
                                     static_cast<int>(contents.size()));
    };
    if (contents.size() < INT32_MAX && FindModule(parse, &module)) {
      return ModuleFormat::kProto;
    }
  }
  return StartsLikeTextProto(contents) ? ModuleFormat::kTextProto
                                       : ModuleFormat::kHlo;
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(
    absl::string_view contents, ModuleFormat format,
    const HloParserOptions& options) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ReadFormat(contents, format, options);
  // XLA says so in the name of the file alone.
  const std::string device_type = DeviceTypeOfDump(options.file_name());
  if (module.ok() && (*module)->config().device_type().empty() &&
      !device_type.empty()) {
    (*module)->mutable_config().set_device_type(device_type);
  }
  return module;
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(
    absl::string_view contents, const HloParserOptions& options) {
  return ReadModule(contents, DetectModuleFormat(contents), options);
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromFile(
    const std::string& path, const HloParserOptions& options) {
  TF_ASSIGN_OR_RETURN(const ModuleFile file, ReadModuleFile(path));
  HloParserOptions named = options;
  named.set_file_name(file.name);
  return ReadModule(file.contents, named);
}

namespace {

// A module that was read from a proto may have one name in several
// computations; OpenXLA reads only protos in which names are unique. The first
// keeps its name.
//
//   s, s -> s, s.1
HloProto ToExchangeProto(const HloModule& module) {
  HloProto proto;
  *proto.mutable_hlo_module() = module.ToProto();
  NameUniquer names(/*separator=*/".");
  std::vector<HloInstructionProto*> repeated;
  for (HloComputationProto& computation :
       *proto.mutable_hlo_module()->mutable_computations()) {
    for (HloInstructionProto& instruction :
         *computation.mutable_instructions()) {
      if (!names.RegisterName(instruction.name())) {
        repeated.push_back(&instruction);
      }
    }
  }
  for (HloInstructionProto* instruction : repeated) {
    instruction->set_name(names.GetUniqueName(instruction->name()));
  }
  return proto;
}

}  // namespace

std::string ModuleToProtoBytes(const HloModule& module) {
  const HloProto proto = ToExchangeProto(module);
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    // Maps have no order of their own.
    coded.SetSerializationDeterministic(true);
    proto.SerializeToCodedStream(&coded);
  }
  return bytes;
}

std::string ModuleToTextProto(const HloModule& module) {
  const HloProto proto = ToExchangeProto(module);
  std::string text;
  google::protobuf::TextFormat::PrintToString(proto, &text);
  return text;
}

}  // namespace xla
