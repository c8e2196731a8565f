#include "xla/hlo/ir/stack_frames.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

// Stack frames are stored as OpenXLA's proto does it: tables of file names,
// function names, locations and frames, referring to each other by 1-based ids,
// 0 for none. A frame names its parent, so frames form a forest that shares
// common prefixes. New entries are interned through maps, which are built on
// first use: most modules are only read.

namespace xla {
namespace {

bool InTable(int id, int size) { return id >= 1 && id <= size; }
bool InTableOrAbsent(int id, int size) { return id >= 0 && id <= size; }

absl::Status CheckIds(const StackFrameIndexProto& proto) {
  for (int i = 0; i < proto.file_locations_size(); ++i) {
    const auto& location = proto.file_locations(i);
    if (!InTableOrAbsent(location.file_name_id(), proto.file_names_size()) ||
        !InTableOrAbsent(location.function_name_id(),
                         proto.function_names_size())) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "file location %d refers to file name %d of %d and function name %d "
          "of %d",
          i + 1, location.file_name_id(), proto.file_names_size(),
          location.function_name_id(), proto.function_names_size()));
    }
  }
  for (int i = 0; i < proto.stack_frames_size(); ++i) {
    const auto& frame = proto.stack_frames(i);
    if (!InTable(frame.file_location_id(), proto.file_locations_size()) ||
        !InTableOrAbsent(frame.parent_frame_id(), proto.stack_frames_size())) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "stack frame %d refers to file location %d of %d and parent frame %d "
          "of %d",
          i + 1, frame.file_location_id(), proto.file_locations_size(),
          frame.parent_frame_id(), proto.stack_frames_size()));
    }
  }
  return absl::OkStatus();
}

// Walks up from each frame until one whose chain is known to end. As each frame
// has one parent, that is a depth-first search without branches: a frame that
// is met again while it is on the path closes a cycle, and each is walked once.
absl::Status CheckParentChainsEnd(const StackFrameIndexProto& proto) {
  enum : char { kUnknown, kOnPath, kEnds };
  std::vector<char> state(proto.stack_frames_size() + 1, kUnknown);
  state[0] = kEnds;
  std::vector<int> path;
  for (int start = 1; start <= proto.stack_frames_size(); ++start) {
    int frame = start;
    while (state[frame] == kUnknown) {
      state[frame] = kOnPath;
      path.push_back(frame);
      frame = proto.stack_frames(frame - 1).parent_frame_id();
    }
    if (state[frame] == kOnPath) {
      return absl::InvalidArgumentError(
          absl::StrFormat("stack frame %d is its own ancestor", frame));
    }
    for (int done : path) state[done] = kEnds;
    path.clear();
  }
  return absl::OkStatus();
}

}  // namespace

StackFrames::StackFrames() = default;
StackFrames::StackFrames(const StackFrames& other) = default;
StackFrames::StackFrames(StackFrames&& other) noexcept = default;
StackFrames& StackFrames::operator=(const StackFrames& other) = default;
StackFrames& StackFrames::operator=(StackFrames&& other) noexcept = default;
StackFrames::~StackFrames() = default;

bool StackFrames::HasRepeats(const StackFrameIndexProto& proto) {
  absl::flat_hash_set<std::string> seen;
  const auto repeats = [&](const auto& table, const auto& text) {
    seen.clear();
    for (const auto& entry : table) {
      if (!seen.insert(text(entry)).second) return true;
    }
    return false;
  };
  const auto name = [](const std::string& entry) { return entry; };
  const auto bytes = [](const auto& entry) {
    return entry.SerializeAsString();
  };
  return repeats(proto.file_names(), name) ||
         repeats(proto.function_names(), name) ||
         repeats(proto.file_locations(), bytes) ||
         repeats(proto.stack_frames(), bytes);
}

absl::StatusOr<StackFrames> StackFrames::FromProto(StackFrameIndexProto proto) {
  if (HasRepeats(proto)) {
    return absl::InvalidArgumentError(
        "two entries of a table of stack frames are equal");
  }
  return FromProtoWithRepeats(std::move(proto));
}

absl::StatusOr<StackFrames> StackFrames::FromProtoWithRepeats(
    StackFrameIndexProto proto) {
  absl::Status status = CheckIds(proto);
  if (!status.ok()) return status;
  status = CheckParentChainsEnd(proto);
  if (!status.ok()) return status;
  StackFrames frames;
  frames.proto_ = std::move(proto);
  return frames;
}

// The first of several equal entries wins, so that ids stay canonical.
void StackFrames::BuildMaps() {
  if (maps_built_) return;
  maps_built_ = true;
  for (int i = 0; i < proto_.file_names_size(); ++i) {
    file_name_ids_.try_emplace(proto_.file_names(i), i + 1);
  }
  for (int i = 0; i < proto_.function_names_size(); ++i) {
    function_name_ids_.try_emplace(proto_.function_names(i), i + 1);
  }
  for (int i = 0; i < proto_.file_locations_size(); ++i) {
    const auto& l = proto_.file_locations(i);
    location_ids_.try_emplace(
        LocationKey(l.file_name_id(), l.function_name_id(), l.line(),
                    l.column(), l.end_line(), l.end_column()),
        i + 1);
  }
  for (int i = 0; i < proto_.stack_frames_size(); ++i) {
    const auto& f = proto_.stack_frames(i);
    frame_ids_.try_emplace(
        std::make_pair(f.file_location_id(), f.parent_frame_id()), i + 1);
  }
}

int StackFrames::InternName(
    absl::string_view name, absl::flat_hash_map<std::string, int>& ids,
    ::google::protobuf::RepeatedPtrField<std::string>& names) {
  if (name.empty()) return 0;
  auto it = ids.find(name);
  if (it != ids.end()) return it->second;
  *names.Add() = std::string(name);
  ids.try_emplace(std::string(name), names.size());
  return names.size();
}

StackFrameId StackFrames::AddStackFrame(const HloStackFrame& frame) {
  if (frame.empty()) return StackFrameId{};
  const int parent = frame.parent_frame_id.value;
  CHECK(InTableOrAbsent(parent, proto_.stack_frames_size()))
      << "parent frame " << parent << " does not exist";
  BuildMaps();
  const int file =
      InternName(frame.file_name, file_name_ids_, *proto_.mutable_file_names());
  const int function = InternName(frame.function_name, function_name_ids_,
                                  *proto_.mutable_function_names());
  auto [location_it, new_location] = location_ids_.try_emplace(
      LocationKey(file, function, frame.line, frame.column, frame.end_line,
                  frame.end_column),
      proto_.file_locations_size() + 1);
  if (new_location) {
    StackFrameIndexProto::FileLocation* location = proto_.add_file_locations();
    location->set_file_name_id(file);
    location->set_function_name_id(function);
    location->set_line(frame.line);
    location->set_column(frame.column);
    location->set_end_line(frame.end_line);
    location->set_end_column(frame.end_column);
  }
  auto [frame_it, new_frame] =
      frame_ids_.try_emplace(std::make_pair(location_it->second, parent),
                             proto_.stack_frames_size() + 1);
  if (new_frame) {
    StackFrameIndexProto::StackFrame* added = proto_.add_stack_frames();
    added->set_file_location_id(location_it->second);
    added->set_parent_frame_id(parent);
  }
  return StackFrameId{frame_it->second};
}

HloStackFrame StackFrames::GetStackFrame(StackFrameId id) const {
  HloStackFrame result;
  if (!InTable(id.value, proto_.stack_frames_size())) return result;
  const auto& frame = proto_.stack_frames(id.value - 1);
  result.parent_frame_id = StackFrameId{frame.parent_frame_id()};
  const auto& location = proto_.file_locations(frame.file_location_id() - 1);
  if (location.file_name_id() > 0) {
    result.file_name = proto_.file_names(location.file_name_id() - 1);
  }
  if (location.function_name_id() > 0) {
    result.function_name =
        proto_.function_names(location.function_name_id() - 1);
  }
  result.line = location.line();
  result.column = location.column();
  result.end_line = location.end_line();
  result.end_column = location.end_column();
  return result;
}

bool StackFrames::IsPrefix(StackFrameId prefix, StackFrameId full) const {
  if (!prefix.valid()) return true;
  while (InTable(full.value, proto_.stack_frames_size())) {
    if (full == prefix) return true;
    full.value = proto_.stack_frames(full.value - 1).parent_frame_id();
  }
  return false;
}

// Rebuilds the frames of `suffix` on top of `prefix`, outermost first;
// interning makes frames that exist already cost nothing. A suffix that starts
// with the prefix is returned as it is, so that repeated inlining does not
// repeat frames.
StackFrameId StackFrames::Concatenate(StackFrameId prefix,
                                      StackFrameId suffix) {
  if (!prefix.valid()) return suffix;
  if (!suffix.valid()) return prefix;
  if (IsPrefix(prefix, suffix)) return suffix;
  std::vector<int> inner_to_outer;
  for (int id = suffix.value; InTable(id, proto_.stack_frames_size());
       id = proto_.stack_frames(id - 1).parent_frame_id()) {
    inner_to_outer.push_back(id);
  }
  BuildMaps();
  StackFrameId result = prefix;
  for (auto it = inner_to_outer.rbegin(); it != inner_to_outer.rend(); ++it) {
    const int location = proto_.stack_frames(*it - 1).file_location_id();
    auto [frame_it, is_new] = frame_ids_.try_emplace(
        std::make_pair(location, result.value), proto_.stack_frames_size() + 1);
    if (is_new) {
      StackFrameIndexProto::StackFrame* added = proto_.add_stack_frames();
      added->set_file_location_id(location);
      added->set_parent_frame_id(result.value);
    }
    result = StackFrameId{frame_it->second};
  }
  return result;
}

}  // namespace xla
