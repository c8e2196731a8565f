#include "xla/hlo/builder/xla_builder.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla.pb.h"

namespace xla {

XlaBuilder::XlaBuilder(absl::string_view name) : name_(name) { Reset(); }
XlaBuilder::~XlaBuilder() = default;

void XlaBuilder::Reset() {
  instructions_.clear();
  builder_ = std::make_unique<HloComputation::Builder>(name_);
  module_ = std::make_unique<HloModule>(name_, HloModuleConfig());
  first_error_ = absl::OkStatus();
}

XlaOp XlaBuilder::ReportError(const absl::Status& error) {
  first_error_.Update(error);
  return XlaOp(/*handle=*/-1, this);
}

XlaOp XlaBuilder::ReportErrorOrReturn(
    absl::FunctionRef<absl::StatusOr<XlaOp>()> create) {
  if (!first_error_.ok()) return ReportError(first_error_);
  absl::StatusOr<XlaOp> op = create();
  return op.ok() ? *op : ReportError(op.status());
}

absl::StatusOr<HloInstruction*> XlaBuilder::Instruction(XlaOp op) const {
  if (op.builder_ != this) {
    return absl::InvalidArgumentError(
        op.IsUninitialized()
            ? absl::StrCat("builder ", name_,
                           ": an operation without a builder")
            : absl::StrCat("builder ", name_,
                           ": an operation of another builder, ",
                           op.builder_->name()));
  }
  if (!op.valid()) return first_error_;
  if (op.handle_ >= static_cast<int64_t>(instructions_.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("builder ", name_,
                     ": an operation of a computation that has been built"));
  }
  return instructions_[op.handle_];
}

absl::StatusOr<std::vector<HloInstruction*>> XlaBuilder::Instructions(
    absl::Span<const XlaOp> ops) const {
  std::vector<HloInstruction*> result;
  result.reserve(ops.size());
  for (XlaOp op : ops) {
    TF_ASSIGN_OR_RETURN(HloInstruction * inst, Instruction(op));
    result.push_back(inst);
  }
  return result;
}

XlaOp XlaBuilder::Add(std::unique_ptr<HloInstruction> instruction) {
  if (metadata_.has_value()) instruction->set_metadata(*metadata_);
  if (sharding_.has_value()) {
    absl::StatusOr<HloSharding> sharding = HloSharding::FromProto(*sharding_);
    if (!sharding.ok()) return ReportError(sharding.status());
    instruction->set_sharding(*std::move(sharding));
  }
  if (!frontend_attributes_.map().empty()) {
    instruction->set_frontend_attributes(frontend_attributes_);
  }
  instructions_.push_back(builder_->AddInstruction(std::move(instruction)));
  return XlaOp(static_cast<int64_t>(instructions_.size()) - 1, this);
}

absl::StatusOr<HloComputation*> XlaBuilder::Import(
    const XlaComputation& computation) {
  TF_ASSIGN_OR_RETURN(HloModuleConfig config,
                      HloModule::CreateModuleConfigFromProto(
                          computation.proto(), DebugOptions()));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> from,
                      HloModule::CreateFromProto(computation.proto(), config));
  HloCloneContext context(module_.get());
  return module_->DeepCloneComputation(from->entry_computation(), &context);
}

absl::StatusOr<Shape> XlaBuilder::GetShape(XlaOp op) const {
  TF_ASSIGN_OR_RETURN(const HloInstruction* inst, Instruction(op));
  return inst->shape();
}

absl::StatusOr<ProgramShape> XlaBuilder::GetProgramShape() const {
  TF_RETURN_IF_ERROR(first_error_);
  if (instructions_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("builder ", name_, " has no operations"));
  }
  ProgramShape shape;
  for (int64_t number = 0;; ++number) {
    const HloInstruction* parameter = nullptr;
    for (const HloInstruction* inst : instructions_) {
      if (inst->opcode() == HloOpcode::kParameter &&
          inst->parameter_number() == number) {
        parameter = inst;
      }
    }
    if (parameter == nullptr) break;
    shape.AddParameter(parameter->shape(), std::string(parameter->name()));
  }
  *shape.mutable_result() = instructions_.back()->shape();
  return shape;
}

absl::Status XlaBuilder::CheckParameters() const {
  absl::flat_hash_set<int64_t> numbers;
  for (const HloInstruction* inst : instructions_) {
    if (inst->opcode() != HloOpcode::kParameter) continue;
    if (!numbers.insert(inst->parameter_number()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("builder ", name_, ": there are two parameters ",
                       inst->parameter_number()));
    }
  }
  for (int64_t i = 0; i < static_cast<int64_t>(numbers.size()); ++i) {
    if (numbers.contains(i)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("builder ", name_, ": there is no parameter ", i));
  }
  return absl::OkStatus();
}

absl::StatusOr<XlaComputation> XlaBuilder::Build() {
  TF_RETURN_IF_ERROR(first_error_);
  if (instructions_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("builder ", name_, " has no operations"));
  }
  return Build(XlaOp(static_cast<int64_t>(instructions_.size()) - 1, this));
}

absl::StatusOr<XlaComputation> XlaBuilder::Build(XlaOp root) {
  TF_RETURN_IF_ERROR(first_error_);
  TF_ASSIGN_OR_RETURN(HloInstruction * result, Instruction(root));
  TF_RETURN_IF_ERROR(CheckParameters());
  const HloComputation* entry =
      module_->AddEntryComputation(builder_->Build(result));
  XlaComputation computation(module_->ToProto());
  // Layouts have no names.
  auto* names = computation.mutable_proto()
                    ->mutable_host_program_shape()
                    ->mutable_parameter_names();
  names->Clear();
  for (const HloInstruction* parameter : entry->parameter_instructions()) {
    names->Add(std::string(parameter->name()));
  }
  Reset();
  return computation;
}

}  // namespace xla
