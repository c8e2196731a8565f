#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

absl::string_view SubgroupName(OpSharding::Type type) {
  switch (type) {
    case OpSharding::MANUAL:
      return "manual";
    case OpSharding::REPLICATED:
      return "replicated";
    case OpSharding::UNREDUCED:
      return "unreduced";
    default:
      return "error_type";
  }
}

// Elements between two `/*index=N*/` comments in a tuple.
constexpr size_t kIndexInterval = 5;

}  // namespace

void HloSharding::PrintLeafBody(Printer* printer) const {
  switch (kind_) {
    case Kind::kReplicated:
      printer->Append("replicated");
      return;
    case Kind::kManual:
      printer->Append("manual");
      return;
    case Kind::kUnknown:
      printer->Append("unknown");
      return;
    case Kind::kUnreduced:
      printer->Append("unreduced");
      return;
    case Kind::kSingleDevice:
      printer->Append("maximal device=");
      printer->Append(tile_assignment_.first());
      return;
    case Kind::kTuple:
      return;
    case Kind::kTiled:
      break;
  }
  tile_assignment_.Print(printer);
  if (replicate_on_last_tile_dim_) printer->Append(" last_tile_dim_replicate");
  if (subgroup_types_.empty()) return;
  printer->Append(" last_tile_dims={");
  for (size_t i = 0; i < subgroup_types_.size(); ++i) {
    if (i > 0) printer->Append(", ");
    printer->Append(SubgroupName(subgroup_types_[i]));
  }
  printer->Append("}");
}

void HloSharding::Print(Printer* printer, bool include_metadata) const {
  if (IsTuple()) {
    printer->Append("{");
    for (size_t i = 0; i < tuple_elements_.size(); ++i) {
      if (i > 0) printer->Append(", ");
      if (i > 0 && i % kIndexInterval == 0) {
        printer->Append("/*index=");
        printer->Append(i);
        printer->Append("*/");
      }
      tuple_elements_[i].Print(printer, include_metadata);
    }
    printer->Append("}");
    return;
  }
  if (named_sharding_ != nullptr) {
    named_sharding_->Print(printer, include_metadata);
    return;
  }
  printer->Append("{");
  PrintLeafBody(printer);
  if (shard_group_.shard_as || shard_group_.shard_like) {
    printer->Append(shard_group_.shard_as ? " shard_as " : " shard_like ");
    printer->Append(shard_group_.shard_group_id);
  }
  if (reduction_op_ != ReductionOp::kSum) {
    std::vector<OpMetadata> metadata(1);
    metadata[0].set_op_type("reduction_op");
    metadata[0].set_op_name(ReductionOpToString(reduction_op_));
    if (include_metadata) {
      metadata.insert(metadata.end(), metadata_.begin(), metadata_.end());
    }
    PrintShardingMetadataList(printer, metadata);
  } else if (include_metadata) {
    PrintShardingMetadataList(printer, metadata_);
  }
  printer->Append("}");
}

std::string HloSharding::ToString(bool include_metadata) const {
  StringPrinter printer;
  Print(&printer, include_metadata);
  return std::move(printer).ToString();
}

std::ostream& operator<<(std::ostream& out, const HloSharding& sharding) {
  return out << sharding.ToString();
}

}  // namespace xla
