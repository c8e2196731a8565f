#include "xla/hlo/utils/custom_call_sharding_helper.h"

#include <string>
#include <utility>

#include "absl/base/no_destructor.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

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

}  // namespace

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
