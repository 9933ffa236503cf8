//===- Passes.h - Passes on Schedule IR ------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_SCHEDULE_TRANSFORMS_PASSES_H
#define TESSERA_DIALECT_SCHEDULE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tessera/Dialect/Schedule/IR/Schedule.h"
#include "tessera/Support/TuningTable.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera::sched {

/// A hash, as 16 hexadecimal digits, of everything that determines a kernel's speed besides its
/// tiles, launch configuration and tuning.
std::string signatureOf(KernelOp kernel);

/// On a kernel: its tiles, launch configuration and tuning were measured; the text gives the
/// speedup.
inline constexpr llvm::StringLiteral kTuned = "sched.tuned";

/// On a kernel: the names of the fields that `sched-override-schedule` set.
inline constexpr llvm::StringLiteral kOverridden = "sched.overridden";
/// The reason of a change that a user asked for.
inline constexpr llvm::StringLiteral kUsersSchedule = "the user's schedule";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tessera/Dialect/Schedule/Transforms/Passes.h.inc"

/// `sched-apply-tuning` with a given table, for kernels whose backend is `via` where they do not
/// say another one; calls `warn` for lines that do not match their kernel.
std::unique_ptr<mlir::Pass>
createScheduleApplyTuning(std::shared_ptr<const TuningTable> table, std::string via,
                          std::function<void(const std::string &)> warn);

} // namespace tessera::sched

#endif
