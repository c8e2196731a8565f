#include "xla/hlo/utils/proto_mutator.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace xla {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// A field of some message in the whole.
struct Place {
  Message* message;
  const FieldDescriptor* field;
};

// Deeper messages are left alone.
constexpr int kMaxDepth = 30;

void AddPlaces(Message* message, int depth, std::vector<Place>* places) {
  const auto& type = *message->GetDescriptor();
  const Reflection& reflection = *message->GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_map()) continue;
    places->push_back({message, field});
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
        depth == kMaxDepth) {
      continue;
    }
    if (!field->is_repeated()) {
      if (reflection.HasField(*message, field)) {
        AddPlaces(reflection.MutableMessage(message, field), depth + 1, places);
      }
      continue;
    }
    for (int j = 0; j < reflection.FieldSize(*message, field); ++j) {
      AddPlaces(reflection.MutableRepeatedMessage(message, field, j), depth + 1,
                places);
    }
  }
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  void Mutate(Message* message) {
    std::vector<Place> places;
    AddPlaces(message, /*depth=*/0, &places);
    if (places.empty()) return;
    // What is set is more likely to matter than what is not.
    Place place = places[Below(places.size())];
    for (int i = 0; i < 4 && !IsSet(place); ++i) {
      place = places[Below(places.size())];
    }
    place.field->is_repeated() ? ChangeList(place) : ChangeField(place);
  }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }

  static bool IsSet(const Place& place) {
    const Reflection& reflection = *place.message->GetReflection();
    return place.field->is_repeated()
               ? reflection.FieldSize(*place.message, place.field) > 0
               : reflection.HasField(*place.message, place.field);
  }

  template <typename T>
  T Number(T old) {
    switch (Below(8)) {
      case 0:
        return 0;
      case 1:
        return 1;
      case 2:
        return static_cast<T>(old + 1);
      case 3:
        return static_cast<T>(old - 1);
      case 4:
        return static_cast<T>(-1);
      case 5:
        return std::numeric_limits<T>::max();
      case 6:
        return std::numeric_limits<T>::lowest();
      default:
        return static_cast<T>(Below(64));
    }
  }

  std::string Text(const std::string& old) {
    switch (Below(5)) {
      case 0:
        return "";
      case 1:
        return old.substr(0, old.size() / 2);
      case 2:
        return old + old;
      case 3:
        return old + static_cast<char>(Below(128));
      default:
        return std::string(1 + Below(8), static_cast<char>(Below(128)));
    }
  }

  void ChangeField(const Place& place) {
    Message* message = place.message;
    const FieldDescriptor* field = place.field;
    const Reflection& reflection = *message->GetReflection();
    if (Below(6) == 0) {
      reflection.ClearField(message, field);
      return;
    }
    switch (field->cpp_type()) {
#define NUMBER(TYPE, Name)                                               \
  case FieldDescriptor::CPPTYPE_##TYPE:                                  \
    reflection.Set##Name(message, field,                                 \
                         Number(reflection.Get##Name(*message, field))); \
    break
      NUMBER(INT32, Int32);
      NUMBER(INT64, Int64);
      NUMBER(UINT32, UInt32);
      NUMBER(UINT64, UInt64);
      NUMBER(FLOAT, Float);
      NUMBER(DOUBLE, Double);
#undef NUMBER
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection.SetBool(message, field,
                           !reflection.GetBool(*message, field));
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection.SetEnumValue(message, field,
                                static_cast<int>(Below(40)) - 1);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetString(message, field,
                             Text(reflection.GetString(*message, field)));
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        reflection.MutableMessage(message, field);
        break;
    }
  }

  void ChangeList(const Place& place) {
    Message* message = place.message;
    const FieldDescriptor* field = place.field;
    const Reflection& reflection = *message->GetReflection();
    const int size = reflection.FieldSize(*message, field);
    if (size == 0 || Below(5) == 0) {
      AddElement(place);
      return;
    }
    const int at = static_cast<int>(Below(size));
    switch (Below(3)) {
      case 0:
        reflection.SwapElements(message, field, at, size - 1);
        reflection.RemoveLast(message, field);
        return;
      case 1:
        reflection.SwapElements(message, field, at,
                                static_cast<int>(Below(size)));
        return;
      default:
        break;
    }
    switch (field->cpp_type()) {
#define NUMBER(TYPE, Name)                                          \
  case FieldDescriptor::CPPTYPE_##TYPE:                             \
    reflection.SetRepeated##Name(                                   \
        message, field, at,                                         \
        Number(reflection.GetRepeated##Name(*message, field, at))); \
    break
      NUMBER(INT32, Int32);
      NUMBER(INT64, Int64);
      NUMBER(UINT32, UInt32);
      NUMBER(UINT64, UInt64);
      NUMBER(FLOAT, Float);
      NUMBER(DOUBLE, Double);
#undef NUMBER
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetRepeatedString(
            message, field, at,
            Text(reflection.GetRepeatedString(*message, field, at)));
        break;
      default:
        AddElement(place);
        break;
    }
  }

  // One that is there already, or an empty one.
  void AddElement(const Place& place) {
    Message* message = place.message;
    const FieldDescriptor* field = place.field;
    const Reflection& reflection = *message->GetReflection();
    const int size = reflection.FieldSize(*message, field);
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        if (size == 0 || Below(2) == 0) {
          reflection.AddMessage(message, field);
          break;
        }
        const int from = static_cast<int>(Below(size));
        Message* added = reflection.AddMessage(message, field);
        added->CopyFrom(reflection.GetRepeatedMessage(*message, field, from));
        break;
      }
      case FieldDescriptor::CPPTYPE_INT32:
        reflection.AddInt32(message, field, Number<int32_t>(0));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        reflection.AddInt64(message, field, Number<int64_t>(0));
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection.AddBool(message, field, Below(2) == 0);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.AddString(message, field, Text(""));
        break;
      default:
        break;
    }
  }

  std::mt19937_64 random_;
};

}  // namespace

void MutateProto(uint64_t seed, google::protobuf::Message* message) {
  Mutator(seed).Mutate(message);
}

}  // namespace xla
