//===- Windows.cpp - Tensors that show windows of others -------------------===//
#include "tessera/Dialect/Graph/Analysis/Windows.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

std::optional<gir::Windows> gir::windowsOf(mlir::Value value) {
  auto type = llvm::cast<gir::TensorType>(value.getType());
  while (auto reshape = value.getDefiningOp<gir::ReshapeOp>())
    value = reshape.getInput();
  auto window = value.getDefiningOp<gir::WindowOp>();
  if (!window)
    return std::nullopt;
  auto own = llvm::cast<gir::TensorType>(value.getType());
  int64_t rank = own.getRank(), more = type.getRank() - rank;
  int64_t position = *llvm::min_element(window.getDims());
  int64_t elements = int64_t(window.getDims().size());
  if (more < 0 ||
      own.getShape().drop_front(position) != type.getShape().drop_front(position + more))
    return std::nullopt;
  return Windows{position + more, rank - elements + more};
}
