// The checkers see what is wrong.

#include "xla/hlo/analysis/buffers/buffer_assignment_checker.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/buffers/buffer_assigner_test_base.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/memory_replay.h"

namespace xla {
namespace {

using BufferAssignmentCheckerTest = BufferAssignerTestBase;

TEST_F(BufferAssignmentCheckerTest, CheckerSeesOverlap) {
  Assign(kLoop);
  BufferAssignment& assignment = *assignment_;
  const auto& dataflow = assignment.dataflow_analysis();
  const HloValue& t1 = dataflow.GetValueDefinedAt(Find("t1"));
  // A slice cannot be written over what it is cut from.
  const HloValue& y = dataflow.GetValueDefinedAt(Find("y"));
  assignment.AddAssignment(assignment.GetMutableAllocation(Slice("t1").index()),
                           y, Slice("t1").offset());
  const absl::Status status = CheckBufferAssignment(assignment, &alias_info_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(status.message().find(t1.ToShortString()), std::string::npos);
  // The state of the loop is no longer in one place.
  const absl::Status replayed =
      ReplayBufferAssignment(assignment, module_->schedule());
  EXPECT_EQ(replayed.code(), absl::StatusCode::kInternal) << replayed;
}

TEST_F(BufferAssignmentCheckerTest, CheckerSeesOverlapWithoutASchedule) {
  AssignUnordered(R"(
ENTRY e {
  p = f32[20] parameter(0)
  q = f32[20] parameter(1)
  a = f32[20] reverse(p), dimensions={0}
  b = f32[20] reverse(q), dimensions={0}
  ROOT c = f32[40] concatenate(a, b), dimensions={0}
})");
  const auto& dataflow = assignment_->dataflow_analysis();
  const HloValue& a = dataflow.GetValueDefinedAt(Find("a"));
  const HloValue& b = dataflow.GetValueDefinedAt(Find("b"));
  BufferAllocation* both =
      assignment_->GetMutableAllocation(Slice("a").index());
  for (const int64_t offset : {0, 16, 64, 79, 80}) {
    assignment_->AddAssignment(both, a, 0);
    assignment_->AddAssignment(both, b, offset);
    const absl::Status status =
        CheckBufferAssignment(*assignment_, &alias_info_);
    EXPECT_EQ(status.code(),
              offset < 80 ? absl::StatusCode::kInternal : absl::StatusCode::kOk)
        << offset << ": " << status;
  }
}

TEST_F(BufferAssignmentCheckerTest, ReplayTellsMissingCopiesFromOverlap) {
  // The update is written into `a`, which is read once more.
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  i = s32[] parameter(1)
  a = f32[100] negate(p)
  u = f32[1] slice(p), slice={[0:1]}
  d = f32[100] dynamic-update-slice(a, u, i)
  ROOT r = f32[100] add(d, a)
})");
  std::vector<MissingCopy> missing;
  const absl::Status status =
      ReplayBufferAssignment(*assignment_, module_->schedule(), &missing);
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_EQ(missing.size(), 1);
  EXPECT_EQ(missing[0].reader, Find("r"));
  EXPECT_EQ(missing[0].value->instruction(), Find("a"));
  EXPECT_EQ(missing[0].written->instruction(), Find("d"));
}

// The end of an asynchronous update in place does not read what it replaced.
TEST_F(BufferAssignmentCheckerTest, ReplayOfAsynchronousUpdates) {
  const std::string text = R"(
update {
  old = f32[100] parameter(0)
  part = f32[50] parameter(1)
  at = s32[] parameter(2)
  ROOT new = f32[100] dynamic-update-slice(old, part, at)
}
ENTRY e {
  p = f32[100] parameter(0)
  b = f32[50] parameter(1)
  i = s32[] parameter(2)
  x = f32[100] negate(p)
  s = ((f32[100], f32[50], s32[]), f32[100], u32[]) async-start(x, b, i), calls=update
  d = f32[100] async-done(s)
  ROOT r = f32[100] add(d, %s)
})";
  for (const bool reads_again : {false, true}) {
    Assign(absl::StrReplaceAll(text, {{"%s", reads_again ? "x" : "d"}}));
    std::vector<MissingCopy> missing;
    const absl::Status status =
        ReplayBufferAssignment(*assignment_, module_->schedule(), &missing);
    EXPECT_TRUE(status.ok()) << status;
    ASSERT_EQ(missing.size(), reads_again ? 1 : 0);
    for (const MissingCopy& copy : missing) EXPECT_EQ(copy.reader, Find("r"));
  }
}

TEST_F(BufferAssignmentCheckerTest, ReplaySeesWhatIsWrittenOver) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[100] reverse(p), dimensions={0}
  c = f32[100] add(a, b)
  ROOT d = f32[50] slice(c), slice={[0:50]}
})");
  const HloValue& b =
      assignment_->dataflow_analysis().GetValueDefinedAt(Find("b"));
  assignment_->AddAssignment(
      assignment_->GetMutableAllocation(Slice("a").index()), b,
      Slice("a").offset());
  const absl::Status status =
      ReplayBufferAssignment(*assignment_, module_->schedule());
  EXPECT_NE(status.message().find("memory replay at c: <1 a> is read after"),
            std::string::npos)
      << status;
}

// Whichever branch it is that writes over a value, and wherever it stands.
TEST_F(BufferAssignmentCheckerTest, ReplaySeesWhatOneBranchWritesOver) {
  const std::string text = R"(
more {
  mp = f32[100] parameter(0)
  t = f32[100] reverse(mp), dimensions={0}
  ROOT mr = f32[100] reverse(t), dimensions={0}
}
one {
  op = f32[100] parameter(0)
  ROOT or = f32[100] reverse(op), dimensions={0}
}
last {
  lp = f32[100] parameter(0)
  ROOT lr = f32[100] reverse(lp), dimensions={0}
}
ENTRY e {
  p = f32[100] parameter(0)
  i = s32[] parameter(1)
  x = f32[100] reverse(p), dimensions={0}
  c = f32[100] conditional(i, p, p, p), branch_computations={%s}
  ROOT r = f32[100] add(c, x)
})";
  for (const char* branches :
       {"more, one, last", "one, more, last", "one, last, more"}) {
    Assign(absl::StrReplaceAll(text, {{"%s", branches}}));
    const HloValue& t =
        assignment_->dataflow_analysis().GetValueDefinedAt(Find("t"));
    assignment_->AddAssignment(
        assignment_->GetMutableAllocation(Slice("x").index()), t,
        Slice("x").offset());
    const absl::Status status =
        ReplayBufferAssignment(*assignment_, module_->schedule());
    EXPECT_NE(status.message().find("memory replay at r: "), std::string::npos)
        << branches << ": " << status;
  }
}

}  // namespace
}  // namespace xla
