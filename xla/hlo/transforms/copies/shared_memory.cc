#include "xla/hlo/transforms/copies/shared_memory.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool IsReadOnly(const HloModule& module, const HloValue& value) {
  const HloInstruction* def = value.defining_instruction();
  if (def->opcode() == HloOpcode::kConstant) return true;
  return def->opcode() == HloOpcode::kParameter &&
         def->parent() == module.entry_computation() &&
         !module.input_output_alias_config().ParameterHasAlias(
             def->parameter_number(), value.defining_index());
}

absl::Status CheckResults(const HloModule& module,
                          const HloAliasAnalysis& aliases) {
  const HloInstruction* root = module.entry_computation()->root_instruction();
  absl::flat_hash_map<HloBuffer::Id, ShapeIndex> returned;
  absl::Status status;
  ShapeUtil::ForEachLeafShape(
      root->shape(), [&](const Shape& shape, const ShapeIndex& index) {
        if (!shape.IsArray()) return;
        const HloBuffer& buffer = aliases.GetUniqueBufferAt(root, index);
        const auto [other, is_new] = returned.emplace(buffer.id(), index);
        if (!is_new) {
          status.Update(absl::InternalError(
              absl::StrCat("results ", other->second.ToString(), " and ",
                           index.ToString(), " are in one buffer")));
        }
        if (IsReadOnly(module, *buffer.values()[0])) {
          status.Update(absl::InternalError(
              absl::StrCat("result ", index.ToString(), " is ",
                           buffer.values()[0]->ToShortString())));
        }
      });
  return status;
}

}  // namespace

absl::Status CheckNoInterference(const HloModule& module,
                                 const AliasInfo& alias_info) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> aliases,
                      HloAliasAnalysis::Run(&module, &alias_info));
  const HloDataflowAnalysis& dataflow = aliases->dataflow_analysis();
  const SequentialHloOrdering ordering(module.schedule());
  for (const HloBuffer& buffer : aliases->buffers()) {
    const auto& values = buffer.values();
    // A kernel keeps order in its own memory.
    if (values.size() < 2 ||
        !values[0]->defining_position().shape().IsArray() ||
        values[0]->instruction()->parent()->IsFusionComputation()) {
      continue;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (IsReadOnly(module, *values[i])) {
        return absl::InternalError(absl::StrCat(values[i]->ToShortString(),
                                                " may not share its buffer"));
      }
      for (size_t j = 0; j < i; ++j) {
        if (ordering.MayInterfere(*values[i], *values[j], dataflow,
                                  &alias_info)) {
          return absl::InternalError(
              absl::StrCat(values[j]->ToString(), "\nand ",
                           values[i]->ToString(), "\ninterfere"));
        }
      }
    }
  }
  return CheckResults(module, *aliases);
}

namespace {

// The evaluator keeps every value by itself, so a module that overwrites what
// it still needs computes the right results there. This machine keeps one cell
// for each buffer instead, as a device would: writing a value destroys what was
// in its cell, and loops, calls and branches pass their state by leaving it
// where it is. Every instruction reads its operands from the cells at the
// moment at which the schedule runs it, hence a missing copy shows as a wrong
// result or as a constant that has changed.
class Machine {
 public:
  Machine(const HloModule& module, const HloAliasAnalysis& aliases,
          const AliasInfo& alias_info, const SharedMemoryOptions& options)
      : module_(module),
        aliases_(aliases),
        dataflow_(aliases.dataflow_analysis()),
        alias_info_(alias_info),
        options_(options),
        memory_(aliases.buffers().size()) {}

  absl::StatusOr<Literal> Run(absl::Span<const Literal> arguments) {
    const HloComputation* entry = module_.entry_computation();
    for (int64_t i = 0; i < entry->num_parameters(); ++i) {
      Write(entry->parameter_instruction(i), arguments[i]);
    }
    for (const HloComputation* computation : module_.computations()) {
      for (const HloInstruction* inst : computation->instructions()) {
        if (inst->opcode() == HloOpcode::kConstant &&
            dataflow_.HasValues(inst)) {
          Write(inst, inst->literal());
        }
      }
    }
    TF_RETURN_IF_ERROR(RunComputation(entry));
    TF_RETURN_IF_ERROR(CheckUnchanged(arguments));
    return Read(entry->root_instruction(), {});
  }

 private:
  static constexpr int kMaxTrips = 1000;

  struct Cell {
    std::vector<char> bytes;
    // Instead, where sizes are known only when it runs.
    std::optional<Literal> dynamic;
  };

  Cell& CellAt(const HloInstruction* inst, const ShapeIndex& index) {
    return memory_[aliases_.GetUniqueBufferAt(inst, index).id()];
  }

  // Writes what the instruction defines, or arrays that are handed to it.
  void Write(const HloInstruction* inst, const Literal& literal) {
    ShapeUtil::ForEachLeafShape(inst->shape(), [&](const Shape& shape,
                                                   const ShapeIndex& index) {
      if (!shape.IsArray() || !dataflow_.ValueIsDefinedAt(inst, index)) {
        return;
      }
      Store(LiteralSlice(literal, index).Clone(), shape, &CellAt(inst, index));
    });
  }

  static void Store(Literal literal, const Shape& shape, Cell* cell) {
    if (shape.is_dynamic()) {
      cell->dynamic = std::move(literal);
      return;
    }
    cell->dynamic.reset();
    if (shape.has_layout()) literal = literal.Relayout(shape);
    const char* data = static_cast<const char*>(literal.untyped_data());
    cell->bytes.assign(data, data + literal.size_bytes());
  }

  // All arrays below `index`, as they are in memory now.
  absl::StatusOr<Literal> Read(const HloInstruction* inst,
                               const ShapeIndex& index) {
    const Shape& shape = ShapeUtil::GetSubshape(inst->shape(), index);
    if (shape.IsTuple()) {
      std::vector<Literal> elements;
      for (int64_t i = 0; i < shape.tuple_shapes_size(); ++i) {
        ShapeIndex element = index;
        element.push_back(i);
        TF_ASSIGN_OR_RETURN(Literal literal, Read(inst, element));
        elements.push_back(std::move(literal));
      }
      return Literal::MoveIntoTuple(absl::MakeSpan(elements));
    }
    Literal literal(shape);
    if (!shape.IsArray()) return literal;
    const Cell& cell = CellAt(inst, index);
    if (cell.dynamic.has_value()) return cell.dynamic->Clone();
    if (cell.bytes.size() != literal.size_bytes()) {
      return absl::InternalError(absl::StrCat(inst->name(), " ",
                                              index.ToString(), " holds ",
                                              cell.bytes.size(), " bytes"));
    }
    std::memcpy(literal.untyped_data(), cell.bytes.data(), cell.bytes.size());
    return literal;
  }

  absl::Status CheckUnchanged(absl::Span<const Literal> arguments) {
    for (const HloValue* value : dataflow_.values()) {
      const HloInstruction* inst = value->defining_instruction();
      const ShapeIndex& index = value->defining_index();
      if (!IsReadOnly(module_, *value) ||
          !value->defining_position().shape().IsArray()) {
        continue;
      }
      TF_ASSIGN_OR_RETURN(Literal now, Read(inst, index));
      const Literal before =
          inst->opcode() == HloOpcode::kConstant
              ? inst->literal().Clone()
              : LiteralSlice(arguments[inst->parameter_number()], index)
                    .Clone();
      Cell cell;
      Store(before.Clone(), now.shape(), &cell);
      if (!cell.dynamic.has_value() &&
          std::memcmp(cell.bytes.data(), now.untyped_data(),
                      cell.bytes.size()) != 0) {
        return absl::InternalError(
            absl::StrCat(value->ToShortString(), " was overwritten"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status RunComputation(const HloComputation* computation) {
    for (const HloInstruction* inst :
         module_.schedule().sequence(computation).instructions()) {
      TF_RETURN_IF_ERROR(RunInstruction(inst));
    }
    return absl::OkStatus();
  }

  absl::Status RunWhile(const HloInstruction* loop) {
    // A counter that is overwritten may never end.
    for (int trip = 0; trip < kMaxTrips; ++trip) {
      TF_RETURN_IF_ERROR(RunComputation(loop->while_condition()));
      TF_ASSIGN_OR_RETURN(
          Literal again, Read(loop->while_condition()->root_instruction(), {}));
      if (!again.Get<bool>({})) return absl::OkStatus();
      TF_RETURN_IF_ERROR(RunComputation(loop->while_body()));
    }
    return absl::InternalError(
        absl::StrCat(loop->name(), " runs ", kMaxTrips, " times"));
  }

  absl::Status RunConditional(const HloInstruction* inst) {
    TF_ASSIGN_OR_RETURN(Literal choice, Read(inst->operand(0), {}));
    int64_t branch;
    if (choice.shape().element_type() == PRED) {
      branch = choice.Get<bool>({}) ? 0 : 1;
    } else {
      branch = choice.Get<int32_t>({});
      if (branch < 0 || branch >= inst->branch_count()) {
        branch = inst->branch_count() - 1;
      }
    }
    return RunComputation(inst->branch_computation(branch));
  }

  absl::Status RunInstruction(const HloInstruction* inst) {
    switch (inst->opcode()) {
      case HloOpcode::kWhile:
        return RunWhile(inst);
      case HloOpcode::kConditional:
        return RunConditional(inst);
      case HloOpcode::kCall:
        return RunComputation(inst->to_apply());
      // What runs asynchronously may do so at any time from its start to its
      // done; the first and the last moment are the ones at which it reads too
      // early or writes too late for others.
      case HloOpcode::kAsyncStart:
        return options_.run_late
                   ? absl::OkStatus()
                   : RunComputation(inst->async_wrapped_computation());
      case HloOpcode::kAsyncDone:
        return options_.run_late
                   ? RunComputation(inst->async_wrapped_computation())
                   : absl::OkStatus();
      case HloOpcode::kAsyncUpdate:
      case HloOpcode::kConstant:
      case HloOpcode::kParameter:
      case HloOpcode::kTuple:
      case HloOpcode::kGetTupleElement:
      case HloOpcode::kBitcast:
      case HloOpcode::kOptimizationBarrier:
      case HloOpcode::kDomain:
      case HloOpcode::kAddDependency:
        return absl::OkStatus();
      default:  // A kernel.
        return Compute(inst);
    }
  }

  absl::Status Compute(const HloInstruction* inst) {
    TF_RETURN_IF_ERROR(CheckMayWrite(inst));
    std::vector<Literal> literals;
    literals.reserve(inst->operand_count());
    absl::flat_hash_map<const HloInstruction*, const LiteralBase*> values;
    for (const HloInstruction* operand : inst->operands()) {
      if (values.contains(operand)) continue;
      TF_ASSIGN_OR_RETURN(Literal literal, Read(operand, {}));
      literals.push_back(std::move(literal));
      values[operand] = &literals.back();
    }
    TF_ASSIGN_OR_RETURN(
        Literal result,
        evaluator_.Evaluate(inst, {},
                            /*recursively_evaluate_nonconstant_operands=*/false,
                            values));
    Write(inst, result);
    return absl::OkStatus();
  }

  // Results that are where an operand is.
  absl::Status CheckMayWrite(const HloInstruction* inst) {
    absl::flat_hash_map<HloBuffer::Id, ShapeIndex> written;
    ShapeUtil::ForEachLeafShape(
        inst->shape(), [&](const Shape& shape, const ShapeIndex& index) {
          if (!shape.IsArray() || !dataflow_.ValueIsDefinedAt(inst, index)) {
            return;
          }
          written.emplace(aliases_.GetUniqueBufferAt(inst, index).id(), index);
        });
    for (int64_t i = 0; i < inst->operand_count(); ++i) {
      const HloInstruction* operand = inst->operand(i);
      absl::Status status;
      ShapeUtil::ForEachLeafShape(
          operand->shape(), [&](const Shape& shape, const ShapeIndex& index) {
            if (!shape.IsArray()) return;
            auto output =
                written.find(aliases_.GetUniqueBufferAt(operand, index).id());
            if (output == written.end()) return;
            if (!dataflow_.CanShareOperandBufferWithUser(
                    const_cast<HloInstruction*>(operand), index,
                    const_cast<HloInstruction*>(inst), output->second,
                    &alias_info_)) {
              status.Update(absl::InternalError(absl::StrCat(
                  inst->name(), " writes over its operand ", operand->name())));
            }
          });
      TF_RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

  const HloModule& module_;
  const HloAliasAnalysis& aliases_;
  const HloDataflowAnalysis& dataflow_;
  const AliasInfo& alias_info_;
  const SharedMemoryOptions options_;
  HloEvaluator evaluator_;
  std::vector<Cell> memory_;  // by buffer
};

}  // namespace

absl::StatusOr<Literal> EvaluateInSharedMemory(
    const HloModule& module, absl::Span<const Literal> arguments,
    const AliasInfo& alias_info, const SharedMemoryOptions& options) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> aliases,
                      HloAliasAnalysis::Run(&module, &alias_info));
  return Machine(module, *aliases, alias_info, options).Run(arguments);
}

}  // namespace xla
