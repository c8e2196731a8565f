#ifndef XLA_HLO_IR_STACK_FRAMES_H_
#define XLA_HLO_IR_STACK_FRAMES_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module_metadata.h"
#include "xla/service/hlo.pb.h"

namespace xla {

// The module's table of stack frames: an interned forest in which a frame
// names its caller as parent. Equal frames have equal ids.
//
// Ids are 1-based everywhere, 0 is "none", both here and in the proto (the text
// form prints parent_frame_id + 1; only the printer and the parser deal with
// that).
class StackFrames {
 public:
  StackFrames();
  StackFrames(const StackFrames& other);
  StackFrames(StackFrames&& other) noexcept;
  StackFrames& operator=(const StackFrames& other);
  StackFrames& operator=(StackFrames&& other) noexcept;
  ~StackFrames();

  // Checks that every id is in range, that parent chains end and that no two
  // entries of a table are equal, else InvalidArgument. The tables are not
  // changed: ids in `proto` stay valid.
  // O(size of the table).
  static absl::StatusOr<StackFrames> FromProto(StackFrameIndexProto proto);
  // The same for tables that may hold equal entries, as some dumps do.
  static absl::StatusOr<StackFrames> FromProtoWithRepeats(
      StackFrameIndexProto proto);
  // Two entries of a table are equal.
  static bool HasRepeats(const StackFrameIndexProto& proto);

  // Returns the id of the frame and adds it if it is new. The parent must be
  // valid or absent; returns an invalid id for an empty frame. Amortized O(1).
  StackFrameId AddStackFrame(const HloStackFrame& frame);

  // An empty frame if the id is absent or out of range. The views stay valid
  // until the next AddStackFrame.
  HloStackFrame GetStackFrame(StackFrameId id) const;

  const StackFrameIndexProto& proto() const { return proto_; }

  // True if `prefix` is `full` or one of its ancestors; the absent frame is a
  // prefix of all. O(depth).
  bool IsPrefix(StackFrameId prefix, StackFrameId full) const;

  // The stack that has `prefix` as the outer frames and `suffix` as the inner
  // ones: adds copies of suffix's frames on top of prefix.
  //
  //   prefix main<-run, suffix f<-g  ==>  main<-run<-f<-g
  //
  // Returns the other one if one is absent, and `suffix` if `prefix` is already
  // its prefix. O(depth of suffix).
  StackFrameId Concatenate(StackFrameId prefix, StackFrameId suffix);

  bool empty() const { return proto_.stack_frames().empty(); }
  int64_t size() const { return proto_.stack_frames_size(); }

 private:
  // (file name id, function name id, line, column, end line, end column).
  using LocationKey = std::tuple<int, int, int, int, int, int>;

  // Fills the maps below from proto_ when the first frame is added, so that
  // tables that are only read do without them.
  void BuildMaps();
  int InternName(absl::string_view name,
                 absl::flat_hash_map<std::string, int>& ids,
                 ::google::protobuf::RepeatedPtrField<std::string>& names);

  StackFrameIndexProto proto_;
  bool maps_built_ = false;
  absl::flat_hash_map<std::string, int> file_name_ids_;
  absl::flat_hash_map<std::string, int> function_name_ids_;
  absl::flat_hash_map<LocationKey, int> location_ids_;
  // (location id, parent frame id).
  absl::flat_hash_map<std::pair<int, int>, int> frame_ids_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_STACK_FRAMES_H_
