//===- StreamMasks.h - What a stream does with its masks, in words --------===//
#ifndef TESSERA_LIB_PIPELINE_STREAMMASKS_H
#define TESSERA_LIB_PIPELINE_STREAMMASKS_H

#include "tessera/Dialect/Schedule/IR/Schedule.h"

#include <string>
#include <vector>

namespace tessera {

/// Which blocks a stream visits and where it masks them: a sentence, then one more for each mask
/// that is not a range of the stream's dimension.
std::vector<std::string> describeVisits(sched::KernelOp kernel, sched::StreamOp stream);

} // namespace tessera

#endif
