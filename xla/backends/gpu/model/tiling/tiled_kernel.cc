#include "xla/backends/gpu/model/tiling/tiled_kernel.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/casts.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// Longer programs take long to price, and to compile.
constexpr size_t kMaxValues = 512;
// Dimensions that a mask holds.
constexpr int64_t kMaxRank = 64;

bool IsTiledType(PrimitiveType type) {
  return primitive_util::IsArrayType(type) &&
         !primitive_util::IsComplexType(type) &&
         !primitive_util::IsSubByteNonPredType(type);
}

absl::Status CheckShape(const HloInstruction& hlo) {
  const Shape& shape = hlo.shape();
  if (!shape.IsArray() || !IsTiledType(shape.element_type())) {
    return absl::UnimplementedError(
        absl::StrCat(hlo.name(), ": values of ",
                     primitive_util::LowercasePrimitiveTypeName(
                         shape.IsArray() ? shape.element_type() : TUPLE),
                     " are not tiled"));
  }
  if (ShapeUtil::IsZeroElementArray(shape) ||
      shape.dimensions_size() > kMaxRank) {
    return absl::UnimplementedError(
        absl::StrCat(hlo.name(), ": not tiled: ", shape.ToString()));
  }
  return absl::OkStatus();
}

bool IsTiledOpcode(const HloInstruction& hlo, KernelTarget target) {
  switch (hlo.opcode()) {
    case HloOpcode::kBitcast:
    case HloOpcode::kBroadcast:
    case HloOpcode::kIota:
    case HloOpcode::kReduce:
    case HloOpcode::kReshape:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return true;
    case HloOpcode::kConstant:
      return ShapeUtil::IsEffectiveScalar(hlo.shape());
    default:  // Tiles pass elementwise opcodes only.
      return hlo.IsElementwise() && IsComputedInTiles(hlo, target);
  }
}

absl::Status CheckReducer(const HloInstruction& reduce, KernelTarget target) {
  for (const HloInstruction* hlo : reduce.to_apply()->instructions()) {
    TF_RETURN_IF_ERROR(CheckShape(*hlo));
    if (hlo->opcode() == HloOpcode::kParameter || IsTiledOpcode(*hlo, target)) {
      continue;
    }
    return absl::UnimplementedError(
        absl::StrCat("the reducer of ", reduce.name(), " has a ",
                     HloOpcodeString(hlo->opcode())));
  }
  return absl::OkStatus();
}

absl::Status CheckIsTiled(const HloInstruction& hlo, KernelTarget target) {
  TF_RETURN_IF_ERROR(CheckShape(hlo));
  if (!IsTiledOpcode(hlo, target)) {
    return absl::UnimplementedError(absl::StrCat(
        HloOpcodeString(hlo.opcode()), " ", hlo.name(), " is not tiled"));
  }
  if (hlo.opcode() == HloOpcode::kReduce) return CheckReducer(hlo, target);
  return absl::OkStatus();
}

// Whether all programs together compute each element of an output exactly once:
// each of its dimensions is either whole in every program or tiled in step with
// one dimension of the result, and every dimension of the result that is tiled
// is used.
bool CoversOnce(const Shape& shape, const Tile& tile, const TiledKernel& kernel,
                const Tile& result_tile, const Shape& result) {
  uint64_t used = 0;
  for (int64_t d = 0; d < shape.dimensions_size(); ++d) {
    const TileDimension& part = tile[d];
    if (part.offset != 0 || part.stride != 1) return false;
    if (kernel.ProgramsAlong(part.along) == 1) {
      if (part.size < shape.dimensions(d)) return false;
      continue;
    }
    // One dimension of the result, in the same tiles, and no other one by it.
    if (part.indirect || (part.along & used) != 0) {
      return false;
    }
    used |= part.along;
    int64_t of_result = 0;
    while ((part.along >> of_result) != 1) ++of_result;
    if (shape.dimensions(d) != result.dimensions(of_result) ||
        part.size != result_tile[of_result].size) {
      return false;
    }
  }
  return kernel.ProgramsAlong(used) == kernel.programs;
}

// Numbers as bytes, seven bits each: most are small, and no sequence of numbers
// has the bytes of another one.
class StructureWriter {
 public:
  void Add(uint64_t number) {
    for (; number >= 0x80; number >>= 7) {
      bytes_.push_back(static_cast<char>(number | 0x80));
    }
    bytes_.push_back(static_cast<char>(number));
  }
  void AddAll(absl::Span<const int64_t> numbers) {
    Add(numbers.size());
    for (int64_t number : numbers) Add(number);
  }
  void AddShape(const Shape& shape) {
    Add(shape.element_type());
    AddAll(shape.dimensions());
    if (shape.has_layout()) AddAll(shape.layout().minor_to_major());
  }
  // What the tiles of its operands and its price depend on.
  void AddInstruction(const HloInstruction& hlo,
                      absl::FunctionRef<double(const HloComputation&)> cost) {
    Add(static_cast<uint64_t>(hlo.opcode()));
    AddShape(hlo.shape());
    switch (hlo.opcode()) {
      case HloOpcode::kReduce:
        Add(absl::bit_cast<uint64_t>(cost(*hlo.to_apply())));
        [[fallthrough]];
      case HloOpcode::kBroadcast:
      case HloOpcode::kTranspose:
        AddAll(hlo.dimensions());
        break;
      case HloOpcode::kSlice:
        AddAll(hlo.slice_starts());
        AddAll(hlo.slice_strides());
        break;
      case HloOpcode::kBitcast:
      case HloOpcode::kReshape:
        AddShape(hlo.operand(0)->shape());
        break;
      default:  // Opcode and shape say all.
        break;
    }
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace

int64_t TiledKernel::ProgramsAlong(uint64_t dimensions) const {
  int64_t product = 1;
  for (size_t d = 0; d < counts.size(); ++d) {
    if ((dimensions >> d) & 1) product *= counts[d];
  }
  return product;
}

// Checks once whether all instructions can be tiled at all; the tilings that
// are tried afterwards only propagate sizes. The largest output defines the
// tiling.
absl::StatusOr<TileableKernel> TileableKernel::Create(
    const HloFusionAdaptor& fusion, KernelTarget target) {
  TileableKernel kernel;
  absl::flat_hash_map<const HloInstruction*, int32_t> index;
  auto add = [&](const HloInstruction& hlo, bool is_read) {
    auto [it, is_new] =
        index.try_emplace(&hlo, static_cast<int32_t>(kernel.nodes_.size()));
    if (is_new) kernel.nodes_.push_back({&hlo, is_read, {}});
    return it->second;
  };
  for (const HloInstructionAdaptor& hlo : fusion.MakeInstructionPostOrder()) {
    TF_RETURN_IF_ERROR(CheckIsTiled(hlo.instruction(), target));
    absl::InlinedVector<int32_t, 2> operands;
    for (const HloInstructionAdaptor& operand : hlo.GetOperands()) {
      if (!fusion.ContainsInstruction(operand)) {
        TF_RETURN_IF_ERROR(CheckShape(operand.instruction()));
      }
      operands.push_back(
          add(operand.instruction(), !fusion.ContainsInstruction(operand)));
    }
    const int32_t node = add(hlo.instruction(), /*is_read=*/false);
    kernel.nodes_[node].operands = std::move(operands);
  }
  for (const HloInstructionAdaptor& root : fusion.GetRoots()) {
    auto it = index.find(&root.instruction());
    if (it == index.end()) {
      return absl::UnimplementedError("an output is not computed inside");
    }
    kernel.outputs_.push_back(it->second);
  }
  if (kernel.outputs_.empty()) {
    return absl::UnimplementedError("no outputs");
  }
  kernel.result_ =
      *absl::c_max_element(kernel.outputs_, [&](int32_t a, int32_t b) {
        return ShapeUtil::ElementsIn(kernel.nodes_[a].hlo->shape()) <
               ShapeUtil::ElementsIn(kernel.nodes_[b].hlo->shape());
      });
  return kernel;
}

const Shape& TileableKernel::result_shape() const {
  return nodes_[result_].hlo->shape();
}

std::string TileableKernel::Structure(
    absl::FunctionRef<double(const HloComputation&)> cost) const {
  StructureWriter writer;
  writer.Add(nodes_.size());
  for (const Node& node : nodes_) {
    writer.Add(node.is_read);
    if (node.is_read) {
      writer.AddShape(node.hlo->shape());
      continue;
    }
    writer.AddInstruction(*node.hlo, cost);
    writer.Add(node.operands.size());
    for (int32_t operand : node.operands) writer.Add(operand);
  }
  writer.Add(outputs_.size());
  for (int32_t output : outputs_) writer.Add(output);
  return writer.Take();
}

// Propagates the result's tile backwards through all nodes in reverse post
// order. A node may be needed in several different tiles, each of which becomes
// a value of its own; equal tiles are shared. At the end values are renumbered
// operands first.
absl::StatusOr<TiledKernel> TileableKernel::Tiled(
    absl::Span<const int64_t> sizes) const {
  const Shape& result = result_shape();
  TiledKernel kernel;
  Tile result_tile;
  for (int64_t d = 0; d < result.dimensions_size(); ++d) {
    const int64_t size = std::min(sizes[d], result.dimensions(d));
    kernel.counts.push_back(CeilOfRatio(result.dimensions(d), size));
    kernel.programs *= kernel.counts.back();
    TileDimension part;
    part.size = size;
    // Where one tile is all of it, no program needs another one.
    if (kernel.counts.back() > 1) part.along = uint64_t{1} << d;
    result_tile.push_back(part);
  }
  // The values of each node so far. Users come before operands, so that all of
  // a node are known when its own operands' turn comes.
  std::vector<absl::InlinedVector<int32_t, 1>> known(nodes_.size());
  auto value_of = [&](int32_t node, const Tile& tile) {
    for (int32_t value : known[node]) {
      if (kernel.values[value].tile == tile) return value;
    }
    const int32_t value = static_cast<int32_t>(kernel.values.size());
    kernel.values.push_back({nodes_[node].hlo, nodes_[node].is_read, tile, {}});
    known[node].push_back(value);
    return value;
  };
  kernel.values.reserve(nodes_.size() + 8);
  kernel.outputs.assign(outputs_.size(), -1);
  for (int32_t node = static_cast<int32_t>(nodes_.size()) - 1; node >= 0;
       --node) {
    const HloInstruction& hlo = *nodes_[node].hlo;
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (outputs_[k] != node) continue;
      for (int32_t value : known[node]) {
        if (CoversOnce(hlo.shape(), kernel.values[value].tile, kernel,
                       result_tile, result)) {
          kernel.outputs[k] = value;
          break;
        }
      }
      if (kernel.outputs[k] >= 0) continue;
      if (!ShapeUtil::SameDimensions(hlo.shape(), result)) {
        return absl::UnimplementedError(
            absl::StrCat(hlo.name(),
                         ": the result's programs do not compute "
                         "each element of this output once"));
      }
      kernel.outputs[k] = value_of(node, result_tile);
    }
    for (size_t k = 0; k < known[node].size(); ++k) {
      const int32_t value = known[node][k];
      for (size_t i = 0; i < nodes_[node].operands.size(); ++i) {
        TF_ASSIGN_OR_RETURN(const Tile tile,
                            TileOfOperand(hlo, i, kernel.values[value].tile));
        const int32_t operand = value_of(nodes_[node].operands[i], tile);
        kernel.values[value].operands.push_back(operand);
      }
      if (kernel.values.size() > kMaxValues) {
        return absl::UnimplementedError(
            absl::StrCat("a program of more than ", kMaxValues, " tiles"));
      }
    }
  }
  // Operands first.
  std::vector<int32_t> place(kernel.values.size());
  std::vector<TiledValue> ordered;
  ordered.reserve(kernel.values.size());
  for (const auto& values : known) {
    for (int32_t value : values) {
      place[value] = static_cast<int32_t>(ordered.size());
      ordered.push_back(std::move(kernel.values[value]));
    }
  }
  for (TiledValue& value : ordered) {
    for (int32_t& operand : value.operands) operand = place[operand];
  }
  for (int32_t& output : kernel.outputs) output = place[output];
  kernel.values = std::move(ordered);
  return kernel;
}

}  // namespace xla::gpu
