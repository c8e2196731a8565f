#ifndef XLA_HLO_MEMORY_REPORT_LAYER_NAME_H_
#define XLA_HLO_MEMORY_REPORT_LAYER_NAME_H_

#include <string>

#include "absl/strings/string_view.h"

namespace xla {

// The layer of a model that an instruction belongs to, from the name that the
// framework gave it. Equal layers have the same name, so that they share one
// row of a report.
//
//   jit(step)/transpose(jvp(Model))/block_7/mlp/dot_general
//     → Model/block_*/mlp (backward)
//   jit(step)/jit(main)/while/body/closed_call/mlp/dot_general → mlp
//   params['layers'][3]['gate']                                →
//   params/layers/*/gate jit(step)/mul → mul
//
// Drops JAX transformations, loops and the primitive at the end; numbers become
// '*' unless letters follow them (conv2d). Of names joined by ';' the first
// counts. Empty for an empty name. O(length).
std::string LayerName(absl::string_view op_name);

// The parts of such a name.
//
//   jit(step)/transpose(jvp(Model))/block_7/mlp/mul
//     → layer Model/block_7/mlp, primitive mul, differentiated, backward
struct OpScope {
  // Without transformations, loops and the primitive, numbers kept; may be
  // empty.
  std::string layer;
  std::string primitive;
  // Computed for a gradient (jvp), and in the backward pass (transpose).
  bool differentiated = false;
  bool backward = false;
};
OpScope ParseOpName(absl::string_view op_name);

// The common name of equal layers: numbers become '*'.
std::string WithoutNumbers(absl::string_view layer);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_REPORT_LAYER_NAME_H_
