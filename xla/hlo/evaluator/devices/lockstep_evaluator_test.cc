#include "xla/hlo/evaluator/devices/lockstep_evaluator.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/literal_util.h"

namespace xla {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kComputations[] = R"(
HloModule m, replica_count=$0, num_partitions=$1
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT sum = s32[] add(a, b) }
sub { a = s32[] parameter(0) b = s32[] parameter(1)
  ROOT difference = s32[] subtract(a, b) }
// Not a straight line of scalars: is interpreted element by element.
slow { a = s32[] parameter(0) b = s32[] parameter(1)
  c = s32[1] broadcast(a), dimensions={} d = s32[] reshape(c)
  ROOT slow_sum = s32[] add(d, b) }
)";

struct Outcome {
  absl::Status status;
  // One string per device, as {1, 2}.
  std::vector<std::string> values;
};

// Runs `text` (computations add and sub are there) on replicas x partitions
// devices; parameter 0, if any, is an s32[size] with 10 * device + i.
Outcome Evaluate(int64_t replicas, int64_t partitions, absl::string_view text,
                 int64_t size = 2,
                 LockstepOptions options = LockstepOptions()) {
  auto module = ParseAndReturnUnverifiedModule(absl::StrCat(
      absl::Substitute(kComputations, replicas, partitions), text));
  if (!module.ok()) return {module.status(), {}};
  LockstepEvaluator evaluator(**module, options);
  std::vector<Literal> inputs;
  for (int64_t d = 0; d < evaluator.grid().size(); ++d) {
    std::vector<int32_t> values;
    for (int64_t i = 0; i < size; ++i) {
      values.push_back(static_cast<int32_t>(10 * d + i));
    }
    inputs.push_back(LiteralUtil::CreateR1<int32_t>(values));
  }
  std::vector<std::vector<const Literal*>> arguments(inputs.size());
  if ((*module)->entry_computation()->num_parameters() > 0) {
    for (size_t d = 0; d < inputs.size(); ++d) arguments[d] = {&inputs[d]};
  }
  auto results = evaluator.Run(arguments);
  if (!results.ok()) return {results.status(), {}};
  Outcome outcome;
  for (const Literal& result : *results) {
    outcome.values.push_back(result.ToStringWithoutShapeOneline());
  }
  return outcome;
}

void ExpectValues(const Outcome& outcome, std::vector<std::string> expected) {
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.values, expected);
}

// Device (r, p) is number 2 * r + p.
TEST(LockstepTest, Ids) {
  ExpectValues(Evaluate(2, 2, R"(ENTRY e {
    r = u32[] replica-id()
    p = u32[] partition-id()
    ROOT t = (u32[], u32[]) tuple(r, p) })"),
               {"( 0, 0 )", "( 0, 1 )", "( 1, 0 )", "( 1, 1 )"});
}

TEST(LockstepTest, AllReduceInEveryGroupMode) {
  auto run = [](absl::string_view attributes) {
    return Evaluate(2, 2,
                    absl::StrCat(R"(ENTRY e {
      x = s32[2] parameter(0)
      ROOT r = s32[2] all-reduce(x), to_apply=add, )",
                                 attributes, "}"));
  };
  // Inputs {0,1} {10,11} {20,21} {30,31}. Replicas, of one partition each.
  const std::vector<std::string> replicas = {"{20, 22}", "{40, 42}", "{20, 22}",
                                             "{40, 42}"};
  ExpectValues(run("replica_groups={{0,1}}"), replicas);
  ExpectValues(run("replica_groups={}"), replicas);
  ExpectValues(run("replica_groups={{0},{1}}"),
               {"{0, 1}", "{10, 11}", "{20, 21}", "{30, 31}"});
  // Replicas, with all their partitions.
  ExpectValues(run("replica_groups={{0},{1}}, channel_id=1"),
               {"{10, 12}", "{10, 12}", "{50, 52}", "{50, 52}"});
  ExpectValues(run("replica_groups={{0,1}}, channel_id=1"),
               {"{60, 64}", "{60, 64}", "{60, 64}", "{60, 64}"});
  // Devices.
  ExpectValues(run("replica_groups={{0,3},{1,2}}, channel_id=1, "
                   "use_global_device_ids=true"),
               {"{30, 32}", "{30, 32}", "{30, 32}", "{30, 32}"});
  ExpectValues(run("replica_groups=[2,2]<=[2,2]T(1,0), channel_id=1, "
                   "use_global_device_ids=true"),
               {"{20, 22}", "{40, 42}", "{20, 22}", "{40, 42}"});
  ExpectValues(run("replica_groups=mesh['a'=2,'b'=2] {'b'}, channel_id=1, "
                   "use_global_device_ids=true"),
               {"{10, 12}", "{10, 12}", "{50, 52}", "{50, 52}"});
}

TEST(LockstepTest, ReductionFoldsInGroupOrder) {
  const char kText[] = R"(ENTRY e {
    x = s32[2] parameter(0)
    ROOT r = s32[2] all-reduce(x), to_apply=sub, replica_groups={{2,0,3,1}} })";
  // 20 - 0 - 30 - 10, and 21 - 1 - 31 - 11.
  ExpectValues(Evaluate(4, 1, kText),
               std::vector<std::string>(4, "{-20, -22}"));
  // (20 - 0) - (30 - 10), and (21 - 1) - (31 - 11).
  LockstepOptions tree;
  tree.reduction_order = evaluator::ReductionOrder::kTree;
  ExpectValues(Evaluate(4, 1, kText, 2, tree),
               std::vector<std::string>(4, "{0, 0}"));
  ExpectValues(Evaluate(2, 1, R"(ENTRY e {
    x = s32[2] parameter(0)
    ROOT r = s32[2] all-reduce(x), to_apply=slow, replica_groups={} })"),
               {"{10, 12}", "{10, 12}"});
}

TEST(LockstepTest, GatherAndScatter) {
  ExpectValues(Evaluate(1, 4, R"(ENTRY e {
    x = s32[2] parameter(0)
    ROOT r = s32[4] all-gather(x), dimensions={0}, channel_id=1,
      replica_groups={{2,0},{1,3}}, use_global_device_ids=true })"),
               {"{20, 21, 0, 1}", "{10, 11, 30, 31}", "{20, 21, 0, 1}",
                "{10, 11, 30, 31}"});
  // Along a dimension that is not the first.
  ExpectValues(Evaluate(2, 1, R"(ENTRY e {
    x = s32[2] parameter(0)
    y = s32[2,1] reshape(x)
    ROOT r = s32[2,2] all-gather(y), dimensions={1}, replica_groups={} })"),
               {"{ { 0, 10 }, { 1, 11 } }", "{ { 0, 10 }, { 1, 11 } }"});
  ExpectValues(Evaluate(1, 2, R"(ENTRY e {
    x = s32[4] parameter(0)
    ROOT r = s32[2] reduce-scatter(x), dimensions={0}, to_apply=add,
      channel_id=1, replica_groups={{1,0}}, use_global_device_ids=true })",
                        4),
               {"{14, 16}", "{10, 12}"});
  // Mixed precision.
  ExpectValues(Evaluate(2, 1, R"(ENTRY e {
    x = s32[2] parameter(0)
    c = bf16[2] convert(x)
    g = f32[4] all-gather(c), dimensions={0}, replica_groups={}
    ROOT r = s32[4] convert(g) })"),
               {"{0, 1, 10, 11}", "{0, 1, 10, 11}"});
  // Several operands.
  ExpectValues(Evaluate(2, 1, R"(ENTRY e {
    x = s32[2] parameter(0)
    n = s32[2] negate(x)
    g = (s32[4], s32[4]) all-gather(x, n), dimensions={0}, replica_groups={}
    r = (s32[2], s32[2]) all-reduce(x, n), to_apply=add, replica_groups={}
    a = s32[4] get-tuple-element(g), index=1
    b = s32[2] get-tuple-element(r), index=1
    ROOT t = (s32[4], s32[2]) tuple(a, b) })"),
               {"( {0, -1, -10, -11}, {-10, -12} )",
                "( {0, -1, -10, -11}, {-10, -12} )"});
}

TEST(LockstepTest, AllToAll) {
  ExpectValues(Evaluate(1, 2, R"(ENTRY e {
    x = s32[4] parameter(0)
    ROOT r = s32[4] all-to-all(x), dimensions={0}, channel_id=1,
      replica_groups={{0,1}} })",
                        4),
               {"{0, 1, 10, 11}", "{2, 3, 12, 13}"});
  // Without a channel: replicas; the group's order counts.
  ExpectValues(Evaluate(2, 1, R"(ENTRY e {
    x = s32[2] parameter(0)
    n = s32[2] negate(x)
    ROOT r = (s32[2], s32[2]) all-to-all(x, n), replica_groups={{1,0}} })"),
               {"( {-10, -11}, {0, -1} )", "( {10, 11}, {0, 1} )"});
}

TEST(LockstepTest, RaggedAllToAll) {
  // Device 0 keeps 1 row and sends 2 to device 1; device 1 sends 1 row to
  // device 0 and keeps none.
  ExpectValues(Evaluate(1, 2, R"(ENTRY e {
    x = s32[3] parameter(0)
    id = u32[] partition-id()
    first = pred[] compare(id, u32[] constant(0)), direction=EQ
    f = pred[2] broadcast(first), dimensions={}
    out = s32[4] constant({7, 7, 7, 7})
    in_a = s32[2] constant({0, 1})
    in_b = s32[2] constant({2, 0})
    in = s32[2] select(f, in_a, in_b)
    size_a = s32[2] constant({1, 2})
    size_b = s32[2] constant({1, 0})
    size = s32[2] select(f, size_a, size_b)
    to_a = s32[2] constant({0, 1})
    to_b = s32[2] constant({3, 0})
    to = s32[2] select(f, to_a, to_b)
    recv_a = s32[2] constant({1, 1})
    recv_b = s32[2] constant({2, 0})
    recv = s32[2] select(f, recv_a, recv_b)
    ROOT r = s32[4] ragged-all-to-all(x, out, in, size, to, recv),
      channel_id=1, replica_groups={{0,1}} })",
                        3),
               {"{0, 7, 7, 12}", "{7, 1, 2, 7}"});
}

TEST(LockstepTest, PermuteAndBroadcast) {
  ExpectValues(Evaluate(1, 3, R"(ENTRY e {
    x = s32[2] parameter(0)
    ROOT r = s32[2] collective-permute(x), channel_id=1,
      source_target_pairs={{0,1},{1,2}} })"),
               {"{0, 0}", "{0, 1}", "{10, 11}"});
  // Replicas, in each partition.
  ExpectValues(Evaluate(2, 2, R"(ENTRY e {
    x = s32[2] parameter(0)
    ROOT r = s32[2] collective-permute(x), source_target_pairs={{0,1},{1,0}} })"),
               {"{20, 21}", "{30, 31}", "{0, 1}", "{10, 11}"});
  // The first id of a group is the source; who is in none gets zeros.
  ExpectValues(Evaluate(4, 1, R"(ENTRY e {
    x = s32[2] parameter(0)
    ROOT r = s32[2] collective-broadcast(x), replica_groups={{2,0},{1}} })"),
               {"{20, 21}", "{10, 11}", "{20, 21}", "{0, 0}"});
}

TEST(LockstepTest, PermuteInPlace) {
  // Who is no target keeps its output; the others get a slice.
  ExpectValues(Evaluate(1, 3, R"(ENTRY e {
    x = s32[4] parameter(0)
    out = s32[4] constant({7, 7, 7, 7})
    one = s32[] constant(1)
    two = s32[] constant(2)
    from = (s32[]) tuple(one)
    to = (s32[]) tuple(two)
    ROOT r = s32[4] collective-permute(x, out, from, to), channel_id=1,
      source_target_pairs={{0,1},{1,2}}, slice_sizes={{2}} })",
                        4),
               {"{7, 7, 7, 7}", "{7, 7, 1, 2}", "{7, 7, 11, 12}"});
  // Two slices of each of two arrays, the arrays in turns.
  ExpectValues(Evaluate(2, 1, R"(ENTRY e {
    x = s32[4] parameter(0)
    m = s32[2,2] reshape(x)
    a = s32[4] constant({7, 7, 7, 7})
    b = s32[2,2] constant({{8, 8}, {8, 8}})
    z = s32[] constant(0)
    o = s32[] constant(1)
    t = s32[] constant(2)
    in = (s32[4], s32[2,2]) tuple(x, m)
    out = (s32[4], s32[2,2]) tuple(a, b)
    v0 = (s32[]) tuple(z)
    v2 = (s32[]) tuple(t)
    v00 = (s32[], s32[]) tuple(z, z)
    v11 = (s32[], s32[]) tuple(o, o)
    va = ((s32[]), (s32[])) tuple(v0, v2)
    vb = ((s32[], s32[]), (s32[], s32[])) tuple(v00, v11)
    wa = ((s32[]), (s32[])) tuple(v2, v0)
    from = (((s32[]), (s32[])), ((s32[], s32[]), (s32[], s32[]))) tuple(va, vb)
    to = (((s32[]), (s32[])), ((s32[], s32[]), (s32[], s32[]))) tuple(wa, vb)
    ROOT r = (s32[4], s32[2,2]) collective-permute(in, out, from, to),
      source_target_pairs={{0,1},{1,0}}, slice_sizes={{2},{1,2},{1},{1,1}} })",
                        4),
               {"( {12, 7, 10, 11}, { { 10, 11 }, { 8, 13 } } )",
                "( {2, 7, 0, 1}, { { 0, 1 }, { 8, 3 } } )"});
  const char kStart[] = R"(ENTRY e {
    x = s32[4] parameter(0)
    out = s32[4] constant({7, 7, 7, 7})
    i = s32[1] constant({$0})
    id = u32[] partition-id()
    d = s32[] convert(id)
    j = s32[1] reshape($1)
    ps = ((s32[4], s32[4], s32[1], s32[1]), s32[4], u32[], u32[])
      collective-permute-start(x, out, i, j), channel_id=1,
      source_target_pairs={{0,1}}, slice_sizes={{3}}
    ROOT r = s32[4] collective-permute-done(ps) })";
  ExpectValues(Evaluate(1, 2, absl::Substitute(kStart, "1", "i"), 4),
               {"{7, 7, 7, 7}", "{7, 1, 2, 3}"});
  EXPECT_THAT(
      Evaluate(1, 2, absl::Substitute(kStart, "2", "i"), 4).status.message(),
      HasSubstr("%ps: the slice of 3 at [2] is not within the input of 4"));
  EXPECT_THAT(
      Evaluate(1, 2, absl::Substitute(kStart, "1", "d"), 4).status.message(),
      HasSubstr(
          "%ps: source and target disagree about the position in the output"));
}

TEST(LockstepTest, StartAndDone) {
  ExpectValues(Evaluate(2, 1, R"(ENTRY e {
    x = s32[2] parameter(0)
    as = s32[2] all-reduce-start(x), to_apply=add, replica_groups={}
    gs = (s32[2], s32[4]) all-gather-start(x), dimensions={0}, replica_groups={}
    ps = (s32[2], s32[2], u32[], u32[]) collective-permute-start(x),
      source_target_pairs={{0,1}}
    a = s32[2] all-reduce-done(as)
    g = s32[4] all-gather-done(gs)
    p = s32[2] collective-permute-done(ps)
    ROOT t = (s32[2], s32[4], s32[2]) tuple(a, g, p) })"),
               {"( {10, 12}, {0, 1, 10, 11}, {0, 0} )",
                "( {10, 12}, {0, 1, 10, 11}, {0, 1} )"});
  // Wrapped ones.
  ExpectValues(Evaluate(2, 1, R"(
  wrapped { x = s32[4] parameter(0)
    ROOT r = s32[2] reduce-scatter(x), dimensions={0}, to_apply=add,
      replica_groups={} }
  ENTRY e {
    x = s32[4] parameter(0)
    s = ((s32[4]), s32[2], u32[]) async-start(x), calls=wrapped
    ROOT d = s32[2] async-done(s), calls=wrapped })",
                        4),
               {"{10, 12}", "{14, 16}"});
}

TEST(LockstepTest, CollectivesInLoops) {
  // All devices make 3 trips; each adds what the neighbor has.
  ExpectValues(Evaluate(1, 2, R"(
  cond { s = (s32[], s32[2]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    ROOT c = pred[] compare(i, s32[] constant(3)), direction=LT }
  body { s = (s32[], s32[2]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    v = s32[2] get-tuple-element(s), index=1
    n = s32[] add(i, s32[] constant(1))
    p = s32[2] collective-permute(v), channel_id=1,
      source_target_pairs={{0,1},{1,0}}
    w = s32[2] add(v, p)
    ROOT t = (s32[], s32[2]) tuple(n, w) }
  ENTRY e {
    x = s32[2] parameter(0)
    t = (s32[], s32[2]) tuple(s32[] constant(0), x)
    l = (s32[], s32[2]) while(t), condition=cond, body=body
    ROOT r = s32[2] get-tuple-element(l), index=1 })"),
               {"{40, 48}", "{40, 48}"});
}

// Devices may go different ways as long as those that meet are there.
TEST(LockstepTest, BranchesOfWholeGroups) {
  ExpectValues(Evaluate(1, 4, R"(
  low { x = s32[2] parameter(0)
    ROOT r = s32[2] all-reduce(x), to_apply=add, channel_id=1,
      replica_groups={{0,1},{2,3}}, use_global_device_ids=true }
  high { x = s32[2] parameter(0) ROOT r = s32[2] negate(x) }
  ENTRY e {
    x = s32[2] parameter(0)
    id = u32[] partition-id()
    p = pred[] compare(id, u32[] constant(2)), direction=LT
    ROOT r = s32[2] conditional(p, x, x), true_computation=low,
      false_computation=high })"),
               {"{10, 12}", "{10, 12}", "{-20, -21}", "{-30, -31}"});
}

TEST(LockstepTest, DeadlocksNameBothPositions) {
  const char kText[] = R"(
  yes { x = s32[2] parameter(0)
    ROOT r = s32[2] all-reduce(x), to_apply=add, channel_id=1,
      replica_groups={{0,1}}, use_global_device_ids=true }
  no { x = s32[2] parameter(0) ROOT $0 }
  ENTRY e {
    x = s32[2] parameter(0)
    id = u32[] partition-id()
    p = pred[] compare(id, u32[] constant(0)), direction=EQ
    ROOT c = s32[2] conditional(p, x, x), true_computation=yes,
      false_computation=no })";
  Outcome done =
      Evaluate(1, 2, absl::Substitute(kText, "n = s32[2] negate(x)"));
  EXPECT_EQ(done.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      done.status.message(),
      StartsWith("deadlock: device 0 (replica 0, partition 0) waits at %r"));
  EXPECT_THAT(done.status.message(), HasSubstr("in yes"));
  EXPECT_THAT(
      done.status.message(),
      HasSubstr("for device 1 (replica 0, partition 1), which is done"));
  Outcome elsewhere = Evaluate(
      1, 2,
      absl::Substitute(kText,
                       "other = s32[2] collective-permute(x), channel_id=2, "
                       "source_target_pairs={{0,1},{1,0}}"));
  EXPECT_THAT(elsewhere.status.message(),
              HasSubstr("which is at %other in no"));
}

TEST(LockstepTest, SendAndRecv) {
  // Around the ring of partitions, and 0 to 1 only.
  const char kText[] = R"(ENTRY e {
    x = s32[2] parameter(0)
    t = token[] after-all()
    s = (s32[2], u32[], token[]) send(x, t), channel_id=3,
      frontend_attributes={_xla_send_recv_source_target_pairs="$0"}
    sd = token[] send-done(s), channel_id=3
    r = (s32[2], u32[], token[]) recv(t), channel_id=3,
      frontend_attributes={_xla_send_recv_source_target_pairs="$0"}
    rd = (s32[2], token[]) recv-done(r), channel_id=3
    ROOT v = s32[2] get-tuple-element(rd), index=0 })";
  ExpectValues(Evaluate(1, 3, absl::Substitute(kText, "{{0,1},{1,2},{2,0}}")),
               {"{20, 21}", "{0, 1}", "{10, 11}"});
  ExpectValues(Evaluate(1, 3, absl::Substitute(kText, "{{0,1}}")),
               {"{0, 0}", "{0, 1}", "{0, 0}"});
  // Without pairs: from the other device.
  ExpectValues(Evaluate(1, 2, R"(ENTRY e {
    x = s32[2] parameter(0)
    t = token[] after-all()
    s = (s32[2], u32[], token[]) send(x, t), channel_id=3
    sd = token[] send-done(s), channel_id=3
    r = (s32[2], u32[], token[]) recv(t), channel_id=3
    rd = (s32[2], token[]) recv-done(r), channel_id=3
    ROOT v = s32[2] get-tuple-element(rd), index=0 })"),
               {"{10, 11}", "{0, 1}"});
  Outcome nobody = Evaluate(1, 2, R"(ENTRY e {
    t = token[] after-all()
    r = (s32[2], u32[], token[]) recv(t), channel_id=3
    rd = (s32[2], token[]) recv-done(r), channel_id=3
    ROOT v = s32[2] get-tuple-element(rd), index=0 })");
  EXPECT_THAT(nobody.status.message(),
              HasSubstr("for a message that is never sent"));
}

TEST(LockstepTest, HostQueues) {
  auto module = ParseAndReturnUnverifiedModule(R"(HloModule m, num_partitions=2
  ENTRY e {
    t = token[] after-all()
    in = (s32[2], token[]) infeed(t)
    x = s32[2] get-tuple-element(in), index=0
    u = token[] get-tuple-element(in), index=1
    n = s32[2] negate(x)
    out = token[] outfeed(n, u), outfeed_shape=s32[2]
    r = (s32[2], u32[], token[]) recv(t), channel_id=5, is_host_transfer=true
    rd = (s32[2], token[]) recv-done(r), channel_id=5, is_host_transfer=true
    y = s32[2] get-tuple-element(rd), index=0
    s = (s32[2], u32[], token[]) send(y, t), channel_id=6, is_host_transfer=true
    sd = token[] send-done(s), channel_id=6, is_host_transfer=true
    ROOT z = s32[2] add(x, y) })");
  ASSERT_TRUE(module.ok()) << module.status();
  LockstepEvaluator evaluator(**module);
  for (int32_t d = 0; d < 2; ++d) {
    ASSERT_TRUE(
        evaluator.PushInfeed(d, LiteralUtil::CreateR1<int32_t>({d, 1})).ok());
    ASSERT_TRUE(
        evaluator
            .PushHostMessage(d, 5, LiteralUtil::CreateR1<int32_t>({10, 20}))
            .ok());
  }
  auto results = evaluator.Run({{}, {}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[1], LiteralUtil::CreateR1<int32_t>({11, 21}));
  auto outfeed = evaluator.TakeOutfeed(1);
  ASSERT_TRUE(outfeed.ok());
  ASSERT_EQ(outfeed->size(), 1);
  EXPECT_EQ((*outfeed)[0], LiteralUtil::CreateR1<int32_t>({-1, -1}));
  auto sent = evaluator.TakeHostMessages(0, 6);
  ASSERT_TRUE(sent.ok());
  ASSERT_EQ(sent->size(), 1);
  EXPECT_EQ((*sent)[0], LiteralUtil::CreateR1<int32_t>({10, 20}));
  // All are taken now.
  auto again = evaluator.Run({{}, {}});
  EXPECT_THAT(again.status().message(),
              HasSubstr("%in: the infeed of device 0 is empty"));
  ASSERT_TRUE(evaluator.PushInfeed(0, LiteralUtil::CreateR0<float>(1)).ok());
  EXPECT_THAT(evaluator.Run({{}, {}}).status().message(),
              HasSubstr("%in: expected s32[2], found f32[]"));
}

// The module's fault: its shapes are more static than sizes at run time.
TEST(LockstepTest, FewerElementsThanTheShapeHas) {
  for (const auto& [result, message] :
       {std::pair("s32[2] all-reduce(d)",
                  "was given s32[1], but its shape is s32[2]"),
        std::pair("(s32[2], s32[2]) all-reduce(x, d)",
                  "was given (s32[2], s32[1]), but its shape is (s32[2], "
                  "s32[2])")}) {
    const Outcome outcome = Evaluate(1, 2,
                                     absl::StrCat(R"(ENTRY e {
    x = s32[2] parameter(0)
    n = s32[] constant(1)
    d = s32[<=2] set-dimension-size(x, n), dimensions={0}
    ROOT r = )",
                                                  result, R"(,
      to_apply=add, replica_groups={} })"));
    EXPECT_TRUE(absl::IsInvalidArgument(outcome.status)) << outcome.status;
    EXPECT_THAT(outcome.status.message(), HasSubstr(message));
  }
}

TEST(LockstepTest, BadCollectives) {
  auto error = [](absl::string_view instruction) {
    return std::string(
        Evaluate(1, 2,
                 absl::StrCat("ENTRY e { x = s32[2] parameter(0)\n"
                              "ROOT r = ",
                              instruction, "}"))
            .status.message());
  };
  EXPECT_THAT(error("s32[2] all-reduce(x), to_apply=add, channel_id=1, "
                    "replica_groups={{0,2}}, use_global_device_ids=true"),
              HasSubstr("%r: id 2 in a group; there are 2"));
  EXPECT_THAT(error("s32[2] all-reduce(x), to_apply=add, channel_id=1, "
                    "replica_groups={{0}}, use_global_device_ids=true"),
              HasSubstr("%r: the groups hold 1 of 2 ids"));
  EXPECT_THAT(error("s32[2] all-reduce(x), to_apply=add, channel_id=1, "
                    "replica_groups={{0,0}}, use_global_device_ids=true"),
              HasSubstr("%r: id 0 is in two groups"));
  EXPECT_THAT(error("s32[2] collective-permute(x), channel_id=1, "
                    "source_target_pairs={{0,1},{0,0}}"),
              HasSubstr("%r: source 0 is in two pairs"));
  EXPECT_THAT(error("s32[2] collective-permute(x), channel_id=1, "
                    "source_target_pairs={{0,1},{1,1}}"),
              HasSubstr("%r: target 1 is in two pairs"));
  EXPECT_THAT(error("s32[2] collective-permute(x), channel_id=1, "
                    "source_target_pairs={{0,7}}"),
              HasSubstr("%r: pair {0,7}; there are 2 ids"));
  EXPECT_THAT(error("s32[2] all-to-all(x), channel_id=1, replica_groups={{0}}"),
              HasSubstr("%r: the device is in none of its groups"));
}

}  // namespace
}  // namespace xla
