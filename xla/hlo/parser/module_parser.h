#ifndef XLA_HLO_PARSER_MODULE_PARSER_H_
#define XLA_HLO_PARSER_MODULE_PARSER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_domain_metadata.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/value_parser.h"
#include "xla/literal.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

// The attributes of one instruction. Attributes not seen hold stale values.
struct AttributeValues {
  AttributeSet seen;
  int64_t scalars[kFirstIntsAttribute];  // integers, flags, enumerators
  IntVector ints[kNumIntsAttributes];
  HloComputation* computations[kNumComputationAttributes];
  std::string strings[kNumStringAttributes];

  double epsilon = 0;
  std::vector<int64_t> slice_starts, slice_limits, slice_strides;
  std::vector<std::vector<int64_t>> slice_sizes;
  PrecisionConfig precision;
  SparsityConfig sparsity;
  Window window;
  ConvolutionDimensionNumbers dim_labels;
  PaddingConfig padding;
  std::vector<HloComputation*> branch_computations;
  std::vector<HloComputation*> called_computations;
  std::vector<Shape> operand_layouts;
  ValueParser::OutputOperandAliases aliases;
  Literal literal;
  std::shared_ptr<CollectiveDeviceListBase> device_list;
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  Shape outfeed_shape;
  std::unique_ptr<DomainMetadata> domain_entry, domain_exit;
  std::vector<bool> parameter_replication;
  ResultAccuracy result_accuracy;
  std::shared_ptr<const OpMetadata> metadata;
  std::shared_ptr<const HloSharding> sharding;
  FrontendAttributes frontend_attributes;
  std::string backend_config;
  std::vector<HloInstruction*> control_predecessors;
  std::shared_ptr<OriginalValue> origin;
  StatisticsViz statistics;
  // Kept as written: (name, value).
  std::vector<std::pair<std::string, std::string>> unknown;

  bool Has(Attribute a) const { return seen.Has(a); }
  int64_t Int(Attribute a, int64_t otherwise = 0) const {
    return Has(a) ? scalars[static_cast<int>(a)] : otherwise;
  }
  bool Flag(Attribute a, bool otherwise = false) const {
    return Int(a, otherwise) != 0;
  }
  template <typename Enum>
  Enum As(Attribute a, Enum otherwise = Enum()) const {
    return Has(a) ? static_cast<Enum>(scalars[static_cast<int>(a)]) : otherwise;
  }
  absl::Span<const int64_t> Ints(Attribute a) const {
    if (!Has(a)) return {};
    return ints[static_cast<int>(a) - kFirstIntsAttribute];
  }
  HloComputation* Computation(Attribute a) const {
    if (!Has(a)) return nullptr;
    return computations[static_cast<int>(a) - kFirstComputationAttribute];
  }
  const std::string& String(Attribute a) const {
    static const std::string* const empty = new std::string();
    if (!Has(a)) return *empty;
    return strings[static_cast<int>(a) - kFirstStringAttribute];
  }
  std::optional<int64_t> ChannelId() const {
    if (!Has(Attribute::kChannelId)) return std::nullopt;
    return Int(Attribute::kChannelId);
  }
};

// Parses HLO text into a module. Computations are read in the order of the
// text; one that is referenced before its definition is read at that point, and
// skipped later. While the text is read, instructions have the names that it
// gives them; where it gives none, one is made up, which several may have. At
// the end names become unique in the module.
class ModuleParser : public ValueParser {
 public:
  ModuleParser(const SourceText* source, const HloParserOptions& options);
  ~ModuleParser();

  absl::Status Run(HloModule* module);

 private:
  struct Draft;

  // A start like `dot-start()` whose operation is made once the chain is known;
  // its computation is empty until then.
  struct LateWrapper {
    std::unique_ptr<Draft> draft;
    HloInstruction* start;
  };

  // A computation that is being read.
  struct Scope {
    explicit Scope(absl::string_view computation_name)
        : name(computation_name), builder(computation_name) {}

    std::string name;
    HloComputation::Builder builder;
    // Keys are parts of the text, so they also tell where the name is.
    absl::flat_hash_map<absl::string_view, HloInstruction*> instructions;
    // The instruction created for `tuple#0`.
    absl::flat_hash_map<std::pair<HloInstruction*, int64_t>, HloInstruction*>
        tuple_elements;
    HloInstruction* root = nullptr;
    Loc root_loc = nullptr;
    // Places of parameters 0, 1, ...; null: not seen yet.
    std::vector<Loc> parameters;
    int64_t parameter_count = 0;
    // Undefined operands become parameters.
    bool is_single_instruction = false;
    std::vector<LateWrapper> late_wrappers;
  };

  struct FinishedComputation {
    std::unique_ptr<HloComputation> computation;
    Loc end;  // in the text
  };

  // How an asynchronous chain is written.
  enum class AsyncSugar { kNone, kStart, kUpdate, kDone };

  // An instruction that is being read. Reused for the next at this depth.
  struct Draft {
    Loc loc;  // of the name, or of the opcode if there is none
    Loc opcode_loc;
    absl::string_view name;
    HloOpcode opcode;
    AsyncSugar sugar;
    bool wraps_late;     // of a start with sugar: see LateWrapper
    const Shape* shape;  // null if it is not written
    Shape inferred_shape;
    int64_t parameter_number;
    absl::InlinedVector<HloInstruction*, 8> operands;
    Literal constant;
    AttributeValues values;
  };

  // Lends a draft for one nesting level.
  class DraftLease {
   public:
    explicit DraftLease(ModuleParser* parser);
    ~DraftLease() { --parser_->drafts_in_use_; }
    Draft* get() const { return draft_; }

   private:
    ModuleParser* parser_;
    Draft* draft_;
  };

  // parse_module.cc
  bool ParseModuleText(HloModule* module);
  bool ParseBody();
  bool ParseLooseText();
  bool ParseSingleInstruction();
  bool StartsComputation();
  bool FinishModule(HloModule* module);
  void MakeNamesUnique();
  bool SetEntryLayout(HloModule* module);
  bool SetAliases(HloModule* module);
  bool SetSchedule(HloModule* module);

  // parse_module_header.cc
  struct Header;
  bool ParseHeader();
  bool ParseHeaderAttribute(absl::string_view name, Loc name_loc);
  bool ParseEntryLayout();
  bool ParseAliasList();
  bool ParseDonorList();
  bool ParseRecoveryTable();
  bool ParseDebugAttributes();
  bool ParseDebugAttribute(HloModule::DebugAttributes* result);
  bool SkipHeaderValue(absl::string_view name, Loc name_loc);

  // parse_stack_frames.cc
  bool ParseStackFrameTables(HloModule* module);
  bool ParseNames(google::protobuf::RepeatedPtrField<std::string>* names);
  bool ParseFileLocations(StackFrameIndexProto* index);
  bool ParseStackFrames(StackFrameIndexProto* index);
  bool ParseRowNumber(int expected);
  bool ParseRowFields(absl::Span<const absl::string_view> keys,
                      int32_t* values);

  // parse_computation.cc
  bool ParseComputation();
  bool ParseSignature(const Shape** result, Loc* result_loc);
  bool ParseInstructions(Scope* scope, bool recover);
  // Builds the computation that has been read; null after an error.
  HloComputation* FinishComputation(Scope* scope, Loc name_loc);
  bool CheckParameters(const Scope& scope, Loc name_loc);
  bool ParseExecutionThread(std::string* thread);
  void SkipToNextInstruction(Loc from);
  // Name or body.
  bool ParseComputationReference(HloComputation** result);
  bool ParseInlineComputation(HloComputation** result);
  bool ParseForwardReference(absl::string_view name, Loc name_loc,
                             HloComputation** result);
  void IndexComputations();
  bool UnknownComputation(absl::string_view name, Loc name_loc);

  // parse_instruction.cc
  bool ParseInstruction(Scope* scope);
  bool ParseRightHandSide(Scope* scope, Draft* draft, bool nested);
  bool ParseOpcode(Draft* draft);
  bool ParseArguments(Scope* scope, Draft* draft);
  bool ParseOperands(Scope* scope, Draft* draft);
  bool ParseOperand(Scope* scope, HloInstruction** result);
  bool ParseNestedOperand(Scope* scope, const Shape* shape,
                          HloInstruction** result);
  bool ParseTupleElements(Scope* scope, HloInstruction** operand);
  bool FindInstruction(Scope* scope, absl::string_view name, Loc name_loc,
                       HloInstruction** result);
  HloInstruction* AddImplicitParameter(Scope* scope, absl::string_view name,
                                       const Shape& shape);
  bool AtShape() const;
  bool CheckName(absl::string_view name, Loc name_loc, absl::string_view what);

  // parse_attributes.cc
  bool ParseAttributes(Scope* scope, Draft* draft);
  bool ParseAttribute(Scope* scope, Draft* draft, Attribute attribute);
  bool ParseSpecialAttribute(Scope* scope, Draft* draft, Attribute attribute);
  bool ParseCommonAttribute(Scope* scope, Draft* draft, Attribute attribute);
  bool ParseSliceSizes(AttributeValues* values);
  bool ParseMode(AttributeValues* values);
  bool ParseDomain(AttributeValues* values);
  bool ParseControlPredecessors(Scope* scope, AttributeValues* values);
  bool ParseComputationList(std::vector<HloComputation*>* result);
  bool ParseUnknownAttribute(Draft* draft, absl::string_view name,
                             Loc name_loc);
  // Text of a value of unknown form.
  bool SkipValue(absl::string_view* text);
  const AttributeSet& AllowedAttributes(const Draft& draft);

  // parse_enum_attribute.cc
  bool ParseEnumAttribute(HloOpcode opcode, Attribute attribute,
                          int64_t* result);

  // build_instruction.cc
  // Makes the instruction of a draft; null after an error.
  std::unique_ptr<HloInstruction> Build(Draft* draft);
  std::unique_ptr<HloInstruction> BuildOpcode(const Draft& draft);
  std::unique_ptr<HloInstruction> BuildRest(const Draft& draft);
  bool CheckOperandCount(const Draft& draft);
  bool ExpectOperands(const Draft& draft, bool ok, absl::string_view rule);
  bool ApplyCommonAttributes(Draft* draft, HloInstruction* instruction);
  PrecisionConfig PrecisionOf(const Draft& draft, int operands);

  // build_data_movement.cc, build_kernel.cc, build_call.cc,
  // build_communication.cc: opcodes by topic. They clear `handled` for opcodes
  // of other topics.
  std::unique_ptr<HloInstruction> BuildDataMovement(const Draft& draft,
                                                    bool* handled);
  std::unique_ptr<HloInstruction> BuildKernel(const Draft& draft,
                                              bool* handled);
  std::unique_ptr<HloInstruction> BuildReduction(const Draft& draft);
  std::unique_ptr<HloInstruction> BuildConvolution(const Draft& draft);
  std::unique_ptr<HloInstruction> BuildBatchNorm(const Draft& draft);
  std::unique_ptr<HloInstruction> BuildCall(const Draft& draft, bool* handled);
  std::unique_ptr<HloInstruction> BuildConditional(const Draft& draft);
  std::unique_ptr<HloInstruction> BuildCustomCall(const Draft& draft);
  std::unique_ptr<HloInstruction> BuildFusion(const Draft& draft);
  std::unique_ptr<HloInstruction> BuildCommunication(const Draft& draft,
                                                     bool* handled);
  std::unique_ptr<HloInstruction> BuildCollective(const Draft& draft);
  std::unique_ptr<HloInstruction> BuildCollectivePermute(const Draft& draft);
  std::unique_ptr<HloInstruction> BuildTransfer(const Draft& draft);
  std::unique_ptr<HloInstruction> BuildFeed(const Draft& draft);

  // build_async.cc
  std::unique_ptr<HloInstruction> BuildAsync(Draft* draft);
  std::unique_ptr<HloInstruction> BuildAsyncStart(Draft* draft);
  std::unique_ptr<HloInstruction> BuildAsyncLink(const Draft& draft);
  bool CheckAsyncShape(const Draft& draft, const Shape& shape);
  HloComputation* WrapInComputation(Draft* draft);
  HloComputation* ReserveWrapper(const Draft& draft);
  void KeepLateWrapper(Scope* scope, Draft* draft, HloInstruction* start);
  bool FinishLateWrappers(Scope* scope);
  bool FinishLateWrapper(Draft* draft, HloInstruction* start);
  std::unique_ptr<HloComputation> Wrap(
      Draft* draft, absl::Span<const Shape* const> operand_shapes,
      const Shape& result);
  bool CheckChain(const Draft& draft, const HloInstruction* previous,
                  std::optional<HloOpcode> wrapped);

  // infer_shape.cc
  bool InferShape(Draft* draft);
  absl::StatusOr<Shape> InferredShape(const Draft& draft);
  absl::StatusOr<Shape> InferredKernelShape(const Draft& draft);

  std::unique_ptr<Header> header_;
  // Values of the caller's config.
  std::optional<ComputationLayout> layout_from_config_;

  // Finished computations, callees first, and their names in the text.
  std::vector<FinishedComputation> computations_;
  absl::flat_hash_map<absl::string_view, HloComputation*> computations_by_name_;
  HloComputation* entry_ = nullptr;
  Loc entry_loc_ = nullptr;
  // The last computation in the text, which is the entry if none is marked.
  HloComputation* last_ = nullptr;
  Loc last_loc_ = nullptr;

  // Set after an error from which parsing cannot resume.
  bool give_up_ = false;
  // Names whose definition failed: their uses fail without a message.
  absl::flat_hash_set<absl::string_view> failed_instructions_;
  absl::flat_hash_set<absl::string_view> failed_computations_;

  // Where computations not read yet begin (indexed on first use), those being
  // read, and those read ahead with their ends.
  bool is_indexed_ = false;
  Loc body_loc_ = nullptr;
  absl::flat_hash_map<absl::string_view, Loc> index_;
  absl::flat_hash_set<absl::string_view> in_progress_;
  absl::flat_hash_map<Loc, Loc> read_ahead_;

  // Opcodes of computations that wait in a LateWrapper.
  absl::flat_hash_map<const HloComputation*, HloOpcode> late_opcodes_;

  // Storage for AllowedAttributes.
  AttributeSet sugared_attributes_;

  std::vector<std::unique_ptr<Draft>> drafts_;
  int drafts_in_use_ = 0;
};

}  // namespace xla::hlo_text

#endif  // XLA_HLO_PARSER_MODULE_PARSER_H_
