// Instructions out of protos: look-up of references, checks, and what all
// instructions read. Malformed protos are InvalidArgument; nothing in a proto
// may reach a CHECK of a constructor.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "xla/hlo/ir/backend_config.h"
#include "xla/hlo/ir/collective_op_group_mode.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/proto/hlo_instruction_proto_internal.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_proto_internal {
namespace {

absl::Status LookUpReferences(
    const absl::flat_hash_map<int64_t, HloInstruction*>& instruction_map,
    const absl::flat_hash_map<int64_t, HloComputation*>& computation_map,
    ProtoReader* reader) {
  const HloInstructionProto& proto = reader->proto;
  reader->operands.reserve(proto.operand_ids_size());
  for (int64_t id : proto.operand_ids()) {
    auto it = instruction_map.find(id);
    if (it == instruction_map.end() || it->second == nullptr) {
      return reader->Error("no instruction with id ", id,
                           " before this one, which uses it as an operand");
    }
    reader->operands.push_back(it->second);
  }
  reader->computations.reserve(proto.called_computation_ids_size());
  for (int64_t id : proto.called_computation_ids()) {
    auto it = computation_map.find(id);
    if (it == computation_map.end() || it->second == nullptr) {
      return reader->Error("no computation with id ", id,
                           " before the one that calls it");
    }
    reader->computations.push_back(it->second);
  }
  return absl::OkStatus();
}

// Enums of protos hold any number; what reads and prints them knows names.
absl::Status CheckEnums(const ProtoReader& reader,
                        const google::protobuf::Message& message) {
  using google::protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const auto type = field->cpp_type();
    // Shapes say themselves which types they do not know.
    if (field->is_map() ||
        (type == FieldDescriptor::CPPTYPE_MESSAGE &&
         (field->message_type() == ShapeProto::descriptor() ||
          field->message_type() == LiteralProto::descriptor()))) {
      continue;
    }
    const int count =
        field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (type == FieldDescriptor::CPPTYPE_MESSAGE) {
        TF_RETURN_IF_ERROR(CheckEnums(
            reader, field->is_repeated()
                        ? reflection->GetRepeatedMessage(message, field, i)
                        : reflection->GetMessage(message, field)));
      } else if (type == FieldDescriptor::CPPTYPE_ENUM) {
        const int value =
            field->is_repeated()
                ? reflection->GetRepeatedEnumValue(message, field, i)
                : reflection->GetEnumValue(message, field);
        if (field->enum_type()->FindValueByNumber(value) == nullptr) {
          return reader.Error("unknown ", field->name(), " ", value);
        }
      }
    }
  }
  return absl::OkStatus();
}

// Properties that follow from the opcode.
absl::Status CheckAgainstOpcode(const ProtoReader& reader) {
  TF_RETURN_IF_ERROR(CheckEnums(reader, reader.proto));
  std::optional<int8_t> arity = HloOpcodeArity(reader.opcode);
  const int64_t operand_count = reader.operands.size();
  if (arity.has_value() && operand_count != *arity &&
      reader.opcode != HloOpcode::kConvolution) {
    return reader.Error("expected ", static_cast<int>(*arity),
                        " operands, got ", operand_count);
  }
  if (!reader.computations.empty() &&
      !HloInstruction::MightHaveCalledComputations(reader.opcode)) {
    return reader.Error("the opcode calls no computations");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<HloInstruction>> Read(
    const ProtoReader& reader) {
  for (auto read : {&ProtoReader::ReadOther, &ProtoReader::ReadDimensional,
                    &ProtoReader::ReadKernel, &ProtoReader::ReadCall,
                    &ProtoReader::ReadCommunication}) {
    TF_ASSIGN_OR_RETURN(std::unique_ptr<HloInstruction> instruction,
                        (reader.*read)());
    if (instruction != nullptr) return instruction;
  }
  return absl::UnimplementedError(absl::StrCat(
      "no reader for opcode ", reader.proto.opcode(), " in protos"));
}

absl::Status SetBackendConfig(
    const ProtoReader& reader,
    absl::Span<const std::shared_ptr<BackendConfigWrapper>> backend_configs,
    HloInstruction* instruction) {
  const HloInstructionProto& proto = reader.proto;
  switch (proto.backend_config_payload().payload_source_case()) {
    case Payload::kId: {
      const int64_t id = proto.backend_config_payload().id();
      if (id < 0 || id >= static_cast<int64_t>(backend_configs.size())) {
        return reader.Error("no payload with id ", id);
      }
      instruction->set_backend_config_wrapper(backend_configs[id]);
      break;
    }
    case Payload::kValue:
      instruction->set_raw_backend_config_string(
          proto.backend_config_payload().value());
      break;
    default:
      if (!proto.backend_config().empty()) {
        instruction->set_raw_backend_config_string(proto.backend_config());
      }
  }
  return absl::OkStatus();
}

absl::Status SetMetadata(
    const ProtoReader& reader,
    absl::Span<const std::shared_ptr<BackendConfigWrapper>> payloads,
    HloInstruction* instruction) {
  const OpMetadata& metadata = reader.proto.metadata();
  if (metadata.metadata_payload().payload_source_case() != Payload::kId) {
    instruction->set_metadata(metadata);
    return absl::OkStatus();
  }
  const int64_t id = metadata.metadata_payload().id();
  if (id < 0 || id >= static_cast<int64_t>(payloads.size())) {
    return reader.Error("no payload with id ", id);
  }
  OpMetadata inlined = metadata;
  inlined.mutable_metadata_payload()->set_value(payloads[id]->GetRawString());
  instruction->set_metadata(inlined);
  return absl::OkStatus();
}

// The end of the quoted string at the beginning of `text`; npos if it has none.
size_t EndOfString(absl::string_view text) {
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == text[0]) return i + 1;
    if (text[i] == '\\') ++i;
  }
  return absl::string_view::npos;
}

bool IsWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Whether a parser that keeps attributes it does not know finds the end of this
// one at the character: a separator, a new line, the next instruction, or what
// is no text.
bool EndsAttribute(absl::string_view rest, char before, bool in_brackets) {
  const char c = rest[0];
  if (absl::StartsWith(rest, "//") || absl::StartsWith(rest, "/*")) return true;
  if (in_brackets) {
    return !absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '\n';
  }
  return !(IsWord(c) || absl::StrContains("+-.%:<>?* ", c) ||
           (c == '=' && before == '<')) ||
         absl::StartsWith(rest, "ROOT");
}

// Whether the attribute prints as what such a parser reads: a word, and words,
// numbers, strings and brackets that close.
bool IsAttributeText(absl::string_view name, absl::string_view value) {
  if (name.empty() || value.empty() ||
      !absl::c_all_of(
          name, [](char c) { return IsWord(c) || c == '-' || c == '.'; }) ||
      !(IsWord(name[0]) && !absl::ascii_isdigit(name[0])) ||
      absl::StripAsciiWhitespace(value) != value) {
    return false;
  }
  std::string open;
  for (size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    const size_t bracket = absl::string_view("([{)]}").find(c);
    if (c == '"' || c == '\'') {
      const size_t length = EndOfString(value.substr(i));
      if (length == absl::string_view::npos) return false;
      i += length - 1;
    } else if (bracket < 3) {
      open += ")]}"[bracket];
    } else if (bracket < 6) {
      if (open.empty() || open.back() != c) return false;
      open.pop_back();
    } else if (EndsAttribute(value.substr(i), i == 0 ? '\0' : value[i - 1],
                             !open.empty())) {
      return false;
    }
  }
  return open.empty();
}

// Everything that does not depend on the opcode.
absl::Status ReadCommonFields(
    const ProtoReader& reader,
    const absl::flat_hash_map<int64_t, HloInstruction*>& instruction_map,
    absl::Span<const std::shared_ptr<BackendConfigWrapper>> backend_configs,
    HloInstruction* instruction) {
  const HloInstructionProto& proto = reader.proto;
  instruction->SetAndSanitizeName(proto.name());
  if (proto.has_metadata()) {
    TF_RETURN_IF_ERROR(SetMetadata(reader, backend_configs, instruction));
  }
  TF_RETURN_IF_ERROR(SetBackendConfig(reader, backend_configs, instruction));
  for (int64_t id : proto.control_predecessor_ids()) {
    auto it = instruction_map.find(id);
    if (it == instruction_map.end() || it->second == nullptr) {
      return reader.Error("no instruction with id ", id,
                          " before this one, of which it is a control "
                          "predecessor");
    }
    TF_RETURN_IF_ERROR(it->second->AddControlDependencyTo(instruction));
  }
  if (proto.has_sharding()) {
    TF_ASSIGN_OR_RETURN(HloSharding sharding,
                        HloSharding::FromProto(proto.sharding()));
    instruction->set_sharding(std::move(sharding));
  }
  if (!proto.frontend_attributes().map().empty()) {
    instruction->set_frontend_attributes(proto.frontend_attributes());
  }
  if (proto.has_statistics_viz()) {
    const int64_t shown = proto.statistics_viz().stat_index_to_visualize();
    const int64_t count = proto.statistics_viz().statistics_size();
    if (shown < 0 || (count > 0 && shown >= count)) {
      return reader.Error(shown, " is not the index of a statistic");
    }
    instruction->set_statistics_viz(proto.statistics_viz());
  }
  if (proto.has_original_value()) {
    std::shared_ptr<OriginalValue> original =
        OriginalValue::FromProto(proto.original_value());
    if (original == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "instruction '", proto.name(), "': a bad index in original_value"));
    }
    instruction->set_original_value(std::move(original));
  } else {
    instruction->set_original_value(nullptr);  // not even that of a root
  }
  if (proto.is_composite()) instruction->set_is_composite(true);
  for (const HloInstructionProto::UnknownAttribute& attribute :
       proto.unknown_attributes()) {
    if (!IsAttributeText(attribute.name(), attribute.value())) {
      return absl::InvalidArgumentError(
          absl::StrCat("instruction '", proto.name(), "': unknown attribute '",
                       absl::CEscape(attribute.name()), "' is no name=value"));
    }
    // The one that is known, and follows from others.
    if (attribute.name() == "mode") {
      TF_RETURN_IF_ERROR(
          StringToCollectiveOpGroupMode(attribute.value()).status());
    }
    instruction->add_unknown_attribute(attribute.name(), attribute.value());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ProtoReader::CheckComputations(int64_t count) const {
  const int64_t actual = computations.size();
  return Check(actual == count, "expected ", count,
               " called computations, got ", actual);
}

OutputToOperandAliasing ProtoReader::Aliasing() const {
  OutputToOperandAliasing aliasing;
  for (const OutputOperandAliasing& entry : proto.output_operand_aliasing()) {
    aliasing.push_back({ShapeIndex(entry.output_shape_index().begin(),
                                   entry.output_shape_index().end()),
                        {entry.operand_index(),
                         ShapeIndex(entry.operand_shape_index().begin(),
                                    entry.operand_shape_index().end())}});
  }
  return aliasing;
}

std::optional<int64_t> ProtoReader::ChannelId() const {
  if (proto.channel_id() > 0) return proto.channel_id();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  // Protos of old all-reduces.
  if (proto.all_reduce_id() > 0) return proto.all_reduce_id();
#pragma GCC diagnostic pop
  return std::nullopt;
}

}  // namespace hlo_proto_internal

absl::StatusOr<std::unique_ptr<HloInstruction>> HloInstruction::CreateFromProto(
    const HloInstructionProto& proto,
    const absl::flat_hash_map<int64_t, HloInstruction*>& instruction_map,
    const absl::flat_hash_map<int64_t, HloComputation*>& computation_map,
    bool prohibit_empty_literal,
    absl::Span<const std::shared_ptr<BackendConfigWrapper>> backend_configs) {
  hlo_proto_internal::ProtoReader reader{proto};
  reader.prohibit_empty_literal = prohibit_empty_literal;
  if (proto.name().empty()) return reader.Error("no name");
  if (proto.id() < 0) return reader.Error("negative id ", proto.id());
  std::optional<HloOpcode> opcode = TryStringToHloOpcode(proto.opcode());
  if (!opcode.has_value()) return reader.Error("unknown opcode");
  reader.opcode = *opcode;
  if (!proto.has_shape()) return reader.Error("no shape");
  TF_ASSIGN_OR_RETURN(reader.shape, Shape::FromProto(proto.shape()));
  TF_RETURN_IF_ERROR(ShapeUtil::ValidateShapeWithOptionalLayout(reader.shape));
  TF_RETURN_IF_ERROR(hlo_proto_internal::LookUpReferences(
      instruction_map, computation_map, &reader));
  TF_RETURN_IF_ERROR(hlo_proto_internal::CheckAgainstOpcode(reader));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloInstruction> instruction,
                      hlo_proto_internal::Read(reader));
  TF_RETURN_IF_ERROR(hlo_proto_internal::ReadCommonFields(
      reader, instruction_map, backend_configs, instruction.get()));
  return instruction;
}

}  // namespace xla
