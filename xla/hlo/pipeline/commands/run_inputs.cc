#include "xla/hlo/pipeline/commands/run_inputs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "xla/hlo/evaluator/io/npy.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

std::string Suffix(const ShapeIndex& index) {
  std::string suffix;
  for (int64_t i : index) absl::StrAppend(&suffix, ".", i);
  return suffix;
}

// The array that a leaf of a parameter has on a device.
absl::StatusOr<Literal> ReadLeaf(const NpzFile& file,
                                 const HloInstruction* parameter,
                                 const ShapeUtil::IndexedShape& leaf,
                                 int64_t device) {
  const int64_t number = parameter->parameter_number();
  for (const std::string& base :
       {absl::StrCat("arg", number), absl::StrCat("arr_", number),
        std::string(parameter->name())}) {
    const std::string name = base + Suffix(leaf.index);
    for (const std::string& full : {absl::StrCat(name, "@", device), name}) {
      if (file.Contains(full)) return file.Read(full, &leaf.shape);
    }
  }
  // For the text of the error: there is none.
  return file.Read(absl::StrCat("arg", number, Suffix(leaf.index)));
}

absl::StatusOr<Literal> ReadParameter(const NpzFile& file,
                                      const HloInstruction* parameter,
                                      int64_t device) {
  TF_ASSIGN_OR_RETURN(Literal value, Literal::Make(parameter->shape()));
  for (const ShapeUtil::IndexedShape& leaf :
       ShapeUtil::GetLeafShapes(parameter->shape())) {
    if (leaf.shape.IsToken()) continue;
    TF_ASSIGN_OR_RETURN(const Literal array,
                        ReadLeaf(file, parameter, leaf, device));
    TF_RETURN_IF_ERROR(value.CopyFrom(array, leaf.index));
  }
  return value;
}

absl::StatusOr<std::vector<std::vector<Literal>>> ReadArrays(
    const HloModule& module, int64_t devices, const std::string& path) {
  TF_ASSIGN_OR_RETURN(const std::string bytes, ReadFileOrStdin(path));
  const auto& parameters = module.entry_computation()->parameter_instructions();
  std::optional<NpzFile> file;
  if (!absl::EndsWith(path, ".npy")) {
    absl::StatusOr<NpzFile> parsed = NpzFile::Parse(bytes);
    if (!parsed.ok()) {
      return absl::Status(parsed.status().code(),
                          absl::StrCat(path, ": ", parsed.status().message()));
    }
    file = *std::move(parsed);
  } else if (parameters.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": one array for ", parameters.size(),
                     " parameters; use a .npz file"));
  }
  std::vector<std::vector<Literal>> inputs(devices);
  for (int64_t d = 0; d < devices; ++d) {
    for (const HloInstruction* parameter : parameters) {
      absl::StatusOr<Literal> value = file.has_value()
                                          ? ReadParameter(*file, parameter, d)
                                          : ReadNpy(bytes, &parameter->shape());
      if (!value.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("%", parameter->name(), ": ", path, ": ",
                         value.status().message()));
      }
      inputs[d].push_back(*std::move(value));
    }
  }
  return inputs;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<Literal>>> ReadRunInputs(
    const HloModule& module, int64_t devices, absl::string_view description) {
  absl::string_view rest = description;
  if (rest == "zeros") {
    std::vector<std::vector<Literal>> inputs(devices);
    for (std::vector<Literal>& device : inputs) {
      for (const HloInstruction* parameter :
           module.entry_computation()->parameter_instructions()) {
        TF_ASSIGN_OR_RETURN(Literal zeros, Literal::Make(parameter->shape()));
        device.push_back(std::move(zeros));
      }
    }
    return inputs;
  }
  const bool small = absl::ConsumePrefix(&rest, "small:");
  if (small || absl::ConsumePrefix(&rest, "random:")) {
    uint64_t seed = 0;
    if (!absl::SimpleAtoi(rest, &seed)) {
      return absl::InvalidArgumentError(
          absl::StrCat("bad seed '", rest, "' in '", description, "'"));
    }
    return GenerateDeviceInputs(module, devices, seed, small);
  }
  if (!absl::EndsWith(rest, ".npz") && !absl::EndsWith(rest, ".npy")) {
    return absl::InvalidArgumentError(
        absl::StrCat("bad inputs '", description,
                     "'; expected random:SEED, small:SEED, zeros, or a .npz or "
                     ".npy file"));
  }
  return ReadArrays(module, devices, std::string(rest));
}

absl::Status WriteRunValues(
    const std::vector<std::vector<const Literal*>>& values,
    absl::string_view prefix, bool numbered, const std::string& path) {
  // Leaves are copied out, since names go with whole literals.
  std::vector<Literal> leaves;
  std::vector<std::string> names;
  for (size_t d = 0; d < values.size(); ++d) {
    for (size_t i = 0; i < values[d].size(); ++i) {
      const Literal& value = *values[d][i];
      for (const ShapeUtil::IndexedShape& leaf :
           ShapeUtil::GetLeafShapes(value.shape())) {
        if (!leaf.shape.IsArray()) continue;
        leaves.push_back(LiteralSlice(value, leaf.index).Clone());
        names.push_back(absl::StrCat(
            prefix, numbered ? absl::StrCat(i) : "", Suffix(leaf.index),
            values.size() > 1 ? absl::StrCat("@", d) : ""));
      }
    }
  }
  std::vector<std::pair<std::string, const LiteralBase*>> arrays;
  for (size_t i = 0; i < leaves.size(); ++i) {
    arrays.push_back({names[i], &leaves[i]});
  }
  TF_ASSIGN_OR_RETURN(const std::string bytes, WriteNpz(arrays));
  return WriteFileOrStdout(path, bytes);
}

}  // namespace xla
