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
  for (int64_t count = 1; count <= int64_t(dims.size()) && canSlide(count); ++count)
    if (cost(count) < cost(slid) ||
        (storedBytes(slid) > rules.largestBytes && storedBytes(count) < storedBytes(slid)))
      slid = count;
  // Bulk copies start at aligned distances. Words may become parts of two bytes.
  constexpr double partBytes = 2;
  double bytes = elementBytes(side.getType());
  if (rules.groupSide)
    bytes = std::min(bytes, partBytes);
  for (int64_t i = 0; i < slid; ++i)
    if (int64_t(double(distance(i)) * bytes) % rules.rowAlignment != 0)
      this->rules.sumsLast = true;
}

/// Whether windows show only rows at multiples of their step.
bool WindowMatrices::skipsRows(int64_t i) const {
  return steps[i] > 1 && dilations[i] % steps[i] == 0;
}

/// The rows of a step, which are a part of what is summed.
int64_t WindowMatrices::stepsInSums(int64_t i) const { return skipsRows(i) ? 1 : steps[i]; }

/// The elements along a dimension that are found by sliding.
int64_t WindowMatrices::taps(int64_t i) const {
  return (sizes[i] + stepsInSums(i) - 1) / stepsInSums(i);
}

/// The rows from one of them to the next.
int64_t WindowMatrices::rowsOfTap(int64_t i) const {
  return stepsInSums(i) > 1 ? 1 : dilations[i] / steps[i];
}

/// The rows of a dimension that slides.
SymExpr WindowMatrices::rowsAlong(int64_t i) const {
  return sizeOf(positionDim(i)) + SymExpr((taps(i) - 1) * rowsOfTap(i));
}

/// The numbered positions along a dimension.
SymExpr WindowMatrices::width(int64_t i) const {
  return i > 0 && i < slid ? rowsAlong(i) : sizeOf(positionDim(i));
}

/// The number of positions from one element that slides to the next.
int64_t WindowMatrices::distance(int64_t i) const {
  int64_t positions = rowsOfTap(i);
  for (int64_t k = i + 1; k < int64_t(dims.size()); ++k)
    positions *= width(k).constantValue();
  return positions;
}

SymExpr WindowMatrices::product(ArrayRef<int64_t> dims) const {
  SymExpr result(1);
  for (int64_t dim : dims)
    result = result * sizeOf(dim);
  return result;
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
  return storedBytes(slid) <= rules.largestBytes || dividedDim();
}

/// Whether elements along the first dimensions, so many of them, are whole rows further on.
/// Positions beside those of windows are worth it for warpgroups alone.
bool WindowMatrices::canSlide(int64_t count) const {
  for (int64_t i = 1; i < int64_t(dims.size()); ++i)
    if (!sizeOf(positionDim(i)).isConstant())
      return false;
  if (count > 1 &&
      (side.size(side.free, facts) < double(rules.groupSide) ||
       2 * other.size(other.free, facts) <= double(rules.groupSide) || !rules.groupSide))
    return false;
  return llvm::all_of(llvm::seq(count), [&](int64_t i) {
    return taps(i) > 1 && (steps[i] == 1 || dilations[i] == 1 || skipsRows(i));
  });
}

double WindowMatrices::storedBytes(int64_t slid) const {
  double bytes = side.bytes(facts);
  for (int64_t i = 0; i < slid; ++i)
    bytes *= double(stepsInSums(i)) / double(sizes[i]) * hint(rowsAlong(i)) /
             hint(sizeOf(positionDim(i)));
  return bytes;
}

/// The time of the copy and the product in FLOP of 16-bit MMAs.
double WindowMatrices::cost(int64_t slid) const {
  double terms = side.size(side.contract, facts), visited = 1, gaps = 1;
  for (int64_t i = 0; i < slid; ++i) {
    visited *= double(taps(i));
    terms *= double(stepsInSums(i)) / double(sizes[i]);
    if (i > 0)
      gaps *= hint(rowsAlong(i)) / hint(sizeOf(positionDim(i)));
  }
  double rounded = visited * kTerms * std::ceil(terms / kTerms);
  double results = side.size(side.free, facts) * other.size(other.free, facts) *
                   side.size(side.batch, facts) * gaps;
  double slower = elementBytes(side.getType()) / 2; // of words, tensor cores multiply half as many
  double copied = 2 * storedBytes(slid) + (slid ? 2 * other.bytes(facts) : 0);
  if (slid > 1) // what is left out is stored
    copied += 2 * results * elementBytes(tensorType(ContractOp(contract).getResult()));
  double launches = slid > 1 ? 2 : double(slid);
  return slower * 2 * results * rounded + copied * rules.flopPerByte +
         launches * rules.flopPerLaunch;
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

/// Keeps the rows of a dimension that windows show, or splits it into rows and steps, which become
/// dimension `place`.
Value WindowMatrices::rowsOfSteps(Value value, int64_t i, int64_t dim, int64_t place) {
  int64_t step = steps[i];
  SymExpr rows = rowsAlong(i), all = rows * SymExpr(step);
  SmallVector<SymExpr> shape(tensorType(value).getShape()), starts(shape.size(), SymExpr(0));
  SmallVector<int64_t> strides(shape.size(), 1);
  if (skipsRows(i)) {
    shape[dim] = rows;
    strides[dim] = step;
    return builder.createOrFold<SliceOp>(loc, value, starts, strides, shape);
  }
  SymExpr missing = all - shape[dim];
  if (facts.hint(missing) > 0) {
    shape[dim] = missing;
    Value zero = ConstantOp::create(
        builder, loc, gir::TensorType::get(shape, tensorType(value).getElementType()), 0.0);
    value = ConcatOp::create(builder, loc, dim, ValueRange{value, zero});
  }
  shape[dim] = all;
  value = builder.createOrFold<SliceOp>(loc, value, starts, strides, shape);
  shape[dim] = rows;
  shape.insert(shape.begin() + dim + 1, SymExpr(step));
  value = builder.createOrFold<ReshapeOp>(loc, value, shape);
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(shape.size()));
  order.erase(order.begin() + dim + 1);
  order.insert(order.begin() + place, dim + 1);
  return builder.createOrFold<TransposeOp>(loc, value, order);
}

/// Adds the rows that windows at the end of the last positions would show.
Value WindowMatrices::withRowsAtEnd(Value matrix, int64_t place) {
  int64_t rows = 0;
  for (int64_t i = 1; i < slid; ++i)
    rows += (taps(i) - 1) * distance(i);
  if (!rows)
    return matrix;
  SmallVector<SymExpr> shape(tensorType(matrix).getShape());
  shape[place] = SymExpr(rows);
  Value zero = ConstantOp::create(
      builder, loc, gir::TensorType::get(shape, tensorType(matrix).getElementType()), 0.0);
  return ConcatOp::create(builder, loc, place, ValueRange{matrix, zero});
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
  int64_t lead = dims[0], count = dims.size();
  int64_t extra = 0; // steps before the positions
  for (int64_t i = 0; i < slid; ++i)
    if (steps[i] > 1) {
      value = rowsOfSteps(value, i, lead + extra + i, lead + extra);
      extra += stepsInSums(i) > 1;
    }

  // Windows along the other dimensions.
  SmallVector<int64_t> others =
      llvm::map_to_vector(dims.drop_front(slid), [&](int64_t dim) { return dim + extra; });
  auto isOne = [](int64_t each) { return each == 1; };
  if (!llvm::all_of(sizes.drop_front(slid), isOne) || !llvm::all_of(steps.drop_front(slid), isOne))
    value = WindowOp::create(builder, loc, value, others, sizes.drop_front(slid),
                             steps.drop_front(slid), dilations.drop_front(slid));

  // The dimensions before the positions as the contraction sees them.
  int64_t rank = places.firstPosition;
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
      orderOfSums(summed, llvm::to_vector(llvm::seq(rank, rank + extra)),
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
  int64_t place = int64_t(matrix.size()) - (rules.sumsLast ? 2 : 1);
  value = stored(withRowsAtEnd(value, place),
                 "its windows overlap, and tensor cores are fed from memory", /*isRead=*/false);
  for (int64_t i = 0; i < slid; ++i)
    value = WindowOp::create(builder, loc, value, ArrayRef(place), ArrayRef(taps(i)),
                             ArrayRef<int64_t>(1), ArrayRef(distance(i)));
  return value;
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
  SmallVector<int64_t> before = llvm::map_to_vector(summed, partner), visited, parts, elements;
  for (int64_t i = 0; i < slid; ++i)
    visited.push_back(partner(elementDim(i)));
  for (int64_t dim = elementDim(slid); dim < int64_t(side.getType().getRank()); ++dim)
    elements.push_back(partner(dim));
  for (int64_t i = 0; i < slid; ++i) {
    if (stepsInSums(i) == 1)
      continue;
    // The dimension as elements that slide, and the rows of a step.
    int64_t dim = visited[i], step = steps[i], missing = taps(i) * step - sizes[i];
    SmallVector<SymExpr> shape(tensorType(value).getShape());
    shape[dim] = SymExpr(missing);
    if (missing) {
      Value zero = ConstantOp::create(
          builder, loc, gir::TensorType::get(shape, tensorType(value).getElementType()), 0.0);
      value = ConcatOp::create(builder, loc, dim, ValueRange{value, zero});
    }
    shape[dim] = SymExpr(taps(i));
    shape.insert(shape.begin() + dim + 1, SymExpr(step));
    value = builder.createOrFold<ReshapeOp>(loc, value, shape);
    for (SmallVector<int64_t> *list : {&order, &before, &visited, &parts, &elements})
      for (int64_t &each : *list)
        each += each > dim ? 1 : 0;
    parts.push_back(dim + 1);
  }
  order.append(visited);
  order.append(orderOfSums(before, parts, elements));
  value = builder.createOrFold<TransposeOp>(loc, value, order);
  SmallVector<SymExpr> shape(tensorType(value).getShape().take_front(lead + slid));
  SymExpr terms(1);
  for (SymExpr size : tensorType(value).getShape().drop_front(shape.size()))
    terms = terms * size;
  shape.push_back(terms);
  value = builder.createOrFold<ReshapeOp>(loc, value, shape);
  // A view of what is small beside the windows is stored, so that its sums are in one place.
  bool isSmall = 4 * other.bytes(facts) < storedBytes(slid);
  if (!slid && !rules.sumsLast && !isSmall)
    return value;
  return stored(value, "its rows are multiplied with stored windows",
                /*isRead=*/!slid && !rules.sumsLast);
}

Value WindowMatrices::multiplied(Value part, Value weights) {
  Value windows = windowMatrix(part);
  int64_t lead = int64_t(side.batch.size() + kept.size());
  SmallVector<int64_t> batch = llvm::to_vector(llvm::seq<int64_t>(side.batch.size()));
  int64_t otherLead = int64_t(other.batch.size() + other.free.size());
  SmallVector<int64_t> sums, otherSums;
  for (int64_t i = 0; i < slid; ++i) {
    sums.push_back(lead + 2 + i);
    otherSums.push_back(otherLead + i);
  }
  sums.push_back(lead + (rules.sumsLast ? 1 : 0));
  otherSums.push_back(otherLead + slid);
  bool isLhs = contract.getLhs() == side.value;
  auto result =
      isLhs ? ContractOp::create(builder, loc, windows, weights, batch, batch, sums, otherSums)
            : ContractOp::create(builder, loc, weights, windows, batch, batch, otherSums, sums);
  result->setDiscardableAttrs(contract->getDiscardableAttrDictionary());
  // Sums may have another type than the operands.
  auto type = tensorType(result);
  result.getResult().setType(
      gir::TensorType::get(type.getShape(), tensorType(contract).getElementType()));
  return withoutGaps(result, isLhs ? size_t(lead) : type.getRank() - 1);
}

/// Dimension `place` of a product as positions of windows.
Value WindowMatrices::withoutGaps(Value result, size_t place) {
  SmallVector<SymExpr> shape(tensorType(result).getShape()), positions(shape);
  positions.erase(positions.begin() + place);
  shape.erase(shape.begin() + place);
  for (int64_t i = int64_t(dims.size()) - 1; i >= 0; --i) {
    shape.insert(shape.begin() + place, width(i));
    positions.insert(positions.begin() + place, sizeOf(positionDim(i)));
  }
  if (slid > 1)
    result = MaterializeOp::create(
        builder, loc, result.getType(), result, UnitAttr(), IntegerAttr(),
        builder.getStringAttr("its rows end with positions that no window has"));
  result = builder.createOrFold<ReshapeOp>(loc, result, shape);
  return builder.createOrFold<SliceOp>(loc, result, SmallVector<SymExpr>(shape.size(), SymExpr(0)),
                                       SmallVector<int64_t>(shape.size(), 1), positions);
}

Value WindowMatrices::build() {
  Value weights = otherMatrix();
  int64_t parts = int64_t(std::ceil(storedBytes(slid) / rules.largestBytes));
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
