#include "xla/hlo/ir/compilation_environments.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/base/no_destructor.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "google/protobuf/any.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "xla/status_macros.h"
#include "xla/xla.pb.h"

namespace xla {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::Message;

class Processors {
 public:
  void Set(const Descriptor* type,
           CompilationEnvironments::ProcessNewEnvFn function) {
    absl::MutexLock lock(&mutex_);
    functions_[type] = std::move(function);
  }
  // Null if none is registered.
  CompilationEnvironments::ProcessNewEnvFn Get(const Descriptor* type) {
    absl::MutexLock lock(&mutex_);
    auto it = functions_.find(type);
    return it == functions_.end() ? nullptr : it->second;
  }

 private:
  absl::Mutex mutex_;
  absl::flat_hash_map<const Descriptor*,
                      CompilationEnvironments::ProcessNewEnvFn>
      functions_ ABSL_GUARDED_BY(mutex_);
};

Processors& AllProcessors() {
  static absl::NoDestructor<Processors> processors;
  return *processors;
}

}  // namespace

void CompilationEnvironments::RegisterProcessNewEnvFn(
    const Descriptor* descriptor, ProcessNewEnvFn process_new_env) {
  AllProcessors().Set(descriptor, std::move(process_new_env));
}

absl::StatusOr<std::unique_ptr<CompilationEnvironments>>
CompilationEnvironments::CreateFromProto(
    const CompilationEnvironmentsProto& proto) {
  auto environments = std::make_unique<CompilationEnvironments>();
  for (const ::google::protobuf::Any& any : proto.environments()) {
    std::string name;
    const Descriptor* type = nullptr;
    if (::google::protobuf::Any::ParseAnyTypeUrl(any.type_url(), &name)) {
      type = ::google::protobuf::DescriptorPool::generated_pool()
                 ->FindMessageTypeByName(name);
    }
    if (type == nullptr) {
      return absl::NotFoundError(absl::StrCat(
          "no compilation environment of type '", any.type_url(), "'"));
    }
    std::unique_ptr<Message> env(
        ::google::protobuf::MessageFactory::generated_factory()
            ->GetPrototype(type)
            ->New());
    if (!any.UnpackTo(env.get())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the compilation environment of type ", name, " does not parse"));
    }
    TF_RETURN_IF_ERROR(environments->AddEnv(std::move(env)));
  }
  return environments;
}

CompilationEnvironmentsProto CompilationEnvironments::ToProto() const {
  CompilationEnvironmentsProto proto;
  for (const auto& [name, message] : environments_) {
    proto.add_environments()->PackFrom(*message);
  }
  return proto;
}

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
    std::unique_ptr<Message> copy(message->New());
    copy->CopyFrom(*message);
    environments_[name] = std::move(copy);
  }
  return *this;
}

Message& CompilationEnvironments::GetOrMake(const Message& prototype) {
  std::unique_ptr<Message>& env =
      environments_[prototype.GetDescriptor()->full_name()];
  if (env == nullptr) {
    if (auto process = AllProcessors().Get(prototype.GetDescriptor())) {
      absl::StatusOr<std::unique_ptr<Message>> made = process(nullptr);
      CHECK_OK(made.status());
      env = *std::move(made);
    } else {
      env.reset(prototype.New());
    }
  }
  return *env;
}

absl::Status CompilationEnvironments::AddEnv(std::unique_ptr<Message> env) {
  if (auto process = AllProcessors().Get(env->GetDescriptor())) {
    TF_ASSIGN_OR_RETURN(env, process(std::move(env)));
  }
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
