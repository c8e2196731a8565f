#ifndef XLA_HLO_IR_BACKEND_CONFIG_H_
#define XLA_HLO_IR_BACKEND_CONFIG_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/message.h"

namespace xla {

// The JSON text of a backend config: field names as in the .proto file, fields
// without presence printed even where they hold their default.
absl::StatusOr<std::string> BackendConfigToRawString(
    const google::protobuf::Message& proto);

// The backend config of an instruction: text that only the backend understands,
// usually the JSON form of a proto message.
//
// Text is kept verbatim, whatever it holds, and parsed only when a message is
// requested; the last message is cached. A config set as a message is converted
// to text only when the text is requested. Thread safe for
// const use; copies share nothing.
class BackendConfigWrapper {
 public:
  BackendConfigWrapper() = default;
  explicit BackendConfigWrapper(std::string raw_string)
      : has_raw_string_(!raw_string.empty()),
        raw_string_(std::move(raw_string)) {}
  explicit BackendConfigWrapper(const google::protobuf::Message& proto)
      : proto_(Copy(proto)) {}
  BackendConfigWrapper(const BackendConfigWrapper& other);
  BackendConfigWrapper& operator=(const BackendConfigWrapper& other);

  // No text and no message.
  bool empty() const;

  const std::string& GetRawString() const;

  // Fills *output (cleared first). InvalidArgument if the text is not the JSON
  // form of output's type; an empty config leaves *output clear.
  absl::Status GetProto(google::protobuf::Message* output) const;

  // By text, or by content where both hold messages of one type.
  bool operator==(const BackendConfigWrapper& other) const;
  bool operator!=(const BackendConfigWrapper& other) const {
    return !(*this == other);
  }

  template <typename H>
  friend H AbslHashValue(H h, const BackendConfigWrapper& config) {
    return H::combine(std::move(h), config.GetRawString());
  }

 private:
  static std::unique_ptr<google::protobuf::Message> Copy(
      const google::protobuf::Message& proto);
  const std::string& RawStringLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Either may be absent; both are only if the config is empty.
  mutable absl::Mutex mutex_;
  mutable bool has_raw_string_ ABSL_GUARDED_BY(mutex_) = false;
  mutable std::string raw_string_ ABSL_GUARDED_BY(mutex_);
  mutable std::unique_ptr<google::protobuf::Message> proto_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace xla

#endif  // XLA_HLO_IR_BACKEND_CONFIG_H_
