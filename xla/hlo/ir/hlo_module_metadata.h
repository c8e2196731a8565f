#ifndef XLA_HLO_IR_HLO_MODULE_METADATA_H_
#define XLA_HLO_IR_HLO_MODULE_METADATA_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "xla/service/hlo.pb.h"

namespace xla {

// Index of a stack frame in the module's table, 1-based; 0 is "no frame".
struct StackFrameId {
  int value = 0;

  bool operator==(StackFrameId other) const { return value == other.value; }
  bool operator!=(StackFrameId other) const { return value != other.value; }
  bool valid() const { return value > 0; }

  template <typename Sink>
  friend void AbslStringify(Sink& sink, StackFrameId id) {
    absl::Format(&sink, "%d", id.value);
  }
  template <typename H>
  friend H AbslHashValue(H h, StackFrameId id) {
    return H::combine(std::move(h), id.value);
  }
};

// One frame. The views point into the table the frame was read from.
struct HloStackFrame {
  absl::string_view file_name;
  absl::string_view function_name;
  int line = 0;
  int column = 0;
  int end_line = 0;
  int end_column = 0;
  StackFrameId parent_frame_id;

  bool empty() const {
    return line == 0 && column == 0 && file_name.empty() &&
           function_name.empty();
  }

  template <typename Sink>
  friend void AbslStringify(Sink& sink, const HloStackFrame& frame) {
    absl::Format(&sink, "%s:%d:%d-%d:%d: %s (parent %d)", frame.file_name,
                 frame.line, frame.column, frame.end_line, frame.end_column,
                 frame.function_name, frame.parent_frame_id.value);
  }
};

// The history of a module: one record per pass, and ids that link modules
// before and after partitioning. Passes nest (pipelines): the current pass is
// the innermost running one.
class HloModuleMetadata {
 public:
  // Time in microseconds since the epoch; replaceable for tests.
  using Clock = std::function<int64_t()>;

  // Without a clock, the system's is used.
  explicit HloModuleMetadata(Clock clock = nullptr);
  // Uses any object with NowMicros(), such as OpenXLA's tsl::Env, which must
  // outlive this and its copies.
  template <typename Env, typename = decltype(std::declval<Env>().NowMicros())>
  explicit HloModuleMetadata(Env* env)
      : HloModuleMetadata(
            Clock([env] { return static_cast<int64_t>(env->NowMicros()); })) {}

  // Copies the records and the clock. Passes running in `other` are not running
  // in the copy.
  HloModuleMetadata(const HloModuleMetadata& other);
  HloModuleMetadata& operator=(const HloModuleMetadata& other);
  ~HloModuleMetadata();

  const HloModuleMetadataProto& proto() const { return module_metadata_; }

  // Starts the record of a pass and makes it current.
  void RecordPassStart();
  // Closes the current record. NotFound if no pass is running.
  absl::Status RecordPassEnd();

  const std::optional<HloModuleMetadataProto>& prepartitioning_metadata()
      const {
    return prepartitioning_metadata_;
  }
  void set_prepartitioning_metadata(
      const HloModuleMetadata& prepartitioning_metadata);

  void set_module_group_name(const std::string& name) {
    module_metadata_.set_module_group_name(name);
  }
  void set_canonical_module_id(int64_t id) {
    module_metadata_.set_canonical_module_id(id);
  }
  void set_original_module_id(int64_t id) {
    module_metadata_.set_original_module_id(id);
  }
  void add_partitioned_module_id(int64_t id) {
    module_metadata_.add_partitioned_module_ids(id);
  }

  // The following change the record of the current pass; NotFound if no pass is
  // running.
  absl::Status set_custom_metadata(const ::google::protobuf::Message& message);
  absl::Status set_key_value_metric(const std::string& key, int64_t value);
  absl::StatusOr<int64_t> current_pass_id();
  absl::Status set_current_pass_name(const std::string& pass_name);
  absl::Status set_current_pass_pipeline_name(const std::string& pipeline_name);
  absl::Status add_current_pass_dump_filename(const std::string& dump_filename);
  absl::Status set_current_pass_module_changed(bool module_changed);
  absl::Status set_current_pass_module_id(int64_t module_id);
  absl::Status add_current_pass_module_group_module_id(int64_t module_id);

  // Drops all pass records but those of running passes.
  void ClearPassMetadata();

  absl::StatusOr<HloPassMetadata*> GetCurrentHloPassMetadata();

 private:
  absl::Status MutateCurrent(absl::FunctionRef<void(HloPassMetadata*)> mutator);

  Clock clock_;
  HloModuleMetadataProto module_metadata_;
  // Ids of the running passes, innermost last.
  std::vector<int64_t> running_passes_;
  int64_t next_pass_id_ = 1;
  std::optional<HloModuleMetadataProto> prepartitioning_metadata_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_MODULE_METADATA_H_
