#ifndef XLA_HLO_IR_HLO_MODULE_H_
#define XLA_HLO_IR_HLO_MODULE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/compilation_environments.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/dynamic_parameter_binding.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module_attributes.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_module_metadata.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_original_value_recovery_table.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/name_uniquer.h"
#include "xla/hlo/ir/stack_frames.h"
#include "xla/iterator_util.h"
#include "xla/printer.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace tsl {

// Key of a module's cache entries.
struct Fprint128 {
  uint64_t low64 = 0;
  uint64_t high64 = 0;

  friend bool operator==(const Fprint128& a, const Fprint128& b) {
    return a.low64 == b.low64 && a.high64 == b.high64;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Fprint128& f) {
    return H::combine(std::move(h), f.low64, f.high64);
  }
};

}  // namespace tsl

namespace xla {

// Value of a custom field in the module header.
using NumericOrString = std::variant<std::string, int64_t, double>;

// A program: computations, one of which is the entry, and the data that goes
// with them (config, schedule, aliasing, ...), all owned by it.
//
// Names of instructions and of computations are unique in the module when they
// come from Add* functions. Only AddComputation keeps names as they are (text
// may use one name in two computations); names added later differ from them
// too.
class HloModule : public HloModuleAttributes {
 public:
  HloModule(const std::string& name, HloModuleConfig config);
  HloModule(const std::string& name, HloModuleConfig config,
            std::unique_ptr<CompilationEnvironments> comp_envs);
  HloModule(const std::string& name,
            std::shared_ptr<const HloModuleConfig> config,
            std::unique_ptr<CompilationEnvironments> comp_envs = nullptr);
  virtual ~HloModule();
  HloModule(const HloModule&) = delete;
  HloModule& operator=(const HloModule&) = delete;

  // --- Computations ---------------------------------------------------------

  // If the config has no layout, sets the default one (WithLayouts: that of the
  // computation's shapes).
  HloComputation* AddEntryComputation(
      std::unique_ptr<HloComputation> computation);
  HloComputation* AddEntryComputationWithLayouts(
      std::unique_ptr<HloComputation> computation);
  HloComputation* AddEmbeddedComputation(
      std::unique_ptr<HloComputation> computation);
  // Keeps names and, if it is free, the computation's id.
  HloComputation* AddComputation(std::unique_ptr<HloComputation> computation,
                                 bool is_entry);
  HloComputation* AddComputationAndUnifyNamesAndIds(
      std::unique_ptr<HloComputation> computation, bool is_entry);

  // Makes a computation of this module the entry; resets the config's layout
  // and the alias configs.
  void ReplaceEntryComputation(HloComputation* entry_computation);

  // The computation must not be the entry, nor be called by live ones. It stays
  // in memory until Cleanup(). NotFound if it is not in the module. O(size of
  // the computation).
  absl::Status RemoveEmbeddedComputation(
      std::vector<std::unique_ptr<HloComputation>>::iterator to_remove);
  absl::Status RemoveEmbeddedComputation(HloComputation* to_remove);
  // Removes computations that the entry does not reach.
  absl::Status RemoveUnusedComputations();

  // Records the name of the replacement in the metadata (deduplicated_name) of
  // the fusions that call replaced computations.
  void MarkFusionDuplications(
      const absl::flat_hash_map<HloComputation*, HloComputation*>& replacements)
      const;
  // Makes all callers of the keys call the values, and removes the keys.
  void ReplaceComputations(
      const absl::flat_hash_map<HloComputation*, HloComputation*>&
          replacements);

  // Moves all computations of `module` here, which leaves it empty. Its entry,
  // if any, becomes the entry of this module.
  void MoveComputationsFrom(HloModule* module, bool make_names_unique = false);

  // Deep copies, including everything that belongs to the module. Storage order
  // and local ids are those of the original. An empty suffix keeps the name.
  std::unique_ptr<HloModule> Clone(
      const std::string& suffix = "clone",
      std::optional<const HloModuleConfig> config = std::nullopt) const;
  std::pair<std::unique_ptr<HloModule>, std::unique_ptr<HloCloneContext>>
  CloneWithContext(
      const std::string& suffix,
      std::optional<const HloModuleConfig> config = std::nullopt) const;
  // Clones a computation of any module, with its callees, into this one.
  HloComputation* DeepCloneComputation(HloComputation* computation,
                                       HloCloneContext* context = nullptr);

  HloComputation* entry_computation() const {
    CHECK(entry_computation_ != nullptr) << "module has no entry computation";
    return entry_computation_;
  }
  bool has_entry_computation() const { return entry_computation_ != nullptr; }

  // All computations, in the order of addition. Adding computations may
  // invalidate iterators.
  tsl::gtl::iterator_range<FilteringUnwrappingIterator<
      std::vector<std::unique_ptr<HloComputation>>::const_iterator,
      bool (*)(const HloComputation*)>>
  computations() const {
    return MakeFilteringUnwrappingIteratorRange(computations_.begin(),
                                                computations_.end(), &IsLive);
  }
  tsl::gtl::iterator_range<FilteringUnwrappingIterator<
      std::vector<std::unique_ptr<HloComputation>>::iterator,
      bool (*)(const HloComputation*)>>
  computations() {
    return MakeFilteringUnwrappingIteratorRange(computations_.begin(),
                                                computations_.end(), &IsLive);
  }
  // Those of the given threads; an empty set means all.
  tsl::gtl::iterator_range<FilteringUnwrappingIterator<
      std::vector<std::unique_ptr<HloComputation>>::const_iterator,
      std::function<bool(const HloComputation*)>>>
  computations(
      const absl::flat_hash_set<absl::string_view>& execution_threads) const {
    return MakeFilteringUnwrappingIteratorRange(
        computations_.begin(), computations_.end(),
        ThreadFilter(execution_threads));
  }

  // Null if there is none. O(computations).
  HloComputation* GetComputationWithName(absl::string_view name) const;

  // O(1) / O(computations).
  int64_t computation_count() const { return computation_count_; }
  int64_t instruction_count() const;

  // Deletes removed computations / also removed instructions, which changes
  // local ids. The schedule follows.
  void CleanupComputations();
  void Cleanup();
  void CanonicalizeComputationLocalIds();
  // Sorts computations(), callees first. Internal error if calls are recursive.
  absl::Status ReorderComputationsToPostOrder();

  // All computations, callees before callers, in an order that depends only on
  // the graph and the order of storage. With dfs_postorder the entry is last
  // and callees come in the order in which it calls them: that of its schedule,
  // or of its post order.
  // O(computations + calls), with dfs_postorder O(instructions).
  std::vector<HloComputation*> MakeComputationPostOrder(
      bool dfs_postorder = false) const;
  std::vector<HloComputation*> MakeComputationPostOrder(
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      bool dfs_postorder = false) const;
  std::vector<HloComputation*> MakeComputationPostOrder(
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      const absl::flat_hash_set<HloComputation*>& allow_list,
      bool dfs_postorder = false) const;
  // By instruction count and content if content_aware_computation_sorting is
  // set in the config, else the post order.
  std::vector<HloComputation*> MakeComputationSorted() const;
  std::vector<HloComputation*> MakeComputationSorted(
      const absl::flat_hash_set<absl::string_view>& execution_threads) const;
  // The same without fused computations.
  std::vector<HloComputation*> MakeNonfusionComputations() const;
  std::vector<HloComputation*> MakeNonfusionComputations(
      const absl::flat_hash_set<absl::string_view>& execution_threads) const;
  std::vector<HloComputation*> MakeNonfusionComputationsSorted() const;
  std::vector<HloComputation*> MakeNonfusionComputationsSorted(
      const absl::flat_hash_set<absl::string_view>& execution_threads) const;

  // Moves instructions of a computation into a new one and calls it. The list
  // has operands before users. Exactly one of them may be used outside.
  HloInstruction* OutlineExpressionFromComputation(
      absl::Span<HloInstruction* const> instructions_to_outline,
      const std::string& outlined_computation_name,
      HloComputation* computation);

  // --- Entry shape and config -----------------------------------------------

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // The result's shape in the entry layout / of the entry root.
  const Shape& output_shape() const {
    return entry_computation_layout().result_shape();
  }
  const Shape& result_shape() const {
    return entry_computation()->root_instruction()->shape();
  }
  // From the entry computation's shapes with their layouts.
  ComputationLayout compute_computation_layout() const {
    return ComputationLayout(entry_computation()->ComputeProgramShape(),
                             /*ignore_layouts=*/false);
  }
  ComputationLayout* mutable_entry_computation_layout() {
    return mutable_config().mutable_entry_computation_layout();
  }
  const ComputationLayout& entry_computation_layout() const {
    return config().entry_computation_layout();
  }

  // The config is shared between modules until it is changed. The reference of
  // mutable_config() is valid until the next call of shared_config() or
  // set_config().
  HloModuleConfig& mutable_config();
  const HloModuleConfig& config() const { return *config_; }
  void set_config(HloModuleConfig config);
  std::shared_ptr<const HloModuleConfig> shared_config() const {
    return config_;
  }

  // --- Text, proto, fingerprints --------------------------------------------

  void Print(Printer* printer) const;
  void Print(Printer* printer, const HloPrintOptions& options) const;
  void Print(
      Printer* printer, const HloPrintOptions& options,
      const absl::btree_map<std::string, NumericOrString>& custom_fields) const;
  std::string ToString() const;
  std::string ToString(const HloPrintOptions& options) const;
  absl::Cord ToCord() const;
  absl::Cord ToCord(const HloPrintOptions& options) const;
  uint64_t ToFingerprint(const HloPrintOptions& options) const;
  uint64_t ToFingerprint(
      const HloPrintOptions& options,
      const absl::btree_map<std::string, NumericOrString>& custom_fields) const;
  // 32 hexadecimal digits.
  std::string GetFingerprint128(const HloPrintOptions& options =
                                    HloPrintOptions::ModuleFingerprint()) const;

  // Proto with instruction ids 0, 1, ... in each computation, as in memory.
  static absl::StatusOr<HloModuleProto> RemapInstructionIds(
      const HloModuleProto& proto);
  static absl::Status UpdateIdsInSchedule(
      HloModuleProto& proto, int64_t computation_proto_id,
      absl::flat_hash_map<int64_t, int64_t>& old_instr_id_to_new_id);
  static absl::Status UpdateBufferAssignmentProto(
      BufferAssignmentProto* buffer_assignment_proto,
      const absl::flat_hash_map<int64_t, absl::flat_hash_map<int64_t, int64_t>>&
          computation_id_to_id_remap_map);
  void ToProto(HloModuleProto* proto,
               HloProtoOptions options = HloProtoOptions()) const;
  HloModuleProto ToProto(HloProtoOptions options = HloProtoOptions()) const;
  static absl::StatusOr<std::unique_ptr<HloModule>> CreateFromProto(
      const HloModuleProto& proto, const HloModuleConfig& module_config,
      bool prohibit_empty_literal = true,
      std::unique_ptr<CompilationEnvironments> comp_envs = nullptr,
      bool preserve_instruction_ids = true,
      BufferAssignmentProto* buffer_assignment_proto = nullptr);
  static absl::StatusOr<std::unique_ptr<HloModule>> CreateFromProto(
      const HloModuleProto& proto, const HloModuleConfig& module_config,
      BufferAssignmentProto* buffer_assignment_proto,
      bool preserve_instruction_ids = true);
  void ToProtoWithConfig(HloModuleProtoWithConfig* proto,
                         HloProtoOptions options = HloProtoOptions()) const;
  HloModuleProtoWithConfig ToProtoWithConfig(
      HloProtoOptions options = HloProtoOptions()) const;
  static absl::StatusOr<std::unique_ptr<HloModule>> CreateFromProtoWithConfig(
      const HloModuleProtoWithConfig& proto, bool prohibit_empty_literal = true,
      std::unique_ptr<CompilationEnvironments> comp_envs = nullptr,
      bool preserve_instruction_ids = true,
      BufferAssignmentProto* buffer_assignment_proto = nullptr);
  static absl::StatusOr<std::unique_ptr<HloModule>> CreateFromProtoWithConfig(
      const HloModuleProtoWithConfig& proto,
      BufferAssignmentProto* buffer_assignment_proto,
      bool preserve_instruction_ids = true);
  static absl::StatusOr<HloModuleConfig> CreateModuleConfigFromProto(
      const HloModuleProto& module, const DebugOptions& debug_options,
      const ExecutionOptions* execution_options = nullptr);
  static absl::StatusOr<HloModuleConfig> CreateModuleConfigFromShape(
      const ProgramShape& program_shape, const DebugOptions& debug_options,
      const ExecutionOptions* execution_options = nullptr);

  // Hashes the entry layout and all instructions with their edges; modules that
  // differ in names only have equal hashes.
  template <typename H>
  friend H AbslHashValue(H h, const HloModule& module) {
    if (module.config().has_entry_computation_layout()) {
      h = H::combine(std::move(h), module.entry_computation_layout());
    }
    return H::combine(std::move(h), module.ContentHash());
  }

  // The next number of a sequence that is the same for every module. Thread
  // safe.
  uint64_t RandomNew64() const;

  // --- Names and ids --------------------------------------------------------

  NameUniquer& instruction_name_uniquer();
  NameUniquer& computation_name_uniquer() { return computation_name_uniquer_; }
  void SetAndUniquifyInstrName(HloInstruction* instr, absl::string_view name);
  void SetAndUniquifyComputationName(HloComputation* computation,
                                     absl::string_view name);
  // Internal error that names the first duplicate.
  absl::Status CheckUniqueNamesAndIdsForComputationsAndInstructions() const;

  // Id the next added computation will get.
  int64_t next_unique_computation_id() const {
    return next_unique_computation_id_;
  }
  // 1, 2, ...: differs between modules of a process.
  int unique_id() const { return unique_id_; }
  static int GetNextUniqueModuleId();
  // A channel id greater than all in use. O(instructions).
  int64_t NextChannelId() const;

  // --- Aliasing, schedule, shardings ----------------------------------------

  HloInputOutputAliasConfig& input_output_alias_config() {
    return input_output_alias_config_;
  }
  const HloInputOutputAliasConfig& input_output_alias_config() const {
    return input_output_alias_config_;
  }
  void set_input_output_alias_config(HloInputOutputAliasConfig config) {
    input_output_alias_config_ = std::move(config);
  }
  HloBufferDonorConfig& buffer_donor_config() { return buffer_donor_config_; }
  const HloBufferDonorConfig& buffer_donor_config() const {
    return buffer_donor_config_;
  }
  void set_buffer_donor_config(HloBufferDonorConfig config) {
    buffer_donor_config_ = std::move(config);
  }

  // Fails if the schedule belongs to another module or does not verify.
  absl::Status set_schedule(HloSchedule schedule);
  void clear_schedule() { schedule_.reset(); }
  bool has_schedule() const { return schedule_.has_value(); }
  const HloSchedule& schedule() const {
    CHECK(schedule_.has_value());
    return *schedule_;
  }
  HloSchedule& schedule() {
    CHECK(schedule_.has_value());
    return *schedule_;
  }

  // --- What was done to the module, and where it comes from -----------------

  const HloModuleMetadata& metadata() const { return metadata_; }
  HloModuleMetadata* metadata() { return &metadata_; }
  // Moves the metadata to a module made from this one; leaves fresh metadata
  // with the same canonical id.
  void MoveMetadataToModule(HloModule* module);
  CompilationEnvironments& comp_envs() const { return *comp_envs_; }

  using StackFrame = HloStackFrame;
  HloStackFrame get_stack_frame(StackFrameId id) const {
    return stack_frames_.GetStackFrame(id);
  }
  void set_stack_frames(StackFrames stack_frames) {
    stack_frames_ = std::move(stack_frames);
  }
  const StackFrames& stack_frames() const { return stack_frames_; }
  StackFrames& mutable_stack_frames() { return stack_frames_; }
  // Translates the instructions' stack frame ids from the table `index_proto`
  // to this module's table, which grows as needed. Invalid ids become 0.
  void CanonicalizeStackFrameIds(const StackFrameIndexProto& index_proto);

  // Ends a phase of changes: Cleanup(), and frees memory that only changes
  // need.
  void Finalize();

  using OriginalValueRecoveryTable = xla::OriginalValueRecoveryTable;
  const OriginalValueRecoveryTable& original_value_recovery_table() const {
    return original_value_recovery_table_;
  }
  OriginalValueRecoveryTable& mutable_original_value_recovery_table() {
    return original_value_recovery_table_;
  }
  void set_original_value_recovery_table(OriginalValueRecoveryTable&& table) {
    original_value_recovery_table_ = std::move(table);
  }

  // Results of analyses cached with the module, by content key.
  class CacheEntry {
   public:
    virtual ~CacheEntry() = default;
    virtual tsl::Fprint128 GetCacheKey() const = 0;
  };
  // Null if there is none. Thread safe.
  template <typename T>
  std::shared_ptr<T> GetCacheEntry(tsl::Fprint128 key) const {
    absl::MutexLock lock(&cache_mutex_);
    auto it = cache_.find(key);
    if (it == cache_.end()) return nullptr;
    return std::dynamic_pointer_cast<T>(it->second);
  }
  // False, without effect, if the key is present and overwrite is not set.
  template <typename T>
  bool SetCacheEntry(std::shared_ptr<T> entry, bool overwrite = false) {
    absl::MutexLock lock(&cache_mutex_);
    const tsl::Fprint128 key = entry->GetCacheKey();
    auto [it, inserted] = cache_.try_emplace(key, entry);
    if (!inserted && overwrite) it->second = std::move(entry);
    return inserted || overwrite;
  }

 private:
  friend class HloComputation;

  enum class Naming { kKeep, kUniquify };

  static bool IsLive(const HloComputation* computation) {
    return computation != nullptr;
  }
  static std::function<bool(const HloComputation*)> ThreadFilter(
      const absl::flat_hash_set<absl::string_view>& execution_threads);

  HloComputation* AddComputationInternal(
      std::unique_ptr<HloComputation> computation, bool is_entry, Naming naming,
      bool preserve_entry_layouts);
  absl::Status RemoveComputationAt(int64_t position);
  // Adjusts layout, aliases and donors; later parameters shift down.
  void EntryParameterRemoved(int64_t param_no);
  size_t ContentHash() const;
  // Copies everything other than computations and config.
  void CloneExtrasTo(HloModule* module, const HloCloneContext& context) const;

  std::string name_;
  std::shared_ptr<const HloModuleConfig> config_;
  HloComputation* entry_computation_ = nullptr;
  // Null where a computation was removed, until Cleanup.
  std::vector<std::unique_ptr<HloComputation>> computations_;
  std::vector<std::unique_ptr<HloComputation>> to_be_deleted_computations_;
  int64_t computation_count_ = 0;

  NameUniquer computation_name_uniquer_{/*separator=*/"."};
  NameUniquer instruction_name_uniquer_{/*separator=*/"."};
  // Some computation's instruction names are not in the uniquer yet.
  bool has_unregistered_names_ = false;
  int64_t next_unique_computation_id_ = 0;
  absl::flat_hash_set<int64_t> used_computation_ids_;
  int unique_id_;
  mutable std::mt19937_64 rng_{42};
  mutable absl::Mutex rng_mutex_;

  std::optional<HloSchedule> schedule_;
  HloInputOutputAliasConfig input_output_alias_config_;
  HloBufferDonorConfig buffer_donor_config_;
  HloModuleMetadata metadata_;
  std::unique_ptr<CompilationEnvironments> comp_envs_;
  StackFrames stack_frames_;
  OriginalValueRecoveryTable original_value_recovery_table_;

  mutable absl::Mutex cache_mutex_;
  absl::flat_hash_map<tsl::Fprint128, std::shared_ptr<CacheEntry>> cache_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_MODULE_H_
