#ifndef XLA_HLO_IR_HLO_OP_METADATA_H_
#define XLA_HLO_IR_HLO_OP_METADATA_H_

#include <string>

#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {

// Prints the fields of `metadata` as between the braces of `metadata={}`:
//
//   op_type="a" op_name="b" source_file="f.py" source_line=3 stack_frame_id=7
//
// Fields with default values are omitted. With `only_op_name`, prints only the
// last component of op_name.
void PrintOpMetadata(Printer* printer, const OpMetadata& metadata,
                     bool only_op_name = false);

std::string OpMetadataToString(const OpMetadata& metadata,
                               bool only_op_name = false);

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_OP_METADATA_H_
