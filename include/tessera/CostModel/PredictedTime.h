//===- PredictedTime.h - A predicted time and its parts ---------*- C++ -*-===//
#ifndef TESSERA_COSTMODEL_PREDICTEDTIME_H
#define TESSERA_COSTMODEL_PREDICTEDTIME_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace tessera {

/// A part of a predicted time: how long the kernel would take if only this part counted.
struct TimeTerm {
  llvm::StringLiteral name; ///< "tensor cores", "L2", "launch", …
  double microseconds = 0;
};

struct PredictedTime {
  double microseconds = 0;
  llvm::SmallVector<TimeTerm, 8> terms;
};

} // namespace tessera

#endif
