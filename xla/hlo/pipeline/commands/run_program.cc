#include "xla/hlo/pipeline/commands/run_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "xla/hlo/evaluator/io/npy.h"
#include "xla/hlo/pipeline/commands/run_inputs.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// Internal, with the output, if it fails.
absl::Status RunCommand(const std::string& folder, const std::string& command) {
  std::FILE* pipe = popen(absl::StrCat(command, " 2>&1").c_str(), "r");
  if (pipe == nullptr) return absl::InternalError(folder + ": no shell");
  std::string output;
  char buffer[4096];
  while (size_t n = std::fread(buffer, 1, sizeof(buffer), pipe)) {
    output.append(buffer, n);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(folder, ": ", command, " failed:\n", output));
}

bool HasGpu() {
  return access("/dev/nvidia0", R_OK) == 0 &&
         std::system("command -v nvcc > /dev/null 2>&1") == 0;
}

}  // namespace

absl::StatusOr<ProgramRun> RunProgram(
    const std::string& folder, const std::vector<const Literal*>& arguments,
    const Shape& result) {
  if (access(absl::StrCat(folder, "/program.cu").c_str(), R_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(
        folder, ": there is no program.cu; hlo-opt --emit=cuda -o ", folder,
        " writes it"));
  }
  const bool has_gpu = HasGpu();
  const std::string target = has_gpu ? "program" : "host";
  const std::string inputs = absl::StrCat(folder, "/inputs.npz");
  const std::string results = absl::StrCat(folder, "/results.npz");
  TF_RETURN_IF_ERROR(WriteRunValues({arguments}, "arg", true, inputs));
  TF_RETURN_IF_ERROR(RunCommand(
      folder, absl::StrCat("make -s -C ", Quoted(folder), " ", target)));
  const std::string program =
      absl::StrCat(folder[0] == '/' ? "" : "./", folder, "/", target);
  TF_RETURN_IF_ERROR(
      RunCommand(folder, absl::StrCat(Quoted(program), " ", Quoted(inputs), " ",
                                      Quoted(results))));
  TF_ASSIGN_OR_RETURN(const std::string bytes, ReadFileOrStdin(results));
  TF_ASSIGN_OR_RETURN(const NpzFile file, NpzFile::Parse(bytes));
  ProgramRun run;
  run.where = has_gpu ? "on the GPU" : "on the host shim";
  TF_ASSIGN_OR_RETURN(run.result, Literal::Make(result));
  for (const ShapeUtil::IndexedShape& leaf : ShapeUtil::GetLeafShapes(result)) {
    if (!leaf.shape.IsArray()) continue;
    std::string name = "out";
    for (int64_t i : leaf.index) absl::StrAppend(&name, ".", i);
    TF_ASSIGN_OR_RETURN(const Literal array, file.Read(name, &leaf.shape));
    TF_RETURN_IF_ERROR(run.result.CopyFrom(array, leaf.index));
  }
  return run;
}

}  // namespace xla
