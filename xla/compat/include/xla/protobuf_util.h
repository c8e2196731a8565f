#ifndef XLA_COMPAT_INCLUDE_XLA_PROTOBUF_UTIL_H_
#define XLA_COMPAT_INCLUDE_XLA_PROTOBUF_UTIL_H_

// OpenXLA's path of this header, for code from outside.

#include <cstddef>
#include <string>

#include "absl/hash/hash.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"

namespace xla::protobuf_util {

// The bytes of a message, maps in the order of their keys.
inline std::string SerializeInOrder(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream output(&stream);
    output.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&output);
  }
  return bytes;
}

// Whether the bytes are equal. Messages with unknown fields in another order
// are not, though they mean the same.
inline bool HaveSameSerialization(const google::protobuf::Message& m1,
                                  const google::protobuf::Message& m2) {
  return SerializeInOrder(m1) == SerializeInOrder(m2);
}

// The same by its older name.
inline bool ProtobufEquals(const google::protobuf::Message& m1,
                           const google::protobuf::Message& m2) {
  return HaveSameSerialization(m1, m2);
}

// Equal for messages with the same serialization, within one run.
inline size_t ProtobufHashBySerialization(
    const google::protobuf::Message& message) {
  return absl::HashOf(SerializeInOrder(message));
}

// Both as function objects, for hash containers of messages.
struct HaveSameSerializationFunctor {
  bool operator()(const google::protobuf::Message& m1,
                  const google::protobuf::Message& m2) const {
    return HaveSameSerialization(m1, m2);
  }
};
struct ProtobufHashBySerializationFunctor {
  size_t operator()(const google::protobuf::Message& message) const {
    return ProtobufHashBySerialization(message);
  }
};

}  // namespace xla::protobuf_util

#endif  // XLA_COMPAT_INCLUDE_XLA_PROTOBUF_UTIL_H_
