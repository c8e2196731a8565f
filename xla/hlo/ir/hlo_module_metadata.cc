#include "xla/hlo/ir/hlo_module_metadata.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace xla {

HloModuleMetadata::HloModuleMetadata(Clock clock) : clock_(std::move(clock)) {
  if (clock_ == nullptr) {
    clock_ = [] { return absl::ToUnixMicros(absl::Now()); };
  }
}

HloModuleMetadata::HloModuleMetadata(const HloModuleMetadata& other)
    : clock_(other.clock_),
      module_metadata_(other.module_metadata_),
      next_pass_id_(other.next_pass_id_),
      prepartitioning_metadata_(other.prepartitioning_metadata_) {}

HloModuleMetadata::~HloModuleMetadata() = default;

HloModuleMetadata& HloModuleMetadata::operator=(
    const HloModuleMetadata& other) {
  if (this == &other) return *this;
  clock_ = other.clock_;
  module_metadata_ = other.module_metadata_;
  running_passes_.clear();
  next_pass_id_ = other.next_pass_id_;
  prepartitioning_metadata_ = other.prepartitioning_metadata_;
  return *this;
}

void HloModuleMetadata::RecordPassStart() {
  HloPassMetadata* pass = module_metadata_.add_pass_metadata();
  pass->set_pass_id(next_pass_id_++);
  pass->set_start_timestamp_usec(clock_());
  running_passes_.push_back(pass->pass_id());
}

absl::Status HloModuleMetadata::RecordPassEnd() {
  absl::StatusOr<HloPassMetadata*> pass = GetCurrentHloPassMetadata();
  if (!pass.ok()) return pass.status();
  (*pass)->set_end_timestamp_usec(clock_());
  running_passes_.pop_back();
  return absl::OkStatus();
}

void HloModuleMetadata::set_prepartitioning_metadata(
    const HloModuleMetadata& prepartitioning_metadata) {
  module_metadata_.set_original_module_id(
      prepartitioning_metadata.proto().canonical_module_id());
  prepartitioning_metadata_ = prepartitioning_metadata.proto();
}

absl::StatusOr<HloPassMetadata*>
HloModuleMetadata::GetCurrentHloPassMetadata() {
  if (running_passes_.empty()) {
    return absl::NotFoundError("no pass runs on the module");
  }
  // Records are appended in the order of their ids, and the current one is
  // close to the end.
  const int64_t id = running_passes_.back();
  for (int i = module_metadata_.pass_metadata_size() - 1; i >= 0; --i) {
    HloPassMetadata* pass = module_metadata_.mutable_pass_metadata(i);
    if (pass->pass_id() == id) return pass;
  }
  return absl::NotFoundError(
      absl::StrCat("there is no record of the running pass ", id));
}

absl::Status HloModuleMetadata::MutateCurrent(
    absl::FunctionRef<void(HloPassMetadata*)> mutator) {
  absl::StatusOr<HloPassMetadata*> pass = GetCurrentHloPassMetadata();
  if (!pass.ok()) return pass.status();
  mutator(*pass);
  return absl::OkStatus();
}

absl::Status HloModuleMetadata::set_custom_metadata(
    const ::google::protobuf::Message& message) {
  absl::StatusOr<HloPassMetadata*> pass = GetCurrentHloPassMetadata();
  if (!pass.ok()) return pass.status();
  if (!(*pass)->mutable_custom_metadata()->PackFrom(message)) {
    return absl::InternalError("cannot pack the custom metadata");
  }
  return absl::OkStatus();
}

absl::Status HloModuleMetadata::set_key_value_metric(const std::string& key,
                                                     int64_t value) {
  return MutateCurrent([&](HloPassMetadata* pass) {
    for (KeyValueMetric& metric : *pass->mutable_kv_metrics()) {
      if (metric.key() == key) {
        metric.set_value(value);
        return;
      }
    }
    KeyValueMetric* metric = pass->add_kv_metrics();
    metric->set_key(key);
    metric->set_value(value);
  });
}

absl::StatusOr<int64_t> HloModuleMetadata::current_pass_id() {
  absl::StatusOr<HloPassMetadata*> pass = GetCurrentHloPassMetadata();
  if (!pass.ok()) return pass.status();
  return (*pass)->pass_id();
}

absl::Status HloModuleMetadata::set_current_pass_name(
    const std::string& pass_name) {
  return MutateCurrent(
      [&](HloPassMetadata* pass) { pass->set_pass_name(pass_name); });
}

absl::Status HloModuleMetadata::set_current_pass_pipeline_name(
    const std::string& pipeline_name) {
  return MutateCurrent(
      [&](HloPassMetadata* pass) { pass->set_pipeline_name(pipeline_name); });
}

absl::Status HloModuleMetadata::add_current_pass_dump_filename(
    const std::string& dump_filename) {
  return MutateCurrent(
      [&](HloPassMetadata* pass) { pass->add_dump_filenames(dump_filename); });
}

absl::Status HloModuleMetadata::set_current_pass_module_changed(
    bool module_changed) {
  return MutateCurrent(
      [&](HloPassMetadata* pass) { pass->set_module_changed(module_changed); });
}

absl::Status HloModuleMetadata::set_current_pass_module_id(int64_t module_id) {
  return MutateCurrent(
      [&](HloPassMetadata* pass) { pass->set_module_id(module_id); });
}

absl::Status HloModuleMetadata::add_current_pass_module_group_module_id(
    int64_t module_id) {
  return MutateCurrent([&](HloPassMetadata* pass) {
    pass->add_module_group_module_ids(module_id);
  });
}

void HloModuleMetadata::ClearPassMetadata() {
  // Records of running passes stay, so that they can end.
  auto* passes = module_metadata_.mutable_pass_metadata();
  int kept = 0;
  for (int i = 0; i < passes->size(); ++i) {
    for (int64_t id : running_passes_) {
      if (passes->Get(i).pass_id() == id) {
        passes->SwapElements(kept++, i);
        break;
      }
    }
  }
  passes->DeleteSubrange(kept, passes->size() - kept);
}

}  // namespace xla
