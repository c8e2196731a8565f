#include "xla/hlo/transforms/sharding_propagation/sdy_attributes.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/transforms/sharding_propagation/sdy_lexer.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// The parts of an attribute besides its dimensions.
struct Extras {
  std::optional<std::vector<AxisRef>> replicated;
  std::optional<std::vector<AxisRef>> unreduced;
  ReductionOp reduction_op = ReductionOp::kSum;
};

class SdyParser : public SdyLexer {
 public:
  using SdyLexer::SdyLexer;

  absl::StatusOr<SdyMeshes> Meshes() {
    SdyMeshes meshes;
    RETURN_IF_ERROR(Expect("{"));
    if (!Accept("}")) {
      do {
        ASSIGN_OR_RETURN(const std::string name, Name());
        RETURN_IF_ERROR(Expect("="));
        RETURN_IF_ERROR(Expect("#sdy.mesh"));
        ASSIGN_OR_RETURN(SdyMesh mesh, MeshBody());
        if (!meshes.emplace(name, std::move(mesh)).second) {
          return Error(absl::StrCat("mesh ", name, " is defined twice"));
        }
      } while (Accept(","));
      RETURN_IF_ERROR(Expect("}"));
    }
    RETURN_IF_ERROR(End());
    return meshes;
  }

  absl::StatusOr<SdySharding> Sharding(const SdyMeshes& meshes) {
    RETURN_IF_ERROR(Expect("#sdy.sharding"));
    ASSIGN_OR_RETURN(SdySharding result, Body(meshes));
    RETURN_IF_ERROR(End());
    return result;
  }

  absl::StatusOr<std::vector<SdySharding>> PerValue(const SdyMeshes& meshes) {
    std::vector<SdySharding> result;
    RETURN_IF_ERROR(Expect("#sdy.sharding_per_value"));
    RETURN_IF_ERROR(Expect("<"));
    RETURN_IF_ERROR(Expect("["));
    if (!Accept("]")) {
      do {
        ASSIGN_OR_RETURN(SdySharding sharding, Body(meshes));
        result.push_back(std::move(sharding));
      } while (Accept(","));
      RETURN_IF_ERROR(Expect("]"));
    }
    RETURN_IF_ERROR(Expect(">"));
    RETURN_IF_ERROR(End());
    return result;
  }

 private:
  // `<["a"=2], device_ids=[..]>`
  absl::StatusOr<SdyMesh> MeshBody() {
    std::vector<std::string> names;
    std::vector<int64_t> sizes;
    std::vector<int64_t> devices;
    int64_t count = 1;
    RETURN_IF_ERROR(Expect("<"));
    RETURN_IF_ERROR(Expect("["));
    if (!Accept("]")) {
      do {
        ASSIGN_OR_RETURN(std::string name, Quoted());
        RETURN_IF_ERROR(Expect("="));
        ASSIGN_OR_RETURN(const int64_t size, Int());
        if (size < 1 || size > IotaTileAssignment::kMaxElements / count) {
          return Error("axis sizes must be positive and their product small");
        }
        count *= size;
        names.push_back(std::move(name));
        sizes.push_back(size);
      } while (Accept(","));
      RETURN_IF_ERROR(Expect("]"));
    }
    if (Accept(",")) {
      RETURN_IF_ERROR(Expect("device_ids"));
      RETURN_IF_ERROR(Expect("="));
      RETURN_IF_ERROR(Expect("["));
      do {
        ASSIGN_OR_RETURN(const int64_t device, Int());
        devices.push_back(device);
      } while (Accept(","));
      RETURN_IF_ERROR(Expect("]"));
    }
    RETURN_IF_ERROR(Expect(">"));
    return MakeMesh(names, sizes, devices, count);
  }

  absl::StatusOr<SdyMesh> MakeMesh(const std::vector<std::string>& names,
                                   const std::vector<int64_t>& sizes,
                                   const std::vector<int64_t>& devices,
                                   int64_t count) {
    if (!devices.empty() && static_cast<int64_t>(devices.size()) != count) {
      return Error(
          absl::StrCat(devices.size(), " device_ids for ", count, " devices"));
    }
    SdyMesh result;
    result.empty = names.empty() && devices.empty();
    MeshProto proto;
    for (size_t i = 0; i < names.size(); ++i) {
      MeshProto::MeshAxis* axis = proto.add_axes();
      axis->set_name(names[i]);
      axis->set_size(sizes[i]);
    }
    for (int64_t device : devices) proto.add_device_ids(device);
    absl::StatusOr<Mesh> mesh = Mesh::CreateFromProto(proto);
    if (!mesh.ok()) return Error(mesh.status().message());
    result.mesh = *std::move(mesh);
    return result;
  }

  // `"a"` or `"a":(1)2`
  // The number in parentheses is the product of the parts on the major side: of
  // an axis "a" of 8 devices, "a":(1)2 is the major half and "a":(2)4 the rest.
  absl::StatusOr<AxisRef> Axis(const Mesh& mesh) {
    ASSIGN_OR_RETURN(const std::string name, Quoted());
    const std::optional<int64_t> axis =
        mesh.IsMaximal() ? std::nullopt : mesh.FindAxis(name);
    if (!axis)
      return Error(absl::StrCat("the mesh has no axis \"", name, "\""));
    if (!Accept(":")) return AxisRef(*axis);
    RETURN_IF_ERROR(Expect("("));
    ASSIGN_OR_RETURN(const int64_t pre_size, Int());
    RETURN_IF_ERROR(Expect(")"));
    ASSIGN_OR_RETURN(const int64_t size, Int());
    absl::StatusOr<AxisRef> part =
        AxisRef::Create(*axis, AxisRef::SubAxis{pre_size, size});
    if (!part.ok()) return Error(part.status().message());
    return part;
  }

  absl::StatusOr<std::vector<AxisRef>> Axes(const Mesh& mesh) {
    std::vector<AxisRef> axes;
    RETURN_IF_ERROR(Expect("{"));
    if (Accept("}")) return axes;
    do {
      ASSIGN_OR_RETURN(AxisRef axis, Axis(mesh));
      axes.push_back(axis);
    } while (Accept(","));
    RETURN_IF_ERROR(Expect("}"));
    return axes;
  }

  // `{"a", ?}p1`
  absl::StatusOr<NamedSharding::DimensionSharding> Dimension(
      const Mesh& mesh, int64_t* priority) {
    std::vector<AxisRef> axes;
    bool closed = true;
    RETURN_IF_ERROR(Expect("{"));
    if (!Accept("}")) {
      do {
        if (Accept("?")) {
          closed = false;
          break;
        }
        ASSIGN_OR_RETURN(AxisRef axis, Axis(mesh));
        axes.push_back(axis);
      } while (Accept(","));
      RETURN_IF_ERROR(Expect("}"));
    }
    *priority = 0;
    if (Accept("p")) {
      ASSIGN_OR_RETURN(*priority, Int());
    }
    return NamedSharding::DimensionSharding(std::move(axes), closed);
  }

  absl::Status ParseExtras(const Mesh& mesh, Extras* extras) {
    while (Accept(",")) {
      if (Accept("replicated")) {
        RETURN_IF_ERROR(Expect("="));
        if (extras->replicated) return Error("replicated= is given twice");
        ASSIGN_OR_RETURN(extras->replicated, Axes(mesh));
        continue;
      }
      RETURN_IF_ERROR(Expect("unreduced"));
      if (extras->unreduced) return Error("unreduced= is given twice");
      Accept("=");
      if (Accept("max")) {
        extras->reduction_op = ReductionOp::kMax;
      } else if (Accept("min")) {
        extras->reduction_op = ReductionOp::kMin;
      } else {
        Accept("sum");
      }
      ASSIGN_OR_RETURN(extras->unreduced, Axes(mesh));
    }
    return absl::OkStatus();
  }

  // `<@mesh, [dims], extras>`
  absl::StatusOr<SdySharding> Body(const SdyMeshes& meshes) {
    RETURN_IF_ERROR(Expect("<"));
    SdyMesh inlined;
    const SdyMesh* mesh = &inlined;
    if (Accept("@")) {
      ASSIGN_OR_RETURN(const std::string name, Name());
      const auto it = meshes.find(name);
      if (it == meshes.end()) {
        return Error(absl::StrCat("there is no mesh @", name));
      }
      mesh = &it->second;
    } else {
      RETURN_IF_ERROR(Expect("mesh"));
      ASSIGN_OR_RETURN(inlined, MeshBody());
    }
    RETURN_IF_ERROR(Expect(","));
    RETURN_IF_ERROR(Expect("["));
    SdySharding result;
    std::vector<NamedSharding::DimensionSharding> dims;
    bool all_open = true;
    if (!Accept("]")) {
      do {
        int64_t priority = 0;
        ASSIGN_OR_RETURN(NamedSharding::DimensionSharding dim,
                         Dimension(mesh->mesh, &priority));
        all_open = all_open && !dim.is_closed();
        dims.push_back(std::move(dim));
        result.priorities.push_back(priority);
      } while (Accept(","));
      RETURN_IF_ERROR(Expect("]"));
    } else {
      all_open = false;
    }
    Extras extras;
    RETURN_IF_ERROR(ParseExtras(mesh->mesh, &extras));
    RETURN_IF_ERROR(Expect(">"));
    result.text = text();
    result.rank = dims.size();
    if (mesh->empty) {
      if (!all_open) result.sharding = HloSharding::Replicate();
      return result;
    }
    if (mesh->mesh.IsMaximal()) {
      result.sharding =
          HloSharding::SingleDevice(mesh->mesh.device_assignment().first());
      return result;
    }
    absl::StatusOr<NamedSharding> named = NamedSharding::Create(
        mesh->mesh, dims, extras.replicated.value_or(std::vector<AxisRef>()),
        extras.unreduced.value_or(std::vector<AxisRef>()), {}, {},
        extras.reduction_op);
    if (!named.ok()) return Error(named.status().message());
    result.sharding = HloSharding(*std::move(named));
    return result;
  }
};

}  // namespace

absl::StatusOr<SdyMeshes> ParseSdyMeshes(absl::string_view text) {
  return SdyParser(text).Meshes();
}

absl::StatusOr<SdySharding> ParseSdySharding(absl::string_view text,
                                             const SdyMeshes& meshes) {
  return SdyParser(text).Sharding(meshes);
}

absl::StatusOr<std::vector<SdySharding>> ParseSdyShardingPerValue(
    absl::string_view text, const SdyMeshes& meshes) {
  return SdyParser(text).PerValue(meshes);
}

}  // namespace xla
