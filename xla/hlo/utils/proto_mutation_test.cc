// Mutates protos of real modules with fixed seeds: no input may crash the
// reader, the verifier or the printer.

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/utils/proto_fuzz_target.h"
#include "xla/hlo/utils/proto_mutator.h"
#include "xla/service/hlo.pb.h"

namespace xla {
namespace {

std::string ProtoOf(const std::string& name) {
  auto module = ReadModuleFromFile("examples/" + name + ".hlo");
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? ModuleToProtoBytes(**module) : "";
}

// A few changes of the kinds that reach deep: bytes, ranges, lengths.
std::string Mutate(std::string bytes, std::mt19937_64& random) {
  const int changes = 1 + random() % 4;
  for (int i = 0; i < changes && !bytes.empty(); ++i) {
    size_t at = random() % bytes.size();
    size_t length = random() % 8;
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] ^= static_cast<char>(1 << (random() % 8));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(random() % bytes.size(), length));
        break;
      case 4:
        bytes.replace(at, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        break;
    }
  }
  return bytes;
}

TEST(ProtoMutationTest, NothingCrashes) {
  int modules = 0;
  for (const char* name : {"mlp_train", "conv_train"}) {
    const std::string bytes = ProtoOf(name);
    ASSERT_TRUE(ReadsAsProtoAndRoundTrips(bytes)) << name;
    for (uint64_t seed = 0; seed < 500; ++seed) {
      std::mt19937_64 random(seed);
      modules += ReadsAsProtoAndRoundTrips(Mutate(bytes, random));
    }
  }
  // Some mutants are modules still; if none were, none would get far.
  EXPECT_GT(modules, 10);
}

// Whole fields instead of bytes, so that most mutants are protos still.
TEST(ProtoMutationTest, NoFieldCrashes) {
  const char* wanted = std::getenv("PROTO_MUTATIONS");
  const uint64_t mutations = wanted == nullptr ? 120 : std::atoll(wanted);
  int modules = 0;
  for (const char* name : {"mlp_train", "conv_train"}) {
    HloProto original;
    ASSERT_TRUE(original.ParseFromString(ProtoOf(name)));
    for (uint64_t seed = 0; seed < mutations; ++seed) {
      HloProto mutant = original;
      for (uint64_t i = 0; i <= seed % 3; ++i) {
        MutateProto(seed * 3 + i, &mutant);
      }
      modules += ReadsAsProtoAndRoundTrips(mutant.SerializeAsString());
    }
  }
  EXPECT_GT(modules, 10);
}

TEST(ProtoMutationTest, PrefixesAreErrors) {
  const std::string bytes = ProtoOf("mlp_train");
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 16) {
    ReadsAsProtoAndRoundTrips(bytes.substr(0, size));
  }
}

TEST(ProtoMutationTest, RoundTripsWhatTextDoesNotSay) {
  auto module = ReadModule(R"(HloModule m
step {
  x = s32[] parameter(0)
  c = s32[] parameter(1)
  s = s32[] add(x, c)
  ROOT o = (s32[], s32[]) tuple(s, s)
}
ENTRY e {
  a = s32[16] parameter(0)
  z = s32[] parameter(1)
  ROOT r = (s32[16], s32[]) scan(a, z), dimensions={0}, num_carries=1, to_apply=step
})",
                           ModuleFormat::kHlo);
  ASSERT_TRUE(module.ok()) << module.status();
  HloModuleProto proto = (*module)->ToProto();
  for (HloComputationProto& computation : *proto.mutable_computations()) {
    for (HloInstructionProto& inst : *computation.mutable_instructions()) {
      inst.clear_is_associative();
    }
  }
  EXPECT_TRUE(ReadsAsProtoAndRoundTrips(proto.SerializeAsString()));
}

}  // namespace
}  // namespace xla
