#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSE_PAIR_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSE_PAIR_H_

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// Makes `consumer` compute its operand `producer` inside, as a fusion of
// `kind`, and returns the fusion:
//  - the consumer, if that is a fusion, else a new one in its place;
//  - the producer, if that is a fusion which nothing else reads and which is
//    larger than the consumer: it takes the consumer in instead, and its place.
// O(the smaller one) then, O(producer) otherwise. The producer stays, unless it
// is returned, whether it is read or not.
absl::StatusOr<HloInstruction*> FusePair(HloInstruction* producer,
                                         HloInstruction* consumer,
                                         HloInstruction::FusionKind kind);

// The same as a custom fusion that also gives the producer's result to its
// other users, by get-tuple-elements. The producer stays without users.
absl::StatusOr<HloInstruction*> FusePairIntoMultiOutput(
    HloInstruction* producer, HloInstruction* consumer);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSE_PAIR_H_
