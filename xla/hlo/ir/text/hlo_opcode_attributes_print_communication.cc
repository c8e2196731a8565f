// Attributes of collectives, of transfers to and from the host, and of
// asynchronous execution.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/ir/text/hlo_instruction_print_internal.h"
#include "xla/hlo/ir/text/hlo_print_util.h"
#include "xla/printer.h"
#include "xla/shape_util.h"

namespace xla {

using hlo_print_internal::PrintAttribute;
using hlo_print_internal::PrintFlag;
using hlo_print_internal::PrintIntsAttribute;
using hlo_print_internal::PrintQuotedAttribute;

void HloChannelInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  if (!options.print_channel_id() || !channel_id().has_value()) return;
  PrintAttribute(printer, "channel_id=", *channel_id());
}

void HloSendRecvInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  HloChannelInstruction::PrintExtraAttributesImpl(printer, options);
  PrintFlag(printer, "is_host_transfer=true", is_host_transfer());
}

void HloCollectiveInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  HloChannelInstruction::PrintExtraAttributesImpl(printer, options);
  printer.Next([&](Printer* p) {
    p->Append("replica_groups=");
    device_list()->Print(p, options);
  });
  PrintFlag(printer, "constrain_layout=true", constrain_layout());
}

void HloAllGatherInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  HloCollectiveInstruction::PrintExtraAttributesImpl(printer, options);
  PrintIntsAttribute(printer, "dimensions=", {all_gather_dimension()});
  PrintFlag(printer, "use_global_device_ids=true", use_global_device_ids());
}

void HloAllReduceInstructionBase::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  HloCollectiveInstruction::PrintExtraAttributesImpl(printer, options);
  PrintFlag(printer, "use_global_device_ids=true", use_global_device_ids());
}

void HloReduceScatterInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  HloAllReduceInstructionBase::PrintExtraAttributesImpl(printer, options);
  PrintIntsAttribute(printer, "dimensions=", {scatter_dimension()});
}

void HloAllToAllInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  HloCollectiveInstruction::PrintExtraAttributesImpl(printer, options);
  if (split_dimension().has_value()) {
    PrintIntsAttribute(printer, "dimensions=", {*split_dimension()});
  }
}

void HloRaggedAllToAllInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  HloCollectiveInstruction::PrintExtraAttributesImpl(printer, options);
}

void HloCollectiveBroadcastInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  HloCollectiveInstruction::PrintExtraAttributesImpl(printer, options);
  PrintAttribute(printer, "has_dynamic_root=", has_dynamic_root());
}

void HloCollectivePermuteInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  HloChannelInstruction::PrintExtraAttributesImpl(printer, options);
  printer.Next([&](Printer* p) {
    p->Append("source_target_pairs={");
    absl::string_view open = "{";
    for (const auto& [source, target] : source_target_pairs()) {
      AppendCat(p, open, source, ",", target, "}");
      open = ",{";
    }
    p->Append("}");
  });
  if (!inplace()) return;
  printer.Next([&](Printer* p) {
    p->Append("slice_sizes={");
    AppendJoin(p, dynamic_slice_sizes_list(), ",",
               [](Printer* p, const std::vector<int64_t>& sizes) {
                 PrintBracedInts(p, sizes);
               });
    p->Append("}");
  });
}

void HloInfeedInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  if (!options.print_infeed_outfeed_config() || infeed_config_.empty()) return;
  PrintQuotedAttribute(printer, "infeed_config=", infeed_config_);
}

void HloOutfeedInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  printer.Next([&](Printer* p) {
    p->Append("outfeed_shape=");
    ShapeUtil::PrintHumanStringWithLayout(p, outfeed_shape());
  });
  if (!options.print_infeed_outfeed_config() || outfeed_config().empty()) {
    return;
  }
  PrintQuotedAttribute(printer, "outfeed_config=", outfeed_config());
}

void HloAsyncInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {}

void HloAsyncStartInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  absl::string_view thread = async_execution_thread();
  if (!thread.empty() && thread != kMainExecutionThread) {
    PrintQuotedAttribute(printer, "async_execution_thread=", thread);
  }
  // In the short form behind the attributes of the wrapped operation.
  if (hlo_print_internal::PrintsAsAsyncSugar(*this, options)) return;
  hlo_print_internal::PrintAliasing(printer, output_to_operand_aliasing());
}

void HloAsyncUpdateInstruction::PrintExtraAttributesImpl(
    AttributePrinter& printer, const HloPrintOptions& options) const {
  hlo_print_internal::PrintAliasing(printer, output_to_operand_aliasing());
}

}  // namespace xla
