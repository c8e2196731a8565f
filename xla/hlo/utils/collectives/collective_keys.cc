// Names by which collectives are grouped, found and described.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/collectives/collective_ops_utils.h"
#include "xla/xla_data.pb.h"

namespace xla {

std::optional<absl::string_view> GetCollectiveGroupKey(
    const HloInstruction& instruction) {
  const auto& map = instruction.frontend_attributes().map();
  auto it = map.find(std::string(kCollectiveGroupKeyAttr));
  if (it == map.end()) return std::nullopt;
  return it->second;
}

bool HasCollectiveGroupKey(const HloInstruction& instruction) {
  return GetCollectiveGroupKey(instruction).has_value();
}

bool HaveCompatibleCollectiveGroupKeys(const HloInstruction& lhs,
                                       const HloInstruction& rhs) {
  return GetCollectiveGroupKey(lhs) == GetCollectiveGroupKey(rhs);
}

void CopyCollectiveGroupKey(const HloInstruction& source,
                            HloInstruction& destination) {
  const std::optional<absl::string_view> key = GetCollectiveGroupKey(source);
  if (!key.has_value()) return ClearCollectiveGroupKey(destination);
  FrontendAttributes attributes = destination.frontend_attributes();
  (*attributes.mutable_map())[std::string(kCollectiveGroupKeyAttr)] =
      std::string(*key);
  destination.set_frontend_attributes(std::move(attributes));
}

void ClearCollectiveGroupKey(HloInstruction& instruction) {
  if (!HasCollectiveGroupKey(instruction)) return;
  FrontendAttributes attributes = instruction.frontend_attributes();
  attributes.mutable_map()->erase(std::string(kCollectiveGroupKeyAttr));
  instruction.set_frontend_attributes(std::move(attributes));
}

absl::string_view RendezvousKey::CollectiveOpKindString() const {
  return collective_op_kind == kCrossModule ? "cross_module" : "cross_replica";
}

std::string RendezvousKey::ToString() const {
  return absl::StrCat("RendezvousKey{run_id=", run_id.ToString(),
                      ", global_devices=[", absl::StrJoin(global_devices, ", "),
                      "], num_local_participants=", num_local_participants,
                      ", collective_op_kind=", CollectiveOpKindString(),
                      ", op_id=", op_id, "}");
}

namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

absl::StatusOr<int64_t> Integer(const Value& value) {
  const double number = value.number_value();
  // Beyond, doubles are no longer exact.
  constexpr double kMost = int64_t{1} << 53;
  if (!value.has_number_value() || !(number >= -kMost && number <= kMost) ||
      static_cast<double>(static_cast<int64_t>(number)) != number) {
    return absl::InvalidArgumentError(
        absl::StrCat("no integer in the description of a collective: ",
                     value.ShortDebugString()));
  }
  return static_cast<int64_t>(number);
}

// [[0,1],[2,3]]
absl::StatusOr<std::vector<std::vector<int64_t>>> Lists(
    const Struct& object, absl::string_view name) {
  std::vector<std::vector<int64_t>> lists;
  auto it = object.fields().find(std::string(name));
  if (it == object.fields().end()) return lists;
  for (const Value& list : it->second.list_value().values()) {
    lists.emplace_back();
    for (const Value& value : list.list_value().values()) {
      absl::StatusOr<int64_t> number = Integer(value);
      if (!number.ok()) return number.status();
      lists.back().push_back(*number);
    }
  }
  return lists;
}

}  // namespace

absl::StatusOr<AsyncCollectiveConfig> ParseAsyncCollectiveConfig(
    absl::string_view config_json_str) {
  Struct object;
  const auto status = google::protobuf::util::JsonStringToMessage(
      std::string(config_json_str), &object);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no JSON object that describes a collective: ", config_json_str));
  }
  AsyncCollectiveConfig config;
  absl::StatusOr<std::vector<std::vector<int64_t>>> groups =
      Lists(object, "replica_groups");
  if (!groups.ok()) return groups.status();
  for (const std::vector<int64_t>& ids : *groups) {
    ReplicaGroup& group = config.replica_groups.emplace_back();
    for (int64_t id : ids) group.add_replica_ids(id);
  }
  absl::StatusOr<std::vector<std::vector<int64_t>>> pairs =
      Lists(object, "permutation");
  if (!pairs.ok()) return pairs.status();
  for (const std::vector<int64_t>& pair : *pairs) {
    if (pair.size() != 2) {
      return absl::InvalidArgumentError(
          "a permutation of a collective holds pairs");
    }
    config.permutation.push_back({pair[0], pair[1]});
  }
  for (const auto& [name, field] :
       {std::pair{"channel_id", &config.channel_id},
        {"all_gather_dimension", &config.all_gather_dimension},
        {"scatter_dimension", &config.scatter_dimension},
        {"split_dimension", &config.split_dimension},
        {"concat_dimension", &config.concat_dimension},
        {"split_count", &config.split_count}}) {
    auto it = object.fields().find(name);
    if (it == object.fields().end()) continue;
    absl::StatusOr<int64_t> number = Integer(it->second);
    if (!number.ok()) return number.status();
    *field = *number;
  }
  auto it = object.fields().find("tiled");
  if (it != object.fields().end()) config.tiled = it->second.bool_value();
  it = object.fields().find("use_global_device_ids");
  config.use_global_device_ids =
      it != object.fields().end() && it->second.bool_value();
  return config;
}

std::string SerializeAsyncCollectiveConfig(
    const AsyncCollectiveConfig& config) {
  std::vector<std::string> fields;
  auto list = [](const auto& numbers) {
    return absl::StrCat("[", absl::StrJoin(numbers, ","), "]");
  };
  std::vector<std::string> items;
  for (const ReplicaGroup& group : config.replica_groups) {
    items.push_back(list(group.replica_ids()));
  }
  if (!items.empty()) {
    fields.push_back(absl::StrCat("\"replica_groups\":", list(items)));
  }
  auto add = [&](absl::string_view name, std::optional<int64_t> value) {
    if (!value.has_value()) return;
    fields.push_back(absl::StrCat("\"", name, "\":", *value));
  };
  add("channel_id", config.channel_id);
  if (config.use_global_device_ids) {
    fields.push_back("\"use_global_device_ids\":true");
  }
  items.clear();
  for (const auto& [source, target] : config.permutation) {
    items.push_back(absl::StrCat("[", source, ",", target, "]"));
  }
  if (!items.empty()) {
    fields.push_back(absl::StrCat("\"permutation\":", list(items)));
  }
  add("all_gather_dimension", config.all_gather_dimension);
  add("scatter_dimension", config.scatter_dimension);
  if (config.tiled.has_value()) {
    fields.push_back(
        absl::StrCat("\"tiled\":", *config.tiled ? "true" : "false"));
  }
  add("split_dimension", config.split_dimension);
  add("concat_dimension", config.concat_dimension);
  add("split_count", config.split_count);
  return absl::StrCat("{", absl::StrJoin(fields, ","), "}");
}

}  // namespace xla
