//===- WindowMatrices.cpp - Windows as matrices in memory -----------------===//
#include "WindowMatrices.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Dialect/Graph/Analysis/ComputedOperands.h"

#include "llvm/ADT/SmallVectorExtras.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::gir;

/// K of an MMA of 16-bit types.
static constexpr double kTerms = 16;

static gir::TensorType tensorType(Value value) { return cast<gir::TensorType>(value.getType()); }

static double elementBytes(gir::TensorType type) {
  return double(type.getElementType().getIntOrFloatBitWidth()) / 8;
}

Side::Side(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract)
    : value(value), batch(batch), contract(contract) {
  for (int64_t dim : allDims())
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      free.push_back(dim);
}

SmallVector<int64_t> Side::allDims() const {
  return llvm::to_vector(llvm::seq<int64_t>(getType().getRank()));
}

double Side::size(ArrayRef<int64_t> dims, const SizeFacts &facts) const {
  double product = 1;
  for (int64_t dim : dims)
    product *= double(facts.hint(getType().getDim(dim)));
  return product;
}

double Side::bytes(const SizeFacts &facts) const {
  return size(allDims(), facts) * elementBytes(getType());
}

WindowMatrices::WindowMatrices(ContractOp contract, const Side &side, const Side &other,
                               const SizeFacts &facts, const MatrixRules &rules)
    : contract(contract), side(side), other(other), facts(facts), rules(rules), builder(contract),
      loc(contract.getLoc()) {
  std::optional<Windows> found = windowsOf(side.value);
  if (!found)
    return;
  Value value = side.value;
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  auto window = cast<WindowOp>(value.getDefiningOp());
  source = window.getInput();
  dims = window.getDims();
  sizes = window.getSizes();
  steps = window.getSteps();
  dilations = window.getDilations();
  places = *found;
  for (int64_t dim = 0; dim < places.firstPosition; ++dim)
    if (llvm::is_contained(side.contract, dim))
      summed.push_back(dim);
    else if (!llvm::is_contained(side.batch, dim))
      kept.push_back(dim);
  slides = canSlide() && (cost(true) < cost(false) || storedBytes(false) > rules.largestBytes);
  // Bulk copies start at aligned distances.
  if (slides &&
      int64_t(double(distance()) * elementBytes(side.getType())) % rules.rowAlignment != 0)
    this->rules.sumsLast = true;
}

/// The number of positions from one element that slides to the next.
int64_t WindowMatrices::distance() const {
  int64_t rows = stepOfFirst() == 1 ? dilations[0] : 1;
  for (int64_t i = 1; i < int64_t(dims.size()); ++i)
    rows *= sizeOf(positionDim(i)).constantValue();
  return rows;
}

SymExpr WindowMatrices::product(ArrayRef<int64_t> dims) const {
  SymExpr result(1);
  for (int64_t dim : dims)
    result = result * sizeOf(dim);
  return result;
}

/// The elements along the first dimension that are found by sliding: each is `step` rows.
int64_t WindowMatrices::tapsOfFirst() const {
  int64_t step = stepOfFirst();
  return (sizes[0] + step - 1) / step;
}

bool WindowMatrices::isPossible() const {
  if (!source)
    return false;
  // Positions are all dimensions between `kept` or `summed` and the elements.
  int64_t count = dims.size();
  if (places.firstElement - places.firstPosition != count || !llvm::is_sorted(dims))
    return false;
  for (int64_t i = 0; i < count; ++i)
    if (!llvm::is_contained(side.contract, elementDim(i)) ||
        !llvm::is_contained(side.free, positionDim(i)))
      return false;
  return storedBytes(slides) <= rules.largestBytes || dividedDim();
}

/// Whether elements along the first dimension are whole rows further on.
bool WindowMatrices::canSlide() const {
  int64_t count = dims.size();
  for (int64_t i = 1; i < count; ++i)
    if (!sizeOf(positionDim(i)).isConstant())
      return false;
  return tapsOfFirst() > 1 && (stepOfFirst() == 1 || dilations[0] == 1);
}

double WindowMatrices::storedBytes(bool slides) const {
  double all = side.bytes(facts);
  if (!slides)
    return all;
  double rows = double(facts.hint(sizeOf(places.firstPosition)));
  double more =
      stepOfFirst() == 1 ? double((sizes[0] - 1) * dilations[0]) : double(tapsOfFirst() - 1);
  return all / double(sizes[0]) * double(stepOfFirst()) * (rows + more) / rows;
}

/// The time of the copy and the product in FLOP of 16-bit MMAs.
double WindowMatrices::cost(bool slides) const {
  double terms = side.size(side.contract, facts), taps = 1;
  if (slides) {
    taps = double(tapsOfFirst());
    terms = terms / double(sizes[0]) * double(stepOfFirst());
  }
  double rounded = taps * kTerms * std::ceil(terms / kTerms);
  double flop = 2 * side.size(side.free, facts) * other.size(other.free, facts) *
                side.size(side.batch, facts) * rounded;
  double slower = elementBytes(side.getType()) / 2; // of words, tensor cores multiply half as many
  double copied = 2 * storedBytes(slides) + (slides ? 2 * other.bytes(facts) : 0);
  return slower * flop + copied * rules.flopPerByte + (slides ? rules.flopPerLaunch : 0);
}

/// The dimension along which a matrix that is too large is divided: the first that only this
/// operand has.
std::optional<int64_t> WindowMatrices::dividedDim() const {
  if (kept.empty() || !sizeOf(kept[0]).isConstant())
    return std::nullopt;
  ArrayRef<SymExpr> before = tensorType(source).getShape();
  for (int64_t dim = 0; dim <= kept[0]; ++dim)
    if (dim >= dims[0] || before[dim] != sizeOf(dim))
      return std::nullopt;
  return kept[0];
}

/// Splits the first dimension of windows into rows and steps, which become a dimension of what is
/// before the positions.
Value WindowMatrices::rowsOfSteps(Value value) {
  int64_t step = stepOfFirst(), dim = dims[0];
  SmallVector<SymExpr> shape(tensorType(value).getShape());
  SymExpr rows = sizeOf(places.firstPosition) + SymExpr(tapsOfFirst() - 1),
          all = rows * SymExpr(step);
  SymExpr missing = all - shape[dim];
  if (facts.hint(missing) > 0) {
    shape[dim] = missing;
    Value zero = ConstantOp::create(
        builder, loc, gir::TensorType::get(shape, tensorType(value).getElementType()), 0.0);
    value = ConcatOp::create(builder, loc, dim, ValueRange{value, zero});
  }
  shape[dim] = all;
  value = builder.createOrFold<SliceOp>(loc, value, SmallVector<SymExpr>(shape.size(), SymExpr(0)),
                                        SmallVector<int64_t>(shape.size(), 1), shape);
  shape[dim] = rows;
  shape.insert(shape.begin() + dim + 1, SymExpr(step));
  value = builder.createOrFold<ReshapeOp>(loc, value, shape);
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(shape.size()));
  std::swap(order[dim], order[dim + 1]);
  return builder.createOrFold<TransposeOp>(loc, value, order);
}

/// A copy with aligned rows, if the value is not in memory in this form.
Value WindowMatrices::stored(Value matrix, StringRef reason, bool isRead) {
  gir::TensorType type = tensorType(matrix);
  std::optional<int64_t> alignment = alignmentOfCopy(type, facts, rules.rowAlignment);
  Value memory = matrix;
  while (auto reshape = memory.getDefiningOp<ReshapeOp>())
    memory = reshape.getInput();
  auto argument = dyn_cast<BlockArgument>(memory);
  bool isStored = memory.getDefiningOp<MaterializeOp>() ||
                  (argument && cast<func::FuncOp>(argument.getOwner()->getParentOp())
                                   .getArgAttr(argument.getArgNumber(), kContiguousAttr));
  if (isStored && (isRead || !alignment))
    return matrix;
  return MaterializeOp::create(builder, loc, type, matrix, builder.getUnitAttr(),
                               alignment ? builder.getI64IntegerAttr(*alignment) : IntegerAttr(),
                               builder.getStringAttr(reason));
}

/// What is summed in one matrix. Where it is a row, the dimensions of the tensor are contiguous:
/// elements of a window are apart in any order.
SmallVector<int64_t> WindowMatrices::orderOfSums(ArrayRef<int64_t> before, ArrayRef<int64_t> steps,
                                                 ArrayRef<int64_t> elements) const {
  SmallVector<int64_t> order;
  if (rules.sumsLast)
    order.append(elements.begin(), elements.end());
  order.append(before.begin(), before.end());
  order.append(steps.begin(), steps.end());
  if (!rules.sumsLast)
    order.append(elements.begin(), elements.end());
  return order;
}

/// The operand: batch, kept dimensions, then sums and positions in the order of the rules; behind
/// them the elements that slide.
Value WindowMatrices::windowMatrix(Value value) {
  int64_t count = dims.size(), first = slides ? 1 : 0;
  int64_t extra = slides && stepOfFirst() > 1 ? 1 : 0; // steps before the positions
  if (extra)
    value = rowsOfSteps(value);

  // Windows along the other dimensions.
  SmallVector<int64_t> others =
      llvm::map_to_vector(dims.drop_front(first), [&](int64_t dim) { return dim + extra; });
  auto isOne = [](int64_t each) { return each == 1; };
  if (!llvm::all_of(sizes.drop_front(first), isOne) ||
      !llvm::all_of(steps.drop_front(first), isOne))
    value = WindowOp::create(builder, loc, value, others, sizes.drop_front(first),
                             steps.drop_front(first), dilations.drop_front(first));

  // The dimensions before the positions as the contraction sees them.
  int64_t lead = dims[0], rank = places.firstPosition;
  SmallVector<SymExpr> shape(side.getType().getShape().take_front(rank));
  if (std::optional<int64_t> dim = dividedDim()) // of a part
    shape[*dim] = tensorType(value).getDim(*dim);
  llvm::append_range(shape, tensorType(value).getShape().drop_front(lead));
  int64_t firstPosition = rank + extra, firstElement = firstPosition + count;
  if (int64_t(shape.size()) == firstElement) // without windows of one element
    shape.append(others.size(), SymExpr(1));
  value = builder.createOrFold<ReshapeOp>(loc, value, shape);

  SmallVector<int64_t> positions;
  SmallVector<int64_t> sums =
      orderOfSums(summed, SmallVector<int64_t>(extra, rank),
                  llvm::to_vector(llvm::seq(firstElement, int64_t(shape.size()))));
  for (int64_t dim = firstPosition; dim < firstElement; ++dim)
    positions.push_back(dim);
  SmallVector<int64_t> order(side.batch);
  order.append(kept);
  order.append(rules.sumsLast ? positions : sums);
  order.append(rules.sumsLast ? sums : positions);
  value = builder.createOrFold<TransposeOp>(loc, value, order);

  SmallVector<SymExpr> matrix(
      tensorType(value).getShape().take_front(side.batch.size() + kept.size()));
  auto all = [&](ArrayRef<int64_t> dims) {
    SymExpr result(1);
    for (int64_t dim : dims)
      result = result * shape[dim];
    return result;
  };
  matrix.push_back(all(rules.sumsLast ? positions : sums));
  matrix.push_back(all(rules.sumsLast ? sums : positions));
  value = builder.createOrFold<ReshapeOp>(loc, value, matrix);
  value = stored(value, "its windows overlap, and tensor cores are fed from memory",
                 /*isRead=*/false);
  if (!slides)
    return value;
  int64_t place = int64_t(matrix.size()) - (rules.sumsLast ? 2 : 1);
  return WindowOp::create(builder, loc, value, ArrayRef(place), ArrayRef(tapsOfFirst()),
                          ArrayRef<int64_t>(1), ArrayRef(distance()));
}

/// The other operand: batch, free dimensions, the elements that slide, what is summed.
Value WindowMatrices::otherMatrix() {
  auto partner = [&](int64_t dim) {
    return other.contract[llvm::find(side.contract, dim) - side.contract.begin()];
  };
  Value value = other.value;
  SmallVector<int64_t> order(other.batch);
  order.append(other.free);
  size_t lead = order.size();
  int64_t step = stepOfFirst(), taps = tapsOfFirst();
  SmallVector<int64_t> before = llvm::map_to_vector(summed, partner), parts, elements;
  for (int64_t dim = places.firstElement + (slides ? 1 : 0); dim < side.getType().getRank(); ++dim)
    elements.push_back(partner(dim));
  if (slides) {
    int64_t first = partner(places.firstElement);
    if (step > 1) {
      SmallVector<SymExpr> shape(tensorType(value).getShape());
      int64_t missing = taps * step - sizes[0];
      shape[first] = SymExpr(missing);
      if (missing) {
        Value zero = ConstantOp::create(
            builder, loc, gir::TensorType::get(shape, tensorType(value).getElementType()), 0.0);
        value = ConcatOp::create(builder, loc, first, ValueRange{value, zero});
      }
      shape[first] = SymExpr(taps);
      shape.insert(shape.begin() + first + 1, SymExpr(step));
      value = builder.createOrFold<ReshapeOp>(loc, value, shape);
      for (SmallVector<int64_t> *list : {&order, &before, &elements})
        for (int64_t &dim : *list)
          dim += dim > first ? 1 : 0;
      parts.push_back(first + 1);
    }
    order.push_back(first);
  }
  order.append(orderOfSums(before, parts, elements));
  value = builder.createOrFold<TransposeOp>(loc, value, order);
  SmallVector<SymExpr> shape(tensorType(value).getShape().take_front(lead + (slides ? 1 : 0)));
  SymExpr terms(1);
  for (SymExpr size : tensorType(value).getShape().drop_front(shape.size()))
    terms = terms * size;
  shape.push_back(terms);
  value = builder.createOrFold<ReshapeOp>(loc, value, shape);
  // A view of what is small beside the windows is stored, so that its sums are in one place.
  bool isSmall = 4 * other.bytes(facts) < storedBytes(slides);
  if (!slides && !rules.sumsLast && !isSmall)
    return value;
  return stored(value, "its rows are multiplied with stored windows",
                /*isRead=*/!slides && !rules.sumsLast);
}

Value WindowMatrices::multiplied(Value part, Value weights) {
  Value windows = windowMatrix(part);
  int64_t lead = int64_t(side.batch.size() + kept.size());
  SmallVector<int64_t> batch = llvm::to_vector(llvm::seq<int64_t>(side.batch.size()));
  int64_t otherLead = int64_t(other.batch.size() + other.free.size());
  SmallVector<int64_t> sums, otherSums;
  if (slides) {
    sums.push_back(lead + 2);
    otherSums.push_back(otherLead);
  }
  sums.push_back(lead + (rules.sumsLast ? 1 : 0));
  otherSums.push_back(otherLead + (slides ? 1 : 0));
  bool isLhs = contract.getLhs() == side.value;
  auto result =
      isLhs ? ContractOp::create(builder, loc, windows, weights, batch, batch, sums, otherSums)
            : ContractOp::create(builder, loc, weights, windows, batch, batch, otherSums, sums);
  result->setDiscardableAttrs(contract->getDiscardableAttrDictionary());
  // Sums may have another type than the operands.
  auto type = tensorType(result);
  result.getResult().setType(
      gir::TensorType::get(type.getShape(), tensorType(contract).getElementType()));
  // Positions as dimensions.
  SmallVector<SymExpr> shape(type.getShape());
  size_t place = isLhs ? size_t(lead) : shape.size() - 1;
  shape.erase(shape.begin() + place);
  SmallVector<SymExpr> positions(
      side.getType().getShape().slice(places.firstPosition, dims.size()));
  shape.insert(shape.begin() + place, positions.begin(), positions.end());
  return builder.createOrFold<ReshapeOp>(loc, result, shape);
}

Value WindowMatrices::build() {
  Value weights = otherMatrix();
  int64_t parts = int64_t(std::ceil(storedBytes(slides) / rules.largestBytes));
  if (parts <= 1)
    return multiplied(source, weights);
  int64_t dim = *dividedDim(), size = sizeOf(dim).constantValue();
  int64_t step = std::max(int64_t(1), size / parts);
  SmallVector<Value> results;
  for (int64_t begin = 0; begin < size; begin += step) {
    SmallVector<SymExpr> starts(tensorType(source).getRank(), SymExpr(0));
    SmallVector<SymExpr> shape(tensorType(source).getShape());
    starts[dim] = SymExpr(begin);
    shape[dim] = SymExpr(std::min(step, size - begin));
    SmallVector<int64_t> steps(starts.size(), 1);
    Value part = builder.createOrFold<SliceOp>(loc, source, starts, steps, shape);
    results.push_back(multiplied(part, weights));
  }
  bool isLhs = contract.getLhs() == side.value;
  size_t place = side.batch.size() + (isLhs ? 0 : other.free.size());
  return ConcatOp::create(builder, loc, int64_t(place), results);
}
