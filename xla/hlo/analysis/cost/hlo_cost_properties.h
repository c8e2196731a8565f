#ifndef XLA_HLO_ANALYSIS_COST_HLO_COST_PROPERTIES_H_
#define XLA_HLO_ANALYSIS_COST_HLO_COST_PROPERTIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "xla/shape_util.h"

namespace xla {

// The cost of one instruction, or of many together, by name. Absent means 0.
//
//   "flops"                 floating point and integer operations
//   "transcendentals"       elements of exponential, logarithm and the like
//   "bytes accessed"        bytes read and written
//   "optimal_seconds"       seconds, by the rates of a device
//   "utilization"           how often the result is computed, inside a fusion
//   "bytes accessed2{}"     of operand 2 at index {}: bytes read
//   "bytes accessedout{0}"  of the output at index {0}: bytes written
//   "utilization2{}"        how often an element of operand 2 is read
//
// Any other name may be used, too. Common ones are members, so that a copy is
// cheap and an instruction needs about 100 bytes.
class HloCostProperties {
 public:
  static constexpr absl::string_view kFlopsKey = "flops";
  static constexpr absl::string_view kTranscendentalsKey = "transcendentals";
  static constexpr absl::string_view kBytesAccessedKey = "bytes accessed";
  static constexpr absl::string_view kOptimalSecondsKey = "optimal_seconds";
  static constexpr absl::string_view kUtilizationKey = "utilization";

  static std::string OperandBytesAccessedKey(int64_t operand,
                                             const ShapeIndex& index = {});
  static std::string OperandUtilizationKey(int64_t operand,
                                           const ShapeIndex& index = {});
  static std::string OutputBytesAccessedKey(const ShapeIndex& index = {});

  double& operator[](absl::string_view property);
  double operator[](absl::string_view property) const;

  // Those that are not 0, members first, then by name.
  void ForEach(absl::FunctionRef<void(absl::string_view, double)> fn) const;

  double operand_utilization(int64_t operand,
                             const ShapeIndex& shape_index = {}) const;
  void set_operand_utilization(int64_t operand, double value) {
    set_operand_utilization(operand, {}, value);
  }
  void set_operand_utilization(int64_t operand, const ShapeIndex& shape_index,
                               double value);
  double operand_bytes_accessed(int64_t operand,
                                const ShapeIndex& shape_index = {}) const;
  void set_operand_bytes_accessed(int64_t operand, double value) {
    set_operand_bytes_accessed(operand, {}, value);
  }
  void set_operand_bytes_accessed(int64_t operand,
                                  const ShapeIndex& shape_index, double value);
  double output_bytes_accessed(const ShapeIndex& shape_index = {}) const;
  void set_output_bytes_accessed(double value) {
    set_output_bytes_accessed({}, value);
  }
  void set_output_bytes_accessed(const ShapeIndex& shape_index, double value);

  // Adds `factor` times the totals of `other`: all properties except those of
  // single operands and outputs, and utilization.
  void AddTotals(const HloCostProperties& other, double factor = 1);
  // The greater of each total.
  void MaxTotals(const HloCostProperties& other);

  // `flops 12, bytes accessed 40`; others by name if requested.
  std::string ToString(bool print_named_properties = false) const;

  double flops = 0;
  double transcendentals = 0;
  double bytes_accessed = 0;
  double optimal_seconds = 0;
  double utilization = 0;

 private:
  // Bytes and utilization of an operand at index {}.
  struct Operand {
    double bytes = 0;
    double utilization = 0;
  };
  // The member that a name stands for, or null.
  double* Find(absl::string_view property, bool may_grow);
  double Named(absl::string_view property) const;

  double output_bytes_ = 0;
  std::vector<Operand> operands_;
  absl::btree_map<std::string, double> named_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_COST_HLO_COST_PROPERTIES_H_
