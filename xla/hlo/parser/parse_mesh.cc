#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/value_parser.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

bool ValueParser::ParseMesh(Mesh* result) {
  const Loc start = loc();
  absl::string_view word;
  if (!ParseWord("mesh or maximal_mesh", &word)) return false;
  MeshProto proto;
  if (word == "maximal_mesh") {
    const Loc name_loc = loc() + 1;
    absl::string_view name;
    int64_t device;
    if (!Expect(TokKind::kLsquare) || !ParseAttributeName(&name)) return false;
    if (name != "device_id") return Error(name_loc, "expected device_id=");
    if (!ParseIntInRange(0, std::numeric_limits<int64_t>::max(), &device) ||
        !Expect(TokKind::kRsquare)) {
      return false;
    }
    proto.add_device_ids(device);
  } else if (word == "mesh") {
    if (!ParseList(TokKind::kLsquare, TokKind::kRsquare, [&] {
          MeshProto::MeshAxis* axis = proto.add_axes();
          int64_t size;
          if (!ParseString(axis->mutable_name()) || !Expect(TokKind::kEqual) ||
              !ParseIntInRange(1, IotaTileAssignment::kMaxElements, &size)) {
            return false;
          }
          axis->set_size(size);
          return true;
        })) {
      return false;
    }
  } else {
    return Error(start, "expected mesh or maximal_mesh");
  }
  const Loc comma = loc();
  if (Eat(TokKind::kComma)) {
    if (kind() == TokKind::kAttributeName &&
        lexer_.GetStrView() == "device_ids") {
      Next();
      if (!ParseDeviceIds(&proto)) return false;
    } else {
      lexer_.Reset(comma);
    }
  }
  absl::StatusOr<Mesh> mesh = Mesh::CreateFromProto(proto);
  if (!mesh.ok()) return Error(start, mesh.status().message());
  *result = *std::move(mesh);
  return true;
}

// (0,2,1,3) or ([2,2]T(1,0))
bool ValueParser::ParseDeviceIds(MeshProto* mesh) {
  if (kind() == TokKind::kLparen && lexer_.LookAhead() == TokKind::kLsquare) {
    Next();
    IntVector dims, perm;
    if (!ParseIntList(TokKind::kLsquare, TokKind::kRsquare, &dims)) {
      return false;
    }
    MeshProto::IotaTransform* transform = mesh->mutable_iota_transform();
    for (int64_t dim : dims) transform->add_reshape_dims(dim);
    if (kind() == TokKind::kIdent && lexer_.GetStrView() == "T") {
      Next();
      if (!ParseIntList(TokKind::kLparen, TokKind::kRparen, &perm)) {
        return false;
      }
    } else {
      for (size_t i = 0; i < dims.size(); ++i) perm.push_back(i);
    }
    for (int64_t dim : perm) {
      if (dim < 0 || dim >= static_cast<int64_t>(dims.size())) {
        return Error(loc(),
                     absl::StrCat("no dimension ", dim, " to transpose"));
      }
      transform->add_transpose_perm(dim);
    }
    return Expect(TokKind::kRparen, "after device ids");
  }
  return ParseList(TokKind::kLparen, TokKind::kRparen, [&] {
    int64_t device;
    if (!ParseIntInRange(0, std::numeric_limits<int64_t>::max(), &device)) {
      return false;
    }
    mesh->add_device_ids(device);
    return true;
  });
}

bool ValueParser::ParseAxes(const Mesh& mesh, std::vector<AxisRef>* axes,
                            bool* is_closed) {
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    if (is_closed != nullptr && kind() == TokKind::kQuestionMark) {
      *is_closed = false;
      Next();
      return kind() == TokKind::kRbrace || Expected("'}' after '?'");
    }
    return ParseAxis(mesh, axes);
  });
}

// 'a' or 'a':(2)4
bool ValueParser::ParseAxis(const Mesh& mesh, std::vector<AxisRef>* axes) {
  const Loc start = loc();
  std::string name;
  if (!ParseString(&name)) return false;
  std::optional<int64_t> axis = mesh.FindAxis(name);
  if (!axis.has_value()) {
    std::vector<absl::string_view> names(mesh.axis_names().begin(),
                                         mesh.axis_names().end());
    return Error(start, absl::StrCat("the mesh has no axis '", name, "'",
                                     DidYouMean(name, names)));
  }
  if (!Eat(TokKind::kColon)) {
    axes->emplace_back(*axis);
    return true;
  }
  AxisRef::SubAxis part;
  constexpr int64_t kMost = IotaTileAssignment::kMaxElements;
  if (!Expect(TokKind::kLparen) || !ParseIntInRange(1, kMost, &part.pre_size) ||
      !Expect(TokKind::kRparen) || !ParseIntInRange(2, kMost, &part.size)) {
    return false;
  }
  axes->emplace_back(*axis, part);
  return true;
}

}  // namespace xla::hlo_text
