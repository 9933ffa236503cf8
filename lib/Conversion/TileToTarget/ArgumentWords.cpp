//===- ArgumentWords.cpp - The order of a kernel's argument words ---------===//
#include "tessera/Conversion/TileToTarget/ArgumentWords.h"

using namespace mlir;
using namespace tessera;

void tessera::forEachWord(tile::KernelOp kernel,
                          function_ref<void(WordRole, unsigned, unsigned)> visit) {
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto view = dyn_cast<tile::ViewType>(type);
    if (!view) {
      visit(WordRole::Scalar, i, 0);
      continue;
    }
    visit(WordRole::Address, i, 0);
    for (unsigned d = 0; d < view.getRank(); ++d)
      visit(WordRole::Size, i, d);
    for (unsigned d = 0; d < view.getRank(); ++d)
      visit(WordRole::Stride, i, d);
  }
  for (int64_t d = 0; d < int64_t(kernel.getGridRank()); ++d)
    visit(WordRole::Grid, 0, d);
}

int64_t tessera::countWords(tile::KernelOp kernel) {
  int64_t words = 0;
  forEachWord(kernel, [&](WordRole, unsigned, unsigned) { ++words; });
  return words;
}

TensorMap tessera::tensorMapOf(tile::TmaLoadOp load) {
  return {cast<BlockArgument>(load.getView()).getArgNumber(), *load.getBox(), load.isRounded()};
}

SmallVector<TensorMap> tessera::tensorMapsOf(tile::KernelOp kernel) {
  SmallVector<TensorMap> maps;
  kernel.walk([&](tile::TmaLoadOp load) {
    TensorMap map = tensorMapOf(load);
    if (!llvm::is_contained(maps, map))
      maps.push_back(map);
  });
  return maps;
}

int64_t tessera::launchAxes(tile::KernelOp kernel) {
  return std::min<int64_t>(kernel.getField(LaunchField::LaunchRank).value_or(1),
                           kernel.getGridRank());
}

llvm::SetVector<gir::FailureAttr> tessera::failuresOf(tile::KernelOp kernel) {
  llvm::SetVector<gir::FailureAttr> failures;
  kernel.walk([&](tile::CheckOp check) { failures.insert(check.getFailure()); });
  return failures;
}
