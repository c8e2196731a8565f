#ifndef XLA_HLO_IR_DYNAMIC_PARAMETER_BINDING_H_
#define XLA_HLO_IR_DYNAMIC_PARAMETER_BINDING_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "xla/shape_util.h"

namespace xla {

class HloComputation;

// Which parameter holds the run-time size of which dynamic dimension of a
// parameter.
class DynamicParameterBinding {
 public:
  // A scalar (leaf of a) parameter that holds a size in elements.
  struct DynamicSizeParameter {
    int64_t parameter_num;
    ShapeIndex parameter_index;
  };

  // A dimension of a (leaf of a) parameter.
  struct DynamicDimension {
    int64_t parameter_num;
    ShapeIndex parameter_index;
    int64_t dimension;

    template <typename H>
    friend H AbslHashValue(H h, const DynamicDimension& m) {
      h = H::combine(std::move(h), m.parameter_num, m.dimension);
      for (int64_t i : m.parameter_index) h = H::combine(std::move(h), i);
      return h;
    }
    friend bool operator==(const DynamicDimension& lhs,
                           const DynamicDimension& rhs) {
      return lhs.parameter_num == rhs.parameter_num &&
             lhs.parameter_index == rhs.parameter_index &&
             lhs.dimension == rhs.dimension;
    }
  };

  DynamicParameterBinding() = default;

  // InvalidArgument if the dimension is bound already.
  absl::Status Bind(const DynamicSizeParameter& dynamic_parameter,
                    const DynamicDimension& dynamic_dimension);

  std::optional<DynamicSizeParameter> GetBinding(
      const DynamicDimension& dynamic_dimension) const;

  // Calls fn in order of (parameter, index, dimension); stops at the first
  // error.
  using BindingFn =
      std::function<absl::Status(const DynamicSizeParameter& dynamic_parameter,
                                 const DynamicDimension& dynamic_dimension)>;
  absl::Status ForEachBinding(BindingFn fn) const;

  std::string ToString() const;

  // Checks that all parameters, leaves and dimensions exist in `computation`.
  absl::Status Verify(const HloComputation& computation) const;

  bool empty() const { return bindings_.empty(); }

 private:
  struct Less {
    bool operator()(const DynamicDimension& a, const DynamicDimension& b) const;
  };
  absl::btree_map<DynamicDimension, DynamicSizeParameter, Less> bindings_;
};

std::ostream& operator<<(std::ostream& out,
                         const DynamicParameterBinding& binding);

}  // namespace xla

#endif  // XLA_HLO_IR_DYNAMIC_PARAMETER_BINDING_H_
