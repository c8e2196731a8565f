#include "xla/backends/gpu/program/cuda_program.h"

#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/codegen/cuda_emitter.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/backends/gpu/program/kernel_alias_info.h"
#include "xla/backends/gpu/program/program_memory.h"
#include "xla/backends/gpu/program/program_runtime.h"
#include "xla/backends/gpu/smem/plan/plan_shared_memory.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

constexpr char kMakefile[] =
    "# `make` for the GPU, `make host` for a program that needs none.\n"
    "NVCC ?= nvcc\n"
    "ARCH ?= %s\n"
    "program: program.cu\n"
    "\t$(NVCC) -std=c++17 -O3 -arch=$(ARCH) -o $@ program.cu\n"
    "host: program.cu host_shim.h\n"
    "\t$(CXX) -std=c++17 -O1 -w -fwrapv -fno-strict-aliasing "
    "-include host_shim.h -x c++ -o $@ program.cu\n"
    "clean:\n"
    "\trm -f program host\n";

constexpr char kCmake[] =
    "cmake_minimum_required(VERSION 3.18)\n"
    "project(program LANGUAGES CXX CUDA)\n"
    "set(CMAKE_CXX_STANDARD 17)\n"
    "set(CMAKE_CUDA_STANDARD 17)\n"
    "if(NOT CMAKE_CUDA_ARCHITECTURES)\n"
    "  set(CMAKE_CUDA_ARCHITECTURES %s)\n"
    "endif()\n"
    "add_executable(program program.cu)\n";

// As numpy writes it.
std::string NumpyType(PrimitiveType type) {
  const int64_t bytes = primitive_util::ByteWidth(type);
  switch (type) {
    case PRED:
      return "|b1";
    case BF16:
      return "|V2";
    default:
      break;
  }
  // ml_dtypes has them, and NumPy knows no more of them than their bytes.
  if (primitive_util::IsF8Type(type) || primitive_util::BitWidth(type) < 8) {
    return "|V1";
  }
  const char kind = primitive_util::IsComplexType(type)            ? 'c'
                    : primitive_util::IsFloatingPointType(type)    ? 'f'
                    : primitive_util::IsUnsignedIntegralType(type) ? 'u'
                                                                   : 'i';
  return absl::StrFormat("%c%c%d", bytes == 1 ? '|' : '<', kind, bytes);
}

std::string Suffix(const ShapeIndex& index) {
  std::string suffix;
  for (int64_t i : index) absl::StrAppend(&suffix, ".", i);
  return suffix;
}

// A copy, or a reshape, of elements that stay where they are.
bool IsMemcpy(const HloInstruction& hlo) {
  if (!hlo.shape().IsArray()) return false;
  const Shape& from =
      hlo.operand_count() == 1 ? hlo.operand(0)->shape() : hlo.shape();
  if (hlo.opcode() == HloOpcode::kCopy) {
    return ShapeUtil::Equal(from, hlo.shape());
  }
  return hlo.opcode() == HloOpcode::kReshape &&
         ShapeUtil::ReshapeIsBitcast(from, hlo.shape());
}

// What is known once the memory is planned, or needs nothing done.
bool IsFree(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kAddDependency, HloOpcode::kAfterAll,
                          HloOpcode::kBitcast, HloOpcode::kGetTupleElement,
                          HloOpcode::kOptimizationBarrier,
                          HloOpcode::kParameter, HloOpcode::kTuple>(opcode);
}

class ProgramWriter {
 public:
  ProgramWriter(const CudaProgramOptions& options, const GpuDevice& device)
      : options_(options), device_(device) {}

  absl::StatusOr<CudaProgram> Write(HloModule* module) {
    const ModuleLowering lowering = LowerModule(*module);
    RETURN_IF_ERROR(CheckLowered(lowering));
    const KernelAliasInfo aliases(lowering);
    ASSIGN_OR_RETURN(memory_, PlanProgramMemory(module, aliases));
    RETURN_IF_ERROR(WriteKernels(lowering));
    ASSIGN_OR_RETURN(const std::string inputs, Inputs(*module));
    ASSIGN_OR_RETURN(const std::string results, Results(*module));
    schedule_ = &module->schedule();
    RETURN_IF_ERROR(WriteComputation(module->entry_computation()));
    RETURN_IF_ERROR(WriteConstants());

    CudaProgram program;
    program.kernels = kernels_.size();
    program.memory_bytes = memory_.bytes + constants_bytes_;
    const std::string arch = absl::StrCat(device_.compute_capability);
    program.files = {
        {"program.cu", Text(*module, program, inputs, results)},
        {"Makefile", absl::StrFormat(kMakefile, absl::StrCat("sm_", arch))},
        {"CMakeLists.txt", absl::StrFormat(kCmake, arch)},
        {"host_shim.h", kHostShim}};
    return program;
  }

 private:
  static absl::Status CheckLowered(const ModuleLowering& lowering) {
    std::vector<std::string> reasons;
    for (const ModuleLowering::Kernel& kernel : lowering.kernels) {
      if (kernel.status.ok() || IsMemcpy(*kernel.hlo)) continue;
      reasons.push_back(
          absl::StrCat(kernel.hlo->name(), ": ", kernel.status.message()));
    }
    if (reasons.empty()) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat(reasons.size(), " of ", lowering.kernels.size(),
                     " kernels cannot be lowered, so there is no program:\n  ",
                     absl::StrJoin(reasons, "\n  ")));
  }

  absl::Status WriteKernels(const ModuleLowering& lowering) {
    CudaEmitOptions emit;
    emit.with_prelude = true;
    for (const ModuleLowering::Kernel& kernel : lowering.kernels) {
      if (IsMemcpy(*kernel.hlo)) continue;
      RETURN_IF_ERROR(CheckInPlace(kernel));
      ASSIGN_OR_RETURN(const SmemPlan plan,
                       PlanSharedMemory(kernel.lowered.kernel, device_));
      ASSIGN_OR_RETURN(const std::string text, EmitCuda(plan, emit));
      emit.with_prelude = false;
      absl::StrAppend(&kernels_text_, text);
      kernels_[kernel.hlo] = &kernel.lowered;
    }
    return absl::OkStatus();
  }

  // A kernel that writes an update alone finds the rest where it writes.
  absl::Status CheckInPlace(const ModuleLowering::Kernel& kernel) const {
    for (const LoweredKernel::InPlace& place : kernel.lowered.in_place) {
      const auto& [operand, index] = kernel.lowered.operands[place.operand];
      ASSIGN_OR_RETURN(const int64_t from,
                       memory_.OffsetOf(kernel.hlo->operand(operand), index));
      ASSIGN_OR_RETURN(
          const int64_t to,
          memory_.OffsetOf(kernel.hlo, kernel.lowered.results[place.result]));
      if (from == to) continue;
      return absl::InternalError(
          absl::StrCat(kernel.hlo->name(), " updates operand ", operand,
                       " in place, but the result does not lie there"));
    }
    return absl::OkStatus();
  }

  // `names` are the alternatives, most likely first.
  absl::StatusOr<std::string> Array(const std::vector<std::string>& names,
                                    const Shape& shape, int64_t offset) const {
    std::vector<int64_t> minor_to_major;
    for (int64_t k = shape.dimensions().size(); k-- > 0;) {
      minor_to_major.push_back(k);
    }
    if (shape.has_layout()) {
      minor_to_major.assign(shape.layout().minor_to_major().begin(),
                            shape.layout().minor_to_major().end());
    }
    return absl::StrCat(
        "    {{",
        absl::StrJoin(names, ", ",
                      [](std::string* out, const std::string& name) {
                        absl::StrAppend(out, "\"", absl::CEscape(name), "\"");
                      }),
        "}, \"", NumpyType(shape.element_type()), "\", ",
        primitive_util::ByteWidth(shape.element_type()), ", ",
        PackedBits(shape), ", ",
        primitive_util::IsSignedIntegralType(shape.element_type()) ? "true"
                                                                   : "false",
        ", {", absl::StrJoin(shape.dimensions(), ", "), "}, {",
        absl::StrJoin(minor_to_major, ", "), "}, ", offset, "},\n");
  }

  absl::StatusOr<std::string> Inputs(const HloModule& module) const {
    std::string text;
    for (const HloInstruction* parameter :
         module.entry_computation()->parameter_instructions()) {
      for (const ShapeUtil::IndexedShape& leaf :
           ShapeUtil::GetLeafShapes(parameter->shape())) {
        if (!leaf.shape.IsArray()) continue;
        const std::string suffix = Suffix(leaf.index);
        const int64_t number = parameter->parameter_number();
        ASSIGN_OR_RETURN(const int64_t offset,
                         memory_.OffsetOf(parameter, leaf.index));
        ASSIGN_OR_RETURN(const std::string array,
                         Array({absl::StrCat("arg", number, suffix),
                                absl::StrCat("arr_", number, suffix),
                                absl::StrCat(parameter->name(), suffix)},
                               leaf.shape, offset));
        text += array;
      }
    }
    return text;
  }

  absl::StatusOr<std::string> Results(const HloModule& module) const {
    std::string text;
    const HloInstruction* root = module.entry_computation()->root_instruction();
    for (const ShapeUtil::IndexedShape& leaf :
         ShapeUtil::GetLeafShapes(root->shape())) {
      if (!leaf.shape.IsArray()) continue;
      ASSIGN_OR_RETURN(const int64_t offset,
                       memory_.OffsetOf(root, leaf.index));
      ASSIGN_OR_RETURN(
          const std::string array,
          Array({absl::StrCat("out", Suffix(leaf.index))}, leaf.shape, offset));
      text += array;
    }
    return text;
  }

  // "Run_NAME", with the called ones written before. Names that differ in what
  // C++ does not know get numbers.
  std::string FunctionName(const HloComputation& computation) {
    std::string& name = function_names_[&computation];
    if (!name.empty()) return name;
    std::string base = "Run_";
    for (char c : computation.name()) base += absl::ascii_isalnum(c) ? c : '_';
    name = base;
    for (int k = 1; !names_.insert(name).second; ++k) {
      name = absl::StrCat(base, "_", k);
    }
    return name;
  }

  absl::Status WriteComputation(const HloComputation* computation) {
    if (!written_.insert(computation).second) return absl::OkStatus();
    std::string text;
    for (const HloInstruction* hlo :
         schedule_->sequence(computation).instructions()) {
      ASSIGN_OR_RETURN(const std::string step, Step(*hlo));
      text += step;
    }
    absl::StrAppend(&functions_, "static void ", FunctionName(*computation),
                    "() {\n", text, "}\n\n");
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Step(const HloInstruction& hlo) {
    if (IsFree(hlo.opcode()) || ComputesNothing(hlo)) return std::string();
    switch (hlo.opcode()) {
      case HloOpcode::kConstant:
        return Constant(hlo);
      case HloOpcode::kCall:
        RETURN_IF_ERROR(WriteComputation(hlo.to_apply()));
        return absl::StrCat("  ", FunctionName(*hlo.to_apply()), "();\n");
      case HloOpcode::kWhile:
        return While(hlo);
      case HloOpcode::kConditional:
        return Conditional(hlo);
      case HloOpcode::kPartitionId:
      case HloOpcode::kReplicaId: {
        // Of the only device.
        ASSIGN_OR_RETURN(const int64_t offset, memory_.OffsetOf(&hlo));
        return absl::StrCat("  Write(", offset, ", kZero, ",
                            ShapeUtil::ByteSizeOf(hlo.shape()), ");  // ",
                            hlo.name(), "\n");
      }
      default:  // A copy or a kernel.
        break;
    }
    if (IsMemcpy(hlo)) {
      ASSIGN_OR_RETURN(const int64_t to, memory_.OffsetOf(&hlo));
      ASSIGN_OR_RETURN(const int64_t from, memory_.OffsetOf(hlo.operand(0)));
      return absl::StrCat("  Copy(", to, ", ", from, ", ",
                          ShapeUtil::ByteSizeOf(hlo.shape()), ");  // ",
                          hlo.name(), "\n");
    }
    return Launch(hlo);
  }

  absl::StatusOr<std::string> Launch(const HloInstruction& hlo) {
    const auto found = kernels_.find(&hlo);
    if (found == kernels_.end()) {
      return absl::UnimplementedError(
          absl::StrCat(HloOpcodeString(hlo.opcode()),
                       ": no part of a program, in ", hlo.name()));
    }
    const LoweredKernel& kernel = *found->second;
    std::vector<std::string> arguments;
    for (const LoweredKernel::OperandArray& array : kernel.operands) {
      ASSIGN_OR_RETURN(
          const int64_t offset,
          memory_.OffsetOf(hlo.operand(array.operand), array.index));
      arguments.push_back(absl::StrCat("At(", offset, ")"));
    }
    for (const HloInstruction* constant : kernel.constants) {
      ASSIGN_OR_RETURN(const int64_t offset, AddConstant(*constant));
      arguments.push_back(absl::StrCat("At(", offset, ")"));
    }
    for (const ShapeIndex& index : kernel.results) {
      ASSIGN_OR_RETURN(const int64_t offset, memory_.OffsetOf(&hlo, index));
      arguments.push_back(absl::StrCat("At(", offset, ")"));
    }
    const std::string& name = kernel.kernel.name;
    return absl::StrCat("  RUN(\"", name, "\", launch_", name, "(",
                        absl::StrJoin(arguments, ", "), ", stream));\n");
  }

  absl::StatusOr<std::string> While(const HloInstruction& hlo) {
    RETURN_IF_ERROR(WriteComputation(hlo.while_condition()));
    RETURN_IF_ERROR(WriteComputation(hlo.while_body()));
    ASSIGN_OR_RETURN(
        const int64_t holds,
        memory_.OffsetOf(hlo.while_condition()->root_instruction()));
    return absl::StrCat("  for (;;) {  // ", hlo.name(), "\n    ",
                        FunctionName(*hlo.while_condition()),
                        "();\n    if (Read<unsigned char>(", holds,
                        ") == 0) break;\n    ", FunctionName(*hlo.while_body()),
                        "();\n  }\n");
  }

  absl::StatusOr<std::string> Conditional(const HloInstruction& hlo) {
    ASSIGN_OR_RETURN(const int64_t offset, memory_.OffsetOf(hlo.operand(0)));
    const bool is_index = hlo.operand(0)->shape().element_type() != PRED;
    std::string text =
        absl::StrCat("  switch (Read<", is_index ? "int" : "unsigned char",
                     ">(", offset, ")) {  // ", hlo.name(), "\n");
    for (int64_t b = 0; b < hlo.branch_count(); ++b) {
      const HloComputation* branch = hlo.branch_computation(b);
      RETURN_IF_ERROR(WriteComputation(branch));
      // True is the first branch; an index out of range is the last.
      const bool is_last = b + 1 == hlo.branch_count();
      const int64_t value = is_index ? b : 1 - b;
      absl::StrAppend(&text,
                      (is_index ? is_last : b == 0)
                          ? "    default: "
                          : absl::StrCat("    case ", value, ": "),
                      FunctionName(*branch), "(); break;\n");
    }
    return text + "  }\n";
  }

  // A constant that has memory for as long as the program runs is written at
  // its start, another where its value begins.
  absl::StatusOr<std::string> Constant(const HloInstruction& hlo) {
    if (!hlo.shape().IsArray() || hlo.users().empty()) {
      if (hlo.parent()->root_instruction() != &hlo) return std::string();
    }
    ASSIGN_OR_RETURN(const BufferAllocation::Slice slice,
                     memory_.assignment->GetUniqueSlice(&hlo, {}));
    ASSIGN_OR_RETURN(const int64_t offset, memory_.OffsetOf(&hlo));
    ASSIGN_OR_RETURN(const std::string name, ConstantName(hlo));
    const std::string write = absl::StrCat("  Write(", offset, ", ", name, ", ",
                                           ShapeUtil::ByteSizeOf(hlo.shape()),
                                           ");  // ", hlo.name(), "\n");
    if (!slice.allocation()->is_constant()) return write;
    initial_ += write;
    return std::string();
  }

  // One of a kernel's own, behind the planned memory.
  absl::StatusOr<int64_t> AddConstant(const HloInstruction& hlo) {
    const auto found = own_constants_.find(&hlo);
    if (found != own_constants_.end()) return found->second;
    ASSIGN_OR_RETURN(const std::string name, ConstantName(hlo));
    const int64_t offset = memory_.bytes + constants_bytes_;
    const int64_t bytes = ShapeUtil::ByteSizeOf(hlo.shape());
    constants_bytes_ += (bytes + 63) / 64 * 64;
    own_constants_[&hlo] = offset;
    absl::StrAppend(&initial_, "  Write(", offset, ", ", name, ", ", bytes,
                    ");  // ", hlo.name(), "\n");
    return offset;
  }

  // Equal ones have one array.
  absl::StatusOr<std::string> ConstantName(const HloInstruction& hlo) {
    const Literal& literal = hlo.literal();
    if (PackedBits(hlo.shape()) > 0) {
      return absl::UnimplementedError(
          absl::StrCat("constant: packed elements, at ", hlo.name()));
    }
    if (literal.is_elided()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "constant: the text has no elements of it, at ", hlo.name()));
    }
    const std::string bytes(static_cast<const char*>(literal.untyped_data()),
                            ShapeUtil::ByteSizeOf(hlo.shape()));
    literal_bytes_ += bytes.size();
    if (literal_bytes_ > options_.max_constant_bytes) {
      return absl::FailedPreconditionError(
          absl::StrCat("constant: the module's constants are more than ",
                       options_.max_constant_bytes, " bytes, at ", hlo.name()));
    }
    const auto [it, is_new] =
        literals_.insert({bytes, absl::StrCat("kBytes", literals_.size())});
    if (is_new) {
      absl::StrAppend(&arrays_, "alignas(16) static const unsigned char ",
                      it->second, "[] = {");
      for (size_t i = 0; i < bytes.size(); ++i) {
        absl::StrAppend(&arrays_,
                        i == 0        ? ""
                        : i % 24 == 0 ? ",\n  "
                                      : ", ",
                        static_cast<unsigned char>(bytes[i]));
      }
      arrays_ += bytes.empty() ? "0};\n" : "};\n";
    }
    return it->second;
  }

  absl::Status WriteConstants() {
    constants_text_ = absl::StrCat(arrays_, "static void WriteConstants() {\n",
                                   initial_, "}\n\n");
    return absl::OkStatus();
  }

  std::string Text(const HloModule& module, const CudaProgram& program,
                   const std::string& inputs, const std::string& results) {
    const BufferAssignment::Stats& stats = memory_.assignment->GetStats();
    std::string text = absl::StrCat(
        "// ", module.name(), ": ", program.kernels, " kernels for ",
        device_.name, ".\n//\n// One allocation of ", program.memory_bytes,
        " bytes: parameters ", stats.parameter_allocation_bytes, ", constants ",
        stats.constant_allocation_bytes + constants_bytes_, ", results ",
        stats.maybe_live_out_allocation_bytes, ", temporaries ",
        stats.preallocated_temp_allocation_bytes, ".\n",
        memory_.copies == 0
            ? ""
            : absl::StrCat("// ", memory_.copies,
                           " copies keep values that loops or kernels write "
                           "over.\n"),
        "\n", kernels_text_, kProgramRuntime, "#ifndef __CUDACC_RTC__\n",
        "static const char kModule[] = \"", absl::CEscape(module.name()),
        "\";\nstatic const Index kMemoryBytes = ", program.memory_bytes,
        ";\nstatic const std::vector<Array> kInputs = {\n", inputs,
        "};\nstatic const std::vector<Array> kResults = {\n", results, "};\n\n",
        constants_text_, functions_, "static void RunModule() { ",
        FunctionName(*module.entry_computation()), "(); }\n#endif\n",
        kProgramMain);
    return text;
  }

  const CudaProgramOptions& options_;
  const GpuDevice& device_;
  ProgramMemory memory_;
  const HloSchedule* schedule_ = nullptr;
  // Looked up, never walked.
  absl::flat_hash_map<const HloInstruction*, const LoweredKernel*> kernels_;
  absl::flat_hash_map<const HloInstruction*, int64_t> own_constants_;
  absl::flat_hash_map<std::string, std::string> literals_;
  absl::flat_hash_set<const HloComputation*> written_;
  absl::flat_hash_map<const HloComputation*, std::string> function_names_;
  absl::flat_hash_set<std::string> names_;
  std::string kernels_text_, functions_, arrays_, initial_, constants_text_;
  int64_t constants_bytes_ = 0;
  int64_t literal_bytes_ = 0;
};

}  // namespace

absl::StatusOr<CudaProgram> EmitCudaProgram(const HloModule& module,
                                            const CudaProgramOptions& options) {
  if (!module.has_schedule()) {
    return absl::FailedPreconditionError(
        absl::StrCat("module ", module.name(),
                     " has no schedule: run the pipeline gpu first"));
  }
  const int64_t devices =
      module.config().num_partitions() * module.config().replica_count();
  if (devices > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("module ", module.name(), " is for ", devices,
                     " devices, a program for one"));
  }
  ASSIGN_OR_RETURN(const GpuDevice device, FindGpuDevice(options.device));
  const std::unique_ptr<HloModule> copy = module.Clone("");
  return ProgramWriter(options, device).Write(copy.get());
}

absl::Status WriteCudaProgram(const CudaProgram& program,
                              const std::string& folder) {
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, folder);
  }
  for (const auto& [name, text] : program.files) {
    RETURN_IF_ERROR(WriteFileOrStdout(absl::StrCat(folder, "/", name), text));
  }
  return absl::OkStatus();
}

}  // namespace xla::gpu
