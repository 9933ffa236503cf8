//===- ListCandidates.h - The schedules that kernels could have -*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINE_LISTCANDIDATES_H
#define TESSERA_LIB_PIPELINE_LISTCANDIDATES_H

#include "Backend.h"
#include "Performance.h"
#include "tessera/CostModel/Candidates.h"
#include "llvm/Support/JSON.h"

namespace tessera {

/// A kernel before long streams are split, with its schedules by predicted time.
struct KernelCandidates {
  std::string name, signature;
  std::vector<Candidate> candidates;
};

/// The schedules of all kernels that a graph becomes, for the classes of its sizes; work is counted
/// at the given sizes. The module is not changed. Nothing if it cannot be scheduled.
std::vector<KernelCandidates> listCandidates(mlir::ModuleOp graph, const Backend &backend,
                                             const SizesAtHand &sizes);

/// Tables of the first candidates of each kernel, with the parts of their predicted times and why
/// they are slower than the chosen one.
std::string explainCandidates(const std::vector<KernelCandidates> &kernels, size_t most);

/// One object per kernel: {"name", "signature", "candidates": [{"schedule",
/// "predicted_us", "terms": {…}, "chosen"}]}.
llvm::json::Array reportCandidates(const std::vector<KernelCandidates> &kernels);

} // namespace tessera

#endif
