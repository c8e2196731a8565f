#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/value_parser.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

// The contents of a sharding in braces, before it is known whether that fits
// together.
struct ValueParser::ShardingFields {
  bool maximal = false;
  bool replicated = false;
  bool manual = false;
  bool unknown = false;
  bool unreduced = false;
  bool last_tile_dim_replicate = false;
  std::optional<int64_t> device;
  std::optional<TileAssignment> tiles;
  std::vector<OpSharding::Type> subgroup_types;
  std::vector<OpMetadata> metadata;
  int reduction = static_cast<int>(ReductionOp::kSum);
  HloSharding::ShardGroup group = HloSharding::NotShardGroup();
};

std::shared_ptr<const HloSharding> ValueParser::ParseCachedSharding() {
  return ThroughCache(&shardings_, [&]() -> std::shared_ptr<const HloSharding> {
    HloSharding sharding = HloSharding::Replicate();
    if (!ParseSharding(&sharding)) return nullptr;
    return std::make_shared<const HloSharding>(std::move(sharding));
  });
}

bool ValueParser::ParseSharding(HloSharding* result) {
  Nesting nesting(this);
  if (!nesting.ok()) return false;
  const Loc start = loc();
  if (!Expect(TokKind::kLbrace, "to begin a sharding")) return false;
  if (kind() == TokKind::kLbrace) {
    lexer_.Reset(start);
    return ParseTupleSharding(result);
  }
  if (kind() == TokKind::kIdent && (lexer_.GetStrView() == "mesh" ||
                                    lexer_.GetStrView() == "maximal_mesh")) {
    return ParseNamedSharding(result);
  }
  ShardingFields fields;
  while (!Eat(TokKind::kRbrace)) {
    if (!ParseShardingField(&fields)) return false;
  }
  return BuildSharding(start, &fields, result);
}

// {{replicated}, {devices=[2]<=[2]}}
bool ValueParser::ParseTupleSharding(HloSharding* result) {
  std::vector<HloSharding> elements;
  if (!ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
        const Loc start = loc();
        std::shared_ptr<const HloSharding> element = ParseCachedSharding();
        if (element == nullptr) return false;
        if (element->IsTuple()) {
          return Error(start, "a tuple sharding is a flat list of leaves");
        }
        elements.push_back(*element);
        return true;
      })) {
    return false;
  }
  *result = HloSharding::FlatTuple(std::move(elements));
  return true;
}

bool ValueParser::ParseShardingField(ShardingFields* fields) {
  auto flag = [&](bool* which) {
    *which = true;
    Next();
    return true;
  };
  switch (kind()) {
    case TokKind::kw_maximal:
      return flag(&fields->maximal);
    case TokKind::kw_replicated:
      return flag(&fields->replicated);
    case TokKind::kw_manual:
      return flag(&fields->manual);
    case TokKind::kw_unknown:
      return flag(&fields->unknown);
    case TokKind::kw_unreduced:
      return flag(&fields->unreduced);
    case TokKind::kw_last_tile_dim_replicate:
      return flag(&fields->last_tile_dim_replicate);
    case TokKind::kw_shard_as:
    case TokKind::kw_shard_like:
      return ParseShardGroup(kind() == TokKind::kw_shard_as, fields);
    case TokKind::kAttributeName:
      return ParseNamedShardingAttribute(fields);
    default:
      return Expected("a sharding");
  }
}

bool ValueParser::ParseShardGroup(bool as, ShardingFields* fields) {
  Next();
  int64_t id;
  if (!ParseIntInRange(0, std::numeric_limits<int64_t>::max(), &id)) {
    return false;
  }
  fields->group = as ? HloSharding::ShardAs(id) : HloSharding::ShardLike(id);
  return true;
}

bool ValueParser::ParseNamedShardingAttribute(ShardingFields* fields) {
  const Loc start = loc();
  absl::string_view name = lexer_.GetStrView();
  Next();
  if (name == "device") {
    int64_t device;
    if (!ParseInt(&device)) return false;
    fields->device = device;
    return true;
  }
  if (name == "devices") return ParseTileAssignment(fields);
  if (name == "unreduced") {
    fields->unreduced = true;
    return ParseReductionOp(&fields->reduction);
  }
  if (name == "last_tile_dims") return ParseSubgroupTypes(fields);
  if (name == "metadata") return ParseShardingMetadata(&fields->metadata);
  return Error(
      start,
      absl::StrCat("unknown sharding attribute '", name, "'",
                   DidYouMean(name, {"device", "devices", "last_tile_dims",
                                     "metadata", "unreduced"})));
}

bool ValueParser::ParseReductionOp(int* result) {
  return ParseEnum("reduction", {"sum", "max", "min"}, result);
}

// [2,2]0,1,2,3 or [2,2]<=[4] or [2,2]<=[2,2]T(1,0)
bool ValueParser::ParseTileAssignment(ShardingFields* fields) {
  const Loc start = loc();
  IntVector dims;
  if (!ParseIntList(TokKind::kLsquare, TokKind::kRsquare, &dims)) return false;
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim <= 0 || count > IotaTileAssignment::kMaxElements / dim) {
      return Error(start, absl::StrCat("tile dimension ", dim,
                                       " is not positive or leads to too many "
                                       "devices"));
    }
    count *= dim;
  }
  if (kind() == TokKind::kLeq) {
    std::vector<int64_t> reshape_dims;
    std::vector<int> transpose_perm;
    if (!ParseIotaTail(&reshape_dims, &transpose_perm)) return false;
    absl::Status valid =
        IotaTileAssignment::Validate(dims, reshape_dims, transpose_perm);
    if (!valid.ok()) return Error(start, valid.message());
    fields->tiles = TileAssignment(dims, reshape_dims, transpose_perm);
    return true;
  }
  std::vector<int64_t> devices;
  do {
    int64_t device;
    if (!ParseInt(&device)) return false;
    devices.push_back(device);
  } while (Eat(TokKind::kComma));
  if (static_cast<int64_t>(devices.size()) != count) {
    return Error(start, absl::StrCat("the tile dimensions need ", count,
                                     " devices, found ", devices.size()));
  }
  auto array = std::make_shared<Array<int64_t>>(dims);
  array->SetValues(devices);
  fields->tiles = TileAssignment(std::move(array));
  return true;
}

// <=[2,4]T(1,0)
bool ValueParser::ParseIotaTail(std::vector<int64_t>* reshape_dims,
                                std::vector<int>* transpose_perm) {
  if (!Expect(TokKind::kLeq) ||
      !ParseIntList(TokKind::kLsquare, TokKind::kRsquare, reshape_dims)) {
    return false;
  }
  transpose_perm->clear();
  if (kind() == TokKind::kIdent && lexer_.GetStrView() == "T") {
    Next();
    const Loc start = loc();
    std::vector<int64_t> perm;
    if (!ParseIntList(TokKind::kLparen, TokKind::kRparen, &perm)) return false;
    for (int64_t dim : perm) {
      if (dim < 0 || dim >= static_cast<int64_t>(reshape_dims->size())) {
        return Error(start,
                     absl::StrCat("no dimension ", dim, " to transpose"));
      }
      transpose_perm->push_back(static_cast<int>(dim));
    }
    return true;
  }
  for (size_t i = 0; i < reshape_dims->size(); ++i) {
    transpose_perm->push_back(static_cast<int>(i));
  }
  return true;
}

bool ValueParser::ParseSubgroupTypes(ShardingFields* fields) {
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    switch (kind()) {
      case TokKind::kw_manual:
        fields->subgroup_types.push_back(OpSharding::MANUAL);
        break;
      case TokKind::kw_replicated:
        fields->subgroup_types.push_back(OpSharding::REPLICATED);
        break;
      case TokKind::kw_unreduced:
        fields->subgroup_types.push_back(OpSharding::UNREDUCED);
        break;
      default:
        return Expected("manual, replicated or unreduced");
    }
    Next();
    return true;
  });
}

// {op_name="a"} or {{op_name="a"}, {op_name="b"}}
bool ValueParser::ParseShardingMetadata(std::vector<OpMetadata>* result) {
  if (kind() == TokKind::kLbrace && lexer_.LookAhead() == TokKind::kLbrace) {
    return ParseList(TokKind::kLbrace, TokKind::kRbrace,
                     [&] { return ParseMetadata(&result->emplace_back()); });
  }
  return ParseMetadata(&result->emplace_back());
}

bool ValueParser::BuildSharding(Loc start, ShardingFields* fields,
                                HloSharding* result) {
  const int kinds = fields->maximal + fields->replicated + fields->manual +
                    fields->unknown + fields->unreduced;
  if (kinds > 1) return Error(start, "more than one kind of sharding");
  if (fields->device.has_value() && !fields->maximal) {
    return Error(start, "only a maximal sharding has one device");
  }
  if (kinds == 1) {
    // The form maximal devices=[1]3 is old but legal.
    if (fields->maximal && fields->tiles.has_value() &&
        fields->tiles->num_elements() == 1 && !fields->device.has_value()) {
      fields->device = fields->tiles->first();
      fields->tiles.reset();
    }
    if (fields->tiles.has_value() || fields->last_tile_dim_replicate ||
        !fields->subgroup_types.empty()) {
      return Error(start, "this kind of sharding has no tiles");
    }
    if (fields->maximal && !fields->device.has_value()) {
      return Error(start, "a maximal sharding needs exactly one device");
    }
    *result = fields->maximal
                  ? HloSharding::SingleDevice(*fields->device, fields->metadata)
              : fields->replicated ? HloSharding::Replicate(fields->metadata)
              : fields->manual     ? HloSharding::Manual(fields->metadata)
              : fields->unknown    ? HloSharding::Unknown(fields->metadata)
                                   : HloSharding::Unreduced(fields->metadata);
  } else {
    if (!fields->tiles.has_value()) {
      return Error(start, "a tiled sharding needs devices=[...]");
    }
    if (fields->last_tile_dim_replicate && !fields->subgroup_types.empty()) {
      return Error(start,
                   "last_tile_dim_replicate and last_tile_dims exclude each "
                   "other");
    }
    absl::StatusOr<HloSharding> sharding = HloSharding::MakeTiled(
        *std::move(fields->tiles), fields->last_tile_dim_replicate,
        fields->subgroup_types, fields->metadata);
    if (!sharding.ok()) return Error(start, sharding.status().message());
    *result = *std::move(sharding);
  }
  result->SetShardGroup(fields->group);
  if (!fields->metadata.empty()) result->ExtractReductionOpFromMetadata();
  const ReductionOp reduction = static_cast<ReductionOp>(fields->reduction);
  if (reduction != ReductionOp::kSum) result->set_reduction_op(reduction);
  // Only named shardings have another reduction in their text; others have it
  // in their metadata.
  if (result->IsUnreducedLeaf() &&
      result->reduction_op() != ReductionOp::kSum && !result->IsShardGroup()) {
    NamedSharding named = NamedSharding::Unreduced(result->metadata());
    named.set_reduction_op(result->reduction_op());
    *result = HloSharding(std::move(named));
  }
  return true;
}

// The part of a named sharding behind its mesh.
struct ValueParser::NamedShardingFields {
  std::vector<NamedSharding::DimensionSharding> dims;
  std::vector<AxisRef> replicated, unreduced, manual;
  std::vector<OpMetadata> metadata;
  int reduction = static_cast<int>(ReductionOp::kSum);
  // A word that is said of the whole mesh, or nothing.
  TokKind word = TokKind::kEof;
};

// replicated, manual, unreduced, unreduced=max{'y'} or metadata={...}
bool ValueParser::ParseNamedShardingField(const Mesh& mesh,
                                          NamedShardingFields* fields) {
  if (kind() == TokKind::kw_replicated || kind() == TokKind::kw_manual ||
      kind() == TokKind::kw_unreduced) {
    if (fields->word != TokKind::kEof) {
      return Error(loc(), "more than one kind of sharding");
    }
    fields->word = kind();
    Next();
    return true;
  }
  if (kind() == TokKind::kLsquare) {
    return ParseList(TokKind::kLsquare, TokKind::kRsquare, [&] {
      std::vector<AxisRef> axes;
      bool is_closed = true;
      if (!ParseAxes(mesh, &axes, &is_closed)) return false;
      fields->dims.emplace_back(std::move(axes), is_closed);
      return true;
    });
  }
  const Loc name_loc = loc();
  absl::string_view name;
  if (!ParseAttributeName(&name)) return false;
  if (name == "replicated") {
    return ParseAxes(mesh, &fields->replicated, nullptr);
  }
  if (name == "manual") return ParseAxes(mesh, &fields->manual, nullptr);
  if (name == "unreduced") {
    if (kind() != TokKind::kLbrace) {
      if (!ParseReductionOp(&fields->reduction)) return false;
      if (kind() != TokKind::kLbrace) {
        fields->word = TokKind::kw_unreduced;
        return true;
      }
    }
    return ParseAxes(mesh, &fields->unreduced, nullptr);
  }
  if (name == "metadata") return ParseShardingMetadata(&fields->metadata);
  return Error(name_loc,
               absl::StrCat("unknown sharding attribute '", name, "'",
                            DidYouMean(name, {"replicated", "manual",
                                              "unreduced", "metadata"})));
}

// mesh['x'=2,'y'=2], [{'x'}, {'y', ?}], unreduced=max{'y'}}, from behind the
// opening brace on; or a word for all axes: mesh['x'=2], manual}.
bool ValueParser::ParseNamedSharding(HloSharding* result) {
  const Loc start = loc();
  Mesh mesh;
  if (!ParseMesh(&mesh)) return false;
  NamedShardingFields fields;
  while (Eat(TokKind::kComma) || kind() == TokKind::kAttributeName) {
    if (!ParseNamedShardingField(mesh, &fields)) return false;
  }
  if (!Expect(TokKind::kRbrace, "to end a sharding")) return false;
  const ReductionOp reduction = static_cast<ReductionOp>(fields.reduction);
  if (fields.word != TokKind::kEof &&
      !(fields.dims.empty() && fields.replicated.empty() &&
        fields.unreduced.empty() && fields.manual.empty())) {
    return Error(start, "a word for all axes excludes other fields");
  }
  if (fields.word == TokKind::kw_manual) {
    *result =
        HloSharding(NamedSharding::Manual(std::move(mesh), fields.metadata));
    return true;
  }
  if (fields.word == TokKind::kw_unreduced) {
    NamedSharding unreduced =
        NamedSharding::Unreduced(std::move(mesh), fields.metadata);
    unreduced.set_reduction_op(reduction);
    *result = HloSharding(std::move(unreduced));
    return true;
  }
  absl::StatusOr<NamedSharding> sharding = NamedSharding::Create(
      std::move(mesh), fields.dims, fields.replicated, fields.unreduced,
      fields.manual, fields.metadata, reduction);
  if (!sharding.ok()) return Error(start, sharding.status().message());
  *result = HloSharding(*std::move(sharding));
  return true;
}

}  // namespace xla::hlo_text
