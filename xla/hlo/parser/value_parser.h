#ifndef XLA_HLO_PARSER_VALUE_PARSER_H_
#define XLA_HLO_PARSER_VALUE_PARSER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/named_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/parser_base.h"
#include "xla/layout.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

// A cache of parsed values by their text. HLO repeats the same shapes,
// shardings, groups and metadata over and over; a repetition costs one hash of
// the text.
template <typename Value>
class TextCache {
 public:
  // Null if there is none.
  const Value* Find(absl::string_view text) const {
    auto it = values_.find(text);
    return it == values_.end() ? nullptr : it->second;
  }
  // `text` must outlive the cache. The result stays valid.
  const Value* Add(absl::string_view text, Value value) {
    storage_.push_back(std::move(value));
    values_[text] = &storage_.back();
    return &storage_.back();
  }

 private:
  absl::flat_hash_map<absl::string_view, const Value*> values_;
  std::deque<Value> storage_;
};

// Reads everything in HLO text that stands on its own: shapes, layouts,
// literals, shardings, windows, metadata and the like.
class ValueParser : public ParserBase {
 public:
  using ParserBase::ParserBase;

  // --- parse_shape.cc
  // A shape as written.
  bool ParseShape(Shape* result);
  // The same, from the cache; null after an error. With `fill`, arrays without
  // a layout get the descending one.
  const Shape* ParseCachedShape(bool fill);
  // {1,0:T(8,128)S(5)}
  bool ParseLayout(Layout* result);
  // [shape {, shape}], up to the end of the text
  bool ParseShapes(std::vector<Shape>* result);
  // '{' shape {, shape} '}'
  bool ParseBracedShapes(bool fill, std::vector<Shape>* result);
  // {0,1}, of numbers from `least` on
  bool ParseShapeIndex(ShapeIndex* result, int64_t least = 0);

  // --- parse_literal.cc
  // The value of a constant of that shape: `5`, `{1, 2}`, `({1}, 2)`, `{...}`.
  bool ParseLiteral(const Shape& shape, Literal* result);
  // A shape and a value: `s32[2]{0} {1, 2}`.
  bool ParseTypedLiteral(Literal* result);

  // --- parse_sharding.cc
  bool ParseSharding(HloSharding* result);
  // Null after an error.
  std::shared_ptr<const HloSharding> ParseCachedSharding();

  // --- parse_mesh.cc
  // mesh['x'=2,'y'=4] or maximal_mesh[device_id=5], then maybe
  // ", device_ids=(...)".
  bool ParseMesh(Mesh* result);
  // '{' axis {, axis} '}'; `is_closed` may be null: then `?` is an error.
  bool ParseAxes(const Mesh& mesh, std::vector<AxisRef>* axes, bool* is_closed);

  // --- parse_replica_groups.cc
  bool ParseReplicaGroupLists(std::vector<ReplicaGroup>* result);
  bool ParseDeviceList(std::unique_ptr<CollectiveDeviceListBase>* result);
  // Null after an error.
  std::shared_ptr<CollectiveDeviceListBase> ParseCachedDeviceList();
  // {{0,1},{1,0}}
  bool ParseSourceTargetPairs(std::vector<std::pair<int64_t, int64_t>>* result);
  // [4,2]<=[2,4]T(1,0)'s part behind the first bracket pair.
  bool ParseIotaTail(std::vector<int64_t>* reshape_dims,
                     std::vector<int>* transpose_perm);

  // --- parse_window.cc
  // {size=3x3 pad=0_1x0_1}
  bool ParseWindow(Window* result, bool braces = true);
  bool ParseConvolutionDimensionNumbers(ConvolutionDimensionNumbers* result);
  bool ParsePaddingConfig(PaddingConfig* result);
  // {[0:4], [1:9:2]}
  bool ParseSliceRanges(std::vector<int64_t>* starts,
                        std::vector<int64_t>* limits,
                        std::vector<int64_t>* strides);

  // --- parse_metadata.cc
  // {op_name="a" stack_frame_id=3}
  bool ParseMetadata(OpMetadata* result);
  // Null after an error.
  std::shared_ptr<const OpMetadata> ParseCachedMetadata();
  // {key="value",other={"json": 1}}
  bool ParseKey(std::string* key);
  bool ParseFrontendAttributes(FrontendAttributes* result);
  bool ParseStatisticsViz(StatisticsViz* result);
  // A JSON dictionary, as written, or a string.
  bool ParseDictOrString(std::string* result);
  // "name" or "name" {0}
  bool ParseOriginalArray(OriginalArray* result);
  bool ParseOriginalValue(std::shared_ptr<OriginalValue>* result);

  // --- parse_enums.cc
  // true, {true}, {true,false}
  bool ParseBoolList(std::vector<bool>* result);
  bool ParseResultAccuracy(ResultAccuracy* result);
  bool ParseOperandPrecision(PrecisionConfig* result);
  bool ParseDotAlgorithm(PrecisionConfig::Algorithm* result);
  bool ParseSparsityConfig(SparsityConfig* result);
  // {{0}: (1, {2}), {1}: (0, {})}
  using OutputOperandAliases =
      std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>>;
  bool ParseOutputOperandAliases(OutputOperandAliases* result);

  // End of the balanced brackets that open at `begin`, past strings and
  // comments; null if they do not close.
  const char* MatchingEnd(const char* begin) const;

 protected:
  // Parses a value that starts with a bracket through a cache of shared
  // pointers; parse() makes one on a miss.
  template <typename Value, typename Parse>
  std::shared_ptr<Value> ThroughCache(TextCache<std::shared_ptr<Value>>* cache,
                                      Parse parse) {
    const char* begin = loc();
    const char* end = MatchingEnd(begin);
    absl::string_view text(begin, end == nullptr ? 0 : end - begin);
    if (end != nullptr) {
      if (const std::shared_ptr<Value>* found = cache->Find(text)) {
        lexer_.Reset(end);
        return *found;
      }
    }
    std::shared_ptr<Value> value = parse();
    if (value != nullptr && end == lexer_.GetPreviousEndLoc()) {
      cache->Add(text, value);
    }
    return value;
  }

 private:
  // parse_shape.cc
  const char* ScanArrayShape(const char* begin) const;
  const char* ScanShape() const;
  bool ParseArrayShape(Shape* result);
  bool ParseDimensions(IntVector* sizes, std::vector<bool>* dynamic);
  bool CheckSize(Loc start, const Shape& shape);
  bool CheckLayout(Loc start, int64_t rank, Layout* layout);
  bool ParseLayoutSuffix(Layout* result);
  bool ParseTiles(Layout* result);
  bool ParseParenthesized(PrimitiveType* result);
  bool ParseParenthesized(int64_t least, int64_t* result);
  bool ParseSplitConfigs(Layout* result);

  // parse_literal.cc
  bool ParseTupleLiteral(const Shape& shape, Literal* result);
  bool ParseArrayLiteral(const Shape& shape, Literal* result);
  bool ParseElided(const Shape& shape, Literal* result);
  template <typename NativeT>
  bool ParseElements(const Shape& shape, int dim, NativeT** next);
  template <typename NativeT>
  bool ParseElement(NativeT* result);

  // parse_sharding.cc
  struct ShardingFields;
  bool ParseTupleSharding(HloSharding* result);
  bool ParseShardingField(ShardingFields* fields);
  bool ParseNamedShardingAttribute(ShardingFields* fields);
  bool ParseShardGroup(bool as, ShardingFields* fields);
  bool ParseTileAssignment(ShardingFields* fields);
  bool ParseSubgroupTypes(ShardingFields* fields);
  bool ParseShardingMetadata(std::vector<OpMetadata>* result);
  bool BuildSharding(Loc start, ShardingFields* fields, HloSharding* result);
  bool ParseReductionOp(int* result);
  struct NamedShardingFields;
  bool ParseNamedShardingField(const Mesh& mesh, NamedShardingFields* fields);
  bool ParseNamedSharding(HloSharding* result);

  // parse_mesh.cc
  bool ParseDeviceIds(MeshProto* mesh);
  bool ParseAxis(const Mesh& mesh, std::vector<AxisRef>* axes);

  // parse_window.cc
  bool ParseWindowField(absl::string_view key, Loc key_loc, Window* result);
  bool ParseDxD(std::vector<int64_t>* result);
  bool ParsePads(std::vector<std::vector<int64_t>>* result);

  // parse_metadata.cc
  bool ParseMetadataField(absl::string_view key, Loc key_loc,
                          OpMetadata* result);
  bool ParseOriginalTree(ShapeIndex* index,
                         std::vector<OriginalValue::Leaf>* leaves);

  // parse_enums.cc
  bool ParseTolerance(ResultAccuracy::Tolerance* result);
  bool ParseTensorSparsity(SparsityConfig::TensorSparsityConfig* result);

  TextCache<Shape> shapes_;         // as written
  TextCache<Shape> filled_shapes_;  // with all layouts
  TextCache<std::shared_ptr<const HloSharding>> shardings_;
  TextCache<std::shared_ptr<CollectiveDeviceListBase>> device_lists_;
  TextCache<std::shared_ptr<const OpMetadata>> metadata_;
};

}  // namespace xla::hlo_text

#endif  // XLA_HLO_PARSER_VALUE_PARSER_H_
