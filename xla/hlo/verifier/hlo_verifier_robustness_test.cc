// Modules that are broken at random: the verifier says what is wrong, or that
// nothing is, and does not crash.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/protobuf/reflection.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_test_modules.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/service/hlo.pb.h"
#include "xla/xla.pb.h"

namespace xla {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

constexpr absl::string_view kArrays = R"(
HloModule arrays, replica_count=2

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT
}

ENTRY main {
  x = f32[4,8] parameter(0), sharding={replicated}
  y = f32[8,16] parameter(1)
  i = s32[] parameter(2)
  zero = f32[] constant(0)
  dot = f32[4,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  red = f32[4] reduce(dot, zero), dimensions={1}, to_apply=add
  bc = f32[4,16] broadcast(red), dimensions={0}
  sel = f32[4,16] maximum(dot, bc)
  tr = f32[16,4] transpose(sel), dimensions={1,0}
  rs = f32[64] reshape(tr)
  sl = f32[32] slice(rs), slice={[0:64:2]}
  ds = f32[8] dynamic-slice(sl, i), dynamic_slice_sizes={8}
  dus = f32[32] dynamic-update-slice(sl, ds, i)
  pad = f32[35] pad(dus, zero), padding=1_2
  rw = f32[17] reduce-window(pad, zero), window={size=3 stride=2}, to_apply=add
  sort = f32[17] sort(rw), dimensions={0}, to_apply=less
  io = s32[17] iota(), iota_dimension=0
  ga = f32[17] gather(sort, io), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
  sc = f32[17] scatter(ga, io, sort), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  cat = f32[34] concatenate(sc, ga), dimensions={0}
  ar = f32[34] all-reduce(cat), replica_groups={{0,1}}, to_apply=add
  ag = f32[68] all-gather(ar), replica_groups={{0,1}}, dimensions={0}
  cp = f32[68] collective-permute(ag), source_target_pairs={{0,1},{1,0}}
  ROOT t = (f32[68], f32[4]) tuple(cp, red)
}
)";

constexpr absl::string_view kCalls = R"(
HloModule calls, num_partitions=2

cond {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(10)
  ROOT lt = pred[] compare(i, n), direction=LT
}

body {
  p = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  v = f32[4] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  w = f32[4] negate(v)
  ROOT t = (s32[], f32[4]) tuple(next, w)
}

fused {
  a = f32[4] parameter(0)
  ROOT e = f32[4] exponential(a)
}

yes {
  a = f32[4] parameter(0)
  ROOT e = f32[4] exponential(a)
}

no {
  a = f32[4] parameter(0)
  ROOT n = f32[4] negate(a)
}

ENTRY main {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[4]) tuple(zero, x)
  loop = (s32[], f32[4]) while(init), condition=cond, body=body
  v = f32[4] get-tuple-element(loop), index=1
  f = f32[4] fusion(v), kind=kLoop, calls=fused
  cc = f32[4] custom-call(f), custom_call_target="t", output_to_operand_aliasing={{}: (0, {})}
  cs = (f32[4], f32[4], u32[]) copy-start(cc)
  cd = f32[4] copy-done(cs)
  as = ((f32[4]), f32[4], u32[]) negate-start(cd)
  ad = f32[4] negate-done(as)
  tok = token[] after-all()
  snd = (f32[4], u32[], token[]) send(ad, tok), channel_id=1
  sd = token[] send-done(snd), channel_id=1
  rcv = (f32[4], u32[], token[]) recv(sd), channel_id=2
  rd = (f32[4], token[]) recv-done(rcv), channel_id=2
  r = f32[4] get-tuple-element(rd), index=0
  p = pred[] constant(true)
  ROOT c = f32[4] conditional(p, r, ad), true_computation=yes,
    false_computation=no
}
)";

// All messages of a tree, the root first.
void Collect(Message* message, std::vector<Message*>* all) {
  all->push_back(message);
  const Reflection* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
        field->is_map()) {
      continue;
    }
    if (field->is_repeated()) {
      for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
        Collect(reflection->MutableRepeatedMessage(message, field, i), all);
      }
    } else {
      Collect(reflection->MutableMessage(message, field), all);
    }
  }
}

class Breaker {
 public:
  explicit Breaker(uint32_t seed) : random_(seed) {}

  // Changes a number, a flag or a text somewhere, or repeats or removes
  // something.
  void BreakOne(Message* root) {
    std::vector<Message*> all;
    Collect(root, &all);
    Message* message = all[Below(all.size())];
    const Reflection* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    if (fields.empty()) return;
    const FieldDescriptor* field = fields[Below(fields.size())];
    if (field->is_map()) return;
    if (field->is_repeated()) {
      const int size = reflection->FieldSize(*message, field);
      if (Below(3) == 0) {
        reflection->RemoveLast(message, field);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
        reflection->SetRepeatedInt64(message, field, Below(size), Number());
      } else if (size > 1) {
        reflection->SwapElements(message, field, Below(size), Below(size));
      }
      return;
    }
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection->SetInt64(message, field, Number());
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection->SetInt32(message, field, Number());
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection->SetBool(message, field, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return reflection->SetEnumValue(
            message, field,
            field->enum_type()
                ->value(Below(field->enum_type()->value_count()))
                ->number());
      default:
        return reflection->ClearField(message, field);
    }
  }

 private:
  int Below(int n) { return random_() % n; }
  int64_t Number() {
    static constexpr int64_t kNumbers[] = {-1, 0, 1, 2, 3, 4, 7, 16, 1000};
    return kNumbers[Below(std::size(kNumbers))];
  }

  std::mt19937 random_;
};

// Seeds per module; a number in $HLO_VERIFIER_SEEDS takes its place.
uint32_t Seeds(uint32_t usual) {
  const char* text = std::getenv("HLO_VERIFIER_SEEDS");
  uint32_t seeds = usual;
  return text != nullptr && absl::SimpleAtoi(text, &seeds) ? seeds : usual;
}

// Verifies changed copies of the module; the number of those with an error.
int BreakAndVerify(const HloModule& module, uint32_t seeds) {
  const HloModuleProto good = module.ToProto();
  int found = 0;
  for (uint32_t seed = 0; seed < seeds; ++seed) {
    HloModuleProto proto = good;
    Breaker breaker(seed);
    for (uint32_t i = 0; i <= seed % 3; ++i) breaker.BreakOne(&proto);
    auto config = HloModule::CreateModuleConfigFromProto(proto, DebugOptions());
    if (!config.ok()) continue;
    auto broken = HloModule::CreateFromProto(proto, *config);
    if (!broken.ok()) continue;
    for (const bool layout_sensitive : {false, true}) {
      HloVerifierOpts opts;
      opts.layout_sensitive = layout_sensitive;
      opts.allow_mixed_precision = seed % 2 == 0;
      opts.verify_no_collective_deadlocks = true;
      opts.verify_reshape_is_bitcast = true;
      const absl::Status status = VerifyHloModule(broken->get(), opts);
      if (status.ok()) continue;
      ++found;
      EXPECT_EQ(status.message().substr(0, 2), "[V") << status;
    }
  }
  return found;
}

void BreakGoodModule(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  ASSERT_EQ(VerifyHloModule(module->get(), {}), absl::OkStatus());
  const uint32_t seeds = Seeds(200);
  // Many changes break something.
  EXPECT_GT(BreakAndVerify(**module, seeds), seeds / 10);
}

TEST(HloVerifierRobustnessTest, Arrays) { BreakGoodModule(kArrays); }

TEST(HloVerifierRobustnessTest, Calls) { BreakGoodModule(kCalls); }

// An instruction of each kind, with attributes of all kinds.
TEST(HloVerifierRobustnessTest, AllFamilies) {
  std::unique_ptr<HloModule> module = MakeModuleOfAllFamilies();
  Decorate(module.get());
  BreakAndVerify(*module, Seeds(50));
}

// The good and the bad modules of the text tests.
TEST(HloVerifierRobustnessTest, TextTests) {
  const std::filesystem::path folder =
      std::filesystem::path(std::getenv("TEST_SRCDIR")) /
      std::getenv("TEST_WORKSPACE") / "xla/hlo/verifier/testdata";
  int modules = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const std::string contents = text.str();
    for (absl::string_view piece : absl::StrSplit(contents, "// -----")) {
      auto module = ParseAndReturnUnverifiedModule(piece);
      if (!module.ok()) {
        ++refused;
        continue;
      }
      ++modules;
      BreakAndVerify(**module, Seeds(4));
    }
  }
  EXPECT_GT(modules, 200);
  // Two cases are of what the parser refuses: a reshape to another size, and
  // global ids without a channel.
  EXPECT_EQ(refused, 2);
}

}  // namespace
}  // namespace xla
