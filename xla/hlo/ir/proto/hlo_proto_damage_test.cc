// Protos of modules with random damage: the answer is a module that prints, or
// an error.

#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_test_modules.h"
#include "xla/service/hlo.pb.h"

namespace xla {
namespace {

// Sets, clears, repeats or removes one field somewhere in the message.
class FieldDamager {
 public:
  explicit FieldDamager(uint32_t seed) : random_(seed) {}

  void Damage(google::protobuf::Message* message) {
    using google::protobuf::FieldDescriptor;
    const auto* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    // Mostly a field that is there, so that the walk goes deep.
    const auto* descriptor = message->GetDescriptor();
    const FieldDescriptor* field =
        fields.empty() || random_() % 8 == 0
            ? descriptor->field(random_() % descriptor->field_count())
            : fields[random_() % fields.size()];
    if (field->is_map()) return;
    if (field->is_repeated()) {
      DamageRepeated(message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (random_() % 10 == 0) {
        reflection->ClearField(message, field);
      } else {
        Damage(reflection->MutableMessage(message, field));
      }
    } else if (random_() % 6 == 0) {
      reflection->ClearField(message, field);
    } else {
      Set(message, field);
    }
  }

 private:
  using FieldDescriptor = google::protobuf::FieldDescriptor;

  void DamageRepeated(google::protobuf::Message* message,
                      const FieldDescriptor* field) {
    const auto* reflection = message->GetReflection();
    const int size = reflection->FieldSize(*message, field);
    const bool is_message =
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    switch (random_() % (is_message ? 12 : 4)) {
      case 0:
        if (size > 0) reflection->RemoveLast(message, field);
        return;
      case 1:
        if (size > 1) {
          reflection->SwapElements(message, field, random_() % size,
                                   random_() % size);
        }
        return;
      case 2:
        if (is_message) {
          reflection->AddMessage(message, field);
        } else {
          Add(message, field);
        }
        return;
      default:
        if (size == 0) return;
        if (is_message) {
          Damage(reflection->MutableRepeatedMessage(message, field,
                                                    random_() % size));
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
          reflection->SetRepeatedInt64(message, field, random_() % size, Int());
        }
    }
  }

  void Set(google::protobuf::Message* message, const FieldDescriptor* field) {
    const auto* reflection = message->GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection->SetInt64(message, field, Int());
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection->SetInt32(message, field, static_cast<int>(Int()));
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection->SetBool(message, field, random_() % 2 == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return reflection->SetEnumValue(message, field, random_() % 40);
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection->SetString(message, field, Word());
      default:
        return;
    }
  }

  void Add(google::protobuf::Message* message, const FieldDescriptor* field) {
    const auto* reflection = message->GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      reflection->AddInt64(message, field, Int());
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      reflection->AddBool(message, field, true);
    }
  }

  int64_t Int() {
    static constexpr int64_t kInts[] = {0,
                                        1,
                                        2,
                                        3,
                                        5,
                                        8,
                                        64,
                                        1000,
                                        -1,
                                        -2,
                                        int64_t{1} << 31,
                                        int64_t{1} << 40,
                                        std::numeric_limits<int64_t>::max(),
                                        std::numeric_limits<int64_t>::min()};
    return kInts[random_() % std::size(kInts)];
  }

  std::string Word() {
    static constexpr absl::string_view kWords[] = {"",
                                                   "x",
                                                   "add",
                                                   "tuple",
                                                   "constant",
                                                   "while",
                                                   "fusion",
                                                   "dot",
                                                   "sort",
                                                   "async-done",
                                                   "async-update",
                                                   "all-gather",
                                                   "kLoop",
                                                   "convolution",
                                                   "get-tuple-element",
                                                   "parameter",
                                                   "reduce",
                                                   "conditional",
                                                   "domain"};
    return std::string(kWords[random_() % std::size(kWords)]);
  }

  std::mt19937 random_;
};

HloModuleProto MakeProto() {
  std::unique_ptr<HloModule> module = MakeModuleOfAllFamilies();
  Decorate(module.get());
  return module->ToProto();
}

// Whether the proto makes a module; if so, everything is printed.
bool ReadAndPrint(const HloModuleProto& proto) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ModuleFromProto(proto);
  if (!module.ok()) return false;
  EXPECT_FALSE((*module)->ToString().empty());
  EXPECT_FALSE((*module)->ToString(HloPrintOptions()).empty());
  EXPECT_FALSE(
      (*module)->ToString(HloPrintOptions::ModuleFingerprint()).empty());
  EXPECT_FALSE((*module)->ToProto().computations().empty());
  return true;
}

TEST(HloProtoDamageTest, DamagedFields) {
  const HloModuleProto good = MakeProto();
  ASSERT_TRUE(ReadAndPrint(good));
  int accepted = 0;
  for (int seed = 0; seed < 400; ++seed) {
    HloModuleProto proto = good;
    FieldDamager damager(seed);
    for (int i = 0; i <= seed % 4; ++i) damager.Damage(&proto);
    if (ReadAndPrint(proto)) ++accepted;
  }
  EXPECT_GT(accepted, 40);
  EXPECT_LT(accepted, 360);
}

TEST(HloProtoDamageTest, DamagedBytes) {
  google::protobuf::LogSilencer silencer;
  const std::string good = MakeProto().SerializeAsString();
  std::mt19937 random(17);
  int parsed = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = good;
    for (int i = 0; i <= round % 3; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    HloModuleProto proto;
    if (!proto.ParseFromString(bytes)) continue;
    ++parsed;
    ReadAndPrint(proto);
  }
  EXPECT_GT(parsed, 20);
}

}  // namespace
}  // namespace xla
