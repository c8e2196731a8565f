#include "xla/hlo/pipeline/page/memory_page.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/util/json_util.h"
#include "xla/hlo/pipeline/page/memory_page_files.h"

namespace xla {

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

absl::StatusOr<std::string> MemoryPageToHtml(const MemoryPage& page,
                                             absl::string_view text) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(page, &json, options);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat("page to JSON: ", status.ToString()));
  }
  // A '<' is part of a string; none ends the script that holds the data.
  json = absl::StrReplaceAll(json, {{"<", "\\u003c"}});
  return absl::StrReplaceAll(MemoryPageHtml(),
                             {{"@TITLE@", EscapeHtml(page.memory().module())},
                              {"@STYLE@", MemoryPageCss()},
                              {"@TEXT@", EscapeHtml(text)},
                              {"@DATA@", json},
                              {"@SCRIPT@", MemoryPageJs()}});
}

}  // namespace xla
