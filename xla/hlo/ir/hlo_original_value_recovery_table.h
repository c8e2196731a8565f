#ifndef XLA_HLO_IR_HLO_ORIGINAL_VALUE_RECOVERY_TABLE_H_
#define XLA_HLO_IR_HLO_ORIGINAL_VALUE_RECOVERY_TABLE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

class HloModule;

// How to compute arrays of the unoptimized program that a rewrite has replaced:
// original array -> (array that took its place, module that computes the former
// from the latter, or null if they are equal).
class OriginalValueRecoveryTable {
 public:
  using Table =
      absl::flat_hash_map<OriginalArray,
                          std::pair<OriginalArray, std::unique_ptr<HloModule>>>;
  using iterator = Table::iterator;
  using const_iterator = Table::const_iterator;

  OriginalValueRecoveryTable();
  ~OriginalValueRecoveryTable();
  OriginalValueRecoveryTable(OriginalValueRecoveryTable&&);
  OriginalValueRecoveryTable& operator=(OriginalValueRecoveryTable&&);

  // Entries in the order of their keys, as in the module header.
  std::string ToString(HloPrintOptions options = HloPrintOptions()) const;
  OriginalValueRecoveryTableProto ToProto() const;
  static absl::StatusOr<OriginalValueRecoveryTable> FromProto(
      const OriginalValueRecoveryTableProto& original_value_recovery_table);

  // Records that new_inst replaces old_inst, for every leaf with an original
  // array. Leaves of new_inst without one get a placeholder array. Without a
  // function the arrays are equal; if it returns nullopt, nothing is recorded,
  // and a null module also means that the arrays are equal.
  void AddRecoveryComputation(
      const HloInstruction* old_inst, HloInstruction* new_inst,
      std::function<std::optional<std::unique_ptr<HloModule>>(
          const ShapeIndex& index, const OriginalArray& old_original_array,
          const Shape& old_shape, const Shape& new_shape)>&&
          build_recovery_computation = nullptr);

  // The same; the function adds the recovery to a builder whose parameter 0 has
  // new_shape and returns the root, or null if the arrays are equal.
  void BuildAndAddRecoveryComputation(
      const HloInstruction* old_inst, HloInstruction* new_inst,
      std::function<std::optional<HloInstruction*>(
          HloComputation::Builder& builder, const ShapeIndex& index,
          const OriginalArray& old_original_array, const Shape& old_shape,
          const Shape& new_shape)>&& build_recovery_computation);

  bool empty() const { return table_.empty(); }
  size_t size() const { return table_.size(); }
  // Keeps an existing entry.
  void emplace(const OriginalArray& old_original_array,
               std::pair<OriginalArray, std::unique_ptr<HloModule>>&&
                   recovery_computation);

  // In no particular order.
  iterator begin();
  iterator end();
  const_iterator begin() const;
  const_iterator end() const;

 private:
  Table table_;
  // Numbers the placeholders.
  int next_placeholder_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_ORIGINAL_VALUE_RECOVERY_TABLE_H_
