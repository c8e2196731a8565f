#ifndef XLA_HLO_IR_HLO_INSTRUCTIONS_H_
#define XLA_HLO_IR_HLO_INSTRUCTIONS_H_

// Subclasses of HloInstruction: one per opcode, or family of opcodes, that has
// attributes of its own. Attributes and constructor arguments carry the names
// of HLO text. Four virtual functions recur and mean the same everywhere:
// ToProto adds the subclass's fields, PrintExtraAttributesImpl prints them,
// IdenticalSlowPath compares them, CloneWithNewOperandsImpl copies them.

// IWYU pragma: begin_exports
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions_async.h"
#include "xla/hlo/ir/hlo_instructions_callable.h"
#include "xla/hlo/ir/hlo_instructions_collectives.h"
#include "xla/hlo/ir/hlo_instructions_custom_call.h"
#include "xla/hlo/ir/hlo_instructions_dots.h"
#include "xla/hlo/ir/hlo_instructions_indexing.h"
#include "xla/hlo/ir/hlo_instructions_plain.h"
#include "xla/hlo/ir/hlo_instructions_reductions.h"
// IWYU pragma: end_exports

#endif  // XLA_HLO_IR_HLO_INSTRUCTIONS_H_
