//===- Profile.h - Where the time of kernels goes ---------------*- C++ -*-===//
//
// The figures behind `tessera profile`: for each kernel of Schedule IR its predicted time, the
// roofline, the causes of the gap between them, and the work of each operation at its place in the
// source.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINE_PROFILE_H
#define TESSERA_LIB_PIPELINE_PROFILE_H

#include "Backend.h"
#include "Performance.h"
#include "tessera/Support/Diagnostics.h"
#include "llvm/Support/JSON.h"

namespace tessera {

/// One object per kernel: {"name", "line", "schedule", "overridden", "predicted_us", "roofline":
/// {"us", "tensor_us", "vector_us", "memory_us", "bound"}, "causes": [{"cause", "us", "of"}],
/// "tensor_cores", "bytes", "l2_bytes", "ctas", "waves", "ops": […], "masks": […], "streams": […]}.
llvm::json::Array profileKernels(mlir::ModuleOp module, const Backend &backend,
                                 const SizesAtHand &sizes, const SourceManager &sources);

/// The views that a module of Graph IR makes of arguments: {"tensor", "slice", "line", …}. Later
/// they are in the indices of loads.
llvm::json::Array reportViews(mlir::ModuleOp module, const SourceManager &sources);

} // namespace tessera

#endif
