//===- RemarkCollector.h - Remarks of passes among the results -*- C++ -*-===//
//
// While a collector lives, the remarks that passes emit on a context are collected in the order of
// emission. A remark that repeats an earlier one (passes also run on copies of a module) is
// dropped.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_REMARKCOLLECTOR_H
#define TESSERA_LIB_PIPELINE_REMARKCOLLECTOR_H

#include "tessera/Pipeline/Pipeline.h"
#include "tessera/Support/Diagnostics.h"

#include "mlir/IR/MLIRContext.h"

namespace tessera {

/// Enables MLIR's remark engine on the context. Remarks go to `remarks`, which must outlive it.
void collectRemarks(mlir::MLIRContext &context, RemarkFilter filter, const SourceManager &sources,
                    std::vector<PassRemark> &remarks);

/// Adds each remark as a diagnostic.
void addRemarks(const std::vector<PassRemark> &remarks, Diagnostics &diagnostics);

/// The remarks as text, grouped by kernel, with the lines of the source that they refer to.
std::string explainRemarks(const std::vector<PassRemark> &remarks, const SourceManager &sources);

} // namespace tessera

#endif
