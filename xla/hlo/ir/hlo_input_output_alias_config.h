#ifndef XLA_HLO_IR_HLO_INPUT_OUTPUT_ALIAS_CONFIG_H_
#define XLA_HLO_IR_HLO_INPUT_OUTPUT_ALIAS_CONFIG_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"

namespace xla {

class HloModule;

// Which output buffers of a module are written into the buffers of which entry
// parameters. Each output index aliases at most one parameter index and vice
// versa. Text form: `{ {0}: (1, {2}, may-alias), ... }`.
class HloInputOutputAliasConfig {
 public:
  // kMayAlias: the caller may still pass a buffer that is not donated; the
  // program then copies. kMustAlias: the caller always donates.
  enum AliasKind { kMayAlias, kMustAlias };

  struct Alias {
    Alias(int64_t parameter_number, ShapeIndex parameter_index,
          AliasKind kind = kMayAlias)
        : parameter_number(parameter_number),
          parameter_index(std::move(parameter_index)),
          kind(kind) {}

    int64_t parameter_number;
    ShapeIndex parameter_index;
    AliasKind kind;

    bool must_alias() const { return kind == kMustAlias; }
    // `(1, {2}, may-alias)`
    std::string ToString() const;

    friend bool operator==(const Alias& lhs, const Alias& rhs) {
      return lhs.parameter_number == rhs.parameter_number &&
             lhs.parameter_index == rhs.parameter_index && lhs.kind == rhs.kind;
    }
    friend bool operator!=(const Alias& lhs, const Alias& rhs) {
      return !(lhs == rhs);
    }
  };

  HloInputOutputAliasConfig();
  HloInputOutputAliasConfig(const HloInputOutputAliasConfig& other);
  HloInputOutputAliasConfig(HloInputOutputAliasConfig&& other) noexcept;
  HloInputOutputAliasConfig& operator=(const HloInputOutputAliasConfig& other);
  HloInputOutputAliasConfig& operator=(
      HloInputOutputAliasConfig&& other) noexcept;
  ~HloInputOutputAliasConfig();
  // `output_shape` is the shape of the entry computation's result.
  explicit HloInputOutputAliasConfig(Shape output_shape);

  // Records an alias. Errors: the output index does not exist in shape()
  // (InvalidArgument), the output index has an alias already, or the parameter
  // index is the target of another output (Internal).
  absl::Status SetUpAlias(const ShapeIndex& output_index, int64_t param_number,
                          const ShapeIndex& param_index,
                          AliasKind must_alias = kMayAlias);

  bool ParameterHasAlias(int64_t param_number,
                         const ShapeIndex& param_index) const {
    return GetAliasedOutput(param_number, param_index).has_value();
  }
  bool OutputHasAlias(const ShapeIndex& output_index) const {
    return GetAliasedParameter(output_index).has_value();
  }

  HloInputOutputAliasProto ToProto() const;
  static absl::StatusOr<HloInputOutputAliasConfig> CreateFromProto(
      Shape output_shape, const HloInputOutputAliasProto& proto);

  // The output index that aliases the parameter index. O(size of the output).
  std::optional<ShapeIndex> GetAliasedOutput(
      int64_t param_number, const ShapeIndex& param_index) const;
  std::optional<Alias> GetAliasedParameter(
      const ShapeIndex& output_index) const;
  bool ParameterMustAlias(int64_t param_number,
                          const ShapeIndex& param_index) const;

  // Calls fn(output index, alias) in pre-order of the output shape.
  using AliasFn =
      absl::FunctionRef<void(const ShapeIndex& output_index, const Alias&)>;
  void ForEachAlias(AliasFn fn) const;
  // Stops at the first error and returns it.
  using AliasFnWithStatus = absl::FunctionRef<absl::Status(
      const ShapeIndex& output_index, const Alias&)>;
  absl::Status ForEachAliasWithStatus(AliasFnWithStatus fn) const;

  // Checks against the module: shape() is the result shape, parameter numbers
  // and indices exist and belong to non-tuple leaves with the bytes (by
  // size_func) of their output, no parameter leaf is used twice.
  absl::Status Verify(const HloModule& module,
                      absl::FunctionRef<int64_t(const Shape&)> size_func) const;

  const Shape& shape() const { return alias_.shape(); }

  // One alias per line, with a heading.
  std::string ToString() const;
  // `{0}: (1, {2}, may-alias), {1}: ...` as in the module header.
  std::string ToShortString() const;

 private:
  ShapeTree<std::optional<Alias>> alias_;
};

// Entry parameter buffers the caller gives up: the program may reuse them for
// anything. Text form: `{ (0, {}), (1, {0}) }`.
class HloBufferDonorConfig {
 public:
  struct BufferDonor {
    BufferDonor(int64_t param_number, ShapeIndex param_index)
        : param_number(param_number), param_index(std::move(param_index)) {}

    int64_t param_number;
    ShapeIndex param_index;

    bool operator==(const BufferDonor& other) const {
      return Compare(other) == 0;
    }
    bool operator<(const BufferDonor& other) const {
      return Compare(other) < 0;
    }
    bool operator>(const BufferDonor& other) const {
      return Compare(other) > 0;
    }
    bool operator<=(const BufferDonor& other) const {
      return Compare(other) <= 0;
    }
    bool operator>=(const BufferDonor& other) const {
      return Compare(other) >= 0;
    }

    template <typename H>
    friend H AbslHashValue(H h, const BufferDonor& donor) {
      h = H::combine(std::move(h), donor.param_number);
      for (int64_t i : donor.param_index) h = H::combine(std::move(h), i);
      return H::combine(std::move(h), donor.param_index.size());
    }

   private:
    // Lexicographic: negative, zero or positive.
    int Compare(const BufferDonor& other) const;
  };

  HloBufferDonorConfig();
  HloBufferDonorConfig(const HloBufferDonorConfig& other);
  HloBufferDonorConfig(HloBufferDonorConfig&& other) noexcept;
  HloBufferDonorConfig& operator=(const HloBufferDonorConfig& other);
  HloBufferDonorConfig& operator=(HloBufferDonorConfig&& other) noexcept;
  ~HloBufferDonorConfig();

  // Adding a donor twice or removing an absent one has no effect.
  absl::Status AddBufferDonor(int64_t param_number,
                              const ShapeIndex& param_index);
  absl::Status RemoveBufferDonor(int64_t param_number,
                                 const ShapeIndex& param_index);
  bool ParameterIsBufferDonor(int64_t param_number,
                              const ShapeIndex& param_index) const;

  HloBufferDonorProto ToProto() const;
  static absl::StatusOr<HloBufferDonorConfig> CreateFromProto(
      const HloBufferDonorProto& proto);

  // Checks that every donor exists and that none is also aliased by the
  // module's input_output_alias_config.
  absl::Status Verify(const HloModule& module) const;

  const absl::btree_set<BufferDonor>& buffer_donor() const {
    return buffer_donor_;
  }

  std::string ToString() const;
  // `(0, {}), (1, {0})` as in the module header.
  std::string ToShortString() const;

 private:
  absl::btree_set<BufferDonor> buffer_donor_;
};

std::ostream& operator<<(std::ostream& out,
                         const HloInputOutputAliasConfig& config);
std::ostream& operator<<(std::ostream& out, const HloBufferDonorConfig& config);

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_INPUT_OUTPUT_ALIAS_CONFIG_H_
