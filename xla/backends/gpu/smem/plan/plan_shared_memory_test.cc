#include "xla/backends/gpu/smem/plan/plan_shared_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/backends/gpu/kernel_ir/kir_printer.h"
#include "xla/backends/gpu/kernel_ir/race_checker.h"
#include "xla/backends/gpu/kernel_ir/random_kernel.h"
#include "xla/backends/gpu/smem/check/smem_plan_checker.h"
#include "xla/backends/gpu/smem/plan/register_slots.h"
#include "xla/backends/gpu/smem/plan/smem_flow.h"
#include "xla/backends/gpu/smem/plan/smem_footprint.h"
#include "xla/backends/gpu/smem/plan/smem_hazard.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/backends/gpu/smem/smem_plan.h"

namespace xla::gpu {
namespace {

kir::Kernel Parse(absl::string_view body) {
  absl::StatusOr<kir::Kernel> kernel = kir::ParseKernel(
      absl::StrCat("kernel @k {\n  launch grid(1,1,1) block(64,1,1)\n"
                   "  param %in : global f32[64]\n"
                   "  param %out : global f32[64]\n",
                   body, "}\n"));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *kernel;
}

std::string Message(absl::string_view body) {
  return std::string(CheckRaces(Parse(body)).message());
}

// Pairs with a block's barrier between them need no arc; a barrier of a warp is
// not enough.
TEST(SmemHazardsTest, BarriersOrderWhateverLiesBetween) {
  const auto arcs = [](absl::string_view sync) {
    const kir::Kernel kernel =
        Parse(absl::StrCat("alloc %A : shared f32[64]\n"
                           "%A[tid.x] = copy(%in[tid.x])\n"
                           "sync block\n"
                           "%A[63-tid.x] = copy(%in[tid.x])\n",
                           sync, "%out[tid.x] = copy(%A[tid.x])\n"));
    const absl::StatusOr<SmemFlow> flow = SmemFlow::Create(kernel);
    EXPECT_TRUE(flow.ok()) << flow.status();
    const SmemFootprints footprints(*flow);
    std::vector<std::pair<int, int>> unordered;
    return SmemHazards(*flow, footprints).WithinBuffers(&unordered).size();
  };
  EXPECT_EQ(arcs("sync block\n"), 0);
  EXPECT_EQ(arcs(""), 1);
  EXPECT_EQ(arcs("sync warp\n"), 1);
}

// Arcs between buffers %A and %B: from A to B, and from B to A.
std::pair<int, int> ArcsBetween(absl::string_view body, OrderedPairs ordered) {
  const kir::Kernel kernel = Parse(absl::StrCat(
      "alloc %A : shared f32[64]\nalloc %B : shared f32[64]\n", body));
  const absl::StatusOr<SmemFlow> flow = SmemFlow::Create(kernel);
  EXPECT_TRUE(flow.ok()) << flow.status();
  const SmemFootprints footprints(*flow);
  const kir::BufferId a = *kernel.FindBuffer("A"), b = *kernel.FindBuffer("B");
  std::pair<int, int> arcs = {0, 0};
  SmemHazards(*flow, footprints)
      .BetweenAnywhere(a, b, ordered, [&](const SmemArc& arc) {
        ++(flow->accesses()[arc.from].buffer == a ? arcs.first : arcs.second);
        return true;
      });
  return arcs;
}

// Between two buffers: the same, also where the barrier stands in a loop that
// holds but one of the accesses; who asks for the first gets one in all.
TEST(SmemHazardsTest, PairsInOrderHaveNoArcs) {
  const auto arcs = [](absl::string_view sync, OrderedPairs ordered) {
    return ArcsBetween(absl::StrCat("for %i : serial [0, 1) {\n"
                                    "%A[tid.x] = copy(%in[tid.x])\n"
                                    "%A[63-tid.x] = copy(%in[tid.x])\n",
                                    sync,
                                    "}\n"
                                    "%B[tid.x] = copy(%in[tid.x])\n"
                                    "%B[63-tid.x] = copy(%in[tid.x])\n"),
                       ordered);
  };
  using Arcs = std::pair<int, int>;
  EXPECT_EQ(arcs("sync block\n", OrderedPairs::kSkip), Arcs(0, 0));
  EXPECT_EQ(arcs("sync block\n", OrderedPairs::kFirst), Arcs(1, 0));
  EXPECT_EQ(arcs("", OrderedPairs::kSkip), Arcs(4, 0));
  EXPECT_EQ(arcs("", OrderedPairs::kFirst), Arcs(4, 0));
}

// A barrier before the access, in a loop that holds it alone, counts as well;
// one behind it, or before the other access, does not.
TEST(SmemHazardsTest, BarriersOnTheWayIntoLoopsOrder) {
  const auto arcs = [](absl::string_view before_a, absl::string_view before_b,
                       absl::string_view after_b) {
    return ArcsBetween(absl::StrCat("for %i : serial [0, 1) {\n", before_a,
                                    "%A[tid.x] = copy(%in[tid.x])\n}\n"
                                    "for %j : serial [0, 1) {\n",
                                    before_b, "%B[tid.x] = copy(%in[tid.x])\n",
                                    after_b, "}\n"),
                       OrderedPairs::kSkip)
        .first;
  };
  const char* sync = "sync block\n";
  EXPECT_EQ(arcs("", sync, ""), 0);
  EXPECT_EQ(arcs(sync, "", ""), 1);
  EXPECT_EQ(arcs("", "", sync), 1);
}

// Around a loop, each direction needs a barrier of its own.
TEST(SmemHazardsTest, BarriersInLoopsOrderOneWay) {
  const auto arcs = [](absl::string_view before, absl::string_view between,
                       absl::string_view after) {
    const std::pair<int, int> arcs = ArcsBetween(
        absl::StrCat("for %i : serial [0, 4) {\n", before,
                     "%A[tid.x] = copy(%in[tid.x])\n", between,
                     "%B[63-tid.x] = copy(%in[tid.x])\n", after, "}\n"),
        OrderedPairs::kSkip);
    return std::pair<bool, bool>(arcs.first > 0, arcs.second > 0);
  };
  using Arcs = std::pair<bool, bool>;
  const char* sync = "sync block\n";
  EXPECT_EQ(arcs("", sync, sync), Arcs(false, false));
  EXPECT_EQ(arcs(sync, sync, ""), Arcs(false, false));
  EXPECT_TRUE(arcs("", sync, "").second);
  EXPECT_TRUE(arcs("", "", sync).first);
  EXPECT_TRUE(arcs(sync, "", "").first);
}

// Who describes an order hears of both directions, though a pair before has
// told of one.
TEST(SmemHazardsTest, FirstArcsAreThoseOfEachDirection) {
  const std::pair<int, int> arcs = ArcsBetween(
      "%A[tid.x] = copy(%in[tid.x])\n"
      "sync block\n"
      "for %i : serial [0, 4) {\n"
      "%A[63-tid.x] = copy(%in[tid.x])\n"
      "sync block\n"
      "%B[tid.x] = copy(%in[tid.x])\n"
      "sync block\n"
      "}\n",
      OrderedPairs::kFirst);
  EXPECT_GT(arcs.first, 0);
  EXPECT_GT(arcs.second, 0);
}

// No barrier waits for transfers.
TEST(SmemHazardsTest, TransfersAreNotInOrder) {
  const auto arcs = [](absl::string_view a, absl::string_view b) {
    return ArcsBetween(
               absl::StrCat("%A[tid.x] = copy(%in[tid.x])", a,
                            "\nsync block\n%B[tid.x] = copy(%in[tid.x])", b,
                            "\n"),
               OrderedPairs::kSkip)
        .first;
  };
  const char* async = " {async=cp}";
  EXPECT_EQ(arcs("", ""), 0);
  EXPECT_EQ(arcs(async, ""), 1);
  EXPECT_EQ(arcs("", async), 1);
}

// Elements of two buffers meet where their addresses say, up to the last ones.
TEST(SmemFootprintsTest, ElementsMeetAtTheirAddresses) {
  const auto meet = [](absl::string_view a, int64_t address_a,
                       absl::string_view b, int64_t address_b) {
    const kir::Kernel kernel = Parse(absl::StrCat(
        "alloc %A : shared f32[64]\nalloc %B : shared f32[64]\n%A[", a,
        "] = copy(%in[tid.x])\n%B[", b, "] = copy(%in[tid.x])\n"));
    const absl::StatusOr<SmemFlow> flow = SmemFlow::Create(kernel);
    EXPECT_TRUE(flow.ok()) << flow.status();
    const SmemFootprints footprints(*flow);
    int of_a = -1, of_b = -1;
    for (int i = 0; i < static_cast<int>(flow->accesses().size()); ++i) {
      const kir::BufferId buffer = flow->accesses()[i].buffer;
      if (buffer == *kernel.FindBuffer("A")) of_a = i;
      if (buffer == *kernel.FindBuffer("B")) of_b = i;
    }
    const ThreadConflict conflict =
        footprints.Between(of_a, address_a, of_b, address_b);
    EXPECT_EQ(footprints.Between(of_b, address_b, of_a, address_a), conflict);
    return conflict;
  };
  const char* rotated = "(tid.x+32)%64";
  EXPECT_EQ(meet("tid.x", 0, "tid.x", 0), ThreadConflict::kSameThread);
  EXPECT_EQ(meet("tid.x", 0, "tid.x", 128), ThreadConflict::kBlock);
  EXPECT_EQ(meet("tid.x", 0, rotated, 128), ThreadConflict::kSameThread);
  EXPECT_EQ(meet("tid.x", 128, rotated, 0), ThreadConflict::kSameThread);
  EXPECT_EQ(meet("tid.x", 0, "tid.x", 256), ThreadConflict::kApart);
  // The last element of A is that of two threads.
  EXPECT_EQ(meet("min(tid.x+1, 63)", 0, "tid.x", 4), ThreadConflict::kWarp);
}

TEST(RegisterSlotsTest, ArraysOutsideOfRegistersHaveNoLives) {
  const kir::Kernel kernel = Parse(
      "alloc %A : shared f32[64]\n"
      "alloc %r : local f32[4]\n"
      "%r[0] = copy(%in[tid.x])\n"
      "%A[tid.x] = copy(%r[0])\n"
      "sync block\n"
      "%out[63-tid.x] = copy(%A[tid.x])\n");
  const std::vector<RegisterLife> lives = ComputeRegisterLives(kernel);
  ASSERT_EQ(lives.size(), kernel.buffers.size());
  for (size_t b = 0; b < lives.size(); ++b) {
    EXPECT_EQ(lives[b].first <= lives[b].last, kernel.buffers[b].name == "r")
        << kernel.buffers[b].name;
  }
}

TEST(RaceCheckerTest, SeesMissingBarriers) {
  EXPECT_EQ(Message("alloc %A : shared f32[64] addr(0)\n"
                    "%A[tid.x] = copy(%in[tid.x])\n"
                    "sync block\n"
                    "%out[tid.x] = copy(%A[63-tid.x])\n"),
            "");
  EXPECT_EQ(Message("alloc %A : shared f32[64] addr(0)\n"
                    "%A[tid.x] = copy(%in[tid.x])\n"
                    "sync warp\n"
                    "%out[tid.x] = copy(%A[tid.x / 32 * 32 + 31 - tid.x % 32])"
                    "\n"),
            "");
  for (const char* sync : {"", "sync warp\n", "sync block group = load\n"}) {
    EXPECT_TRUE(absl::StrContains(
        Message(absl::StrCat("alloc %A : shared f32[64] addr(0)\n"
                             "%A[tid.x] = copy(%in[tid.x])\n",
                             sync, "%out[tid.x] = copy(%A[63-tid.x])\n")),
        "no barrier between them"));
  }
  // The write of the next iteration.
  EXPECT_TRUE(absl::StrContains(Message("alloc %A : shared f32[64] addr(0)\n"
                                        "for %i : serial [0, 2) {\n"
                                        "  %A[tid.x] = copy(%in[tid.x])\n"
                                        "  sync block\n"
                                        "  %out[tid.x] = copy(%A[63-tid.x])\n"
                                        "}\n"),
                                "write after read"));
}

TEST(RaceCheckerTest, SeesBytesOfAnotherBuffer) {
  EXPECT_TRUE(absl::StrContains(Message("alloc %A : shared f32[64] addr(0)\n"
                                        "alloc %B : shared f32[64] addr(128)\n"
                                        "%A[tid.x] = copy(%in[tid.x])\n"
                                        "sync block\n"
                                        "%B[tid.x] = copy(%in[tid.x])\n"
                                        "sync block\n"
                                        "%out[tid.x] = copy(%A[tid.x])\n"),
                                "the bytes hold the other buffer"));
}

TEST(RaceCheckerTest, KnowsTransfersAndProxies) {
  const absl::string_view load =
      "alloc %A : shared f32[64] addr(0)\n"
      "%A[tid.x] = copy(%in[tid.x]) {async=cp}\n"
      "commit cp\n";
  const absl::string_view use = "%out[tid.x] = copy(%A[63-tid.x])\n";
  EXPECT_EQ(Message(absl::StrCat(load, "wait cp keep=0\nsync block\n", use)),
            "");
  EXPECT_TRUE(absl::StrContains(
      Message(absl::StrCat(load, "sync block\nwait cp keep=0\n", use)),
      "no barrier between them"));
  EXPECT_TRUE(absl::StrContains(
      Message(absl::StrCat(load, "sync block\n", use)), "under way"));
  auto store = [](absl::string_view between) {
    return absl::StrCat("alloc %A : shared f32[64] addr(0)\n",
                        "%A[tid.x] = copy(%in[tid.x])\n", between,
                        "for %b : bulk [0, 64) {\n"
                        "  %out[b] = copy(%A[b]) {async=bulk_store}\n"
                        "}\n");
  };
  EXPECT_EQ(Message(store("fence async_proxy\nsync block\n")), "");
  EXPECT_TRUE(absl::StrContains(Message(store("sync block\n")), "proxy fence"));
}

TEST(RaceCheckerTest, KnowsArriveAndWait) {
  auto kernel = [](absl::string_view first, absl::string_view second) {
    return absl::StrCat(
        "alloc %b : shared u64[1] addr(256)\n"
        "alloc %A : shared f32[64] addr(0)\n"
        "%A[tid.x] = copy(%in[tid.x])\n",
        first, "%out[tid.x] = copy(%in[tid.x])\n", second,
        "%out[tid.x] = copy(%A[63-tid.x])\n");
  };
  EXPECT_EQ(Message(kernel("arrive %b\n", "wait %b\n")), "");
  EXPECT_TRUE(absl::StrContains(Message(kernel("", "arrive %b\n")),
                                "no barrier between them"));
}

TEST(RaceCheckerTest, ComputesValues) {
  const kir::Kernel kernel = Parse(
      "alloc %r : local f32[1]\n"
      "alloc %s : local f32[1]\n"
      "%r[0] = copy(%in[tid.x])\n"
      "%s[0] = reduce.add(%r[0]) {sync}\n"
      "%out[tid.x] = sub(%s[0], %r[0])\n");
  std::vector<double> in(64);
  for (int i = 0; i < 64; ++i) in[i] = i;
  absl::StatusOr<KernelRun> run = RunKernel(kernel, {in});
  ASSERT_TRUE(run.ok()) << run.status();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(run->params[1][i], 2016 - i);
}

TEST(RaceCheckerTest, SaysWhatCannotRun) {
  kir::Kernel kernel = Parse(
      "for %x : tidx [0, 5) {\n"
      "  sync block\n"
      "}\n");
  EXPECT_TRUE(absl::IsFailedPrecondition(RunKernel(kernel).status()));
  EXPECT_TRUE(absl::IsOutOfRange(
      RunKernel(Parse("%out[tid.x + 1] = copy(%in[tid.x])\n")).status()));
}

bool Delete(std::vector<kir::Statement>& body, int target, int& position) {
  for (size_t i = 0; i < body.size(); ++i) {
    if (++position == target) {
      body.erase(body.begin() + i);
      return true;
    }
    if (kir::Loop* loop = body[i].As<kir::Loop>()) {
      if (Delete(loop->body, target, position)) return true;
      ++position;
    } else if (kir::If* branch = body[i].As<kir::If>()) {
      if (Delete(branch->then_body, target, position) ||
          Delete(branch->else_body, target, position)) {
        return true;
      }
    }
  }
  return false;
}

// The other way at every branch whose condition is a number.
void TurnBranches(std::vector<kir::Statement>& body) {
  for (kir::Statement& statement : body) {
    if (kir::Loop* loop = statement.As<kir::Loop>()) {
      TurnBranches(loop->body);
    } else if (kir::If* branch = statement.As<kir::If>()) {
      if (std::optional<int64_t> value = branch->predicate.AsConstant()) {
        branch->predicate = AffineExpr(*value == 0 ? 1 : 0);
      }
      TurnBranches(branch->then_body);
      TurnBranches(branch->else_body);
    }
  }
}

// Whether a kernel without one of its barriers has a race: as it runs, or,
// since plans do not rely on conditions, one more than the whole kernel when
// branches go the other way.
bool BarrierIsMissed(kir::Kernel kernel, kir::Kernel mutant) {
  if (!CheckRaces(mutant).ok()) return true;
  TurnBranches(kernel.body);
  TurnBranches(mutant.body);
  absl::StatusOr<KernelRun> whole = RunKernel(kernel);
  absl::StatusOr<KernelRun> run = RunKernel(mutant);
  if (!whole.ok() || !run.ok()) return false;
  return absl::c_any_of(run->races, [&](const std::string& race) {
    return !absl::c_linear_search(whole->races, race);
  });
}

// Plans of random kernels have no race, and lose that with any barrier that was
// put in. Few here; `bazel run` this test with KIR_RANDOM_KERNELS=10000 for
// more.
TEST(RaceCheckerTest, PlansOfRandomKernelsAreRight) {
  const char* variable = std::getenv("KIR_RANDOM_KERNELS");
  const int kernels = variable == nullptr ? 25 : std::atoi(variable);
  const GpuDevice device = FindGpuDevice("sm_90").value();
  int mutants = 0, not_missed = 0, reuse_mutants = 0, small = 0, optimal = 0,
      failures = 0;
  double ratio = 0;
  for (int seed = 0; seed < kernels && failures < 5; ++seed) {
    const kir::Kernel kernel = MakeRandomKernel(seed);
    SmemPlanOptions options;
    if (seed % 3 == 0) {
      options.reuse_syncs = SmemPlanOptions::ReuseSyncs::kMinBytes;
    }
    absl::StatusOr<SmemPlan> plan = PlanSharedMemory(kernel, device, options);
    ASSERT_TRUE(plan.ok()) << seed << ": " << plan.status();
    const absl::Status status = CheckRaces(plan->planned);
    EXPECT_TRUE(status.ok()) << status << "\n"
                             << kir::PrintKernel(plan->planned);
    failures += !status.ok();
    const absl::Status conditions = CheckSmemPlan(*plan);
    EXPECT_TRUE(conditions.ok()) << conditions << "\n"
                                 << kir::PrintKernel(plan->planned);
    failures += !conditions.ok();
    EXPECT_GE(plan->total_bytes, plan->lower_bound_bytes);
    ratio += static_cast<double>(plan->total_bytes) /
             static_cast<double>(std::max<int64_t>(1, plan->lower_bound_bytes));
    if (plan->buffers.size() <= 8) {
      ++small;
      optimal += plan->optimum_bytes.has_value() &&
                 *plan->optimum_bytes == plan->total_bytes;
    }
    for (const SmemSync& sync : plan->syncs) {
      if (sync.kind != SmemSync::Kind::kBlock &&
          sync.kind != SmemSync::Kind::kWarp) {
        continue;
      }
      SmemPlan mutant = *plan;
      int position = 0;
      ASSERT_TRUE(Delete(mutant.planned.body, sync.position, position));
      ++mutants;
      // Races inside one buffer are not what it checks.
      if (sync.reason == SmemSync::Reason::kReuse) {
        ++reuse_mutants;
        EXPECT_FALSE(CheckSmemPlan(mutant).ok())
            << sync.position << " (" << sync.why << ")\n"
            << kir::PrintKernel(plan->planned);
      }
      if (!BarrierIsMissed(plan->planned, mutant.planned)) {
        ++not_missed;
        std::printf("seed %d without %s at %d (%s): no race seen\n", seed,
                    std::string(SmemSyncKindName(sync.kind)).c_str(),
                    sync.position, sync.why.c_str());
      }
    }
  }
  EXPECT_GE(optimal, small * 95 / 100);
  // A barrier may stand for a way through branches and loops that no run takes.
  EXPECT_LE(not_missed, mutants / 200);
  RecordProperty("mutants", mutants);
  std::printf(
      "%d kernels; %d of the %d of up to 8 buffers at the optimum; %d mutants, "
      "%d of barriers for reuse, %d not missed; bytes / bound %.3f\n",
      kernels, optimal, small, mutants, reuse_mutants, not_missed,
      ratio / std::max(1, kernels));
}

SmemPlan Planned(absl::string_view body) {
  SmemPlan plan;
  plan.planned = Parse(body);
  plan.total_bytes = 1024;
  return plan;
}

TEST(SmemPlanCheckerTest, SeesWhatIsWrong) {
  auto kernel = [](absl::string_view between, absl::string_view read) {
    return Planned(
        absl::StrCat("alloc %A : shared f32[64] addr(0)\n"
                     "alloc %B : shared f32[64] addr(0)\n"
                     "%A[tid.x] = copy(%in[tid.x])\n"
                     "sync block\n"
                     "%out[tid.x] = copy(%A[63-tid.x])\n",
                     between, "%B[tid.x] = copy(%in[tid.x])\n", read));
  };
  for (const char* between :
       {"sync block\n", "for %b : bidx [0, 1) {\nsync block\n}\n"}) {
    EXPECT_EQ(CheckSmemPlan(kernel(between, "")), absl::OkStatus()) << between;
  }
  // The only block is none of the loop's.
  for (const char* between : {"", "sync warp\n", "sync block group = load\n",
                              "if divergent (tid.x) {\nsync block\n}\n",
                              "for %k : serial [0, 0) {\nsync block\n}\n",
                              "for %b : bidx [1, 2) {\nsync block\n}\n"}) {
    EXPECT_TRUE(
        absl::StrContains(CheckSmemPlan(kernel(between, "")).message(), "P2"))
        << between;
  }
  EXPECT_TRUE(
      absl::StrContains(CheckSmemPlan(kernel("sync block\n",
                                             "sync block\n"
                                             "%out[tid.x] = copy(%A[tid.x])\n"))
                            .message(),
                        "P3"));
  SmemPlan low = kernel("sync block\n", "");
  low.buffers.emplace_back();
  low.buffers[0].buffer = *low.planned.FindBuffer("A");
  EXPECT_EQ(CheckSmemPlan(low), absl::OkStatus());
  low.total_bytes = 255;
  EXPECT_TRUE(absl::StrContains(CheckSmemPlan(low).message(), "P1"));
}

TEST(SmemPlanCheckerTest, FollowsLoops) {
  // B of one iteration and A of the next.
  auto kernel = [](absl::string_view end) {
    return Planned(
        absl::StrCat("alloc %A : shared f32[64] addr(0)\n"
                     "alloc %B : shared f32[64] addr(0)\n"
                     "for %i : serial [0, 4) {\n"
                     "%A[tid.x] = copy(%in[tid.x])\n"
                     "sync block\n"
                     "%out[tid.x] = copy(%A[63-tid.x])\n"
                     "sync block\n"
                     "%B[tid.x] = copy(%in[tid.x])\n"
                     "sync block\n"
                     "%out[tid.x] = copy(%B[63-tid.x])\n",
                     end, "}\n"));
  };
  EXPECT_EQ(CheckSmemPlan(kernel("sync block\n")), absl::OkStatus());
  EXPECT_TRUE(absl::StrContains(CheckSmemPlan(kernel("")).message(),
                                "of a later iteration of %i"));
}

// A is written again on the way from the first B to a read, not on that from
// the second.
TEST(SmemPlanCheckerTest, AsksForEachWay) {
  auto kernel = [](absl::string_view again) {
    return Planned(
        absl::StrCat("alloc %A : shared f32[64] addr(0)\n"
                     "alloc %B : shared f32[64] addr(0)\n"
                     "%B[tid.x] = copy(%in[tid.x])\n"
                     "sync block\n"
                     "%A[tid.x] = copy(%in[tid.x])\n"
                     "sync block\n"
                     "%out[tid.x] = copy(%A[63-tid.x])\n"
                     "sync block\n"
                     "%B[tid.x] = copy(%in[tid.x])\n"
                     "sync block\n",
                     again, "%out[tid.x] = copy(%A[63-tid.x])\n"));
  };
  EXPECT_TRUE(absl::StrContains(CheckSmemPlan(kernel("")).message(), "P3"));
  EXPECT_EQ(CheckSmemPlan(kernel("%A[tid.x] = copy(%in[tid.x])\n"
                                 "sync block\n")),
            absl::OkStatus());
}

// Only behind the barrier, not from where the statement around it begins.
TEST(SmemPlanCheckerTest, FindsBarriersInsideOfStatements) {
  auto kernel = [](absl::string_view before, absl::string_view after) {
    return Planned(
        absl::StrCat("alloc %A : shared f32[64] addr(0)\n"
                     "alloc %B : shared f32[64] addr(0)\n"
                     "%A[tid.x] = copy(%in[tid.x])\n"
                     "sync block\n"
                     "for %j : serial [0, 1) {\n"
                     "%out[tid.x] = copy(%A[63-tid.x])\n"
                     "}\n"
                     "for %k : serial [0, 1) {\n",
                     before, "sync block\n", after, "}\n"));
  };
  const char* write = "%B[tid.x] = copy(%in[tid.x])\n";
  EXPECT_EQ(CheckSmemPlan(kernel("", write)), absl::OkStatus());
  EXPECT_TRUE(
      absl::StrContains(CheckSmemPlan(kernel(write, "")).message(), "P2"));
}

// A barrier does not wait for copies, and fences no proxy.
TEST(SmemPlanCheckerTest, BarriersDoNotEndCopies) {
  auto kernel = [](absl::string_view write, absl::string_view between,
                   absl::string_view again) {
    return Planned(
        absl::StrCat("alloc %A : shared f32[64] addr(0)\n"
                     "alloc %B : shared f32[64] addr(0)\n",
                     write, between, again));
  };
  const char* copy = "%A[tid.x] = copy(%in[tid.x]) {async=cp}\n";
  const char* write = "%B[tid.x] = copy(%in[tid.x])\n";
  const char* store = "%out[tid.x] = copy(%B[63-tid.x]) {async=bulk_store}\n";
  EXPECT_TRUE(absl::StrContains(
      CheckSmemPlan(kernel(copy, "sync block\n", write)).message(),
      "no wait or fence"));
  EXPECT_EQ(CheckSmemPlan(
                kernel(copy, "commit cp\nwait cp keep=0\nsync block\n", write)),
            absl::OkStatus());
  EXPECT_TRUE(absl::StrContains(
      CheckSmemPlan(kernel("%A[tid.x] = copy(%in[tid.x])\nsync block\n",
                           absl::StrCat(write, "sync block\n"), store))
          .message(),
      "no wait or fence"));
}

}  // namespace
}  // namespace xla::gpu
