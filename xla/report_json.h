#ifndef XLA_REPORT_JSON_H_
#define XLA_REPORT_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace xla {

// The JSON that tools print for a report: indented, with names as in the
// .proto, including fields with default values, so that readers find every key.
//
// Before: SourceContext{}.  After: "{\n \"file_name\": \"\"\n}\n"; 64-bit
// integers are strings, as in all of protobuf's JSON. Internal, with the
// report's type, if protobuf cannot write it.
absl::StatusOr<std::string> ReportToJson(
    const google::protobuf::Message& report);

}  // namespace xla

#endif  // XLA_REPORT_JSON_H_
