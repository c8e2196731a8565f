#ifndef XLA_HLO_UTILS_PROTO_MUTATOR_H_
#define XLA_HLO_UTILS_PROTO_MUTATOR_H_

#include <cstdint>

#include "google/protobuf/message.h"

namespace xla {

// Changes one field somewhere in a message, at random: an id becomes another
// one, a number an extreme or its neighbor, an element of a list goes, comes
// twice or changes places, a sub-message comes or goes, text loses its end.
// What comes out is a message of the type again, which bytes changed at random
// hardly ever are, and mostly an unintended one.
//
// The same seed makes the same change. O(size of the message).
void MutateProto(uint64_t seed, google::protobuf::Message* message);

}  // namespace xla

#endif  // XLA_HLO_UTILS_PROTO_MUTATOR_H_
