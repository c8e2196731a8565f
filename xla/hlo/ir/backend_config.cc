#include "xla/hlo/ir/backend_config.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"

namespace xla {

using google::protobuf::Message;

absl::StatusOr<std::string> BackendConfigToRawString(const Message& proto) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  auto status =
      google::protobuf::util::MessageToJsonString(proto, &text, options);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat("cannot write ", proto.GetTypeName(),
                     " as JSON: ", std::string(status.message())));
  }
  return text;
}

std::unique_ptr<Message> BackendConfigWrapper::Copy(const Message& proto) {
  std::unique_ptr<Message> copy(proto.New());
  copy->CopyFrom(proto);
  return copy;
}

BackendConfigWrapper::BackendConfigWrapper(const BackendConfigWrapper& other) {
  absl::MutexLock lock(&other.mutex_);
  has_raw_string_ = other.has_raw_string_;
  raw_string_ = other.raw_string_;
  proto_ = other.proto_ == nullptr ? nullptr : Copy(*other.proto_);
}

BackendConfigWrapper& BackendConfigWrapper::operator=(
    const BackendConfigWrapper& other) {
  if (this == &other) return *this;
  BackendConfigWrapper copy(other);
  absl::MutexLock lock(&mutex_);
  absl::MutexLock copy_lock(&copy.mutex_);
  has_raw_string_ = copy.has_raw_string_;
  raw_string_ = std::move(copy.raw_string_);
  proto_ = std::move(copy.proto_);
  return *this;
}

bool BackendConfigWrapper::empty() const {
  absl::MutexLock lock(&mutex_);
  return proto_ == nullptr && raw_string_.empty();
}

const std::string& BackendConfigWrapper::GetRawString() const {
  absl::MutexLock lock(&mutex_);
  return RawStringLocked();
}

const std::string& BackendConfigWrapper::RawStringLocked() const {
  if (!has_raw_string_ && proto_ != nullptr) {
    absl::StatusOr<std::string> text = BackendConfigToRawString(*proto_);
    if (text.ok()) {
      raw_string_ = *std::move(text);
    } else {
      LOG(ERROR) << text.status();
    }
    has_raw_string_ = true;
  }
  return raw_string_;
}

absl::Status BackendConfigWrapper::GetProto(Message* output) const {
  output->Clear();
  absl::MutexLock lock(&mutex_);
  if (proto_ != nullptr && proto_->GetDescriptor() == output->GetDescriptor()) {
    output->CopyFrom(*proto_);
    return absl::OkStatus();
  }
  const std::string& text = RawStringLocked();
  if (text.empty()) return absl::OkStatus();
  auto status = google::protobuf::util::JsonStringToMessage(text, output);
  if (!status.ok()) {
    output->Clear();
    return absl::InvalidArgumentError(
        absl::StrCat("backend config is not JSON of ", output->GetTypeName(),
                     ": ", std::string(status.message())));
  }
  proto_ = Copy(*output);
  return absl::OkStatus();
}

bool BackendConfigWrapper::operator==(const BackendConfigWrapper& other) const {
  if (this == &other) return true;
  const BackendConfigWrapper copy(other);
  absl::MutexLock lock(&mutex_);
  absl::MutexLock copy_lock(&copy.mutex_);
  if (proto_ != nullptr && copy.proto_ != nullptr &&
      proto_->GetDescriptor() == copy.proto_->GetDescriptor()) {
    return google::protobuf::util::MessageDifferencer::Equals(*proto_,
                                                              *copy.proto_);
  }
  return RawStringLocked() == copy.RawStringLocked();
}

}  // namespace xla
