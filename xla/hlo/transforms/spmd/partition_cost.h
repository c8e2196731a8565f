#ifndef XLA_HLO_TRANSFORMS_SPMD_PARTITION_COST_H_
#define XLA_HLO_TRANSFORMS_SPMD_PARTITION_COST_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"

namespace xla::spmd {

// A way to partition an instruction is tried in a separate module: arguments of
// the function that does it are replaced with counterparts there.
namespace detail {

template <typename T>
struct IsSpmdPartitioningVisitorPointerType
    : std::is_same<T, SpmdPartitioningVisitor*> {};
template <typename T>
using IsSpmdPartitioningVisitorPointer =
    std::enable_if_t<IsSpmdPartitioningVisitorPointerType<std::decay_t<T>>{}>;
template <typename T>
using IsNotSpmdPartitioningVisitorPointer =
    std::enable_if_t<!IsSpmdPartitioningVisitorPointerType<std::decay_t<T>>{}>;

template <typename T>
struct IsSpmdBuilderPointerType : std::is_same<T, SpmdBuilder*> {};
template <typename T>
using IsSpmdBuilderPointer =
    std::enable_if_t<IsSpmdBuilderPointerType<std::decay_t<T>>{}>;
template <typename T>
using IsNotSpmdBuilderPointer =
    std::enable_if_t<!IsSpmdBuilderPointerType<std::decay_t<T>>{}>;

template <typename T>
struct IsHloModulePointerType : std::is_same<T, HloModule*> {};
template <typename T>
using IsHloModulePointer =
    std::enable_if_t<IsHloModulePointerType<std::decay_t<T>>{}>;
template <typename T>
using IsNotHloModulePointer =
    std::enable_if_t<!IsHloModulePointerType<std::decay_t<T>>{}>;

template <typename T>
struct IsPartitionedHloType : std::is_same<T, PartitionedHlo> {};
template <typename T>
using IsPartitionedHlo =
    std::enable_if_t<IsPartitionedHloType<std::decay_t<T>>{}>;
template <typename T>
using IsNotPartitionedHlo =
    std::enable_if_t<!IsPartitionedHloType<std::decay_t<T>>{}>;

template <typename T, typename = void>
struct is_iterable : std::false_type {};
template <typename T>
struct is_iterable<T, std::void_t<decltype(std::declval<T>().begin()),
                                  decltype(std::declval<T>().end())>>
    : std::true_type {};
template <typename T>
using iterable_element_type =
    std::decay_t<decltype(*std::declval<T>().begin())>;

template <typename T, typename = void>
struct IsIterablePartitionedHloContainerType : std::false_type {};
template <typename T>
struct IsIterablePartitionedHloContainerType<T,
                                             std::enable_if_t<is_iterable<T>{}>>
    : std::is_same<iterable_element_type<T>, PartitionedHlo> {};
template <typename T>
using IsIterablePartitionedHloContainer =
    std::enable_if_t<IsIterablePartitionedHloContainerType<std::decay_t<T>>{}>;
template <typename T>
using IsNotIterablePartitionedHloContainer =
    std::enable_if_t<!IsIterablePartitionedHloContainerType<std::decay_t<T>>{}>;

// A parameter in place of the shard.
template <typename Arg, typename = IsPartitionedHlo<Arg>>
std::decay_t<Arg> FakePartitionedHlo(Arg&& phlo, HloModule* module,
                                     int* parameter_count,
                                     SpmdPartitioningVisitor* fake_visitor) {
  HloInstruction* parameter = fake_visitor->builder()->AddInstruction(
      HloInstruction::CreateParameter(*parameter_count, phlo.hlo()->shape(),
                                      absl::StrCat("p", *parameter_count)));
  ++*parameter_count;
  parameter->set_sharding(phlo.sharding());
  PartitionedHlo::PartitioningState state =
      fake_visitor->MakePartitioningState();
  state.module = module;
  return PartitionedHlo(parameter, phlo.base_shape(), state);
}

// The same for each element of a container that can be built from iterators.
template <typename Arg, typename = IsIterablePartitionedHloContainer<Arg>>
std::decay_t<Arg> FakeIterablePartitionedHloContainer(
    Arg&& phlo_container, HloModule* module, int* parameter_count,
    SpmdPartitioningVisitor* fake_visitor) {
  std::vector<PartitionedHlo> shards;
  for (const PartitionedHlo& phlo : phlo_container) {
    shards.push_back(
        FakePartitionedHlo(phlo, module, parameter_count, fake_visitor));
  }
  return std::decay_t<Arg>(shards.begin(), shards.end());
}

template <typename Arg, typename = IsSpmdPartitioningVisitorPointer<Arg>>
std::decay_t<Arg> FakeSpmdPartitioningVisitor(
    Arg&& visitor, SpmdPartitioningVisitor* fake_visitor) {
  return fake_visitor;
}

template <typename Arg, typename = IsSpmdBuilderPointer<Arg>>
std::decay_t<Arg> FakeSpmdBuilder(Arg&& builder,
                                  SpmdPartitioningVisitor* fake_visitor) {
  return fake_visitor->builder();
}

template <typename Arg, typename = IsHloModulePointer<Arg>>
std::decay_t<Arg> FakeHloModule(Arg&& module, HloModule* fake_module) {
  return fake_module;
}

// Whichever of these applies; other arguments are passed unchanged.
template <typename Arg>
std::decay_t<Arg> ArgModifier(Arg&& arg, HloModule* module,
                              int* parameter_count,
                              SpmdPartitioningVisitor* fake_visitor) {
  using T = std::decay_t<Arg>;
  if constexpr (IsPartitionedHloType<T>{}) {
    return FakePartitionedHlo(arg, module, parameter_count, fake_visitor);
  } else if constexpr (IsIterablePartitionedHloContainerType<T>{}) {
    return FakeIterablePartitionedHloContainer(arg, module, parameter_count,
                                               fake_visitor);
  } else if constexpr (IsSpmdPartitioningVisitorPointerType<T>{}) {
    return FakeSpmdPartitioningVisitor(arg, fake_visitor);
  } else if constexpr (IsSpmdBuilderPointerType<T>{}) {
    return FakeSpmdBuilder(arg, fake_visitor);
  } else if constexpr (IsHloModulePointerType<T>{}) {
    return FakeHloModule(arg, module);
  } else {
    return std::forward<Arg>(arg);
  }
}

// The first visitor among the arguments; InvalidArgument if there is none.
template <typename Arg, typename... Args>
absl::StatusOr<SpmdPartitioningVisitor*> FindSpmdPartitioningVisitor(
    Arg&& arg, Args&&... args) {
  if constexpr (IsSpmdPartitioningVisitorPointerType<std::decay_t<Arg>>{}) {
    return arg;
  } else if constexpr (sizeof...(args) > 0) {
    return FindSpmdPartitioningVisitor(std::forward<Args>(args)...);
  } else {
    return absl::InvalidArgumentError(
        "no SpmdPartitioningVisitor is among the arguments");
  }
}

// Bytes of memory and of communication of everything that the visitor's builder
// has added, by the partitioner's MemoryCostInBytes and
// CommunicationCostInBytes.
std::pair<int64_t, int64_t> CostOfBuilt(HloInstruction* root,
                                        SpmdPartitioningVisitor* visitor);

}  // namespace detail

// What `partition_method(args...)`, which returns an instruction, its status,
// or null, would add: bytes of memory and of communication. The largest numbers
// if it returns null; InvalidArgument without a visitor among the arguments.
//
//   EvaluatePartitionCost(hlo, GatherThenDot, hlo, lhs, rhs, visitor)
template <typename F, typename... Args>
absl::StatusOr<std::pair<int64_t, int64_t>> EvaluatePartitionCost(
    const HloInstruction* original_hlo, F partition_method, Args&&... args) {
  absl::StatusOr<SpmdPartitioningVisitor*> visitor =
      detail::FindSpmdPartitioningVisitor(args...);
  if (!visitor.ok()) {
    return absl::Status(
        visitor.status().code(),
        absl::StrCat("the cost of partitioning ", original_hlo->name(), ": ",
                     visitor.status().message()));
  }
  HloModule module("trial", (*visitor)->module()->config());
  const std::unique_ptr<SpmdPartitioningVisitor> trial = (*visitor)->Clone();
  trial->set_module(&module);
  int parameters = 0;
  absl::StatusOr<HloInstruction*> root = partition_method(detail::ArgModifier(
      std::forward<Args>(args), &module, &parameters, trial.get())...);
  if (!root.ok()) return root.status();
  if (*root == nullptr) {
    return std::make_pair(std::numeric_limits<int64_t>::max(),
                          std::numeric_limits<int64_t>::max());
  }
  return detail::CostOfBuilt(*root, trial.get());
}

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_PARTITION_COST_H_
