#include "xla/hlo/ir/hlo_op_metadata.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/text/hlo_print_util.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Writes `key=value` fields separated by blanks.
class FieldPrinter {
 public:
  explicit FieldPrinter(Printer* printer) : printer_(printer) {}

  Printer* Next(absl::string_view key_and_equals) {
    if (!first_) printer_->Append(" ");
    first_ = false;
    printer_->Append(key_and_equals);
    return printer_;
  }

  void Text(absl::string_view key_and_equals, absl::string_view value) {
    if (!value.empty()) PrintQuoted(Next(key_and_equals), value);
  }

  void Number(absl::string_view key_and_equals, int value) {
    if (value != 0) Next(key_and_equals)->Append(value);
  }

 private:
  Printer* printer_;
  bool first_ = true;
};

}  // namespace

void PrintOpMetadata(Printer* printer, const OpMetadata& metadata,
                     bool only_op_name) {
  FieldPrinter fields(printer);
  if (only_op_name) {
    absl::string_view name = metadata.op_name();
    // npos + 1 is 0: a name without '/' is its own last component.
    fields.Text("op_name=", name.substr(name.rfind('/') + 1));
    return;
  }
  fields.Text("op_type=", metadata.op_type());
  fields.Text("op_name=", metadata.op_name());
  fields.Text("source_file=", metadata.source_file());
  fields.Number("source_line=", metadata.source_line());
  fields.Number("source_end_line=", metadata.source_end_line());
  fields.Number("source_column=", metadata.source_column());
  fields.Number("source_end_column=", metadata.source_end_column());
// Old modules still carry the deprecated field.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (!metadata.profile_type().empty()) {
    fields.Next("profile_type={");
    absl::string_view separator = "";
    for (int type : metadata.profile_type()) {
      printer->Append(separator);
      printer->Append(type);
      separator = ",";
    }
    printer->Append("}");
  }
#pragma GCC diagnostic pop
  fields.Text("deduplicated_name=", metadata.deduplicated_name());
  fields.Text("scheduling_name=", metadata.scheduling_name());
  fields.Number("stack_frame_id=", metadata.stack_frame_id());
  if (metadata.metadata_payload().payload_source_case() == Payload::kValue) {
    fields.Text("metadata_payload=", metadata.metadata_payload().value());
  }
}

std::string OpMetadataToString(const OpMetadata& metadata, bool only_op_name) {
  StringPrinter printer;
  PrintOpMetadata(&printer, metadata, only_op_name);
  return std::move(printer).ToString();
}

}  // namespace xla
