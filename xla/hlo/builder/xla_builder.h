#ifndef XLA_HLO_BUILDER_XLA_BUILDER_H_
#define XLA_HLO_BUILDER_XLA_BUILDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {

class XlaBuilder;

// An operation of a builder, as long as the builder has not built.
class XlaOp {
 public:
  // An op that belongs to no builder.
  XlaOp() = default;

  XlaBuilder* builder() const { return builder_; }
  // False for what stands for an error.
  bool valid() const { return handle_ >= 0; }
  bool IsUninitialized() const { return builder_ == nullptr; }
  bool IsIdenticalTo(XlaOp other) const {
    return builder_ == other.builder_ && handle_ == other.handle_;
  }

 private:
  friend class XlaBuilder;
  XlaOp(int64_t handle, XlaBuilder* builder)
      : handle_(handle), builder_(builder) {}

  int64_t handle_ = -1;
  XlaBuilder* builder_ = nullptr;
};

// Builds a computation operation by operation, with inferred shapes:
//
//   XlaBuilder b("axpy");
//   XlaOp a = Parameter(&b, 0, ShapeUtil::MakeShape(F32, {}), "a");
//   XlaOp x = Parameter(&b, 1, ShapeUtil::MakeShape(F32, {10}), "x");
//   Add(Mul(a, x), x);                 // a is broadcast
//   absl::StatusOr<XlaComputation> axpy = b.Build();
//
// Operations do not fail: the first error is what Build returns, and what is
// made of an invalid operation is invalid. The functions are in xla_ops.h.
class XlaBuilder {
 public:
  explicit XlaBuilder(absl::string_view name);
  ~XlaBuilder();
  XlaBuilder(const XlaBuilder&) = delete;
  XlaBuilder& operator=(const XlaBuilder&) = delete;

  const std::string& name() const { return name_; }

  // What all operations get from now on.
  void SetOpMetadata(OpMetadata metadata) { metadata_ = std::move(metadata); }
  void ClearOpMetadata() { metadata_.reset(); }
  void SetSharding(OpSharding sharding) { sharding_ = std::move(sharding); }
  void ClearSharding() { sharding_.reset(); }
  void SetFrontendAttributes(FrontendAttributes attributes) {
    frontend_attributes_ = std::move(attributes);
  }
  void ClearFrontendAttributes() { frontend_attributes_.Clear(); }

  // The computation, whose result is the last operation, or `root`. The builder
  // is as new afterwards. The first error, if there was one; InvalidArgument
  // without operations.
  absl::StatusOr<XlaComputation> Build();
  absl::StatusOr<XlaComputation> Build(XlaOp root);

  // The shape of an operation of this builder; an error for invalid ones.
  absl::StatusOr<Shape> GetShape(XlaOp op) const;
  // As if it were built now.
  absl::StatusOr<ProgramShape> GetProgramShape() const;

  const absl::Status& first_error() const { return first_error_; }
  XlaOp ReportError(const absl::Status& error);
  // What the function returns, or an operation that stands for its error.
  XlaOp ReportErrorOrReturn(absl::FunctionRef<absl::StatusOr<XlaOp>()> create);

  // For the functions in xla_ops.h.
  // The operations as instructions; InvalidArgument for one of another builder,
  // and the first error for invalid ones.
  absl::StatusOr<HloInstruction*> Instruction(XlaOp op) const;
  absl::StatusOr<std::vector<HloInstruction*>> Instructions(
      absl::Span<const XlaOp> ops) const;
  // Adds what has the shape, or reports why there is none.
  XlaOp Add(std::unique_ptr<HloInstruction> instruction);
  // A computation of the module that is being built.
  absl::StatusOr<HloComputation*> Import(const XlaComputation& computation);

 private:
  void Reset();
  // Parameters have the numbers 0, 1, ..., each once.
  absl::Status CheckParameters() const;

  const std::string name_;
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloComputation::Builder> builder_;
  std::vector<HloInstruction*> instructions_;  // by handle
  absl::Status first_error_;
  std::optional<OpMetadata> metadata_;
  std::optional<OpSharding> sharding_;
  FrontendAttributes frontend_attributes_;
};

}  // namespace xla

#include "xla/hlo/builder/xla_ops.h"  // IWYU pragma: export

#endif  // XLA_HLO_BUILDER_XLA_BUILDER_H_
