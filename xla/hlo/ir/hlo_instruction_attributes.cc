// Metadata, sharding and the other attributes that any opcode may have.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/message_differencer.h"
#include "xla/hlo/ir/backend_config.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_metadata.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using google::protobuf::util::MessageDifferencer;

}  // namespace

// --- Metadata
// -----------------------------------------------------------------

OpMetadata& HloInstruction::mutable_metadata() {
  if (metadata_ == nullptr) {
    metadata_ = std::make_shared<OpMetadata>();
  } else if (metadata_.use_count() > 1) {
    metadata_ = std::make_shared<OpMetadata>(*metadata_);
  }
  // All metadata objects are created mutable, and this one has no other owner.
  return const_cast<OpMetadata&>(*metadata_);
}

void HloInstruction::set_metadata(const OpMetadata& metadata) {
  metadata_ = std::make_shared<OpMetadata>(metadata);
}

void HloInstruction::set_size_of_generated_code_in_bytes(
    int64_t code_size_in_bytes) {
  mutable_metadata().set_size_of_generated_code_in_bytes(code_size_in_bytes);
}

void HloInstruction::set_size_of_memory_working_set_in_bytes(
    int64_t working_set_size_in_bytes) {
  mutable_metadata().set_size_of_memory_working_set_in_bytes(
      working_set_size_in_bytes);
}

void HloInstruction::set_metadata_op_name(const std::string& name) {
  mutable_metadata().set_op_name(name);
}

void HloInstruction::set_metadata_deduplicated_name(
    std::string deduplicated_name) {
  mutable_metadata().set_deduplicated_name(std::move(deduplicated_name));
}

void HloInstruction::set_metadata_scheduling_name(absl::string_view name) {
  mutable_metadata().set_scheduling_name(std::string(name));
}

bool HloInstruction::has_metadata() const {
  return metadata_ != nullptr && metadata_->ByteSizeLong() > 0;
}

bool HloInstruction::has_metadata_payload() const {
  return metadata().has_metadata_payload();
}

std::string HloInstruction::metadata_payload_string() const {
  return metadata().metadata_payload().value();
}

std::vector<HloStackFrame> HloInstruction::GetStackTraceFromMetadata() const {
  std::vector<HloStackFrame> frames;
  const HloModule* module = GetModule();
  if (module == nullptr) return frames;
  StackFrameId id{metadata().stack_frame_id()};
  while (id.valid()) {
    HloStackFrame frame = module->get_stack_frame(id);
    if (frame.empty()) break;
    frames.push_back(frame);
    // A frame that is its own ancestor would never end.
    if (frame.parent_frame_id == id) break;
    id = frame.parent_frame_id;
  }
  return frames;
}

std::string HloInstruction::GetStackTraceStringFromMetadata(int indent) const {
  const std::string spaces(indent, ' ');
  std::string text;
  for (const HloStackFrame& frame : GetStackTraceFromMetadata()) {
    absl::StrAppend(&text, spaces, frame.file_name, ":", frame.line);
    if (frame.column != 0) absl::StrAppend(&text, ":", frame.column);
    absl::StrAppend(&text, " [", frame.function_name, "]\n");
  }
  if (!text.empty()) return text;
  if (!metadata().source_file().empty()) {
    return absl::StrCat(spaces, metadata().source_file(), ":",
                        metadata().source_line(), "\n");
  }
  return absl::StrCat(spaces, "<no source information>\n");
}

// --- Sharding
// -----------------------------------------------------------------

void HloInstruction::set_sharding(HloSharding sharding) {
  sharding_ = std::make_shared<const HloSharding>(std::move(sharding));
}

std::optional<int64_t> HloInstruction::sharding_unique_device() const {
  if (!has_sharding()) return std::nullopt;
  return sharding_->UniqueDevice();
}

void HloInstruction::set_single_sharding(const HloSharding& sharding) {
  CHECK(!sharding.IsTuple()) << sharding;
  if (shape_.IsTuple()) {
    set_sharding(HloSharding::Tuple(ShapeTree<HloSharding>(shape_, sharding)));
  } else {
    set_sharding(sharding);
  }
}

void HloInstruction::set_device_sharding(int64_t device) {
  set_single_sharding(HloSharding::SingleDevice(device));
}

bool HloInstruction::has_compatible_sharding(
    const HloInstruction* other) const {
  if (!has_sharding()) return !other->has_sharding();
  return other->has_sharding() && sharding() == other->sharding();
}

// --- Frontend attributes
// ------------------------------------------------------

const FrontendAttributes& HloInstruction::frontend_attributes() const {
  const auto& attributes = rare().frontend_attributes;
  return attributes ? *attributes : FrontendAttributes::default_instance();
}

bool HloInstruction::has_frontend_attributes() const {
  return has_rare() && rare_->frontend_attributes != nullptr &&
         !rare_->frontend_attributes->map().empty();
}

void HloInstruction::set_frontend_attributes(
    FrontendAttributes frontend_attributes) {
  if (frontend_attributes.map().empty() && !has_frontend_attributes()) return;
  mutable_rare()->frontend_attributes =
      std::make_unique<FrontendAttributes>(std::move(frontend_attributes));
}

void HloInstruction::add_frontend_attributes(
    FrontendAttributes frontend_attributes) {
  for (const auto& [key, value] : frontend_attributes.map()) {
    add_frontend_attribute(key, value);
  }
}

bool HloInstruction::add_frontend_attribute(const std::string& key,
                                            const std::string& value) {
  auto& attributes = mutable_rare()->frontend_attributes;
  if (attributes == nullptr) {
    attributes = std::make_unique<FrontendAttributes>();
  }
  return attributes->mutable_map()->insert({key, value}).second;
}

size_t HloInstruction::erase_frontend_attribute(absl::string_view key) {
  if (!has_frontend_attributes()) return 0;
  return rare_->frontend_attributes->mutable_map()->erase(std::string(key));
}

void HloInstruction::set_frontend_attribute(absl::string_view key,
                                            absl::string_view value) {
  auto& attributes = mutable_rare()->frontend_attributes;
  if (attributes == nullptr) {
    attributes = std::make_unique<FrontendAttributes>();
  }
  (*attributes->mutable_map())[std::string(key)] = std::string(value);
}

std::optional<std::string> HloInstruction::get_frontend_attribute(
    absl::string_view key) const {
  if (!has_frontend_attributes()) return std::nullopt;
  auto it = frontend_attributes().map().find(std::string(key));
  if (it == frontend_attributes().map().end()) return std::nullopt;
  return it->second;
}

void HloInstruction::set_is_composite(bool is_composite) {
  if (!has_rare() && !is_composite) return;
  mutable_rare()->is_composite = is_composite;
}

// --- Result accuracy
// ----------------------------------------------------------

bool IsUnaryOpWithResultAccuracy(HloOpcode opcode) {
  return HloOpcodeIsTranscendental(opcode) &&
         HloOpcodeIsElementwiseUnary(opcode);
}

bool IsValidResultAccuracy(const ResultAccuracy& result_accuracy) {
  if (result_accuracy.has_tolerance()) {
    const ResultAccuracy::Tolerance& tolerance = result_accuracy.tolerance();
    return tolerance.atol() >= 0 && tolerance.rtol() >= 0 &&
           tolerance.ulps() >= 0;
  }
  return ResultAccuracy::Mode_IsValid(result_accuracy.mode());
}

const ResultAccuracy& HloInstruction::result_accuracy() const {
  const auto& accuracy = rare().result_accuracy;
  if (accuracy) return *accuracy;
  static const ResultAccuracy* const kDefault = [] {
    auto* mode = new ResultAccuracy();
    mode->set_mode(ResultAccuracy::DEFAULT);
    return mode;
  }();
  return *kDefault;
}

bool HloInstruction::has_result_accuracy() const {
  const ResultAccuracy& accuracy = result_accuracy();
  return accuracy.has_tolerance() ||
         (accuracy.has_mode() && accuracy.mode() != ResultAccuracy::DEFAULT);
}

bool HloInstruction::equal_result_accuracy(const HloInstruction* other) const {
  if (!has_result_accuracy() || !other->has_result_accuracy()) {
    return has_result_accuracy() == other->has_result_accuracy();
  }
  return MessageDifferencer::Equals(result_accuracy(),
                                    other->result_accuracy());
}

void HloInstruction::set_result_accuracy(ResultAccuracy result_accuracy) {
  mutable_rare()->result_accuracy =
      std::make_unique<ResultAccuracy>(std::move(result_accuracy));
}

// --- Statistics
// ---------------------------------------------------------------

const StatisticsViz& HloInstruction::statistics_viz() const {
  const auto& statistics = rare().statistics_viz;
  return statistics ? *statistics : StatisticsViz::default_instance();
}

void HloInstruction::set_statistics_viz(StatisticsViz statistics_viz) {
  mutable_rare()->statistics_viz =
      std::make_unique<StatisticsViz>(std::move(statistics_viz));
}

void HloInstruction::add_single_statistic(Statistic statistic) {
  auto& statistics = mutable_rare()->statistics_viz;
  if (statistics == nullptr) statistics = std::make_unique<StatisticsViz>();
  *statistics->add_statistics() = std::move(statistic);
}

void HloInstruction::set_stat_index_to_visualize(int64_t index) {
  auto& statistics = mutable_rare()->statistics_viz;
  if (statistics == nullptr) statistics = std::make_unique<StatisticsViz>();
  statistics->set_stat_index_to_visualize(index);
}

bool HloInstruction::has_statistics() const {
  return has_rare() && statistics_viz().statistics_size() > 0;
}

bool HloInstruction::module_has_statistics() const {
  const HloModule* module = GetModule();
  if (module == nullptr || !module->has_entry_computation()) return false;
  const HloInstruction* root = module->entry_computation()->root_instruction();
  return root != nullptr && root->has_statistics();
}

const Statistic& HloInstruction::statistic_to_visualize() const {
  const StatisticsViz& viz = statistics_viz();
  CHECK_LT(viz.stat_index_to_visualize(), viz.statistics_size());
  return viz.statistics(viz.stat_index_to_visualize());
}

// --- Unknown attributes
// -------------------------------------------------------

const std::vector<std::pair<std::string, std::string>>&
HloInstruction::unknown_attributes() const {
  static const auto& none =
      *new std::vector<std::pair<std::string, std::string>>();
  const auto& attributes = rare().unknown_attributes;
  return attributes ? *attributes : none;
}

void HloInstruction::add_unknown_attribute(std::string name,
                                           std::string value) {
  auto& attributes = mutable_rare()->unknown_attributes;
  if (attributes == nullptr) {
    attributes =
        std::make_unique<std::vector<std::pair<std::string, std::string>>>();
  }
  attributes->emplace_back(std::move(name), std::move(value));
}

// --- Backend config
// -----------------------------------------------------------

bool HloInstruction::has_backend_config() const {
  return has_rare() && rare_->backend_config != nullptr &&
         !rare_->backend_config->empty();
}

void HloInstruction::clear_backend_config() {
  if (has_rare()) rare_->backend_config = nullptr;
}

void HloInstruction::CopyBackendConfigFrom(const HloInstruction* other) {
  set_backend_config_wrapper(other->rare().backend_config);
}

absl::Status HloInstruction::set_backend_config(
    const google::protobuf::Message& proto) {
  auto config = std::make_shared<BackendConfigWrapper>(proto);
  set_backend_config_wrapper(std::move(config));
  return absl::OkStatus();
}

void HloInstruction::set_raw_backend_config_string(std::string config_str) {
  if (config_str.empty()) {
    clear_backend_config();
    return;
  }
  set_backend_config_wrapper(
      std::make_shared<BackendConfigWrapper>(std::move(config_str)));
}

const std::string& HloInstruction::raw_backend_config_string() const {
  static const std::string& empty = *new std::string();
  const auto& config = rare().backend_config;
  return config ? config->GetRawString() : empty;
}

void HloInstruction::set_backend_config_wrapper(
    std::shared_ptr<BackendConfigWrapper> config) {
  if (!has_rare() && config == nullptr) return;
  mutable_rare()->backend_config = std::move(config);
}

absl::Status HloInstruction::GetBackendConfigInternal(
    google::protobuf::Message* proto) const {
  proto->Clear();
  const auto& config = rare().backend_config;
  return config ? config->GetProto(proto) : absl::OkStatus();
}

// --- Original value
// -----------------------------------------------------------

void HloInstruction::set_original_value(
    std::shared_ptr<OriginalValue> original_value) {
  if (!has_rare() && original_value == nullptr) return;
  mutable_rare()->original_value = std::move(original_value);
}

void HloInstruction::CopyOriginalValue(const HloInstruction* instruction,
                                       bool clone, bool issue_warning) {
  std::shared_ptr<OriginalValue> value = instruction->original_value();
  if (value == nullptr) return;
  if (!value->IsCompatibleWith(shape_)) {
    if (issue_warning) {
      LOG(WARNING) << "original value of " << instruction->name()
                   << " does not fit " << name_;
    }
    return;
  }
  set_original_value(clone ? std::make_shared<OriginalValue>(*value)
                           : std::move(value));
}

}  // namespace xla
