#include "xla/hlo/ir/compilation_environments.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace xla {

CompilationEnvironments::CompilationEnvironments() = default;
CompilationEnvironments::~CompilationEnvironments() = default;

CompilationEnvironments::CompilationEnvironments(
    const CompilationEnvironments& other) {
  *this = other;
}

CompilationEnvironments& CompilationEnvironments::operator=(
    const CompilationEnvironments& other) {
  if (this == &other) return *this;
  environments_.clear();
  for (const auto& [name, message] : other.environments_) {
    std::unique_ptr<::google::protobuf::Message> copy(message->New());
    copy->CopyFrom(*message);
    environments_[name] = std::move(copy);
  }
  return *this;
}

absl::Status CompilationEnvironments::AddEnv(
    std::unique_ptr<::google::protobuf::Message> env) {
  const std::string name = env->GetDescriptor()->full_name();
  auto [it, inserted] = environments_.try_emplace(name, nullptr);
  if (inserted) {
    it->second = std::move(env);
  } else if (it->second->SerializeAsString() != env->SerializeAsString()) {
    return absl::InvalidArgumentError(
        "there is a different compilation environment of type " + name);
  }
  return absl::OkStatus();
}

void CompilationEnvironments::Clear() { environments_.clear(); }

}  // namespace xla
