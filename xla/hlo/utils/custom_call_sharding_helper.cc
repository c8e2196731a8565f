#include "xla/hlo/utils/custom_call_sharding_helper.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/no_destructor.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

struct Registry {
  absl::Mutex mutex;
  absl::flat_hash_map<std::string, std::unique_ptr<CustomCallPartitioner>>
      partitioners ABSL_GUARDED_BY(mutex);
};

Registry& GetRegistry() {
  static absl::NoDestructor<Registry> registry;
  return *registry;
}

bool HasDims(const Shape& shape, absl::Span<const int64_t> leading) {
  return shape.IsArray() && shape.dimensions().size() >= leading.size() &&
         absl::c_equal(shape.dimensions().subspan(0, leading.size()), leading);
}

}  // namespace

int64_t CustomCallBatchDims(const HloInstruction& call) {
  const auto& attributes = call.frontend_attributes().map();
  const auto it = attributes.find("num_batch_dims");
  int64_t count = 0;
  if (it == attributes.end() || !absl::SimpleAtoi(it->second, &count) ||
      count <= 0 || call.operand_count() == 0 ||
      Cast<HloCustomCallInstruction>(&call)->custom_call_has_side_effect()) {
    return 0;
  }
  const Shape& first = call.operand(0)->shape();
  if (!first.IsArray() || first.dimensions().size() < count) return 0;
  const absl::Span<const int64_t> batch = first.dimensions().subspan(0, count);
  const std::vector<const Shape*> results =
      ShapeUtil::FlattenTupleShape(call.shape());
  const bool agree = !results.empty() &&
                     absl::c_all_of(call.operands(),
                                    [&](const HloInstruction* operand) {
                                      return HasDims(operand->shape(), batch);
                                    }) &&
                     absl::c_all_of(results, [&](const Shape* leaf) {
                       return HasDims(*leaf, batch);
                     });
  return agree ? count : 0;
}

HloSharding CustomCallShardingHelper::PropagateUserSharding(
    const HloInstruction* instruction, const HloInstruction* user,
    const HloSharding& sharding) const {
  return sharding;
}

std::optional<HloSharding> CustomCallShardingHelper::InferShardingFromOperands(
    const HloInstruction* instruction) const {
  return std::nullopt;
}

bool CustomCallShardingHelper::IsCustomCallShardable(
    const HloInstruction* instruction) const {
  return false;
}

std::vector<HloInstruction*> CustomCallShardingHelper::GetRelatedInstructions(
    HloInstruction* instruction) const {
  return {};
}

bool CustomCallShardingHelper::CanPropagateShardingToOperands(
    const HloInstruction* instruction) const {
  return true;
}

absl::Status CustomCallPartitioner::Partition(
    spmd::SpmdPartitioningVisitor* partitioner, HloInstruction* hlo) const {
  return absl::UnimplementedError(
      absl::StrCat(hlo->name(), ": the partitioner of custom call ",
                   hlo->custom_call_target(), " has no Partition"));
}

bool CustomCallPartitioner::CanSideEffectingHaveReplicatedSharding() const {
  return false;
}

const CustomCallPartitioner* GetCustomCallPartitioner(
    absl::string_view custom_call_target) {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  auto it = registry.partitioners.find(custom_call_target);
  return it == registry.partitioners.end() ? nullptr : it->second.get();
}

void RegisterCustomCallPartitioner(
    absl::string_view custom_call_target,
    std::unique_ptr<CustomCallPartitioner> partitioner) {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  registry.partitioners.try_emplace(custom_call_target, std::move(partitioner));
}

}  // namespace xla
