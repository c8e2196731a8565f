#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_HLO_ELEMENT_TYPE_CONVERTER_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_HLO_ELEMENT_TYPE_CONVERTER_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/xla_data.pb.h"

namespace xla {

struct HloElementTypeConverterOptions {
  std::string eliminate = "bf16";
  std::string replace_with = "f32";

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("eliminate", eliminate, "element type to eliminate");
    visit("replace-with", replace_with, "element type to compute in instead");
  }
};

// Computes an instruction that depends only on numeric values in type `to`
// where its operands or results have type `from`, between converts. O(operands
// and results).
absl::Status ComputeInType(PrimitiveType to, PrimitiveType from,
                           HloInstruction* inst);

// Lets nothing but converts compute in one element type, for backends that can
// only store it.
//
//   before: bf16[4] add(a, b)
//   after:  bf16[4] convert(f32[4] add(f32[4] convert(a), f32[4] convert(b)))
//
// Parameters, constants, tuples, their copies and elements keep their types,
// and so do instructions that apply or call computations, whose bodies are
// rewritten instead. Leaves alone: instructions that read bits (bitcasts,
// bitcast-converts, random bits, shifts to the right, counts of bits,
// reduce-precision for another exponent, stochastic converts), those with types
// that are tied to one another or given (parts of complex numbers, fft, numbers
// of devices, sizes of dimensions), custom calls, asynchronous operations and
// transfers. Adjacent converts are left to other passes. O(instructions).
class HloElementTypeConverter : public HloModulePass {
 public:
  HloElementTypeConverter(PrimitiveType eliminate_type,
                          PrimitiveType replace_with_type);
  explicit HloElementTypeConverter(
      const HloElementTypeConverterOptions& options)
      : options_(options) {}

  absl::string_view name() const override { return "element-type-converter"; }

 protected:
  // InvalidArgument if an option does not name a numeric type, or if not both
  // are integers, floats or complex numbers.
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  HloElementTypeConverterOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_HLO_ELEMENT_TYPE_CONVERTER_H_
