#ifndef XLA_HLO_PARSER_ATTRIBUTE_TABLE_H_
#define XLA_HLO_PARSER_ATTRIBUTE_TABLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla::hlo_text {

// Every attribute that an instruction can have, with its text. There is one
// section per form of value; the values of a section are stored side by side
// (see AttributeValues).
//
//   V(enumerator, "text")
#define HLO_INT_ATTRIBUTES(V)                                   \
  V(kIndex, "index")                                            \
  V(kChannelId, "channel_id")                                   \
  V(kIotaDimension, "iota_dimension")                           \
  V(kFeatureGroupCount, "feature_group_count")                  \
  V(kBatchGroupCount, "batch_group_count")                      \
  V(kIndexVectorDim, "index_vector_dim")                        \
  V(kK, "k")                                                    \
  V(kExponentBits, "exponent_bits")                             \
  V(kMantissaBits, "mantissa_bits")                             \
  V(kInferredDimension, "inferred_dimension")                   \
  V(kCrossProgramPrefetchIndex, "cross_program_prefetch_index") \
  V(kDelta, "delta")                                            \
  V(kFeatureIndex, "feature_index")                             \
  V(kNumCarries, "num_carries")

#define HLO_BOOL_ATTRIBUTES(V)                               \
  V(kUseGlobalDeviceIds, "use_global_device_ids")            \
  V(kConstrainLayout, "constrain_layout")                    \
  V(kIndicesAreSorted, "indices_are_sorted")                 \
  V(kUniqueIndices, "unique_indices")                        \
  V(kIsStable, "is_stable")                                  \
  V(kLargest, "largest")                                     \
  V(kIsHostTransfer, "is_host_transfer")                     \
  V(kHasDynamicRoot, "has_dynamic_root")                     \
  V(kCustomCallHasSideEffect, "custom_call_has_side_effect") \
  V(kIsComposite, "is_composite")                            \
  V(kLeftSide, "left_side")                                  \
  V(kLower, "lower")                                         \
  V(kUnitDiagonal, "unit_diagonal")                          \
  V(kIsAssociative, "is_associative")                        \
  V(kIsReverse, "is_reverse")

// One word of a fixed set; stored as the number of an enumerator.
#define HLO_ENUM_ATTRIBUTES(V)            \
  V(kDirection, "direction")              \
  V(kType, "type")                        \
  V(kOrder, "order")                      \
  V(kKind, "kind")                        \
  V(kDistribution, "distribution")        \
  V(kFftType, "fft_type")                 \
  V(kTransposeA, "transpose_a")           \
  V(kSchedule, "schedule")                \
  V(kApiVersion, "api_version")           \
  V(kPaddingType, "padding_type")         \
  V(kConvolutionKind, "convolution_kind") \
  V(kAlgorithm, "algorithm")

// {1,2,3}
#define HLO_INTS_ATTRIBUTES(V)                                    \
  V(kDimensions, "dimensions")                                    \
  V(kLhsContractingDims, "lhs_contracting_dims")                  \
  V(kRhsContractingDims, "rhs_contracting_dims")                  \
  V(kLhsBatchDims, "lhs_batch_dims")                              \
  V(kRhsBatchDims, "rhs_batch_dims")                              \
  V(kLhsRaggedDims, "lhs_ragged_dims")                            \
  V(kRhsGroupDims, "rhs_group_dims")                              \
  V(kOffsetDims, "offset_dims")                                   \
  V(kCollapsedSliceDims, "collapsed_slice_dims")                  \
  V(kStartIndexMap, "start_index_map")                            \
  V(kOperandBatchingDims, "operand_batching_dims")                \
  V(kStartIndicesBatchingDims, "start_indices_batching_dims")     \
  V(kUpdateWindowDims, "update_window_dims")                      \
  V(kInsertedWindowDims, "inserted_window_dims")                  \
  V(kScatterDimsToOperandDims, "scatter_dims_to_operand_dims")    \
  V(kInputBatchingDims, "input_batching_dims")                    \
  V(kScatterIndicesBatchingDims, "scatter_indices_batching_dims") \
  V(kDynamicSliceSizes, "dynamic_slice_sizes")                    \
  V(kFftLength, "fft_length")

// A computation, by name or as a body in braces.
#define HLO_COMPUTATION_ATTRIBUTES(V)       \
  V(kToApply, "to_apply")                   \
  V(kCondition, "condition")                \
  V(kBody, "body")                          \
  V(kTrueComputation, "true_computation")   \
  V(kFalseComputation, "false_computation") \
  V(kSelect, "select")                      \
  V(kScatter, "scatter")                    \
  V(kCalls, "calls")

// "text"
#define HLO_STRING_ATTRIBUTES(V)             \
  V(kCustomCallTarget, "custom_call_target") \
  V(kInfeedConfig, "infeed_config")          \
  V(kOutfeedConfig, "outfeed_config")        \
  V(kAsyncExecutionThread, "async_execution_thread")

// Attributes with a form of their own.
#define HLO_SPECIAL_ATTRIBUTES(V)                            \
  V(kEpsilon, "epsilon")                                     \
  V(kSlice, "slice")                                         \
  V(kSliceSizes, "slice_sizes")                              \
  V(kOperandPrecision, "operand_precision")                  \
  V(kSparsityConfig, "sparsity_config")                      \
  V(kWindow, "window")                                       \
  V(kDimLabels, "dim_labels")                                \
  V(kPadding, "padding")                                     \
  V(kBranchComputations, "branch_computations")              \
  V(kCalledComputations, "called_computations")              \
  V(kOperandLayoutConstraints, "operand_layout_constraints") \
  V(kOutputToOperandAliasing, "output_to_operand_aliasing")  \
  V(kLiteral, "literal")                                     \
  V(kReplicaGroups, "replica_groups")                        \
  V(kSourceTargetPairs, "source_target_pairs")               \
  V(kMode, "mode")                                           \
  V(kOutfeedShape, "outfeed_shape")                          \
  V(kDomain, "domain")                                       \
  V(kParameterReplication, "parameter_replication")          \
  V(kResultAccuracy, "result_accuracy")                      \
  V(kMetadata, "metadata")                                   \
  V(kSharding, "sharding")                                   \
  V(kFrontendAttributes, "frontend_attributes")              \
  V(kBackendConfig, "backend_config")                        \
  V(kControlPredecessors, "control-predecessors")            \
  V(kOrigin, "origin")                                       \
  V(kStatistics, "statistics")

#define HLO_ATTRIBUTES(V)       \
  HLO_INT_ATTRIBUTES(V)         \
  HLO_BOOL_ATTRIBUTES(V)        \
  HLO_ENUM_ATTRIBUTES(V)        \
  HLO_INTS_ATTRIBUTES(V)        \
  HLO_COMPUTATION_ATTRIBUTES(V) \
  HLO_STRING_ATTRIBUTES(V)      \
  HLO_SPECIAL_ATTRIBUTES(V)

enum class Attribute : uint8_t {
#define XLA_DECLARE(enumerator, text) enumerator,
  HLO_ATTRIBUTES(XLA_DECLARE)
#undef XLA_DECLARE
};

#define XLA_COUNT(...) +1
inline constexpr int kNumIntAttributes = HLO_INT_ATTRIBUTES(XLA_COUNT);
inline constexpr int kNumBoolAttributes = HLO_BOOL_ATTRIBUTES(XLA_COUNT);
inline constexpr int kNumEnumAttributes = HLO_ENUM_ATTRIBUTES(XLA_COUNT);
inline constexpr int kNumIntsAttributes = HLO_INTS_ATTRIBUTES(XLA_COUNT);
inline constexpr int kNumComputationAttributes =
    HLO_COMPUTATION_ATTRIBUTES(XLA_COUNT);
inline constexpr int kNumStringAttributes = HLO_STRING_ATTRIBUTES(XLA_COUNT);
inline constexpr int kNumAttributes = HLO_ATTRIBUTES(XLA_COUNT);
#undef XLA_COUNT

// Where the sections begin.
inline constexpr int kFirstBoolAttribute = kNumIntAttributes;
inline constexpr int kFirstEnumAttribute =
    kFirstBoolAttribute + kNumBoolAttributes;
inline constexpr int kFirstIntsAttribute =
    kFirstEnumAttribute + kNumEnumAttributes;
inline constexpr int kFirstComputationAttribute =
    kFirstIntsAttribute + kNumIntsAttributes;
inline constexpr int kFirstStringAttribute =
    kFirstComputationAttribute + kNumComputationAttributes;
inline constexpr int kFirstSpecialAttribute =
    kFirstStringAttribute + kNumStringAttributes;

// A set of attributes.
class AttributeSet {
 public:
  constexpr AttributeSet() = default;

  constexpr void Add(Attribute attribute) {
    words_[Word(attribute)] |= Bit(attribute);
  }
  constexpr void Add(const AttributeSet& other) {
    words_[0] |= other.words_[0];
    words_[1] |= other.words_[1];
  }
  constexpr bool Has(Attribute attribute) const {
    return (words_[Word(attribute)] & Bit(attribute)) != 0;
  }
  // Some attribute that is here but not in `other`.
  std::optional<Attribute> FirstMissingIn(const AttributeSet& other) const;

 private:
  static_assert(kNumAttributes <= 128);
  static constexpr int Word(Attribute a) { return static_cast<int>(a) / 64; }
  static constexpr uint64_t Bit(Attribute a) {
    return uint64_t{1} << (static_cast<int>(a) % 64);
  }
  uint64_t words_[2] = {0, 0};
};

// The attributes that one opcode allows and requires.
struct AttributeRules {
  AttributeSet allowed;  // includes those that every instruction may have
  AttributeSet required;
};

const AttributeRules& RulesFor(HloOpcode opcode);

absl::string_view AttributeText(Attribute attribute);

// nullopt for an unknown attribute. O(length of the text).
std::optional<Attribute> AttributeFromText(absl::string_view text);

// The texts of a set, in the order of the table.
std::vector<absl::string_view> AttributeTexts(const AttributeSet& set);

}  // namespace xla::hlo_text

#endif  // XLA_HLO_PARSER_ATTRIBUTE_TABLE_H_
