#include "xla/backends/gpu/lowering/module_lowering.h"

#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "xla/backends/gpu/kernel_ir/kir_printer.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

bool IsKernel(const HloInstruction& hlo) {
  switch (hlo.opcode()) {
    case HloOpcode::kAddDependency:
    case HloOpcode::kAfterAll:
    case HloOpcode::kBitcast:
    case HloOpcode::kConstant:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kParameter:
    case HloOpcode::kTuple:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_DEVICE_ID:
      return false;
    case HloOpcode::kCopy:
    case HloOpcode::kCustomCall:
    case HloOpcode::kDomain:
    case HloOpcode::kFusion:
    case HloOpcode::kIota:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_COMMUNICATION:
      break;
  }
  return true;
}

bool IsEmpty(const Shape& shape) {
  return absl::c_all_of(ShapeUtil::GetLeafShapes(shape),
                        [](const ShapeUtil::IndexedShape& leaf) {
                          return leaf.shape.IsArray() &&
                                 ShapeUtil::IsZeroElementArray(leaf.shape);
                        });
}

bool RunsComputations(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kWhile ||
         hlo.opcode() == HloOpcode::kConditional ||
         hlo.opcode() == HloOpcode::kCall;
}

int64_t ArrayBytes(const Shape& shape) {
  int64_t bytes = 0;
  for (const ShapeUtil::IndexedShape& leaf : ShapeUtil::GetLeafShapes(shape)) {
    if (leaf.shape.IsArray()) bytes += ShapeUtil::ByteSizeOf(leaf.shape);
  }
  return bytes;
}

}  // namespace

bool ComputesNothing(const HloInstruction& hlo) {
  return LibraryCall(hlo) == nullptr && IsEmpty(hlo.shape());
}

const HloInstruction* LibraryCall(const HloInstruction& hlo) {
  if (hlo.opcode() == HloOpcode::kCustomCall ||
      hlo_query::IsCollectiveCommunicationOp(hlo.opcode())) {
    return &hlo;
  }
  if (hlo.opcode() != HloOpcode::kFusion) return nullptr;
  for (const HloInstruction* fused :
       hlo.fused_instructions_computation()->instructions()) {
    if (fused->opcode() == HloOpcode::kCustomCall) return fused;
  }
  return nullptr;
}

std::vector<const HloInstruction*> FindKernels(const HloModule& module) {
  std::vector<const HloInstruction*> kernels;
  // Each computation once, however often it runs.
  absl::flat_hash_set<const HloComputation*> seen = {
      module.entry_computation()};
  std::vector<const HloComputation*> queue = {module.entry_computation()};
  for (size_t next = 0; next < queue.size(); ++next) {
    for (const HloInstruction* hlo : queue[next]->MakeInstructionPostOrder()) {
      if (RunsComputations(*hlo)) {
        for (const HloComputation* called : hlo->called_computations()) {
          if (seen.insert(called).second) queue.push_back(called);
        }
      }
      if (IsKernel(*hlo) && !ComputesNothing(*hlo)) kernels.push_back(hlo);
    }
  }
  return kernels;
}

int64_t KernelBytes(const HloInstruction& hlo) {
  int64_t bytes = ArrayBytes(hlo.shape());
  for (const HloInstruction* operand : hlo.operands()) {
    bytes += ArrayBytes(operand->shape());
  }
  return bytes;
}

ModuleLowering LowerModule(const HloModule& module,
                           const FusionLoweringOptions& options) {
  ModuleLowering result;
  absl::flat_hash_set<std::string> names;
  for (const HloInstruction* hlo : FindKernels(module)) {
    ModuleLowering::Kernel kernel{hlo, KernelBytes(*hlo), {}, {}};
    absl::StatusOr<LoweredKernel> lowered = LowerFusion(*hlo, options);
    kernel.status = lowered.status();
    if (lowered.ok()) {
      kernel.lowered = *std::move(lowered);
      std::string& name = kernel.lowered.kernel.name;
      const std::string base = name;
      for (int k = 1; !names.insert(name).second; ++k) {
        name = absl::StrCat(base, "_", k);
      }
    }
    result.kernels.push_back(std::move(kernel));
  }
  return result;
}

std::string ModuleLowering::ToString() const {
  std::string text;
  int64_t count = 0, of = 0;
  double bytes = 0, all = 0;
  std::map<std::string, int64_t> kinds;
  for (const Kernel& kernel : kernels) {
    if (const HloInstruction* call = LibraryCall(*kernel.hlo)) {
      absl::StrAppend(&text, "// ", kernel.hlo->name(), ": a call of ",
                      call->opcode() == HloOpcode::kCustomCall
                          ? call->custom_call_target()
                          : HloOpcodeString(call->opcode()),
                      "\n\n");
      continue;
    }
    ++of;
    all += kernel.bytes;
    if (!kernel.status.ok()) {
      // One line, whatever the message has.
      absl::StrAppend(
          &text, "// ", kernel.hlo->name(), ": not lowered: ",
          absl::StrReplaceAll(kernel.status.message(), {{"\n", " "}}), "\n\n");
      continue;
    }
    ++count;
    bytes += kernel.bytes;
    for (const KernelPart& part : kernel.lowered.parts) {
      absl::StrAppend(&text, "// ", part.kind, ": ", part.why, "\n");
      ++kinds[std::string(part.kind)];
    }
    absl::StrAppend(&text, kir::PrintKernel(kernel.lowered.kernel), "\n");
  }
  absl::StrAppend(&text, "// ", count, " of ", of, " kernels lowered, ",
                  absl::StrFormat("%.1f", all > 0 ? 100 * bytes / all : 100.0),
                  " % of their bytes");
  const int64_t calls = kernels.size() - of;
  absl::StrAppend(&text, calls > 0 ? absl::StrCat(", beside ", calls,
                                                  " calls of libraries\n")
                                   : "\n");
  if (!kinds.empty()) absl::StrAppend(&text, "// parts of kernels:");
  for (const auto& [kind, number] : kinds) {
    absl::StrAppend(&text, " ", number, " ", kind,
                    kind == kinds.rbegin()->first ? "\n" : ",");
  }
  return text;
}

}  // namespace xla::gpu
