#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/value_parser.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

bool ValueParser::ParseReplicaGroupLists(std::vector<ReplicaGroup>* result) {
  if (kind() == TokKind::kIdent || kind() == TokKind::kLsquare) {
    std::unique_ptr<CollectiveDeviceListBase> list;
    if (!ParseDeviceList(&list)) return false;
    *result = list->replica_groups();
    return true;
  }
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    ReplicaGroup& group = result->emplace_back();
    IntVector ids;
    if (!ParseBracedInts(&ids)) return false;
    group.mutable_replica_ids()->Add(ids.begin(), ids.end());
    return true;
  });
}

// {{0,1},{2,3}}, [2,2]<=[4] or mesh['a'=2,'b'=2] {'b'}
bool ValueParser::ParseDeviceList(
    std::unique_ptr<CollectiveDeviceListBase>* result) {
  const Loc start = loc();
  if (kind() == TokKind::kLbrace) {
    std::vector<ReplicaGroup> groups;
    if (!ParseReplicaGroupLists(&groups)) return false;
    *result = std::make_unique<CollectiveDeviceList>(std::move(groups));
    return true;
  }
  if (kind() == TokKind::kLsquare) {
    IntVector dims;
    std::vector<int64_t> reshape_dims;
    std::vector<int> transpose_perm;
    if (!ParseIntList(TokKind::kLsquare, TokKind::kRsquare, &dims)) {
      return false;
    }
    if (dims.size() != 2) {
      return Error(start, absl::StrCat("replica groups have 2 dimensions, "
                                       "groups and members, not ",
                                       dims.size()));
    }
    if (!ParseIotaTail(&reshape_dims, &transpose_perm)) return false;
    absl::Status valid =
        IotaTileAssignment::Validate(dims, reshape_dims, transpose_perm);
    if (!valid.ok()) return Error(start, valid.message());
    *result = std::make_unique<IotaReplicaGroupList>(
        dims[0], dims[1], reshape_dims, transpose_perm);
    return true;
  }
  if (kind() == TokKind::kIdent && (lexer_.GetStrView() == "mesh" ||
                                    lexer_.GetStrView() == "maximal_mesh")) {
    Mesh mesh;
    std::vector<AxisRef> axes;
    if (!ParseMesh(&mesh) || !ParseAxes(mesh, &axes, nullptr)) return false;
    absl::StatusOr<MeshAxesReplicaGroupList> list =
        MeshAxesReplicaGroupList::Create(std::move(mesh), std::move(axes));
    if (!list.ok()) return Error(start, list.status().message());
    *result = std::make_unique<MeshAxesReplicaGroupList>(*std::move(list));
    return true;
  }
  return Expected("replica groups");
}

std::shared_ptr<CollectiveDeviceListBase> ValueParser::ParseCachedDeviceList() {
  return ThroughCache(&device_lists_,
                      [&]() -> std::shared_ptr<CollectiveDeviceListBase> {
                        std::unique_ptr<CollectiveDeviceListBase> list;
                        if (!ParseDeviceList(&list)) return nullptr;
                        return list;
                      });
}

bool ValueParser::ParseSourceTargetPairs(
    std::vector<std::pair<int64_t, int64_t>>* result) {
  result->clear();
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    auto& [source, target] = result->emplace_back();
    return Expect(TokKind::kLbrace) && ParseInt(&source) &&
           Expect(TokKind::kComma) && ParseInt(&target) &&
           Expect(TokKind::kRbrace);
  });
}

}  // namespace xla::hlo_text
