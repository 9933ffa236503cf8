//===- Emitter.cpp - Arguments, scopes and orders of a tile kernel --------===//
#include "Emitter.h"

using namespace mlir;
using namespace tessera;

/// The bit of a dependence on the states of the open stream. Dimensions have the bits below.
static constexpr unsigned kStreamBit = 63;

Emitter::Emitter(sched::KernelOp kernel, tile::KernelOp target, const SizeFacts &facts,
                 ArrayRef<Value> outputs)
    : kernel(kernel), target(target), facts(facts), builder(kernel.getContext()),
      loc(kernel.getLoc()), outputs(outputs) {}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult Emitter::check() {
  if (kernel.getDims().size() >= kStreamBit)
    return kernel.emitOpError() << "expected fewer than " << kStreamBit << " dimensions, got "
                                << kernel.getDims().size();
  if (failed(findPieces()))
    return failure();
  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    if (isa<sched::LoadOp, sched::StoreOp>(op)) {
      bool isLoad = isa<sched::LoadOp>(op);
      Value tensor = op->getOperand(isLoad ? 0 : 1);
      ArrayAttr index =
          isLoad ? cast<sched::LoadOp>(op).getIndex() : cast<sched::StoreOp>(op).getIndex();
      SmallVector<SymExpr> below;
      if (auto limits = op->getAttrOfType<ArrayAttr>("below"))
        for (StringAttr text : limits.getAsRange<StringAttr>())
          below.push_back(*SymExpr::parse(text.getValue().str()));
      FailureOr<Access> access = analyseAccess(op, kernel, hostTensor(tensor), index, below);
      if (failed(access))
        return WalkResult::interrupt();
      accesses[op] = *access;
      return WalkResult::advance();
    }
    if (auto sort = dyn_cast<sched::SortOp>(op); sort && failed(checkSort(sort)))
      return WalkResult::interrupt();
    if (!isa<sched::GaugeOp, sched::AccumulateOp>(op))
      return WalkResult::advance();
    // A state is carried across blocks, so a block must cover its inner dimensions.
    for (sched::DimAttr dim : kernel.getDims().getAsRange<sched::DimAttr>()) {
      uint64_t bit = getDimBits(dim.getName());
      bool depends =
          llvm::any_of(op->getOperands(), [&](Value v) { return getDependence(v) & bit; });
      if (depends && dim.isInner() && !fits(dim)) {
        op->emitOpError() << "expected the tile of inner dimension '" << dim.getName().getValue()
                          << "' to cover its size " << dim.getSize().str() << ", got "
                          << dim.getTile();
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Where warpgroups multiply, a tile that is no power of two has pieces.
LogicalResult Emitter::findPieces() {
  if (kernel.getTuningConfig().get(TuningField::Wgmma) != 1)
    return success();
  for (sched::DimAttr dim : kernel.getDims().getAsRange<sched::DimAttr>()) {
    if (!dim.isParallel() || llvm::isPowerOf2_64(dim.getTile()))
      continue;
    bool onlySums = !kernel
                         .walk([](Operation *op) {
                           bool isOther = isa<sched::GaugeOp, sched::ScanOp, sched::SortOp,
                                              sched::VisitOp, sched::CheckOp>(op);
                           return isOther ? WalkResult::interrupt() : WalkResult::advance();
                         })
                         .wasInterrupted();
    if (pieced || !onlySums)
      return kernel.emitOpError() << "expected a power of two as tile of dimension '"
                                  << dim.getName().getValue() << "', got " << dim.getTile();
    pieced = dim.getName();
    pieces = unsigned(dim.getTile() >> llvm::countr_zero(uint64_t(dim.getTile())));
  }
  return success();
}

void Emitter::forPieces(uint64_t dependence, llvm::function_ref<void()> emit) {
  unsigned count = pieced && (dependence & getDimBits(pieced)) ? pieces : 1;
  for (piece = 0; piece < count; ++piece)
    emit();
  piece = 0;
}

/// A block has whole rows, which one CTA sorts.
LogicalResult Emitter::checkSort(sched::SortOp op) {
  auto along = cast<StringAttr>(cast<sched::StreamOp>(op->getParentOp()).getOver()[0]);
  sched::DimAttr dim = kernel.getDim(along);
  if (fits(dim))
    return success();
  return op.emitOpError() << "expected the tile of sorted dimension '" << along.getValue()
                          << "' to cover its size " << dim.getSize().str() << ", got "
                          << dim.getTile();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Value Emitter::hostTensor(Value argument) {
  unsigned i = llvm::cast<BlockArgument>(argument).getArgNumber();
  unsigned inputs = kernel.getInputs().size();
  return i < inputs ? kernel.getInputs()[i] : outputs[i - inputs];
}

bool Emitter::isScalarArgument(Value argument) {
  auto tensor = dyn_cast<BlockArgument>(hostTensor(argument));
  auto func = tensor ? dyn_cast<func::FuncOp>(tensor.getOwner()->getParentOp()) : nullptr;
  return func && func.getArgAttr(tensor.getArgNumber(), gir::kScalarAttr);
}

/// `text` as an SSA name: `S - 1` is `S_minus_1`.
static std::string ssaName(StringRef text) {
  std::string name;
  for (char c : text) {
    if (llvm::isAlnum(c) || c == '_')
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
    if (StringRef sign = c == '-'   ? "minus_"
                         : c == '+' ? "plus_"
                         : c == '*' ? "times_"
                                    : "";
        !sign.empty())
      name += sign;
  }
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  return name;
}

Value Emitter::getView(const Access &access, Value tensor) {
  tile::OperandViewAttr view = access.getOperandView(kernel.getContext());
  for (ViewArgument &argument : views)
    if (argument.tensor == tensor && argument.view == view)
      return argument.argument;
  Type element = llvm::cast<gir::TensorType>(tensor.getType()).getElementType();
  Value argument = target.getBody().front().insertArgument(
      views.size(), access.getViewType(element, facts), tensor.getLoc());
  views.push_back({tensor, view, argument});
  return argument;
}

Value Emitter::getSize(SymExpr e) {
  auto [it, isNew] = sizes.try_emplace(e.opaque(), e, Value());
  if (isNew)
    it->second.second = target.getBody().front().insertArgument(views.size() + sizes.size() - 1,
                                                                builder.getIndexType(), loc);
  return it->second.second;
}

Value Emitter::getScalar(Value tensor) {
  Value &argument = scalars[tensor];
  if (!argument)
    argument = target.getBody().front().addArgument(
        llvm::cast<gir::TensorType>(tensor.getType()).getElementType(), tensor.getLoc());
  return argument;
}

void Emitter::emitLaunch(OpBuilder &hostBuilder) {
  Block &body = target.getBody().front();
  target.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), {}));
  auto setName = [&](Value argument, StringRef name) {
    if (!name.empty())
      target.setArgAttr(llvm::cast<BlockArgument>(argument).getArgNumber(), tile::kNameAttr,
                        builder.getStringAttr(name));
  };
  auto tensorName = [&](Value tensor) -> std::string {
    if (llvm::is_contained(outputs, tensor))
      return "out";
    auto argument = dyn_cast<BlockArgument>(tensor);
    auto func = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
    auto name = func ? func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), gir::kNameAttr)
                     : StringAttr();
    return name ? ssaName(name) : "in";
  };

  SmallVector<Value> tensors, scalarTensors;
  SmallVector<Attribute> viewAttrs;
  SmallVector<std::string> texts;
  SmallVector<SymExpr> grid;
  for (StringAttr name : getGridOrder()) {
    sched::DimAttr dim = kernel.getDim(name);
    SymExpr count = dim.getSize().ceilDiv(dim.getTile());
    if (grid.size() < kMaxGridRank)
      grid.push_back(count);
    else
      grid.back() = grid.back() * count;
  }
  if (grid.empty())
    grid.push_back(1);
  target.setGridRank(grid.size());
  for (SymExpr count : grid)
    texts.push_back(count.str());
  ArrayAttr gridAttr = builder.getStrArrayAttr(SmallVector<StringRef>(texts.begin(), texts.end()));
  for (ViewArgument &view : views) {
    tensors.push_back(view.tensor);
    viewAttrs.push_back(view.view);
    setName(view.argument, tensorName(view.tensor));
  }
  texts.clear();
  for (auto &[key, size] : sizes) {
    texts.push_back(size.first.str());
    setName(size.second, ssaName(texts.back()));
  }
  ArrayAttr sizeAttr = builder.getStrArrayAttr(SmallVector<StringRef>(texts.begin(), texts.end()));
  for (auto &[tensor, argument] : scalars) {
    scalarTensors.push_back(tensor);
    setName(argument, tensorName(tensor));
  }
  tile::LaunchOp::create(hostBuilder, kernel.getLoc(), target.getSymName(), gridAttr, tensors,
                         builder.getArrayAttr(viewAttrs), sizeAttr, scalarTensors);
}

//===----------------------------------------------------------------------===//
// Scopes and loops
//===----------------------------------------------------------------------===//

void Emitter::setInsertionPoint() {
  if (top().child)
    builder.setInsertionPoint(top().child);
  else
    builder.setInsertionPointToEnd(top().block);
}

Value Emitter::atDepth(unsigned depth, llvm::function_ref<Value()> emit) {
  SmallVector<Scope *> saved = scopes;
  scopes.truncate(depth + 1);
  Value result = emit();
  scopes = saved;
  return result;
}

Values Emitter::emitLoop(Value first, Value end, StringAttr dim, bool ragged, ValueRange inits,
                         Body body, llvm::function_ref<void(Scope &)> prepare) {
  Value one = getConstant(1);
  auto loop = create<scf::ForOp>(first, end, one, inits);
  if (!loop.getBody()->empty())
    loop.getBody()->getTerminator()->erase();
  Scope scope;
  scope.block = loop.getBody();
  scope.coords[dim] = loop.getInductionVar();
  if (ragged)
    scope.ragged.push_back(dim);
  if (prepare)
    prepare(scope);
  Operation *outerChild = std::exchange(top().child, loop);
  scopes.push_back(&scope);
  Values results = body(loop.getRegionIterArgs());
  create<scf::YieldOp>(results);
  scopes.pop_back();
  top().child = outerChild;
  return Values(loop.getResults());
}

Values Emitter::emitLoops(ArrayRef<StringAttr> dims, bool peel, ValueRange inits, Body body) {
  if (dims.empty())
    return body(inits);
  sched::DimAttr dim = kernel.getDim(dims.front());
  auto inside = [&](ValueRange values) { return emitLoops(dims.drop_front(), peel, values, body); };
  Value blocks = emitScalar(dim.getSize().ceilDiv(dim.getTile()));
  bool ragged = mayBeRagged(dim);
  if (!ragged || !peel || dims.size() > 1)
    return emitLoop(getConstant(0), blocks, dim.getName(), ragged, inits, inside);
  Value whole = emitScalar(dim.getSize().floorDiv(dim.getTile()));
  Values values = emitLoop(getConstant(0), whole, dim.getName(), false, inits, inside);
  return emitLoop(whole, blocks, dim.getName(), true, values, inside);
}

Values Emitter::emitIf(Value condition, TypeRange types, llvm::function_ref<Values()> then,
                       llvm::function_ref<Values()> otherwise,
                       llvm::function_ref<void(Scope &, bool)> prepare) {
  auto branch = create<scf::IfOp>(types, condition, /*addThenBlock=*/true, /*addElseBlock=*/true);
  Operation *outerChild = std::exchange(top().child, branch);
  for (bool isThen : {true, false}) {
    Scope scope;
    scope.block = isThen ? branch.thenBlock() : branch.elseBlock();
    if (prepare)
      prepare(scope, isThen);
    scopes.push_back(&scope);
    create<scf::YieldOp>(isThen ? then() : otherwise());
    scopes.pop_back();
  }
  top().child = outerChild;
  return Values(branch.getResults());
}

Scope *Emitter::findScope(StringAttr dim) {
  for (Scope *scope : llvm::reverse(scopes))
    if (scope->coords.contains(dim))
      return scope;
  return nullptr;
}

Scope *Emitter::findStream() {
  for (Scope *scope : scopes)
    if (scope->stream)
      return scope;
  return nullptr;
}

bool Emitter::isRagged(StringAttr dim) {
  Scope *scope = findScope(dim);
  return scope && llvm::is_contained(scope->ragged, dim);
}

/// Whether one block covers the dimension, which then needs no loop. A dimension of tile size 1 has
/// no edge that could be masked, so it needs a loop unless its size is 1.
bool Emitter::fits(sched::DimAttr dim) {
  if (dim.getTile() == 1)
    return dim.getSize().isConstant(1);
  return facts.max(dim.getSize()) <= dim.getTile();
}

/// Whether some block of the dimension may reach past its size.
bool Emitter::mayBeRagged(sched::DimAttr dim) {
  if (dim.getTile() == 1)
    return false;
  if (!dim.isStream() && fits(dim)) // always one block, also for size 0
    return !dim.getSize().isConstant(dim.getTile());
  return !facts.divisibleBy(dim.getSize(), dim.getTile());
}

//===----------------------------------------------------------------------===//
// Dependence
//===----------------------------------------------------------------------===//

uint64_t Emitter::getDimBits(ArrayRef<StringAttr> dims) {
  uint64_t bits = 0;
  for (StringAttr dim : dims)
    bits |= uint64_t(1) << kernel.getDimPosition(dim);
  return bits;
}

uint64_t Emitter::getDependence(Value value) {
  auto it = dependences.find(value);
  if (it != dependences.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  uint64_t bits = 0;
  if (isa<sched::LoadOp, sched::IndexOp>(op)) {
    bits = getDimBits(llvm::cast<sched::ValType>(value.getType()).getDims());
    if (auto load = dyn_cast<sched::LoadOp>(op))
      for (Value index : load.getPlaces())
        bits |= getDependence(index);
  } else if (auto stream = dyn_cast<sched::StreamOp>(op)) {
    Operation *yield = stream.getBody().front().getTerminator();
    if (pieced)
      bits = getDependence(yield->getOperand(cast<OpResult>(value).getResultNumber())) &
             getDimBits(pieced);
  } else {
    for (Value operand : op->getOperands())
      bits |= getDependence(operand);
    if (auto reduce = dyn_cast<sched::ReduceOp>(op))
      for (StringAttr dim : reduce.getOver().getAsRange<StringAttr>())
        bits &= ~getDimBits(dim);
    if (isa<sched::ScanOp>(op))
      bits |= getDimBits(llvm::cast<sched::ValType>(value.getType()).getDims());
    if (isa<sched::GaugeOp, sched::ScanOp>(op) ||
        (isa<sched::MaskOp>(op) && isa<sched::StreamOp>(op->getParentOp())))
      bits |= uint64_t(1) << kStreamBit;
  }
  return dependences[value] = bits;
}

unsigned Emitter::getDepth(uint64_t dependence) {
  for (unsigned depth = scopes.size() - 1; depth > 0; --depth) {
    Scope &scope = *scopes[depth];
    if (scope.stream && (dependence >> kStreamBit & 1))
      return depth;
    for (auto &[dim, coord] : scope.coords)
      if (dependence & getDimBits(dim))
        return depth;
  }
  return 0;
}

unsigned Emitter::getDepth(SymExpr e) { return getDepth(getDimBits(kernel.getDimsIn(e))); }

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

Order Emitter::getOrder(ArrayRef<StringAttr> dims) {
  Order order;
  for (sched::DimAttr dim : kernel.getDims().getAsRange<sched::DimAttr>())
    if (dim.getTile() > 1 && llvm::is_contained(dims, dim.getName()))
      order.push_back(dim.getName());
  return order;
}

Order Emitter::getOrder(Value value) {
  return getOrder(llvm::cast<sched::ValType>(value.getType()).getDims());
}

/// The axes of `a` in their order, with those of `b` in declaration order, or last.
Order Emitter::unionOrder(const Order &a, ArrayRef<StringAttr> b) {
  SmallVector<StringAttr> all(a.begin(), a.end());
  llvm::append_range(all, b);
  Order sorted = getOrder(all);
  Order kept = sorted;
  llvm::erase_if(kept, [&](StringAttr dim) { return !llvm::is_contained(a, dim); });
  if (kept == a)
    return sorted;
  Order order = a;
  for (StringAttr dim : sorted)
    if (!llvm::is_contained(a, dim))
      order.push_back(dim);
  return order;
}

RankedTensorType Emitter::tileType(const Order &order, Type element) {
  SmallVector<int64_t> shape;
  for (StringAttr dim : order)
    shape.push_back(tileOf(dim));
  return RankedTensorType::get(shape, element);
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// The parallel dimensions of the grid with more than one block; the first varies fastest.
SmallVector<StringAttr> Emitter::getGridOrder() {
  SmallVector<StringAttr> order(kernel.getOrder().getAsRange<StringAttr>());
  llvm::erase_if(order, [&](StringAttr name) { return fits(kernel.getDim(name)); });
  return order;
}

/// Computes tile coordinates from program ids; the last id covers all remaining dimensions.
void Emitter::emitCoordinates() {
  SmallVector<StringAttr> order = getGridOrder();
  Value rest;
  for (auto [i, name] : llvm::enumerate(order)) {
    if (i < kMaxGridRank)
      rest = create<tile::ProgramIdOp>(builder.getIndexType(), i);
    Value coordinate = rest;
    if (i + 1 >= kMaxGridRank && i + 1 < order.size()) {
      sched::DimAttr dim = kernel.getDim(name);
      Value count = emitScalar(dim.getSize().ceilDiv(dim.getTile()));
      coordinate = create<arith::RemUIOp>(rest, count);
      rest = create<arith::DivUIOp>(rest, count);
    }
    top().coords[name] = coordinate;
  }
}

void Emitter::emit() {
  Scope scope;
  scope.block = &target.getBody().front();
  scopes.push_back(&scope);
  emitCoordinates();
  for (sched::DimAttr dim : kernel.getDims().getAsRange<sched::DimAttr>()) {
    if (!dim.isStream() && fits(dim))
      scope.coords[dim.getName()] = getConstant(0);
    if (scope.coords.contains(dim.getName()) && mayBeRagged(dim))
      scope.ragged.push_back(dim.getName());
  }
  if (pieced) {
    Value first = fold<arith::MulIOp>(scope.coords[pieced], getConstant(pieces));
    for (unsigned i = 0; i < pieces; ++i)
      pieceCoords.push_back(fold<arith::AddIOp>(first, getConstant(i)));
  }
  for (Operation &op : kernel.getBody().front()) {
    loc = op.getLoc();
    if (auto stream = dyn_cast<sched::StreamOp>(op))
      emitStream(stream);
    else if (auto store = dyn_cast<sched::StoreOp>(op))
      forPieces(storeDependence(store), [&] { emitStore(store); });
    else if (auto check = dyn_cast<sched::CheckOp>(op))
      emitCheck(check);
  }
  loc = kernel.getLoc();
  create<tile::ReturnOp>();
  scopes.clear();
}
