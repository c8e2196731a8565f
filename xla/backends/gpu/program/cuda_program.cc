#include "xla/backends/gpu/program/cuda_program.h"

#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/codegen/cuda_emitter.h"
#include "xla/backends/gpu/lowering/kernel_config.h"
#include "xla/backends/gpu/lowering/kernel_planner.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/backends/gpu/program/kernel_alias_info.h"
#include "xla/backends/gpu/program/program_arrays.h"
#include "xla/backends/gpu/program/program_constants.h"
#include "xla/backends/gpu/program/program_memory.h"
#include "xla/backends/gpu/program/program_runtime.h"
#include "xla/backends/gpu/program/program_steps.h"
#include "xla/backends/gpu/smem/smem_plan.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

constexpr char kMakefile[] =
    "# `make` for the GPU, `make host` for a program that needs none.\n"
    "NVCC ?= nvcc\n"
    "ARCH ?= %s\n"
    "program: program.cu\n"
    "\t$(NVCC) -std=c++17 -O3 -arch=$(ARCH) -o $@ program.cu%s\n"
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
    "add_executable(program program.cu)\n%s";

constexpr char kCmakeProducts[] =
    "find_package(CUDAToolkit REQUIRED)\n"
    "target_link_libraries(program PRIVATE CUDA::cublasLt)\n";

class ProgramWriter {
 public:
  ProgramWriter(const CudaProgramOptions& options, const GpuDevice& device)
      : options_(options), device_(device) {}

  absl::StatusOr<CudaProgram> Write(HloModule* module) {
    const ModuleLowering lowering = LowerModule(*module, options_.lowering);
    RETURN_IF_ERROR(CheckLowered(lowering));
    const KernelAliasInfo aliases(lowering);
    ASSIGN_OR_RETURN(memory_, PlanProgramMemory(module, aliases));
    RETURN_IF_ERROR(WriteKernels(lowering));
    ASSIGN_OR_RETURN(inputs_, InputArrays(*module, memory_));
    ASSIGN_OR_RETURN(results_, ResultArrays(*module, memory_));
    ProgramConstants constants(memory_, options_.max_constant_bytes);
    ProgramSteps steps(module->schedule(), memory_, kernels_, &constants);
    ASSIGN_OR_RETURN(const std::string functions,
                     steps.Write(module->entry_computation()));

    CudaProgram program;
    program.kernels = kernels_.size();
    program.memory_bytes = memory_.bytes + constants.added_bytes();
    const std::string arch = absl::StrCat(device_.compute_capability);
    const bool has_products = !steps.products().empty();
    program.files = {
        {"program.cu",
         absl::StrCat(Title(*module, program, constants),
                      Text(*module, program, constants, steps, functions))},
        {"Makefile", absl::StrFormat(kMakefile, absl::StrCat("sm_", arch),
                                     has_products ? " -lcublasLt" : "")},
        {"CMakeLists.txt",
         absl::StrFormat(kCmake, arch, has_products ? kCmakeProducts : "")},
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
      ASSIGN_OR_RETURN(
          const SmemPlan plan,
          PlanKernelMemory(
              kernel.lowered.kernel, device_,
              SmemModeOf(kernel.hlo->raw_backend_config_string())));
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

  std::string Title(const HloModule& module, const CudaProgram& program,
                    const ProgramConstants& constants) const {
    const BufferAssignment::Stats& stats = memory_.assignment->GetStats();
    return absl::StrCat(
        "// ", module.name(), ": ", program.kernels, " kernels for ",
        device_.name, ".\n//\n// One allocation of ", program.memory_bytes,
        " bytes: parameters ", stats.parameter_allocation_bytes, ", constants ",
        stats.constant_allocation_bytes + constants.added_bytes(), ", results ",
        stats.maybe_live_out_allocation_bytes, ", temporaries ",
        stats.preallocated_temp_allocation_bytes, ".\n",
        memory_.copies == 0
            ? ""
            : absl::StrCat("// ", memory_.copies,
                           " copies keep values that loops or kernels write "
                           "over.\n"),
        "\n");
  }

  std::string Text(const HloModule& module, const CudaProgram& program,
                   const ProgramConstants& constants, const ProgramSteps& steps,
                   const std::string& functions) const {
    std::string products;
    if (!steps.products().empty()) {
      products =
          absl::StrCat("static const Product kProducts[] = {\n    ",
                       absl::StrJoin(steps.products(), ",\n    "),
                       "};\nstatic const Product& ProductOf(int number) {\n"
                       "  return kProducts[number];\n}\n\n");
    }
    return absl::StrCat(
        kernels_text_, kProgramRuntime,
        products.empty() ? "" : kProgramProducts, "#ifndef __CUDACC_RTC__\n",
        "static const char kModule[] = \"", absl::CEscape(module.name()),
        "\";\nstatic const Index kMemoryBytes = ", program.memory_bytes,
        ";\nstatic const std::vector<Array> kInputs = {\n", inputs_,
        "};\nstatic const std::vector<Array> kResults = {\n", results_,
        "};\n\n", products, constants.Text(), functions, "#endif\n",
        kProgramMain);
  }

  const CudaProgramOptions& options_;
  const GpuDevice& device_;
  ProgramMemory memory_;
  ProgramSteps::Kernels kernels_;
  std::string kernels_text_, inputs_, results_;
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
  std::optional<GpuDevice> device = options.described;
  if (!device.has_value()) {
    ASSIGN_OR_RETURN(device, FindGpuDevice(options.device));
  }
  const std::unique_ptr<HloModule> copy = module.Clone("");
  return ProgramWriter(options, *device).Write(copy.get());
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
