//===- EmitStream.cpp - Streams: loops that carry gauges and states -------===//
//
// The blocks along the last stream dimension form a head with masks, a middle in which no mask has
// any effect, and a tail with masks. The three loops have the same body up to masks and edges.
// Loops that are empty for all sizes are not emitted.
//
// Passes.td states the arithmetic of gauges.
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"

using namespace mlir;
using namespace tessera;

static sched::ValType valType(Value value) { return cast<sched::ValType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Gauges
//===----------------------------------------------------------------------===//

/// Whether an element can be -inf although the inputs of contractions are finite.
bool Emitter::mayBeMinusInf(Value value, bool full) {
  Operation *op = value.getDefiningOp();
  auto anyOperand = [&](ValueRange operands) {
    return llvm::any_of(operands, [&](Value v) { return mayBeMinusInf(v, full); });
  };
  if (auto reduce = dyn_cast<sched::ReduceOp>(op))
    return reduce.getValues().size() != 2;
  if (auto constant = dyn_cast<sched::ConstantOp>(op)) {
    auto number = dyn_cast<FloatAttr>(constant.getValue());
    return number && !number.getValue().isFinite();
  }
  if (isa<sched::IndexOp>(op))
    return false;
  if (isa<sched::CastOp>(op))
    return anyOperand(op->getOperands());
  if (auto mask = dyn_cast<sched::MaskOp>(op))
    return !full || mayBeMinusInf(mask.getValue(), full);
  auto mapOp = dyn_cast<sched::MapOp>(op);
  if (!mapOp)
    return true;
  switch (mapOp.getScalarOp()) {
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Mul:
  case ScalarOp::Neg:
  case ScalarOp::Maximum:
  case ScalarOp::Minimum:
    return anyOperand(mapOp.getInputs());
  case ScalarOp::Tanh:
  case ScalarOp::Sigmoid:
  case ScalarOp::Erf:
  case ScalarOp::Sin:
  case ScalarOp::Cos:
    return false;
  default:
    return true;
  }
}

/// Whether exponents are scaled before the reference is subtracted, by one FMA. The rounding error
/// of the scaled reference is then a common factor of all weights, which cancels where nothing else
/// uses the gauge. For scales above 1 it is too large for weights that an MMA rounds to 16 bits.
static bool scalesBeforeSubtraction(Value gauge) {
  auto op = gauge.getDefiningOp<sched::GaugeOp>();
  if (auto stream = gauge.getDefiningOp<sched::StreamOp>()) {
    unsigned number = llvm::cast<OpResult>(gauge).getResultNumber();
    op = stream.getBody()
             .front()
             .getTerminator()
             ->getOperand(number)
             .getDefiningOp<sched::GaugeOp>();
  }
  if (!op || op.getIndicator())
    return false;
  double scale = op.getScale().convertToDouble();
  Type element = llvm::cast<sched::ValType>(op.getType()).getElementType();
  if (scale <= 0 || scale == 1 || scale >= 2 || (scale > 1 && !element.isF32() && !element.isF64()))
    return false;
  auto isReference = [scale](OpOperand &use) {
    if (auto weigh = dyn_cast<sched::WeighOp>(use.getOwner()))
      return weigh.getGauge() == use.get() && weigh.getExponent() != use.get();
    auto accumulate = dyn_cast<sched::AccumulateOp>(use.getOwner());
    return accumulate && !llvm::is_contained(accumulate.getValues(), use.get()) &&
           (scale < 1 || accumulate.getValues().size() == 1);
  };
  return llvm::all_of(op.getResult().getUses(), [&](OpOperand &use) {
    auto yield = dyn_cast<sched::YieldOp>(use.getOwner());
    return yield ? llvm::all_of(yield->getParentOp()->getResult(use.getOperandNumber()).getUses(),
                                isReference)
                 : isReference(use);
  });
}

/// Whether an element is compared with an indicator, or with nan: it can share the masked tile of
/// which the indicator is the maximum.
bool Emitter::isCompared(OpOperand &operand) {
  auto comparison = llvm::cast<sched::MapOp>(operand.getOwner());
  auto isIndicator = [&](Operation *user) {
    auto gauge = dyn_cast<sched::GaugeOp>(user);
    return gauge && gauge.getIndicator() && gauge->getBlock() == comparison->getBlock();
  };
  bool compares =
      comparison.getScalarOp() == ScalarOp::Eq || comparison.getScalarOp() == ScalarOp::IsNan;
  return compares && llvm::any_of(operand.get().getUsers(), isIndicator);
}

/// The exponent with -inf past the edges of the stream.
Value Emitter::emitExponent(Value exponent, const Order &order) {
  SmallVector<StringAttr> over(findStream()->stream.getOver().getAsRange<StringAttr>());
  return emitOperand(ReduceOp::Max, exponent, order, over);
}

GaugeStep Emitter::getGaugeStep(sched::GaugeOp op) {
  Scope *body = findStream();
  auto it = body->gauges.find(op);
  if (it != body->gauges.end())
    return it->second;
  Location outerLoc = std::exchange(loc, op.getLoc());
  auto stream = llvm::cast<sched::StreamOp>(op->getParentOp());
  GaugeStep step;
  atDepth(llvm::find(scopes, body) - scopes.begin(), [&] {
    SmallVector<StringAttr> over(stream.getOver().getAsRange<StringAttr>());
    Order order = getOrder(op.getResult());
    Type element = valType(op.getResult()).getElementType();
    Value before = body->carried[{op, 0}];
    // A nan makes its weight and with it the sums nan, so the maximum may drop it. An indicator has
    // no weights.
    Value largest = emitCombine(ReduceOp::Max, op.getExponent(), over, order, element, {},
                                /*skipNan=*/!op.getIndicator());
    if (op.getIndicator()) {
      step.next = before ? map(ScalarOp::Maximum, {before, largest}) : largest;
      if (before)
        step.rebase = map(ScalarOp::Eq, {before, step.next});
      if (before && isa<FloatType>(element)) // a nan stays
        step.rebase = map(ScalarOp::Or, {step.rebase, map(ScalarOp::IsNan, before)});
      return Value();
    }
    bool mayBeInfinite = mayBeMinusInf(op.getExponent(), body->full);
    bool isPrescaled = scalesBeforeSubtraction(op.getResult());
    step.update = create<tile::OnlineUpdateOp>(
        largest, before, op.getScale(), before ? stream.getLag() : llvm::APFloat(0.0),
        /*guarded=*/mayBeInfinite, isPrescaled, /*adaptive=*/isPrescaled && mayBeInfinite);
    step.next = before ? step.update.getNext() : largest;
    step.rebase = before ? step.update.getFactor() : Value();
    return Value();
  });
  loc = outerLoc;
  return body->gauges[op] = step;
}

/// A later pass over the stream emits its weights like the first one, edges included, so that in a
/// single block they are the same tile. The stream may have been empty, so that the reference is
/// always made finite.
Value Emitter::generateWeigh(sched::WeighOp op, const Order &order) {
  Order gaugeOrder = getOrder(op.getGauge());
  Value exponent = emitExponent(op.getExponent(), order);
  tile::OnlineUpdateOp update;
  if (auto gauge = op.getGauge().getDefiningOp<sched::GaugeOp>())
    update = getGaugeStep(gauge).update;
  else
    atDepth(getDepth(getDependence(op.getGauge())), [&] {
      bool isPrescaled = scalesBeforeSubtraction(op.getGauge());
      update = create<tile::OnlineUpdateOp>(
          emitTile(op.getGauge(), gaugeOrder), /*before=*/Value(), op.getScale(),
          /*lag=*/llvm::APFloat(0.0), /*guarded=*/true, isPrescaled,
          /*adaptive=*/isPrescaled && mayBeMinusInf(op.getExponent(), /*full=*/false));
      return Value();
    });
  Value reference = broadcast(update.getReference(), gaugeOrder, order), scales;
  FloatAttr scale;
  if (update.getPrescaled())
    scales = broadcast(update.getScales(), gaugeOrder, order);
  else
    scale = op.getScaleAttr();
  return create<tile::OnlineWeighOp>(exponent, reference, scales, scale, /*rounded=*/false);
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

/// The axes of a loop-carried state.
Order Emitter::carriedOrder(Operation &state) {
  Order order = getOrder(state.getResult(0));
  if (isa<sched::ScanOp>(state))
    for (StringAttr dim :
         cast<sched::StreamOp>(state.getParentOp()).getOver().getAsRange<StringAttr>())
      llvm::erase(order, dim);
  return order;
}

ScanStep Emitter::getScanStep(sched::ScanOp op) {
  Scope *body = findStream();
  auto it = body->scans.find(op);
  if (it != body->scans.end())
    return it->second;
  Location outerLoc = std::exchange(loc, op.getLoc());
  ScanStep step;
  atDepth(llvm::find(scopes, body) - scopes.begin(), [&] {
    ReduceOp kind = op.getReduceOp();
    auto along =
        llvm::cast<StringAttr>(llvm::cast<sched::StreamOp>(op->getParentOp()).getOver()[0]);
    Order order = getOrder(op.getResult());
    Value before = body->carried[{op, 0}];
    if (!before)
      before = identity(kind, carriedOrder(*op), valType(op.getResult()).getElementType(),
                        op.getBelow());
    Value elements = emitTile(op.getValue(), order);
    Value key = op.getKey() ? emitTile(op.getKey(), order) : Value();
    auto axis = llvm::find(order, along);
    int64_t dim = axis - order.begin();
    bool isSingle = axis == order.end(); // a block has one element
    if (isSingle && !key) {
      step.elements = step.next = map(reduceOpCombiner(kind), {before, elements});
      return Value();
    }
    auto shape = llvm::cast<RankedTensorType>(elements.getType()).getShape();
    if (isSingle) {
      SmallVector<int64_t> longer(shape);
      longer.push_back(1);
      elements = fold<tile::ReshapeOp>(elements, longer);
      key = fold<tile::ReshapeOp>(key, longer);
    }
    auto scan = create<tile::ScanOp>(kind, elements, before, dim, key);
    step = {scan.getResult(), scan.getTotal()};
    if (isSingle)
      step.elements = fold<tile::ReshapeOp>(step.elements, shape);
    return Value();
  });
  loc = outerLoc;
  return body->scans[op] = step;
}

/// What is past the end of a row comes after its elements.
Value Emitter::generateSort(sched::SortOp op, const Order &order) {
  auto along = cast<StringAttr>(cast<sched::StreamOp>(op->getParentOp()).getOver()[0]);
  Value tile = emitTile(op.getValue(), order);
  const auto *axis = llvm::find(order, along);
  if (axis == order.end()) // a block has one element
    return tile;
  if (isRagged(along)) {
    Type element = getElementTypeOrSelf(tile);
    auto largest = builder.getIntegerAttr(
        element, llvm::APInt::getSignedMaxValue(element.getIntOrFloatBitWidth()));
    Value other = create<tile::ConstantOp>(tileType(order, element), largest);
    tile = map(ScalarOp::Where, {emitEdge({along}, order), tile, other});
  }
  return create<tile::SortOp>(tile, uint64_t(axis - order.begin()), DenseI64ArrayAttr(),
                              DenseI64ArrayAttr());
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

/// Whether the operation is a state of its stream.
static bool isState(Operation &op) {
  return isa<sched::GaugeOp, sched::AccumulateOp, sched::ScanOp>(op);
}

/// Emits the body for the block of the innermost scope; returns the states after it.
Values Emitter::emitBlock(sched::StreamOp op) {
  SmallVector<StringAttr> over(op.getOver().getAsRange<StringAttr>());
  Values states;
  for (Operation &member : op.getBody().front()) {
    loc = member.getLoc();
    if (auto store = dyn_cast<sched::StoreOp>(member)) {
      forPieces(storeDependence(store), [&] { emitStore(store); });
    } else if (auto check = dyn_cast<sched::CheckOp>(member)) {
      emitCheck(check);
    } else if (auto gauge = dyn_cast<sched::GaugeOp>(member)) {
      states.push_back(getGaugeStep(gauge).next);
    } else if (auto scan = dyn_cast<sched::ScanOp>(member)) {
      states.push_back(getScanStep(scan).next);
    } else if (auto accumulate = dyn_cast<sched::AccumulateOp>(member)) {
      Order order = getOrder(accumulate.getResult());
      forPieces(getDependence(accumulate.getResult()), [&] {
        Value state = top().carried[{accumulate, piece}];
        Type accumulator = accumulatorType(accumulate.getReduceOp(), accumulate.getValues(),
                                           valType(accumulate.getResult()).getElementType());
        if (Value gauge = accumulate.getGauge(); gauge && state) {
          auto op = gauge.getDefiningOp<sched::GaugeOp>();
          Value factor = broadcast(getGaugeStep(op).rebase, getOrder(gauge), order);
          if (op.getIndicator())
            state = map(ScalarOp::Where,
                        {factor, state, identity(accumulate.getReduceOp(), order, accumulator)});
          else
            state = map(ScalarOp::Mul, {state, cast(factor, accumulator)});
        }
        states.push_back(emitCombine(accumulate.getReduceOp(), accumulate.getValues(), over, order,
                                     accumulator, state));
      });
    }
  }
  loc = op.getLoc();
  return states;
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// Whether the stream consists of MMA of loads: its edge then needs only zero padding, and one loop
/// is enough.
bool Emitter::isZeroPaddedMma(sched::StreamOp op) {
  SmallVector<StringAttr> over(op.getOver().getAsRange<StringAttr>());
  return llvm::all_of(op.getBody().front(), [&](Operation &member) {
    if (isa<sched::GaugeOp, sched::StoreOp, sched::CheckOp, sched::MaskOp>(member))
      return false;
    auto accumulate = dyn_cast<sched::AccumulateOp>(member);
    if (!accumulate)
      return true;
    return asMma(accumulate.getValues(), over, getOrder(accumulate.getResult())) &&
           llvm::all_of(accumulate.getValues(),
                        [&](Value value) { return isZeroAtEdge(value, over.back()); });
  });
}

Values Emitter::emitSegments(sched::StreamOp op, ValueRange inits) {
  auto bounds = [](ArrayAttr range) {
    auto at = [&](unsigned i) {
      return *SymExpr::parse(llvm::cast<StringAttr>(range[i]).getValue().str());
    };
    return std::pair(at(0), at(1));
  };
  sched::DimAttr dim = kernel.getDim(llvm::cast<StringAttr>(op.getOver().getValue().back()));
  SymExpr size = dim.getSize(), tile = dim.getTile(), blocks = size.ceilDiv(tile);
  bool ragged = mayBeRagged(dim);
  auto [lo, hi] = bounds(op.getLive());
  auto [fullLo, fullHi] = bounds(op.getFull());
  if (op.getBody().front().getOps<sched::MaskOp>().empty())
    std::tie(fullLo, fullHi) = std::pair(SymExpr(0), size);

  // The blocks of the live range, and within it those of the full range. Bounds that are known to
  // hold are not clamped.
  auto atLeast = [](SymExpr a, SymExpr b) { return (a - b).isNonNegative(); };
  SymExpr first = atLeast(0, lo) ? SymExpr(0) : lo.floorDiv(tile);
  SymExpr end = atLeast(hi, size) ? blocks : hi.ceilDiv(tile);
  SymExpr fullFirst = atLeast(0, fullLo) ? SymExpr(0) : fullLo.ceilDiv(tile);
  SymExpr fullEnd =
      atLeast(fullHi, size) ? size.floorDiv(tile) : SymExpr::min(fullHi, size).floorDiv(tile);
  bool hasFull = !atLeast(fullLo, fullHi) && !isZeroPaddedMma(op);
  bool hasHead = hasFull && !(atLeast(0, fullFirst) || fullFirst == first);
  bool hasTail = hasFull && !(atLeast(fullHi, size) && !ragged);

  auto clamp = [&](SymExpr e, Value low, SymExpr high) {
    Value value = emitScalar(e);
    if (e.isConstant(0))
      return low;
    if (!(high - e).isNonNegative())
      value = fold<arith::MinSIOp>(value, emitScalar(high));
    return low == getConstant(0) && e.isNonNegative() ? value : fold<arith::MaxSIOp>(value, low);
  };
  Segments segments; // the first block, and the ends of head, middle and tail
  atDepth(0, [&] {
    Value zero = getConstant(0);
    segments[0] = clamp(first, zero, blocks);
    segments[3] = end == blocks ? emitScalar(blocks) : clamp(end, segments[0], blocks);
    if (!hasFull)
      return Value();
    auto inside = [&](SymExpr e, Value low) {
      Value value = emitScalar(e);
      if (end != blocks || e != size.floorDiv(tile))
        value = fold<arith::MinSIOp>(value, segments[3]);
      return low == zero && e.isNonNegative() ? value : fold<arith::MaxSIOp>(value, low);
    };
    segments[1] = hasHead ? inside(fullFirst, segments[0]) : segments[0];
    segments[2] = hasTail ? inside(fullEnd, segments[1]) : segments[3];
    return Value();
  });

  auto visits = op.getBody().front().getOps<sched::VisitOp>();
  sched::VisitOp visit = visits.empty() ? sched::VisitOp() : *visits.begin();
  bool isSearched = visit && (visit.getAsRange() || visit.getAsList()) &&
                    canSearch(visit.getLive(), dim.getName()) &&
                    canSearch(visit.getFull(), dim.getName());
  BlockList list;
  if (isSearched && visit.getAsList() && listedBlocks(visit, dim)) {
    list = emitList(visit, dim, segments[0], segments[3]);
    segments = {getConstant(0), getConstant(0), list.full, list.end};
    hasFull = hasTail = true;
    hasHead = false;
  } else if (isSearched) {
    segments = emitSearch(visit, dim, segments[0], segments[3]);
    hasFull = hasHead = hasTail = true;
  }
  // Where each block is tested, the full range only shows that the block is not ragged.
  bool isTested = visit && !isSearched;

  Values states(inits);
  auto emitSegment = [&](Value from, Value to, bool full, bool atEdge) {
    auto prepare = [&](Scope &scope) {
      scope.stream = op;
      scope.full = full;
    };
    auto body = [&](ValueRange args) {
      if (list.blocks)
        top().coords[dim.getName()] = emitListedBlock(list, top().coords[dim.getName()], blocks);
      unsigned i = 0;
      for (Operation &member : op.getBody().front())
        if (isState(member))
          forPieces(getDependence(member.getResult(0)),
                    [&] { top().carried[{&member, piece}] = args[i++]; });
      return isTested ? emitVisit(visit, op, args) : emitBlock(op);
    };
    states = emitLoop(from, to, dim.getName(), atEdge, states, body, prepare);
  };
  if (!hasFull) {
    emitSegment(segments[0], segments[3], /*full=*/false, ragged);
    return states;
  }
  if (hasHead)
    emitSegment(segments[0], segments[1], /*full=*/false, ragged);
  emitSegment(segments[1], segments[2], /*full=*/!isTested, /*atEdge=*/false);
  if (hasTail)
    emitSegment(segments[2], segments[3], /*full=*/false, ragged);
  return states;
}

/// A stream that one block covers needs no loop, and later streams can use its tiles.
Values Emitter::emitSingleBlock(sched::StreamOp op) {
  Scope &scope = top();
  for (StringAttr dim : op.getOver().getAsRange<StringAttr>())
    if (scope.coords.try_emplace(dim, getConstant(0)).second && mayBeRagged(kernel.getDim(dim)))
      scope.ragged.push_back(dim);
  scope.stream = op;
  Values states = emitBlock(op);
  scope.stream = {};
  return states;
}

void Emitter::emitStream(sched::StreamOp op) {
  Values inits;
  llvm::DenseMap<Operation *, unsigned> numbers; // of the first piece
  for (Operation &member : op.getBody().front()) {
    if (!isState(member))
      continue;
    loc = member.getLoc();
    numbers[&member] = inits.size();
    Value result = member.getResult(0);
    Order order = carriedOrder(member);
    Type element = valType(result).getElementType();
    if (auto scan = dyn_cast<sched::ScanOp>(member)) {
      inits.push_back(identity(scan.getReduceOp(), order, element, scan.getBelow()));
    } else if (auto accumulate = dyn_cast<sched::AccumulateOp>(member)) {
      ReduceOp kind = accumulate.getReduceOp();
      Value init = identity(kind, order, accumulatorType(kind, accumulate.getValues(), element));
      forPieces(getDependence(result), [&] { inits.push_back(init); });
    } else {
      inits.push_back(identity(ReduceOp::Max, order, element));
    }
  }
  loc = op.getLoc();
  SmallVector<StringAttr> outer(op.getOver().getAsRange<StringAttr>());
  Values states;
  if (llvm::all_of(outer, [&](StringAttr dim) { return fits(kernel.getDim(dim)); })) {
    states = emitSingleBlock(op);
  } else {
    // Outer dimensions are plain loops around the segments of the last one.
    outer.pop_back();
    states = emitLoops(outer, /*peel=*/false, inits,
                       [&](ValueRange args) { return emitSegments(op, args); });
  }

  auto yield = llvm::cast<sched::YieldOp>(op.getBody().front().getTerminator());
  for (auto [result, state] : llvm::zip(op.getStates(), yield.getStates())) {
    unsigned number = numbers.lookup(state.getDefiningOp());
    forPieces(getDependence(state), [&] {
      Value final = cast(states[number + piece], valType(result).getElementType());
      top().tiles[{result, piece}].push_back({getOrder(result), final});
    });
  }
}
