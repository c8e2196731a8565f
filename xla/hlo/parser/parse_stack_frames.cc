#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/stack_frames.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/service/hlo.pb.h"

namespace xla::hlo_text {

// FileNames, FunctionNames, FileLocations and StackFrames, in this order, all
// or none.
bool ModuleParser::ParseStackFrameTables(HloModule* module) {
  const Loc start = loc();
  switch (kind()) {
    case TokKind::kw_FileNames:
      break;
    case TokKind::kw_FunctionNames:
    case TokKind::kw_FileLocations:
    case TokKind::kw_StackFrames:
      return Expected("FileNames before the other tables");
    default:
      return true;
  }
  StackFrameIndexProto index;
  if (!Expect(TokKind::kw_FileNames) ||
      !ParseNames(index.mutable_file_names()) ||
      !Expect(TokKind::kw_FunctionNames, "after the table FileNames") ||
      !ParseNames(index.mutable_function_names()) ||
      !Expect(TokKind::kw_FileLocations, "after the table FunctionNames") ||
      !ParseFileLocations(&index) ||
      !Expect(TokKind::kw_StackFrames, "after the table FileLocations") ||
      !ParseStackFrames(&index)) {
    return false;
  }
  absl::StatusOr<StackFrames> frames =
      StackFrames::FromProtoWithRepeats(std::move(index));
  if (!frames.ok()) return Error(start, frames.status().message());
  module->set_stack_frames(*std::move(frames));
  return true;
}

// Rows are numbered 1, 2, ...
bool ModuleParser::ParseRowNumber(int expected) {
  const Loc start = loc();
  int64_t number;
  if (!ParseInt(&number)) return false;
  return number == expected ||
         Error(start, absl::StrCat("row ", expected,
                                   " of the table expected, "
                                   "found row ",
                                   number));
}

bool ModuleParser::ParseNames(
    google::protobuf::RepeatedPtrField<std::string>* names) {
  while (kind() == TokKind::kInt) {
    if (!ParseRowNumber(names->size() + 1) || !ParseString(names->Add())) {
      return false;
    }
  }
  return true;
}

// {key=value key=value}, keys in any order; absent values stay.
bool ModuleParser::ParseRowFields(absl::Span<const absl::string_view> keys,
                                  int32_t* values) {
  if (!Expect(TokKind::kLbrace)) return false;
  size_t expected = 0;  // keys nearly always come in order
  while (!Eat(TokKind::kRbrace)) {
    const Loc key_loc = loc();
    absl::string_view key;
    if (!ParseAttributeName(&key)) return false;
    size_t which = expected % keys.size();
    if (keys[which] != key) {
      which = 0;
      while (which < keys.size() && keys[which] != key) ++which;
      if (which == keys.size()) {
        return Error(key_loc, absl::StrCat("unknown field '", key, "'",
                                           DidYouMean(key, keys)));
      }
    }
    expected = which + 1;
    if (!ParseInt32(&values[which])) return false;
    Eat(TokKind::kComma);
  }
  return true;
}

bool ModuleParser::ParseFileLocations(StackFrameIndexProto* index) {
  static constexpr absl::string_view kKeys[] = {
      "file_name_id", "function_name_id", "line",
      "end_line",     "column",           "end_column"};
  while (kind() == TokKind::kInt) {
    int32_t values[6] = {};
    if (!ParseRowNumber(index->file_locations_size() + 1) ||
        !ParseRowFields(kKeys, values)) {
      return false;
    }
    StackFrameIndexProto::FileLocation* row = index->add_file_locations();
    row->set_file_name_id(values[0]);
    row->set_function_name_id(values[1]);
    row->set_line(values[2]);
    row->set_end_line(values[3]);
    row->set_column(values[4]);
    row->set_end_column(values[5]);
  }
  return true;
}

bool ModuleParser::ParseStackFrames(StackFrameIndexProto* index) {
  static constexpr absl::string_view kKeys[] = {"file_location_id",
                                                "parent_frame_id"};
  while (kind() == TokKind::kInt) {
    // Text counts parents from 1 = "none"; 0 and nothing mean the same.
    int32_t values[2] = {0, 1};
    const Loc start = loc();
    if (!ParseRowNumber(index->stack_frames_size() + 1) ||
        !ParseRowFields(kKeys, values)) {
      return false;
    }
    if (values[1] < 0) {
      return Error(start, "parent_frame_id must not be negative");
    }
    StackFrameIndexProto::StackFrame* row = index->add_stack_frames();
    row->set_file_location_id(values[0]);
    row->set_parent_frame_id(values[1] == 0 ? 0 : values[1] - 1);
  }
  return true;
}

}  // namespace xla::hlo_text
