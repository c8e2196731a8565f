#ifndef XLA_BACKENDS_GPU_MODEL_FUSION_TEST_UTIL_H_
#define XLA_BACKENDS_GPU_MODEL_FUSION_TEST_UTIL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/shape_util.h"

// Modules from short texts, for tests of what may be fused on a GPU.

namespace xla {
namespace gpu {

inline const se::DeviceDescription& Device() {
  static const auto* const kDevice = [] {
    auto device = GpuDeviceByName("a6000");
    CHECK_OK(device.status());
    return new se::DeviceDescription(*std::move(device));
  }();
  return *kDevice;
}

// Computations, before ENTRY, that the cases share.
inline constexpr absl::string_view kSum =
    "sum { sx = f32[] parameter(0) sy = f32[] parameter(1) "
    "ROOT ss = f32[] add(sx, sy) }\n";

inline std::unique_ptr<HloModule> Parse(absl::string_view text) {
  auto module =
      ParseAndReturnUnverifiedModule(absl::StrCat("HloModule m\n", kSum, text));
  CHECK_OK(module.status()) << text;
  return *std::move(module);
}

inline const HloInstruction& Find(const HloModule& module,
                                  absl::string_view name) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* hlo : computation->instructions()) {
      if (hlo->name() == name) return *hlo;
    }
  }
  LOG(FATAL) << "no " << name;
}

inline const HloInstruction& Root(const HloModule& module) {
  return *module.entry_computation()->root_instruction();
}

// A computation `ROOT body` as the only fusion of a module. `parameters` are
// "name = shape" pairs joined by ';'.
inline std::string Fusion(absl::string_view parameters, absl::string_view body,
                          absl::string_view kind = "kLoop",
                          absl::string_view callees = "") {
  std::string fused = "fused {\n", entry = "ENTRY e {\n", operands;
  int64_t number = 0;
  for (absl::string_view parameter : absl::StrSplit(parameters, ';')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(parameter, '=');
    absl::StrAppend(&fused, "  ", parts.first, "= ", parts.second,
                    " parameter(", number, ")\n");
    absl::StrAppend(&entry, "  e", number, " = ", parts.second, " parameter(",
                    number, ")\n");
    absl::StrAppend(&operands, number > 0 ? ", " : "", "e", number);
    ++number;
  }
  absl::StrAppend(&fused, body, "\n}\n");
  // The shape of the root.
  std::unique_ptr<HloModule> module = Parse(absl::StrCat(
      callees, absl::StrReplaceAll(fused, {{"fused {", "ENTRY e {"}})));
  const std::string shape =
      ShapeUtil::HumanStringWithLayout(Root(*module).shape());
  return absl::StrCat(callees, fused, entry, "  ROOT f = ", shape, " fusion(",
                      operands, "), kind=", kind, ", calls=fused\n}\n");
}

}  // namespace gpu
}  // namespace xla

#endif  // XLA_BACKENDS_GPU_MODEL_FUSION_TEST_UTIL_H_
