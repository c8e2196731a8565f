#ifndef XLA_HLO_IR_COMPILATION_ENVIRONMENTS_H_
#define XLA_HLO_IR_COMPILATION_ENVIRONMENTS_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace xla {

// Extra compilation settings, at most one message per message type. A type that
// is asked for and absent is there with its default value from then on.
class CompilationEnvironments {
 public:
  CompilationEnvironments();
  ~CompilationEnvironments();
  CompilationEnvironments(const CompilationEnvironments& other);
  CompilationEnvironments& operator=(const CompilationEnvironments& other);

  // Adds a message. A second one of the same type is an error unless equal.
  absl::Status AddEnv(std::unique_ptr<::google::protobuf::Message> env);

  template <typename T>
  T& GetMutableEnv() {
    static_assert(std::is_base_of<::google::protobuf::Message, T>::value);
    std::unique_ptr<::google::protobuf::Message>& env =
        environments_[T::descriptor()->full_name()];
    if (env == nullptr) env = std::make_unique<T>();
    return static_cast<T&>(*env);
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
  // By full name of the message type.
  absl::btree_map<std::string, std::unique_ptr<::google::protobuf::Message>>
      environments_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_COMPILATION_ENVIRONMENTS_H_
