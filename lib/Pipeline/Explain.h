//===- Explain.h - What the scheduler decided, for people and programs ----===//
#ifndef TESSERA_LIB_PIPELINE_EXPLAIN_H
#define TESSERA_LIB_PIPELINE_EXPLAIN_H

#include "Performance.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <string>
#include <vector>

namespace tessera {

/// What became of fields of launch and tuning after they were chosen, by kernel:
/// "num_stages 5 -> 4: shared memory".
using ChangedFields = std::map<std::string, std::vector<std::string>, std::less<>>;

/// The changed fields of the kernels in a module of any stage.
ChangedFields changedFields(mlir::ModuleOp module);

/// An amount with a prefix for powers of `step`: "1.5 GFLOP", "64.0 MiB".
std::string scaledText(double value, double step, llvm::StringRef unit);

/// Reads schedules for one target.
struct ScheduleReader {
  MachineModel machine;
  Roofline roofline;
  std::string gpu; ///< its chip and the backend to its code, "sm_90 via ptx"; "" for a CPU
  SizesAtHand sizes;

  /// The decisions in a module of Schedule IR, in words; `changed` has those of later stages.
  std::string explain(mlir::ModuleOp module, const ChangedFields &changed) const;

  /// One object per kernel: {"name", "dims": [{"name", "role", "size", "tile"}], "notes": […],
  /// "flops", "bytes", "programs", "predicted_us", "remainder_us", "bound"}, "tuned" where its
  /// choice was measured, and "backend" where kernels use both backends; the figures are at the
  /// sizes at hand.
  llvm::json::Array report(mlir::ModuleOp module) const;
};

} // namespace tessera

#endif
