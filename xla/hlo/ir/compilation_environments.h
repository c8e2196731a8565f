#ifndef XLA_HLO_IR_COMPILATION_ENVIRONMENTS_H_
#define XLA_HLO_IR_COMPILATION_ENVIRONMENTS_H_

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "xla/xla.pb.h"

namespace xla {

// Extra compilation settings, at most one message per message type. Requesting
// a type that is absent adds it: with its default value, or as made by the
// function registered for the type.
class CompilationEnvironments {
 public:
  // Maps an added message (null: a type was requested that is absent) to the
  // one that is kept.
  using ProcessNewEnvFn = std::function<
      absl::StatusOr<std::unique_ptr<::google::protobuf::Message>>(
          std::unique_ptr<::google::protobuf::Message>)>;

  // From now on new messages of this type go through `process_new_env`, in all
  // objects of the process. The last function registered for a type wins.
  static void RegisterProcessNewEnvFn(
      const ::google::protobuf::Descriptor* descriptor,
      ProcessNewEnvFn process_new_env);

  // NotFound for types that are not linked into the program.
  static absl::StatusOr<std::unique_ptr<CompilationEnvironments>>
  CreateFromProto(const CompilationEnvironmentsProto& proto);
  // Sorted by the full names of the types.
  CompilationEnvironmentsProto ToProto() const;

  CompilationEnvironments();
  ~CompilationEnvironments();
  CompilationEnvironments(const CompilationEnvironments& other);
  CompilationEnvironments& operator=(const CompilationEnvironments& other);

  // Adds a message. A second one of the same type is an error unless equal.
  absl::Status AddEnv(std::unique_ptr<::google::protobuf::Message> env);

  // CHECK-fails if the type's function returns an error for null.
  template <typename T>
  T& GetMutableEnv() {
    static_assert(std::is_base_of<::google::protobuf::Message, T>::value);
    return static_cast<T&>(GetOrMake(T::default_instance()));
  }
  template <typename T>
  const T& GetEnv() {
    return GetMutableEnv<T>();
  }
  template <typename T>
  bool HasEnv() {
    return environments_.count(T::descriptor()->full_name()) > 0;
  }
  template <typename T>
  void DeleteEnv() {
    environments_.erase(T::descriptor()->full_name());
  }

  void Clear();
  bool empty() const { return environments_.empty(); }

 private:
  ::google::protobuf::Message& GetOrMake(
      const ::google::protobuf::Message& prototype);

  // By full name of the message type.
  absl::btree_map<std::string, std::unique_ptr<::google::protobuf::Message>>
      environments_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_COMPILATION_ENVIRONMENTS_H_
