#include "xla/hlo/ir/stack_frames.h"

#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module_metadata.h"
#include "xla/service/hlo.pb.h"

namespace xla {
namespace {

HloStackFrame Frame(absl::string_view function, int line,
                    StackFrameId parent = {}) {
  HloStackFrame frame;
  frame.file_name = "a.py";
  frame.function_name = function;
  frame.line = line;
  frame.column = 1;
  frame.end_line = line;
  frame.end_column = 9;
  frame.parent_frame_id = parent;
  return frame;
}

TEST(StackFramesTest, AddsAndReads) {
  StackFrames frames;
  EXPECT_TRUE(frames.empty());
  const StackFrameId main = frames.AddStackFrame(Frame("main", 3));
  const StackFrameId run = frames.AddStackFrame(Frame("run", 7, main));
  EXPECT_EQ(main.value, 1);
  EXPECT_EQ(run.value, 2);
  const HloStackFrame read = frames.GetStackFrame(run);
  EXPECT_EQ(read.file_name, "a.py");
  EXPECT_EQ(read.function_name, "run");
  EXPECT_EQ(read.line, 7);
  EXPECT_EQ(read.column, 1);
  EXPECT_EQ(read.end_column, 9);
  EXPECT_EQ(read.parent_frame_id, main);
  // In memory parent ids are plain: the frame without caller has 0.
  EXPECT_EQ(frames.proto().stack_frames(0).parent_frame_id(), 0);
  EXPECT_EQ(frames.proto().stack_frames(1).parent_frame_id(), 1);
}

TEST(StackFramesTest, EqualFramesAreOne) {
  StackFrames frames;
  const StackFrameId main = frames.AddStackFrame(Frame("main", 3));
  EXPECT_EQ(frames.AddStackFrame(Frame("main", 3)), main);
  const StackFrameId a = frames.AddStackFrame(Frame("f", 4, main));
  const StackFrameId b = frames.AddStackFrame(Frame("f", 4));
  EXPECT_NE(a, b);
  EXPECT_EQ(frames.size(), 3);
  EXPECT_EQ(frames.proto().file_names_size(), 1);
  EXPECT_EQ(frames.proto().file_locations_size(), 2);
}

TEST(StackFramesTest, EmptyFramesHaveNoId) {
  StackFrames frames;
  EXPECT_FALSE(frames.AddStackFrame(HloStackFrame()).valid());
  EXPECT_TRUE(frames.empty());
}

TEST(StackFramesTest, UnknownIdsReadAsEmpty) {
  StackFrames frames;
  frames.AddStackFrame(Frame("main", 3));
  EXPECT_TRUE(frames.GetStackFrame(StackFrameId{0}).empty());
  EXPECT_TRUE(frames.GetStackFrame(StackFrameId{2}).empty());
  EXPECT_TRUE(frames.GetStackFrame(StackFrameId{-1}).empty());
}

TEST(StackFramesTest, Prefix) {
  StackFrames frames;
  const StackFrameId main = frames.AddStackFrame(Frame("main", 3));
  const StackFrameId run = frames.AddStackFrame(Frame("run", 7, main));
  const StackFrameId other = frames.AddStackFrame(Frame("other", 8, main));
  EXPECT_TRUE(frames.IsPrefix(main, run));
  EXPECT_TRUE(frames.IsPrefix(run, run));
  EXPECT_TRUE(frames.IsPrefix(StackFrameId{}, run));
  EXPECT_FALSE(frames.IsPrefix(run, main));
  EXPECT_FALSE(frames.IsPrefix(other, run));
}

TEST(StackFramesTest, ConcatenateCopiesTheInnerFrames) {
  StackFrames frames;
  const StackFrameId main = frames.AddStackFrame(Frame("main", 3));
  const StackFrameId f = frames.AddStackFrame(Frame("f", 10));
  const StackFrameId g = frames.AddStackFrame(Frame("g", 11, f));
  const StackFrameId joined = frames.Concatenate(main, g);
  const HloStackFrame inner = frames.GetStackFrame(joined);
  EXPECT_EQ(inner.function_name, "g");
  const HloStackFrame middle = frames.GetStackFrame(inner.parent_frame_id);
  EXPECT_EQ(middle.function_name, "f");
  EXPECT_EQ(middle.parent_frame_id, main);
  // The originals are as they were; doing it again adds nothing.
  EXPECT_FALSE(frames.GetStackFrame(f).parent_frame_id.valid());
  const int64_t size = frames.size();
  EXPECT_EQ(frames.Concatenate(main, g), joined);
  EXPECT_EQ(frames.Concatenate(main, joined), joined);
  EXPECT_EQ(frames.size(), size);
  EXPECT_EQ(frames.Concatenate(StackFrameId{}, g), g);
  EXPECT_EQ(frames.Concatenate(main, StackFrameId{}), main);
}

StackFrameIndexProto TwoFrames() {
  StackFrames frames;
  const StackFrameId main = frames.AddStackFrame(Frame("main", 3));
  frames.AddStackFrame(Frame("run", 7, main));
  return frames.proto();
}

TEST(StackFramesTest, FromProtoKeepsIdsAndFindsExistingFrames) {
  auto frames = StackFrames::FromProto(TwoFrames());
  ASSERT_TRUE(frames.ok());
  EXPECT_EQ(frames->size(), 2);
  EXPECT_EQ(frames->AddStackFrame(Frame("main", 3)).value, 1);
  EXPECT_EQ(frames->AddStackFrame(Frame("run", 7, StackFrameId{1})).value, 2);
}

TEST(StackFramesTest, FromProtoRejectsIdsOutOfRange) {
  StackFrameIndexProto bad_location = TwoFrames();
  bad_location.mutable_stack_frames(1)->set_file_location_id(3);
  EXPECT_EQ(StackFrames::FromProto(bad_location).status().code(),
            absl::StatusCode::kInvalidArgument);
  StackFrameIndexProto bad_parent = TwoFrames();
  bad_parent.mutable_stack_frames(1)->set_parent_frame_id(-1);
  EXPECT_FALSE(StackFrames::FromProto(bad_parent).ok());
  StackFrameIndexProto bad_name = TwoFrames();
  bad_name.mutable_file_locations(0)->set_function_name_id(7);
  EXPECT_FALSE(StackFrames::FromProto(bad_name).ok());
}

TEST(StackFramesTest, FromProtoRejectsEqualEntries) {
  const StackFrameIndexProto good = TwoFrames();
  EXPECT_FALSE(StackFrames::HasRepeats(good));
  StackFrameIndexProto files = good, functions = good, locations = good,
                       frames = good;
  files.add_file_names(files.file_names(0));
  functions.add_function_names(functions.function_names(0));
  *locations.add_file_locations() = good.file_locations(0);
  *frames.add_stack_frames() = good.stack_frames(1);
  for (const StackFrameIndexProto& proto :
       {files, functions, locations, frames}) {
    EXPECT_EQ(StackFrames::FromProto(proto).status().code(),
              absl::StatusCode::kInvalidArgument)
        << proto.DebugString();
    EXPECT_TRUE(StackFrames::FromProtoWithRepeats(proto).ok());
  }
}

TEST(StackFramesTest, FromProtoRejectsCycles) {
  StackFrameIndexProto cycle = TwoFrames();
  cycle.mutable_stack_frames(0)->set_parent_frame_id(2);
  EXPECT_FALSE(StackFrames::FromProto(cycle).ok());
  StackFrameIndexProto self = TwoFrames();
  self.mutable_stack_frames(1)->set_parent_frame_id(2);
  EXPECT_FALSE(StackFrames::FromProto(self).ok());
}

TEST(StackFramesTest, DeepChains) {
  StackFrames frames;
  StackFrameId frame;
  for (int i = 1; i <= 50000; ++i) {
    frame = frames.AddStackFrame(Frame("f", i, frame));
  }
  auto copy = StackFrames::FromProto(frames.proto());
  ASSERT_TRUE(copy.ok());
  EXPECT_TRUE(copy->IsPrefix(StackFrameId{1}, frame));
}

TEST(HloModuleMetadataTest, AsksAnEnvironmentForTheTime) {
  struct Env {
    uint64_t NowMicros() const { return micros; }
    uint64_t micros = 7;
  } env;
  HloModuleMetadata metadata(&env);
  metadata.RecordPassStart();
  env.micros = 9;
  EXPECT_TRUE(metadata.RecordPassEnd().ok());
  EXPECT_EQ(metadata.proto().pass_metadata(0).start_timestamp_usec(), 7);
  EXPECT_EQ(metadata.proto().pass_metadata(0).end_timestamp_usec(), 9);
}

TEST(HloModuleMetadataTest, PassesNest) {
  int64_t now = 100;
  HloModuleMetadata metadata([&] { return now++; });
  metadata.RecordPassStart();
  EXPECT_TRUE(metadata.set_current_pass_name("pipeline").ok());
  metadata.RecordPassStart();
  EXPECT_TRUE(metadata.set_current_pass_name("pass").ok());
  EXPECT_TRUE(metadata.set_current_pass_module_changed(true).ok());
  EXPECT_EQ(*metadata.current_pass_id(), 2);
  EXPECT_TRUE(metadata.RecordPassEnd().ok());
  EXPECT_EQ(*metadata.current_pass_id(), 1);
  EXPECT_TRUE(metadata.set_key_value_metric("k", 1).ok());
  EXPECT_TRUE(metadata.set_key_value_metric("k", 2).ok());
  EXPECT_TRUE(metadata.RecordPassEnd().ok());
  EXPECT_EQ(metadata.RecordPassEnd().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(metadata.set_current_pass_name("none").ok());

  ASSERT_EQ(metadata.proto().pass_metadata_size(), 2);
  const HloPassMetadata& pipeline = metadata.proto().pass_metadata(0);
  EXPECT_EQ(pipeline.pass_name(), "pipeline");
  EXPECT_EQ(pipeline.start_timestamp_usec(), 100);
  EXPECT_EQ(pipeline.end_timestamp_usec(), 103);
  ASSERT_EQ(pipeline.kv_metrics_size(), 1);
  EXPECT_EQ(pipeline.kv_metrics(0).value(), 2);
  EXPECT_TRUE(metadata.proto().pass_metadata(1).module_changed());
}

TEST(HloModuleMetadataTest, ClearKeepsRunningPasses) {
  HloModuleMetadata metadata;
  metadata.RecordPassStart();
  metadata.RecordPassStart();
  EXPECT_TRUE(metadata.RecordPassEnd().ok());
  metadata.ClearPassMetadata();
  EXPECT_EQ(metadata.proto().pass_metadata_size(), 1);
  EXPECT_TRUE(metadata.RecordPassEnd().ok());
  metadata.ClearPassMetadata();
  EXPECT_EQ(metadata.proto().pass_metadata_size(), 0);
}

TEST(HloModuleMetadataTest, Prepartitioning) {
  HloModuleMetadata before;
  before.set_canonical_module_id(7);
  HloModuleMetadata after;
  after.set_canonical_module_id(8);
  after.set_prepartitioning_metadata(before);
  EXPECT_EQ(after.proto().original_module_id(), 7);
  EXPECT_EQ(after.prepartitioning_metadata()->canonical_module_id(), 7);
}

}  // namespace
}  // namespace xla
