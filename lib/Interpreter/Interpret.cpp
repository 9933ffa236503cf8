//===- Interpret.cpp - Graph IR as a program of ready kernels -------------===//
//
// Operations that only change indices become strides and offsets. Elementwise operations are put
// off: an operation whose users all belong to one launch becomes part of that launch, so that its
// values stay in registers. A reduction takes the elementwise operations that compute its input
// into its launch. Everything else reads and writes memory.
//
//===----------------------------------------------------------------------===//
#include "tessera/Interpreter/Interpreter.h"

#include "Expressions.h"
#include "Ready/ContractTiles.h"
#include "tessera/Conversion/TileToTarget/TileToTarget.h"
#include "tessera/Dialect/Common/ScalarTypes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;
using ready::Compute;

namespace {

DType dtypeOf(Value value) {
  return *dtypeFromMlir(cast<gir::TensorType>(value.getType()).getElementType());
}

Shape shapeOf(Value value) { return Shape(cast<gir::TensorType>(value.getType()).getShape()); }

/// The bits of a constant's elements.
int64_t bitsOf(TypedAttr value, DType dtype) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return int64_t(rt::encodeFloat(number.getValueAsDouble(), dtype));
  return int64_t(rt::encodeInteger(cast<IntegerAttr>(value).getValue().getSExtValue(), dtype));
}

bool isElementwise(Operation *op) { return isa<gir::MapOp, gir::CastOp, gir::GatherOp>(op); }

/// The elementwise operations of one launch.
struct Fusion {
  Fusion(Expression expression, Operation *launch)
      : expression(std::move(expression)), launch(launch) {}

  Expression expression;
  Operation *launch;
  llvm::DenseMap<Value, Expression::Index> known;
};

/// The dimensions of a contraction by their role.
struct ContractDims {
  View lhs, rhs;
  SmallVector<unsigned> lhsBatch, rhsBatch, m, n, lhsInner, rhsInner;

  static Shape pick(ArrayRef<SymExpr> values, ArrayRef<unsigned> dims) {
    Shape picked;
    for (unsigned d : dims)
      picked.push_back(values[d]);
    return picked;
  }
};

class Interpreter {
public:
  Interpreter(func::FuncOp function, OpBuilder &builder) : function(function), builder(builder) {}
  FailureOr<target::ProgramOp> run();

private:
  void chooseLaunches(Block &block);
  Operation *launchOfUsers(Operation *op);
  LogicalResult convert(Operation *op);

  // Values.
  View viewOfValue(Value value);
  View inMemory(Value value);
  View inDenseMemory(Value value);
  View allocate(DType dtype, Shape sizes);
  View copied(const View &view);

  // Expressions.
  Expression::Index compute(Fusion &fusion, Value value);
  Expression::Index computeInside(Fusion &fusion, Operation *op);
  Expression::Index computeMap(Fusion &fusion, gir::MapOp op);
  Expression::Index computeCast(Fusion &fusion, gir::CastOp op);
  Expression::Index computeGather(Fusion &fusion, gir::GatherOp op);
  bool takeRows(gir::GatherOp op, const View &to);
  void store(Value value, const View &to);
  void launchExpression(const Expression &expression, Expression::Index result, const View &to,
                        unsigned reduced = 0, ReduceOp op = ReduceOp::Sum);

  // Other launches.
  void launch(StringRef kernel, const LaunchWords &words, SymExpr grid, SymExpr work,
              ArrayAttr checks = {}, int64_t grain = 1);
  void convertReduce(gir::ReduceOp op);
  void convertContract(gir::ContractOp op);
  void contractRow(gir::ContractOp op, const ContractDims &dims, const View &to);
  void convertScan(gir::ScanOp op);
  void convertConcat(gir::ConcatOp op);
  void convertScatterAdd(gir::ScatterAddOp op);
  void convertScatter(gir::ScatterOp op);
  void convertSort(gir::ArgSortOp op);
  void convertCheck(gir::CheckOp op);
  void convertPrint(gir::PrintOp op);
  void convertReturn(func::ReturnOp op);

  func::FuncOp function;
  OpBuilder &builder;
  Location at = function.getLoc();
  IRMapping mapping;
  llvm::DenseMap<Value, View> views;
  llvm::DenseMap<Operation *, Operation *> launches;   // of elementwise operations
  llvm::DenseMap<Operation *, unsigned> operandCounts; // of launches
  bool isTooLarge = false;
};

/// No launch has elementwise operations with more operands.
constexpr unsigned mostOperands = 40;

/// The registers that an operation may need.
unsigned operandCount(Operation *op) {
  if (auto gather = dyn_cast<gir::GatherOp>(op))
    return 2 + 4 * gather.getInput().getType().getRank();
  return op->getNumOperands();
}

} // namespace

//===----------------------------------------------------------------------===//
// Launches of elementwise operations
//===----------------------------------------------------------------------===//

/// The launch that all users of an elementwise operation belong to; null if there is none.
Operation *Interpreter::launchOfUsers(Operation *op) {
  Operation *common = nullptr;
  for (OpOperand &use : op->getResult(0).getUses()) {
    Operation *user = use.getOwner(), *found = nullptr;
    bool isTable = isa<gir::GatherOp>(user) && use.getOperandNumber() == 0;
    if (isElementwise(user) && !isTable)
      found = launches.lookup(user);
    else if (isa<gir::ReduceOp>(user))
      found = user;
    if (!found || (common && common != found))
      return nullptr;
    common = found;
  }
  return common;
}

void Interpreter::chooseLaunches(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    if (!isElementwise(&op))
      continue;
    Operation *launch = launchOfUsers(&op);
    if (!launch || operandCounts[launch] + operandCount(&op) > mostOperands)
      launch = &op;
    operandCounts[launch] += operandCount(&op);
    launches[&op] = launch;
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

View Interpreter::allocate(DType dtype, Shape sizes) {
  auto type =
      gir::TensorType::get(builder.getContext(), sizes, dtypeToMlir(dtype, builder.getContext()));
  View view;
  view.dtype = dtype;
  view.memory = target::AllocateOp::create(builder, at, type).getResult();
  view.strides = denseStrides(sizes);
  view.sizes = std::move(sizes);
  return view;
}

View Interpreter::copied(const View &view) {
  View to = allocate(view.dtype, view.sizes);
  Expression expression(view.sizes);
  launchExpression(expression, expression.leaf(view), to);
  return to;
}

View Interpreter::viewOfValue(Value value) {
  if (auto found = views.find(value); found != views.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  View view;
  view.dtype = dtypeOf(value);
  view.sizes = shapeOf(value);
  view.strides.assign(view.sizes.size(), SymExpr(0));
  if (auto constant = dyn_cast<gir::ConstantOp>(op)) {
    view.kind = View::Number;
    view.origin = bitsOf(constant.getValue(), view.dtype);
  } else if (auto size = dyn_cast<gir::SizeOp>(op)) {
    view.kind = View::Number;
    view.origin = size.getExpr();
  } else if (auto iota = dyn_cast<gir::IotaOp>(op)) {
    view.kind = View::Iota;
    view.strides[iota.getDim()] = 1;
  } else if (isView(op)) {
    View input = viewOfValue(op->getOperand(0));
    std::optional<View> changed = viewOf(op, input);
    view = changed ? *changed : *viewOf(op, copied(input));
  } else { // an elementwise operation that was put off
    view = allocate(view.dtype, view.sizes);
    store(value, view);
  }
  return views[value] = view;
}

View Interpreter::inMemory(Value value) {
  View view = viewOfValue(value);
  if (view.kind != View::Memory)
    views[value] = view = copied(view);
  return view;
}

View Interpreter::inDenseMemory(Value value) {
  View view = inMemory(value);
  return view.isDense() ? view : copied(view);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Expression::Index Interpreter::compute(Fusion &fusion, Value value) {
  if (auto found = fusion.known.find(value); found != fusion.known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  bool isInside =
      op && isElementwise(op) && launches.lookup(op) == fusion.launch && !views.count(value);
  Expression::Index index =
      isInside ? computeInside(fusion, op) : fusion.expression.leaf(viewOfValue(value));
  return fusion.known[value] = index;
}

Expression::Index Interpreter::computeInside(Fusion &fusion, Operation *op) {
  if (auto map = dyn_cast<gir::MapOp>(op))
    return computeMap(fusion, map);
  if (auto cast = dyn_cast<gir::CastOp>(op))
    return computeCast(fusion, cast);
  return computeGather(fusion, mlir::cast<gir::GatherOp>(op));
}

Expression::Index Interpreter::computeMap(Fusion &fusion, gir::MapOp op) {
  SmallVector<Expression::Index> operands;
  for (Value input : op.getInputs())
    operands.push_back(compute(fusion, input));
  Expression &expression = fusion.expression;
  return expression.instruction(uint16_t(op.getScalarOp()), expression.typeOf(operands.back()),
                                ready::computeOf(dtypeOf(op.getResult())), operands);
}

Expression::Index Interpreter::computeCast(Fusion &fusion, gir::CastOp op) {
  Expression &expression = fusion.expression;
  DType dtype = dtypeOf(op.getResult());
  Expression::Index input = compute(fusion, op.getInput());
  bool isNarrow = isFloat(dtype) && dtypeBytes(dtype) < 4;
  // Casts that promotion inserted may keep the wider value.
  if (!isNarrow || !op.getExplicit_())
    return expression.cast(input, ready::computeOf(dtype));
  // The user's casts round once.
  if (expression.typeOf(input) != Compute::F32)
    input = expression.instruction(ready::OpNarrow, Compute::F64, Compute::F32,
                                   {expression.cast(input, Compute::F64)});
  return expression.instruction(ready::OpRound, Compute::F32, Compute::F32, {input},
                                unsigned(dtype));
}

/// Integer instructions for the offset of the element, and its load.
Expression::Index Interpreter::computeGather(Fusion &fusion, gir::GatherOp op) {
  View table = inMemory(op.getInput());
  Expression &expression = fusion.expression;
  View affine; // what the point's own indices give
  affine.kind = View::Iota;
  affine.dtype = DType::Int64;
  affine.sizes = shapeOf(op.getResult());
  affine.strides.assign(affine.sizes.size(), SymExpr(0));
  auto number = [&](SymExpr value) {
    View view = affine;
    view.kind = View::Number;
    view.origin = value;
    view.strides.assign(view.sizes.size(), SymExpr(0));
    return expression.leaf(view);
  };
  auto apply = [&](ScalarOp scalar, Expression::Index a, Expression::Index b) {
    return expression.instruction(uint16_t(scalar), Compute::I64, Compute::I64, {a, b});
  };
  unsigned next = 0;
  View own = affine;
  for (int64_t d = 0; d < int64_t(table.rank()); ++d)
    if (!llvm::is_contained(op.getDims(), d)) {
      int64_t dim = op.getRest()[next++];
      own.strides[dim] = own.strides[dim] + table.strides[d];
    }
  Expression::Index offset = expression.leaf(own);
  for (auto [k, d] : llvm::enumerate(op.getDims())) {
    Expression::Index index = expression.cast(compute(fusion, op.getIndices()[k]), Compute::I64);
    index = apply(ScalarOp::Minimum, index, number(table.sizes[d] - 1));
    index = apply(ScalarOp::Maximum, index, number(0));
    index = apply(ScalarOp::Mul, index, number(table.strides[d]));
    offset = apply(ScalarOp::Add, offset, index);
  }
  Compute type = ready::computeOf(table.dtype);
  return expression.instruction(ready::OpTake, type, type, {offset, expression.base(table)},
                                unsigned(table.dtype));
}

void Interpreter::launchExpression(const Expression &expression, Expression::Index result,
                                   const View &to, unsigned reduced, ReduceOp op) {
  ArrayRef<SymExpr> iteration = expression.iterationSizes();
  if (expression.isTooLarge() || iteration.size() > ready::maxRank) {
    isTooLarge = true;
    return;
  }
  LaunchWords words(builder.getContext());
  expression.write(words, result, to, reduced, op);
  SymExpr points = product(iteration), rows = product(iteration.drop_back(reduced));
  SymExpr work = (points * expression.cost()).ceilDiv(64);
  launch("ready_expression", words, reduced ? rows : points.ceilDiv(ready::blockElements), work, {},
         !reduced                                  ? 8
         : expression.hasNeighbouringRows(reduced) ? ready::blockElements / 2
                                                   : 1);
}

/// A gather of whole rows of a table copies them. Returns false for others.
bool Interpreter::takeRows(gir::GatherOp op, const View &to) {
  for (Value index : op.getIndices())
    if (!index.getDefiningOp<gir::BroadcastOp>())
      return false;
  View table = inMemory(op.getInput());
  Shape own(to.rank(), SymExpr(0));
  unsigned next = 0;
  for (int64_t d = 0; d < int64_t(table.rank()); ++d)
    if (!llvm::is_contained(op.getDims(), d))
      own[op.getRest()[next++]] = table.strides[d];
  SmallVector<View> indices;
  for (Value index : op.getIndices())
    indices.push_back(inMemory(index));
  unsigned outer = to.rank();
  auto isInRow = [&](unsigned d) {
    return own[d] == to.strides[d] &&
           llvm::all_of(indices, [&](const View &index) { return index.strides[d].isConstant(0); });
  };
  while (outer > 0 && isInRow(outer - 1))
    --outer;
  if (outer == to.rank() || outer > ready::maxRank)
    return false;
  ArrayRef<SymExpr> sizes = to.sizes;
  SymExpr length = product(sizes.drop_front(outer)), rows = product(sizes.take_front(outer));
  LaunchWords words(builder.getContext());
  words.numbers({SymExpr(dtypeBytes(to.dtype)), length});
  words.address(to);
  words.number(int64_t(outer));
  words.numbers(sizes.take_front(outer));
  words.address(table);
  words.numbers(ArrayRef(own).take_front(outer));
  words.number(int64_t(indices.size()));
  for (auto [index, d] : llvm::zip_equal(indices, op.getDims())) {
    words.number(int64_t(index.dtype));
    words.address(index);
    words.numbers(ArrayRef(index.strides).take_front(outer));
    words.numbers({table.sizes[d], table.strides[d]});
  }
  at = op.getLoc();
  launch("ready_take_rows", words, rows, rows * 20 + (rows * length).ceilDiv(8));
  return true;
}

/// Computes an elementwise operation's result into memory.
void Interpreter::store(Value value, const View &to) {
  Operation *op = value.getDefiningOp();
  if (auto gather = dyn_cast<gir::GatherOp>(op); gather && takeRows(gather, to))
    return;
  Fusion fusion(Expression(to.sizes), launches.lookup(op));
  Expression::Index result = computeInside(fusion, op);
  at = op->getLoc();
  launchExpression(fusion.expression, result, to);
}

void Interpreter::launch(StringRef kernel, const LaunchWords &words, SymExpr grid, SymExpr work,
                         ArrayAttr checks, int64_t grain) {
  target::LaunchOp::create(
      builder, at, FlatSymbolRefAttr::get(builder.getContext(), kernel),
      builder.getStrArrayAttr({grid.str()}), words.operands, builder.getArrayAttr(words.words),
      ArrayAttr(), builder.getI64IntegerAttr(grain), builder.getStringAttr(work.str()), checks);
}

//===----------------------------------------------------------------------===//
// Reductions and contractions
//===----------------------------------------------------------------------===//

void Interpreter::convertReduce(gir::ReduceOp op) {
  SmallVector<unsigned> order;
  for (int64_t d = 0; d < op.getInput().getType().getRank(); ++d)
    if (!llvm::is_contained(op.getDims(), d))
      order.push_back(d);
  order.append(op.getDims().begin(), op.getDims().end());
  Fusion fusion(Expression(shapeOf(op.getInput()), order), op);
  Expression::Index value = compute(fusion, op.getInput());
  View to = allocate(dtypeOf(op.getResult()), shapeOf(op.getResult()));
  launchExpression(fusion.expression, value, to, op.getDims().size(), op.getReduceOp());
  views[op.getResult()] = to;
}

void Interpreter::convertContract(gir::ContractOp op) {
  ContractDims dims;
  dims.lhs = inMemory(op.getLhs());
  dims.rhs = inMemory(op.getRhs());
  auto assign = [](ArrayRef<int64_t> batch, ArrayRef<int64_t> inner, unsigned rank,
                   SmallVector<unsigned> &batches, SmallVector<unsigned> &free,
                   SmallVector<unsigned> &inners) {
    batches.assign(batch.begin(), batch.end());
    inners.assign(inner.begin(), inner.end());
    for (int64_t d = 0; d < rank; ++d)
      if (!llvm::is_contained(batch, d) && !llvm::is_contained(inner, d))
        free.push_back(d);
  };
  assign(op.getLhsBatch(), op.getLhsContract(), dims.lhs.rank(), dims.lhsBatch, dims.m,
         dims.lhsInner);
  assign(op.getRhsBatch(), op.getRhsContract(), dims.rhs.rank(), dims.rhsBatch, dims.n,
         dims.rhsInner);
  View to = allocate(dtypeOf(op.getResult()), shapeOf(op.getResult()));
  views[op.getResult()] = to;
  auto sizes = [](const View &view, ArrayRef<unsigned> of) {
    return ContractDims::pick(view.sizes, of);
  };
  SymExpr batch = product(sizes(dims.lhs, dims.lhsBatch)), m = product(sizes(dims.lhs, dims.m)),
          n = product(sizes(dims.rhs, dims.n)), k = product(sizes(dims.lhs, dims.lhsInner));
  // Inner products of dense rows with a vector are the contraction's own.
  const auto &[matrix, inner] =
      m.isConstant(1) ? std::tie(dims.rhs, dims.rhsInner) : std::tie(dims.lhs, dims.lhsInner);
  bool hasDenseRows = !inner.empty() && matrix.strides[inner.back()].isConstant(1);
  bool isVector = m.isConstant(1) || n.isConstant(1), isScalar = m.isConstant(1) && n.isConstant(1);
  if (isScalar || (isVector && !hasDenseRows))
    return contractRow(op, dims, to);
  LaunchWords words(builder.getContext());
  words.numbers({SymExpr(int64_t(dims.lhs.dtype)), SymExpr(int64_t(dims.rhs.dtype)),
                 SymExpr(int64_t(to.dtype))});
  words.address(dims.lhs);
  words.address(dims.rhs);
  words.address(to);
  for (const SmallVector<unsigned> *group : {&dims.lhsBatch, &dims.m, &dims.n, &dims.lhsInner})
    words.number(int64_t(group->size()));
  words.numbers(sizes(dims.lhs, dims.lhsBatch));
  words.numbers(sizes(dims.lhs, dims.m));
  words.numbers(sizes(dims.rhs, dims.n));
  words.numbers(sizes(dims.lhs, dims.lhsInner));
  for (const SmallVector<unsigned> *group : {&dims.lhsBatch, &dims.m, &dims.lhsInner})
    words.numbers(ContractDims::pick(dims.lhs.strides, *group));
  for (const SmallVector<unsigned> *group : {&dims.rhsBatch, &dims.n, &dims.rhsInner})
    words.numbers(ContractDims::pick(dims.rhs.strides, *group));
  SymExpr tiles = batch * m.ceilDiv(ready::contractRows) * n.ceilDiv(ready::contractColumns);
  launch("ready_contract", words, tiles, (batch * m * n * k).ceilDiv(16));
}

/// A contraction that gives one row or column reads its operands once: a reduction of products.
void Interpreter::contractRow(gir::ContractOp op, const ContractDims &dims, const View &to) {
  Shape iteration = to.sizes;
  iteration.append(ContractDims::pick(dims.lhs.sizes, dims.lhsInner));
  auto spread = [&](const View &view, ArrayRef<unsigned> batch, ArrayRef<unsigned> free,
                    unsigned firstFree, ArrayRef<unsigned> inner) {
    Shape strides(iteration.size(), SymExpr(0));
    for (auto [i, d] : llvm::enumerate(batch))
      strides[i] = view.strides[d];
    for (auto [i, d] : llvm::enumerate(free))
      strides[firstFree + i] = view.strides[d];
    for (auto [i, d] : llvm::enumerate(inner))
      strides[to.rank() + i] = view.strides[d];
    return view.with(iteration, strides);
  };
  unsigned batches = dims.lhsBatch.size();
  Expression expression(iteration);
  Compute type = ready::computeOf(to.dtype);
  auto factor = [&](const View &view) { return expression.cast(expression.leaf(view), type); };
  Expression::Index lhs = factor(spread(dims.lhs, dims.lhsBatch, dims.m, batches, dims.lhsInner));
  Expression::Index rhs =
      factor(spread(dims.rhs, dims.rhsBatch, dims.n, batches + dims.m.size(), dims.rhsInner));
  Expression::Index value = expression.instruction(uint16_t(ScalarOp::Mul), type, type, {lhs, rhs});
  if (dims.lhsInner.empty())
    return launchExpression(expression, value, to);
  launchExpression(expression, value, to, dims.lhsInner.size(), ReduceOp::Sum);
}

//===----------------------------------------------------------------------===//
// Scans, sorts and scatters
//===----------------------------------------------------------------------===//

void Interpreter::convertScan(gir::ScanOp op) {
  View input = inDenseMemory(op.getInput());
  std::optional<View> keys;
  if (op.getKey())
    keys = inDenseMemory(op.getKey());
  View to = allocate(input.dtype, input.sizes);
  ArrayRef<SymExpr> sizes = to.sizes;
  unsigned dim = op.getDim();
  SymExpr outer = product(sizes.take_front(dim)), length = sizes[dim],
          inner = product(sizes.drop_front(dim + 1));
  Shape strides{length * inner, inner, SymExpr(1)};
  LaunchWords words(builder.getContext());
  words.numbers({SymExpr(int64_t(op.getReduceOp())), SymExpr(int64_t(input.dtype))});
  words.address(input);
  words.address(to);
  words.numbers({outer, length, inner});
  words.numbers(strides);
  if (keys) {
    words.number(int64_t(keys->dtype));
    words.address(*keys);
    words.numbers(strides);
    words.number(int64_t(*op.getBelow()));
  }
  launch(keys ? "ready_scan_by_key" : "ready_scan", words, outer * inner, outer * length * inner);
  views[op.getResult()] = to;
}

void Interpreter::convertConcat(gir::ConcatOp op) {
  View to = allocate(dtypeOf(op.getResult()), shapeOf(op.getResult()));
  SymExpr start = 0;
  for (Value input : op.getInputs()) {
    View part = viewOfValue(input);
    Expression expression(part.sizes);
    View place = to.with(part.sizes, to.strides);
    place.origin = start * to.strides[op.getDim()];
    launchExpression(expression, expression.leaf(part), place);
    start = start + part.sizes[op.getDim()];
  }
  views[op.getResult()] = to;
}

void Interpreter::convertScatterAdd(gir::ScatterAddOp op) {
  View input = viewOfValue(op.getInput()), sources = inMemory(op.getSources()),
       indices = inMemory(op.getIndices());
  bool isNarrow = isFloat(input.dtype) && dtypeBytes(input.dtype) < 4;
  View sums = allocate(isNarrow ? DType::FP32 : input.dtype, input.sizes);
  Expression copy(input.sizes);
  launchExpression(copy, copy.leaf(input), sums);
  auto asSums = [&](View view) { // sources in the type of the sums
    if (view.dtype == sums.dtype)
      return view;
    View wide = allocate(sums.dtype, view.sizes);
    Expression expression(view.sizes);
    launchExpression(expression, expression.leaf(view), wide);
    return wide;
  };
  sources = asSums(sources);
  LaunchWords words(builder.getContext());
  words.number(int64_t(sums.dtype));
  words.address(sums);
  words.numbers({SymExpr(int64_t(sums.rank())), SymExpr(int64_t(op.getDim()))});
  words.numbers(sums.sizes);
  words.numbers(sources.sizes);
  words.address(sources);
  words.numbers(sources.strides);
  words.number(int64_t(indices.dtype));
  words.address(indices);
  words.numbers(indices.strides);
  launch("ready_scatter_add", words, 1, product(sources.sizes) * 8);
  View result = sums;
  if (isNarrow) {
    result = allocate(input.dtype, input.sizes);
    Expression round(input.sizes);
    launchExpression(round, round.leaf(sums), result);
  }
  views[op.getResult()] = result;
}

void Interpreter::convertScatter(gir::ScatterOp op) {
  View sources = inMemory(op.getSources()), indices = inMemory(op.getIndices());
  View to = allocate(sources.dtype, shapeOf(op.getResult()));
  LaunchWords words(builder.getContext());
  words.number(int64_t(to.dtype));
  words.address(to);
  words.numbers(
      {product(ArrayRef(to.sizes).drop_back()), to.sizes.back(), SymExpr(int64_t(sources.rank()))});
  words.numbers(sources.sizes);
  words.address(sources);
  words.numbers(sources.strides);
  words.number(int64_t(indices.dtype));
  words.address(indices);
  words.numbers(indices.strides);
  launch("ready_scatter", words, 1, product(sources.sizes) * 4);
  views[op.getResult()] = to;
}

void Interpreter::convertSort(gir::ArgSortOp op) {
  View input = inMemory(op.getInput());
  View to = allocate(DType::Int64, shapeOf(op.getResult()));
  ArrayRef<SymExpr> sizes = input.sizes, strides = input.strides;
  SymExpr rows = product(sizes.drop_back());
  LaunchWords words(builder.getContext());
  words.number(int64_t(input.dtype));
  words.address(input);
  words.address(to);
  words.number(int64_t(sizes.size()) - 1);
  words.numbers(sizes.drop_back());
  words.numbers({sizes.back(), to.sizes.back(), SymExpr(int64_t(op.getDescending()))});
  words.numbers(strides);
  launch("ready_argsort", words, rows, product(sizes) * 64);
  views[op.getResult()] = to;
}

//===----------------------------------------------------------------------===//
// Effects and results
//===----------------------------------------------------------------------===//

void Interpreter::convertCheck(gir::CheckOp op) {
  View condition = inMemory(op.getCondition()), value = inMemory(op.getValue());
  LaunchWords words(builder.getContext());
  words.number(int64_t(condition.rank()));
  words.numbers(condition.sizes);
  words.address(condition);
  words.numbers(condition.strides);
  words.number(int64_t(value.dtype));
  words.address(value);
  words.numbers(value.strides);
  launch("ready_check", words, 1, product(condition.sizes) * 2,
         builder.getArrayAttr({op.getFailure()}));
}

void Interpreter::convertPrint(gir::PrintOp op) {
  View view = inDenseMemory(op.getValue());
  bool isWhole = view.memory.getDefiningOp<target::AllocateOp>() && view.origin.isConstant(0) &&
                 view.memory.getType() == op.getValue().getType();
  if (!isWhole)
    view = copied(view);
  target::PrintOp::create(builder, op.getLoc(), op.getLabelAttr(), view.memory);
}

void Interpreter::convertReturn(func::ReturnOp op) {
  llvm::DenseSet<Value> returned;
  for (Value value : op.getOperands()) {
    View view = inDenseMemory(value);
    bool isWhole = view.memory.getDefiningOp<target::AllocateOp>() && view.origin.isConstant(0) &&
                   view.memory.getType() == value.getType();
    if (!isWhole || !returned.insert(view.memory).second)
      view = copied(view);
    returned.insert(view.memory);
    target::ResultOp::create(builder, op.getLoc(), view.memory);
  }
}

LogicalResult Interpreter::convert(Operation *op) {
  at = op->getLoc();
  for (Type type : op->getResultTypes())
    if (!isa<gir::TensorType>(type))
      return op->emitError("is not supported by the interpreter");
  // Others are put off until something needs them in memory.
  if (isa<gir::ConstantOp, gir::SizeOp, gir::IotaOp>(op) || isView(op) || isElementwise(op))
    return success();
  bool isKnown = llvm::TypeSwitch<Operation *, bool>(op)
                     .Case([&](gir::ReduceOp op) { return convertReduce(op), true; })
                     .Case([&](gir::ContractOp op) { return convertContract(op), true; })
                     .Case([&](gir::ScanOp op) { return convertScan(op), true; })
                     .Case([&](gir::ConcatOp op) { return convertConcat(op), true; })
                     .Case([&](gir::ScatterAddOp op) { return convertScatterAdd(op), true; })
                     .Case([&](gir::ScatterOp op) { return convertScatter(op), true; })
                     .Case([&](gir::ArgSortOp op) { return convertSort(op), true; })
                     .Case([&](gir::CheckOp op) { return convertCheck(op), true; })
                     .Case([&](gir::PrintOp op) { return convertPrint(op), true; })
                     .Case([&](func::ReturnOp op) { return convertReturn(op), true; })
                     .Default([](Operation *) { return false; });
  if (!isKnown)
    return op->emitError("operation '") << op->getName() << "' is not supported by the interpreter";
  if (isTooLarge)
    return op->emitError("an operation of more than ")
           << ready::maxRank << " dimensions is not supported by the interpreter";
  return success();
}

FailureOr<target::ProgramOp> Interpreter::run() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("a function of several blocks is not supported by the interpreter");
  auto program = target::ProgramOp::create(builder, function.getLoc(), function.getSymName());
  OpBuilder::InsertionGuard insertion(builder);
  builder.createBlock(&program.getBody());
  buildSignature(function, builder, {}, mapping);
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    View view;
    view.memory = mapping.lookup(argument);
    view.dtype = dtypeOf(argument);
    view.sizes = shapeOf(argument);
    if (function.getArgAttr(i, gir::kScalarAttr)) {
      view.kind = View::Scalar;
    } else if (function.getArgAttr(i, gir::kContiguousAttr)) {
      view.strides = denseStrides(view.sizes);
    } else {
      std::string name = argumentName(function, i);
      for (unsigned d = 0; d < view.rank(); ++d)
        view.strides.push_back(SymExpr::symbol(name + ".stride." + std::to_string(d)));
    }
    views[argument] = view;
  }
  chooseLaunches(function.getBody().front());
  for (Operation &op : function.getBody().front())
    if (failed(convert(&op)))
      return failure();
  return program;
}

/// Composites become basic operations, but for those that a ready kernel computes.
static void decompose(func::FuncOp function) {
  bool changed = true;
  while (changed) {
    changed = false;
    SmallVector<gir::CompositeOpInterface> composites;
    for (Operation &op : function.getBody().getOps())
      if (auto composite = dyn_cast<gir::CompositeOpInterface>(op);
          composite && !isa<gir::ScatterAddOp>(op))
        composites.push_back(composite);
    for (gir::CompositeOpInterface op : composites) {
      OpBuilder builder(op);
      op->getResult(0).replaceAllUsesWith(op.decompose(builder));
      op->erase();
      changed = true;
    }
  }
}

StringRef interpreter::exactOption(func::FuncOp function) {
  if (gir::numericsOption(function, "numerics") == "strict")
    return "numerics";
  for (StringRef name : {"deterministic", "batch_invariant"})
    if (gir::numericsOption(function, name) == "true")
      return name;
  return gir::numericsOption(function, "accum").empty() ? "" : "accum";
}

FailureOr<target::ProgramOp> interpreter::interpret(func::FuncOp function, OpBuilder &builder) {
  function.getContext()->loadDialect<target::TargetDialect>();
  decompose(function);
  return Interpreter(function, builder).run();
}
