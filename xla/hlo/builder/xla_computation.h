#ifndef XLA_HLO_BUILDER_XLA_COMPUTATION_H_
#define XLA_HLO_BUILDER_XLA_COMPUTATION_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"

namespace xla {

// What XlaBuilder builds: a module as a proto, whose entry is the computation.
class XlaComputation {
 public:
  XlaComputation() = default;
  explicit XlaComputation(HloModuleProto proto) : proto_(std::move(proto)) {}

  const std::string& name() const { return proto_.name(); }
  const HloModuleProto& proto() const { return proto_; }
  HloModuleProto* mutable_proto() { return &proto_; }
  bool IsNull() const { return proto_.computations().empty(); }

  // InvalidArgument for a computation that has not been built.
  absl::StatusOr<ProgramShape> GetProgramShape() const {
    if (!proto_.has_host_program_shape()) {
      return absl::InvalidArgumentError("the computation has no shape");
    }
    return ProgramShape::FromProto(proto_.host_program_shape());
  }

 private:
  HloModuleProto proto_;
};

}  // namespace xla

#endif  // XLA_HLO_BUILDER_XLA_COMPUTATION_H_
