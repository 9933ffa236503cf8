//===- FitTiles.h - Smaller tiles for kernels that do not fit ---*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINE_FITTILES_H
#define TESSERA_LIB_PIPELINE_FITTILES_H

#include "Compilation.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera {

/// Runs a compilation. If a kernel of a GPU needs more shared memory than a CTA has, its largest
/// tile is halved and the program is compiled again, as often as it takes; a remark says so. A
/// schedule that a user gave is not changed. `compileOnce` returns the kernel that does not fit,
/// and empty for any other outcome.
void fitTiles(const CompileRequest &request, CompileResult &result,
              llvm::function_ref<std::string(const CompileRequest &)> compileOnce);

/// Halves the largest tile of each kernel, a few times, until the assembler of CUDA Tile IR accepts
/// the program; remarks say so. A schedule that a user gave is not changed. If none is accepted,
/// the result stays as it is.
void avoidRefusal(const CompileRequest &request, CompileResult &result,
                  llvm::function_ref<std::string(const CompileRequest &)> compileOnce);

/// Halves the blocks of streams that need more registers than a thread has: the assembler spills
/// them, or serializes wgmma. The result stays as it is if that does not help; a remark says so if
/// it does. A schedule that a user gave is not changed.
void relieveRegisters(const CompileRequest &request, CompileResult &result,
                      llvm::function_ref<std::string(const CompileRequest &)> compileOnce);

} // namespace tessera

#endif
