#include "xla/hlo/parser/attribute_table.h"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla::hlo_text {
namespace {

using A = Attribute;
using O = HloOpcode;

constexpr absl::string_view kTexts[] = {
#define XLA_TEXT(enumerator, text) text,
    HLO_ATTRIBUTES(XLA_TEXT)
#undef XLA_TEXT
};

// One row: opcodes, what they need, what else they take.
struct Row {
  std::initializer_list<HloOpcode> opcodes;
  std::initializer_list<Attribute> required;
  std::initializer_list<Attribute> optional = {};
};

// Every instruction takes these.
constexpr Attribute kCommon[] = {
    A::kMetadata, A::kSharding,   A::kFrontendAttributes, A::kBackendConfig,
    A::kOrigin,   A::kStatistics, A::kControlPredecessors};

// The table. Opcodes without a row take the common attributes alone.
const Row kRows[] = {
    {{O::kParameter}, {}, {A::kParameterReplication}},
    {{O::kIota}, {A::kIotaDimension}},
    {{O::kGetTupleElement}, {A::kIndex}},
    {{O::kBroadcast, O::kMap}, {}, {A::kDimensions}},
    {{O::kMap}, {A::kToApply}},
    {{O::kReduce}, {A::kToApply, A::kDimensions}},
    {{O::kReverse, O::kTranspose, O::kConcatenate, O::kGetDimensionSize,
      O::kSetDimensionSize},
     {A::kDimensions}},
    {{O::kSort}, {A::kDimensions, A::kToApply}, {A::kIsStable}},
    {{O::kTopK}, {A::kK}, {A::kLargest, A::kIsStable}},
    {{O::kReshape}, {}, {A::kInferredDimension}},
    {{O::kCompare}, {A::kDirection}, {A::kType, A::kOrder}},
    {{O::kSlice}, {A::kSlice}},
    {{O::kDynamicSlice}, {A::kDynamicSliceSizes}},
    {{O::kPad}, {A::kPadding}},
    {{O::kReducePrecision}, {A::kExponentBits, A::kMantissaBits}},
    {{O::kGather},
     {A::kOffsetDims, A::kCollapsedSliceDims, A::kStartIndexMap,
      A::kIndexVectorDim, A::kSliceSizes},
     {A::kOperandBatchingDims, A::kStartIndicesBatchingDims,
      A::kIndicesAreSorted}},
    {{O::kScatter},
     {A::kUpdateWindowDims, A::kInsertedWindowDims,
      A::kScatterDimsToOperandDims, A::kIndexVectorDim, A::kToApply},
     {A::kInputBatchingDims, A::kScatterIndicesBatchingDims,
      A::kIndicesAreSorted, A::kUniqueIndices}},
    {{O::kDot, O::kScaledDot, O::kRaggedDot},
     {},
     {A::kLhsContractingDims, A::kRhsContractingDims, A::kLhsBatchDims,
      A::kRhsBatchDims, A::kOperandPrecision, A::kAlgorithm}},
    {{O::kRaggedDot}, {A::kLhsRaggedDims}, {A::kRhsGroupDims}},
    {{O::kConvolution},
     {A::kDimLabels},
     {A::kWindow, A::kFeatureGroupCount, A::kBatchGroupCount,
      A::kOperandPrecision, A::kAlgorithm, A::kConvolutionKind,
      A::kSparsityConfig}},
    {{O::kReduceWindow}, {A::kToApply}, {A::kWindow}},
    {{O::kSelectAndScatter}, {A::kSelect, A::kScatter}, {A::kWindow}},
    {{O::kScan},
     {A::kDimensions, A::kToApply, A::kNumCarries},
     {A::kIsAssociative, A::kIsReverse}},
    {{O::kFft}, {A::kFftType, A::kFftLength}},
    {{O::kTriangularSolve},
     {},
     {A::kLeftSide, A::kLower, A::kUnitDiagonal, A::kTransposeA}},
    {{O::kCholesky}, {}, {A::kLower}},
    {{O::kBatchNormGrad, O::kBatchNormInference, O::kBatchNormTraining},
     {A::kEpsilon, A::kFeatureIndex}},
    {{O::kRng}, {A::kDistribution}},
    {{O::kRngBitGenerator}, {A::kAlgorithm}},
    {{O::kRngGetAndUpdateState}, {A::kDelta}},
    // Calls.
    {{O::kWhile}, {A::kCondition, A::kBody}},
    {{O::kConditional},
     {},
     {A::kBranchComputations, A::kTrueComputation, A::kFalseComputation}},
    {{O::kCall}, {A::kToApply}, {A::kIsComposite}},
    {{O::kFusion}, {A::kKind, A::kCalls}, {A::kOutputToOperandAliasing}},
    {{O::kCustomCall},
     {A::kCustomCallTarget},
     {A::kWindow, A::kDimLabels, A::kFeatureGroupCount, A::kBatchGroupCount,
      A::kOperandPrecision, A::kAlgorithm, A::kPaddingType,
      A::kOperandLayoutConstraints, A::kCustomCallHasSideEffect, A::kToApply,
      A::kCalledComputations, A::kLiteral, A::kOutputToOperandAliasing,
      A::kSchedule, A::kApiVersion}},
    {{O::kAsyncStart}, {A::kCalls}, {A::kOutputToOperandAliasing}},
    {{O::kAsyncUpdate, O::kAsyncDone},
     {},
     {A::kCalls, A::kOutputToOperandAliasing}},
    {{O::kAsyncStart, O::kAsyncUpdate, O::kAsyncDone},
     {},
     {A::kAsyncExecutionThread}},
    // Collectives and transfers.
    {{O::kAllGather, O::kAllGatherStart}, {A::kDimensions}},
    {{O::kAllReduce, O::kAllReduceStart}, {A::kToApply}},
    {{O::kReduceScatter}, {A::kToApply, A::kDimensions}},
    {{O::kAllToAll}, {}, {A::kDimensions}},
    {{O::kCollectiveBroadcast}, {}, {A::kHasDynamicRoot}},
    {{O::kAllGather, O::kAllGatherStart, O::kAllReduce, O::kAllReduceStart,
      O::kReduceScatter},
     {},
     {A::kUseGlobalDeviceIds}},
    {{O::kAllGather, O::kAllGatherStart, O::kAllReduce, O::kAllReduceStart,
      O::kReduceScatter, O::kAllToAll, O::kRaggedAllToAll,
      O::kCollectiveBroadcast},
     {},
     {A::kReplicaGroups, A::kConstrainLayout}},
    {{O::kCollectivePermute, O::kCollectivePermuteStart},
     {A::kSourceTargetPairs},
     {A::kSliceSizes}},
    {{O::kAllGather, O::kAllGatherStart, O::kAllReduce, O::kAllReduceStart,
      O::kReduceScatter, O::kAllToAll, O::kRaggedAllToAll,
      O::kCollectiveBroadcast, O::kCollectivePermute,
      O::kCollectivePermuteStart},
     {},
     {A::kChannelId, A::kMode}},
    {{O::kSend, O::kSendDone, O::kRecv, O::kRecvDone},
     {},
     {A::kChannelId, A::kIsHostTransfer}},
    {{O::kInfeed}, {}, {A::kInfeedConfig}},
    {{O::kOutfeed}, {}, {A::kOutfeedConfig, A::kOutfeedShape}},
    {{O::kCopyStart}, {}, {A::kCrossProgramPrefetchIndex}},
    {{O::kDomain}, {A::kDomain}},
};

using Table = std::array<AttributeRules, HloOpcodeCount()>;

Table* MakeTable() {
  auto* table = new Table();
  for (uint32_t i = 0; i < HloOpcodeCount(); ++i) {
    AttributeRules& rules = (*table)[i];
    for (Attribute attribute : kCommon) rules.allowed.Add(attribute);
    if (IsUnaryOpWithResultAccuracy(static_cast<HloOpcode>(i))) {
      rules.allowed.Add(A::kResultAccuracy);
    }
  }
  for (const Row& row : kRows) {
    for (HloOpcode opcode : row.opcodes) {
      AttributeRules& rules = (*table)[static_cast<int>(opcode)];
      for (Attribute attribute : row.required) {
        rules.required.Add(attribute);
        rules.allowed.Add(attribute);
      }
      for (Attribute attribute : row.optional) rules.allowed.Add(attribute);
    }
  }
  return table;
}

// Open addressing by length and three characters; a quarter full.
class TextIndex {
 public:
  TextIndex() {
    slots_.fill(kEmpty);
    for (int i = 0; i < kNumAttributes; ++i) {
      size_t slot = Hash(kTexts[i]);
      while (slots_[slot] != kEmpty) slot = (slot + 1) % kSlots;
      slots_[slot] = static_cast<uint8_t>(i);
    }
  }

  std::optional<Attribute> Find(absl::string_view text) const {
    if (text.empty()) return std::nullopt;
    for (size_t slot = Hash(text); slots_[slot] != kEmpty;
         slot = (slot + 1) % kSlots) {
      if (kTexts[slots_[slot]] == text) {
        return static_cast<Attribute>(slots_[slot]);
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr size_t kSlots = 512;
  static constexpr uint8_t kEmpty = 255;
  static_assert(kNumAttributes < kEmpty);

  static size_t Hash(absl::string_view text) {
    auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    return (text.size() * 131 + at(0) * 7 + at(text.size() / 2) * 37 +
            at(text.size() - 1) * 59) %
           kSlots;
  }

  std::array<uint8_t, kSlots> slots_;
};

}  // namespace

std::optional<Attribute> AttributeSet::FirstMissingIn(
    const AttributeSet& other) const {
  for (int word = 0; word < 2; ++word) {
    uint64_t missing = words_[word] & ~other.words_[word];
    if (missing != 0) {
      return static_cast<Attribute>(word * 64 + __builtin_ctzll(missing));
    }
  }
  return std::nullopt;
}

const AttributeRules& RulesFor(HloOpcode opcode) {
  static const Table* const table = MakeTable();
  return (*table)[static_cast<int>(opcode)];
}

absl::string_view AttributeText(Attribute attribute) {
  return kTexts[static_cast<int>(attribute)];
}

std::optional<Attribute> AttributeFromText(absl::string_view text) {
  static const TextIndex* const index = new TextIndex();
  return index->Find(text);
}

std::vector<absl::string_view> AttributeTexts(const AttributeSet& set) {
  std::vector<absl::string_view> texts;
  for (int i = 0; i < kNumAttributes; ++i) {
    if (set.Has(static_cast<Attribute>(i))) texts.push_back(kTexts[i]);
  }
  return texts;
}

}  // namespace xla::hlo_text
