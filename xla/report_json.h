#ifndef XLA_REPORT_JSON_H_
#define XLA_REPORT_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace xla {

// The JSON that tools print of a report: indented, names as in the .proto, and
// fields at their defaults too, so that a reader finds each key.
//
// Before: SourceContext{}.  After: "{\n \"file_name\": \"\"\n}\n"; 64-bit
// integers are strings, as in all of protobuf's JSON. Internal, with the
// report's type, where protobuf cannot write it.
absl::StatusOr<std::string> ReportToJson(
    const google::protobuf::Message& report);

}  // namespace xla

#endif  // XLA_REPORT_JSON_H_
