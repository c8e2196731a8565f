#include "xla/debug_options_flags.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "xla/errors.h"

namespace xla {
namespace {

using ::google::protobuf::EnumValueDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

bool ParseBool(absl::string_view text, bool* value) {
  return absl::SimpleAtob(text, value);
}

// Sets the field, or adds to it where it is repeated, from text; false if the
// text is none of its type.
bool SetField(absl::string_view text, const FieldDescriptor& field,
              Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const auto put = [&](auto set, auto add, auto value) {
    field.is_repeated() ? (reflection.*add)(message, &field, value)
                        : (reflection.*set)(message, &field, value);
    return true;
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: {
      bool value = false;
      return ParseBool(text, &value) &&
             put(&Reflection::SetBool, &Reflection::AddBool, value);
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      int32_t value = 0;
      return absl::SimpleAtoi(text, &value) &&
             put(&Reflection::SetInt32, &Reflection::AddInt32, value);
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      int64_t value = 0;
      return absl::SimpleAtoi(text, &value) &&
             put(&Reflection::SetInt64, &Reflection::AddInt64, value);
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      float value = 0;
      return absl::SimpleAtof(text, &value) &&
             put(&Reflection::SetFloat, &Reflection::AddFloat, value);
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      field.is_repeated()
          ? reflection.AddString(message, &field, std::string(text))
          : reflection.SetString(message, &field, std::string(text));
      return true;
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* value =
          field.enum_type()->FindValueByName(absl::AsciiStrToUpper(text));
      return value != nullptr &&
             put(&Reflection::SetEnum, &Reflection::AddEnum, value);
    }
    default:
      return false;
  }
}

// One key=value pair.
bool AddEntry(absl::string_view text, const FieldDescriptor& field,
              Message* message) {
  const std::pair<absl::string_view, absl::string_view> pair =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (!absl::StrContains(text, '=')) return false;
  Message* entry = message->GetReflection()->AddMessage(message, &field);
  const auto& type = *entry->GetDescriptor();
  if (SetField(pair.first, *type.FindFieldByName("key"), entry) &&
      SetField(pair.second, *type.FindFieldByName("value"), entry)) {
    return true;
  }
  message->GetReflection()->RemoveLast(message, &field);
  return false;
}

absl::string_view NameOf(absl::string_view flag) {
  flag = flag.substr(0, flag.find('='));
  if (!absl::ConsumePrefix(&flag, "--")) absl::ConsumePrefix(&flag, "-");
  return flag;
}

// "an int32", "a bool".
std::string WithArticle(absl::string_view type) {
  return absl::StrCat(
      absl::string_view("aeio").find(type[0]) != absl::string_view::npos ? "an "
                                                                         : "a ",
      type);
}

}  // namespace

DebugOptions DefaultDebugOptionsIgnoringFlags() {
  DebugOptions options;
  options.set_xla_allow_excess_precision(true);
  options.set_xla_hlo_evaluator_use_fast_path(true);
  options.set_xla_dump_max_hlo_modules(-1);
  options.set_xla_multiheap_size_constraint_per_heap(-1);
  options.set_xla_backend_optimization_level(3);
  options.set_xla_gpu_enable_priority_fusion(true);
  options.set_xla_gpu_memory_limit_slop_factor(95);
  return options;
}

absl::Status SetDebugOption(absl::string_view flag, DebugOptions* options) {
  const absl::string_view name = NameOf(flag);
  const FieldDescriptor* field =
      DebugOptions::descriptor()->FindFieldByName(std::string(name));
  if (field == nullptr) {
    return InvalidArgumentStrCat("--", name, ": there is no such flag");
  }
  const size_t equals = flag.find('=');
  if (equals == absl::string_view::npos &&
      field->cpp_type() != FieldDescriptor::CPPTYPE_BOOL) {
    return InvalidArgumentStrCat("--", name, ": a value is needed");
  }
  const absl::string_view value =
      equals == absl::string_view::npos ? "true" : flag.substr(equals + 1);
  if (!field->is_repeated()) {
    if (SetField(value, *field, options)) return absl::OkStatus();
    return InvalidArgumentStrCat("--", name, ": '", value, "' is not ",
                                 WithArticle(field->cpp_type_name()));
  }
  options->GetReflection()->ClearField(options, field);
  for (absl::string_view piece :
       absl::StrSplit(value, ',', absl::SkipEmpty())) {
    if (field->is_map() ? AddEntry(piece, *field, options)
                        : SetField(piece, *field, options)) {
      continue;
    }
    return InvalidArgumentStrCat(
        "--", name, ": '", piece, "' is not ",
        WithArticle(field->is_map() ? "key=value pair"
                                    : field->cpp_type_name()));
  }
  return absl::OkStatus();
}

DebugOptions GetDebugOptionsFromFlags() {
  DebugOptions options = DefaultDebugOptionsIgnoringFlags();
  const char* environment = std::getenv("XLA_FLAGS");
  if (environment != nullptr) {
    for (absl::string_view flag : absl::StrSplit(
             environment, absl::ByAnyChar(" \t\n"), absl::SkipEmpty())) {
      SetDebugOption(flag, &options).IgnoreError();
    }
  }
  return options;
}

}  // namespace xla
