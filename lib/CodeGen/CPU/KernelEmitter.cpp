//===- KernelEmitter.cpp - A kernel's frame and control flow --------------===//
#include "KernelEmitter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using LLVM::ICmpPredicate;

KernelEmitter::KernelEmitter(tile::KernelOp kernel, const CpuDescription &cpu, const Plan &plan,
                             const Extents &extents, OpBuilder &builder)
    : kernel(kernel), cpu(cpu), builder(builder), plan(plan), extents(extents),
      e(builder, kernel.getLoc(), cpu),
      cachesStores(kernel.getField(TuningField::CacheStores) != 0) {}

LogicalResult KernelEmitter::fail(Operation *op, StringRef why) {
  failed = true;
  return op->emitOpError(why);
}

FailureOr<target::KernelOp> KernelEmitter::run() {
  auto config = target::RangeConfigAttr::get(kernel.getContext(), kernel.getGridRank(),
                                             countWords(kernel), plan.scratchBytes());
  result = target::KernelOp::create(builder, kernel.getLoc(), kernel.getSymName(), config);
  Block *entry = builder.createBlock(&result.getBody());
  Location loc = kernel.getLoc();
  entry->addArguments({e.ptr, e.i64, e.i64, e.ptr}, {loc, loc, loc, loc});
  e.setConstantBlock(entry);
  e.b.setInsertionPointToEnd(entry);
  unpackArguments();
  memo.emplace_back();
  if (plan.amxConfiguration())
    configureAmx();

  {
    // A kernel is called for at least one grid task.
    MemoScope scope(*this);
    emitItems(&kernel.getBody().front(), /*taskInvariant=*/true);
  }
  int64_t rank = kernel.getGridRank();
  e.loop(entry->getArgument(1), entry->getArgument(2), 1, [&](Value linear) {
    programIds.clear();
    taskIndex = linear;
    Value rest = linear;
    for (int64_t d = 0; d < rank; ++d) {
      if (d + 1 == rank) {
        programIds.push_back(rest);
        break;
      }
      Value quotient = LLVM::UDivOp::create(e.b, rest, grid[d]);
      programIds.push_back(e.subI(rest, e.mulI(quotient, grid[d])));
      rest = quotient;
    }
    emitBlock(&kernel.getBody().front());
  });
  e.b.setLoc(loc);
  if (plan.amxConfiguration())
    releaseAmx();
  if (!cachesStores) // non-temporal stores are visible once the kernel has returned
    LLVM::FenceOp::create(e.b, LLVM::AtomicOrdering::seq_cst);
  target::ReturnOp::create(e.b);
  e.closeScopes();
  builder.setInsertionPointAfter(result);
  if (failed) {
    result.erase();
    return failure();
  }
  return result;
}

void KernelEmitter::unpackArguments() {
  Block *entry = e.b.getInsertionBlock();
  Value args = entry->getArgument(0), env = entry->getArgument(3);
  int64_t word = 0;
  auto next = [&](Type type) { return e.load(type, e.address(args, 8 * word++), {}); };
  auto orStatic = [&](Value loaded, int64_t known) {
    return ShapedType::isDynamic(known) ? loaded : e.integer(known);
  };
  forEachWord(kernel, [&](WordRole role, unsigned i, unsigned dim) {
    if (role == WordRole::Grid)
      return grid.push_back(next(e.i64));
    Value argument = kernel.getBody().getArgument(i);
    if (role == WordRole::Scalar) {
      // The low bytes of the word: both architectures are little-endian.
      Type held = e.storageType(argument.getType());
      scalars[argument] = e.fromStorage(next(held), argument.getType());
      return;
    }
    auto type = cast<tile::ViewType>(argument.getType());
    View &view = views[argument];
    if (role == WordRole::Address) {
      view.base = next(e.ptr);
      view.scope = e.newScope(("view" + Twine(i)).str());
    } else if (role == WordRole::Size) {
      view.sizes.push_back(orStatic(next(e.i64), type.getShape()[dim]));
    } else {
      view.strides.push_back(orStatic(next(e.i64), type.getStrides()[dim]));
    }
  });
  scratchScope = e.newScope("scratch");
  scratch = e.load(e.ptr, e.address(env, 8), {});
}

void KernelEmitter::emitBlock(Block *block) {
  MemoScope scope(*this);
  emitItems(block, /*taskInvariant=*/false);
}

void KernelEmitter::emitItems(Block *block, bool taskInvariant) {
  ArrayRef<Item> items = plan.items(block);
  while (!items.empty() && !failed) {
    const Item &item = items.front();
    size_t count = item.band ? plan.band(item.band).items : 1;
    if (item.band && !taskInvariant)
      emitBand(items.take_front(count));
    else if (!item.band && item.isTaskInvariant == taskInvariant)
      emitItem(item);
    items = items.drop_front(count);
  }
}

void KernelEmitter::emitBand(ArrayRef<Item> items) {
  Extent demanded;
  for (const Item &item : items) {
    if (item.kind == Item::Mma)
      demanded.join(extents.of(item.op->getResult(0), 0));
    for (const Root &root : item.roots)
      demanded.join(extents.of(root.value, 0));
  }
  const Band &band = plan.band(items[0].band);
  e.loop(e.integer(0), limit(demanded, band.allRows, 1), band.rows, [&](Value row) {
    MemoScope scope(*this);
    bandStart = row;
    bandEnd = e.addI(row, e.integer(band.rows));
    for (const Item &item : items)
      emitItem(item);
  });
  bandStart = bandEnd = Value();
}

Ix KernelEmitter::rowIn(const Buffer &buffer, Ix row) {
  if (buffer.band <= 0)
    return row;
  return Ix(e.subI(row.value ? row.value : e.integer(0), bandStart), row.constant);
}

std::pair<Value, Value> KernelEmitter::currentRows(Value end) {
  return bandStart ? std::pair(bandStart, e.minI(end, bandEnd)) : std::pair(e.integer(0), end);
}

void KernelEmitter::emitItem(const Item &item) {
  if (item.op)
    e.b.setLoc(item.op->getLoc());
  switch (item.kind) {
  case Item::Scalar:
    return (void)emitScalar(item.op);
  case Item::Access:
    return emitAccess(item.op);
  case Item::Group:
    return emitGroup(item);
  case Item::Transpose:
    return emitTranspose(item);
  case Item::Pack:
    return packAllPanels(cast<tile::MmaOp>(item.op));
  case Item::Mma:
    return emitMma(cast<tile::MmaOp>(item.op));
  case Item::Scatter:
    return emitScatter(cast<tile::ScatterOp>(item.op));
  case Item::Scan:
    return emitScan(cast<tile::ScanOp>(item.op));
  case Item::For:
    return emitFor(cast<scf::ForOp>(item.op));
  case Item::If:
    return emitIf(cast<scf::IfOp>(item.op));
  }
}

/// Index arithmetic is the same operation on 64-bit integers.
LogicalResult KernelEmitter::emitScalar(Operation *op) {
  auto integerBinary = [&](auto tag) -> LogicalResult {
    using Op = decltype(tag);
    scalars[op->getResult(0)] =
        Op::create(e.b, scalars.lookup(op->getOperand(0)), scalars.lookup(op->getOperand(1)));
    return success();
  };
  auto operand = [&](unsigned i) { return scalars.lookup(op->getOperand(i)); };
  auto bind = [&](Value value) {
    scalars[op->getResult(0)] = value;
    return success();
  };
  for (Value value : op->getOperands())
    if (!scalars.contains(value) && !isa<RankedTensorType, tile::ViewType>(value.getType()))
      return fail(op, "expected an operand that is defined before");
  if (auto id = dyn_cast<tile::ProgramIdOp>(op))
    return bind(programIds[id.getDim()]);
  if (auto check = dyn_cast<tile::CheckOp>(op)) {
    emitCheck(check);
    return success();
  }
  if (auto dim = dyn_cast<tile::DimOp>(op))
    return bind(views[dim.getView()].sizes[dim.getDim()]);
  if (auto extract = dyn_cast<tile::ExtractOp>(op)) {
    Type element = Plan::elementOf(extract.getTile());
    Value value = evaluate(extract.getTile(), Position());
    if (isa<IndexType>(extract.getResult().getType()))
      value = e.cast(value, element, e.i64);
    return bind(value);
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    Type type = constant.getType();
    return bind(isa<IndexType>(type) ? e.integer(cast<IntegerAttr>(constant.getValue()).getInt())
                                     : e.number(cast<TypedAttr>(constant.getValue()), type, 0));
  }
  if (isa<arith::AddIOp>(op))
    return bind(e.addI(operand(0), operand(1)));
  if (isa<arith::SubIOp>(op))
    return bind(e.subI(operand(0), operand(1)));
  if (isa<arith::MulIOp>(op))
    return bind(e.mulI(operand(0), operand(1)));
  if (isa<arith::MinSIOp>(op))
    return bind(e.minI(operand(0), operand(1)));
  if (isa<arith::MaxSIOp>(op))
    return bind(e.maxI(operand(0), operand(1)));
  if (isa<arith::MinUIOp>(op))
    return integerBinary(LLVM::UMinOp());
  if (isa<arith::MaxUIOp>(op))
    return integerBinary(LLVM::UMaxOp());
  if (isa<arith::AndIOp>(op))
    return bind(e.andI(operand(0), operand(1)));
  if (isa<arith::OrIOp>(op))
    return bind(e.orI(operand(0), operand(1)));
  if (isa<arith::XOrIOp>(op))
    return bind(e.xorI(operand(0), operand(1)));
  if (isa<arith::DivUIOp>(op))
    return integerBinary(LLVM::UDivOp());
  if (isa<arith::RemUIOp>(op))
    return integerBinary(LLVM::URemOp());
  if (isa<arith::DivSIOp>(op))
    return integerBinary(LLVM::SDivOp());
  if (isa<arith::RemSIOp>(op))
    return integerBinary(LLVM::SRemOp());
  if (isa<arith::FloorDivSIOp>(op))
    return bind(e.scalarOp(ScalarOp::FloorDiv, {operand(0), operand(1)}, e.i64));
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op)) {
    Value negated = e.subI(e.integer(0), operand(0));
    Value floor = e.scalarOp(ScalarOp::FloorDiv, {negated, operand(1)}, e.i64);
    return bind(e.subI(e.integer(0), floor));
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return bind(e.cmp(ICmpPredicate(int64_t(compare.getPredicate())), operand(0), operand(1)));
  if (isa<arith::SelectOp>(op))
    return bind(e.select(operand(0), operand(1), operand(2)));
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return bind(e.cast(operand(0), e.valueType(op->getOperand(0).getType()),
                       e.valueType(op->getResult(0).getType())));
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op)) {
    Type to = e.valueType(op->getResult(0).getType()), from = operand(0).getType();
    if (to == from)
      return bind(operand(0));
    if (to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth())
      return bind(LLVM::ZExtOp::create(e.b, to, operand(0)));
    return bind(LLVM::TruncOp::create(e.b, to, operand(0)));
  }
  return fail(op, "is not supported by the CPU code generator");
}

/// Writes tessera_rt_failure, unless an earlier grid task has failed.
void KernelEmitter::emitCheck(tile::CheckOp op) {
  constexpr int64_t failureInEnvironment = 24;
  llvm::SetVector<gir::FailureAttr> failures = failuresOf(kernel);
  int64_t number = llvm::find(failures, op.getFailure()) - failures.begin();
  e.branch(
      scalars.lookup(op.getCondition()), [] {},
      [&] {
        Value env = result.getBody().front().getArgument(3);
        Value failure = e.load(e.ptr, e.address(env, failureInEnvironment), {});
        Value isEarlier = e.cmp(ICmpPredicate::slt, taskIndex, e.load(e.i64, failure, {}));
        e.branch(
            isEarlier,
            [&] {
              e.store(taskIndex, failure, {});
              e.store(e.integer(number), e.address(failure, 8), {});
              e.store(scalars.lookup(op.getValue()), e.address(failure, 16), {});
            },
            nullptr);
      });
}

void KernelEmitter::emitFor(scf::ForOp op) {
  SmallVector<Value> inits;
  SmallVector<unsigned> carried;
  for (auto [i, init] : llvm::enumerate(op.getInitArgs()))
    if (!isa<RankedTensorType>(init.getType())) {
      inits.push_back(scalars.lookup(init));
      carried.push_back(i);
    }
  Value lower = scalars.lookup(op.getLowerBound()), upper = scalars.lookup(op.getUpperBound());
  Value step = scalars.lookup(op.getStep());
  auto loop = scf::ForOp::create(e.b, lower, upper, step, inits);
  {
    OpBuilder::InsertionGuard guard(e.b);
    Block *body = loop.getBody();
    if (!body->empty())
      body->getTerminator()->erase();
    e.b.setInsertionPointToEnd(body);
    scalars[op.getInductionVar()] = loop.getInductionVar();
    for (auto [i, argument] : llvm::zip(carried, loop.getRegionIterArgs()))
      scalars[op.getRegionIterArg(i)] = argument;
    emitBlock(op.getBody());
    SmallVector<Value> yielded;
    for (unsigned i : carried)
      yielded.push_back(scalars.lookup(op.getBody()->getTerminator()->getOperand(i)));
    scf::YieldOp::create(e.b, yielded);
  }
  for (auto [i, value] : llvm::zip(carried, loop.getResults()))
    scalars[op.getResult(i)] = value;
}

void KernelEmitter::emitIf(scf::IfOp op) {
  SmallVector<Type> types;
  SmallVector<unsigned> results;
  for (auto [i, value] : llvm::enumerate(op.getResults()))
    if (!isa<RankedTensorType>(value.getType())) {
      types.push_back(e.valueType(value.getType()));
      results.push_back(i);
    }
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(e.b, types, scalars.lookup(op.getCondition()), hasElse);
  auto emitRegion = [&](Region &from, Region &to) {
    OpBuilder::InsertionGuard guard(e.b);
    Block *block = &to.front();
    if (!block->empty())
      block->getTerminator()->erase();
    e.b.setInsertionPointToEnd(block);
    emitBlock(&from.front());
    SmallVector<Value> yielded;
    for (unsigned i : results)
      yielded.push_back(scalars.lookup(from.front().getTerminator()->getOperand(i)));
    scf::YieldOp::create(e.b, yielded);
  };
  emitRegion(op.getThenRegion(), branch.getThenRegion());
  if (hasElse)
    emitRegion(op.getElseRegion(), branch.getElseRegion());
  for (auto [i, value] : llvm::zip(results, branch.getResults()))
    scalars[op.getResult(i)] = value;
}

namespace {
/// The taskInvariant interface of loads, gathers, stores and scatters.
struct AccessOp {
  Value tile, view;
  OperandRange coords;
  ArrayRef<int64_t> dims;
  bool isChecked;

  static AccessOp of(Operation *op) {
    if (auto load = dyn_cast<tile::LoadOp>(op))
      return {load.getResult(), load.getView(), load.getCoords(), load.getDims(),
              bool(load.getPadAttr())};
    if (auto gather = dyn_cast<tile::GatherOp>(op))
      return {gather.getResult(), gather.getView(), gather.getCoords(), gather.getDims(),
              bool(gather.getPadAttr())};
    if (auto scatter = dyn_cast<tile::ScatterOp>(op))
      return {scatter.getValue(), scatter.getView(), scatter.getCoords(), scatter.getDims(),
              scatter.getBounded()};
    auto store = cast<tile::StoreOp>(op);
    return {store.getValue(), store.getView(), store.getCoords(), store.getDims(),
            store.getBounded()};
  }
  tile::ViewType viewType() const { return cast<tile::ViewType>(view.getType()); }
};
} // namespace

/// Whether the rows of a store start at cache lines, as non-temporal stores require.
Value KernelEmitter::canBypassCaches(const Access &access) {
  constexpr int64_t line = 64;
  Value bits = LLVM::PtrToIntOp::create(e.b, e.i64, access.base);
  for (Ix stride : ArrayRef(access.strides).drop_back())
    bits = e.orI(bits, e.materialize(stride));
  return e.cmp(ICmpPredicate::eq, e.andI(bits, e.integer(line - 1)), e.integer(0));
}

void KernelEmitter::emitAccess(Operation *op) {
  AccessOp it = AccessOp::of(op);
  const View &view = views[it.view];
  tile::ViewType viewType = it.viewType();
  ArrayRef<int64_t> shape = Plan::shapeOf(it.tile);
  int64_t bytes = Emitter::byteWidth(viewType.getElementType());
  auto strideOf = [&](int64_t d) -> Ix {
    int64_t stride = viewType.getStrides()[d];
    return ShapedType::isDynamic(stride) ? e.mul(Ix(view.strides[d]), bytes) : Ix(stride * bytes);
  };
  Access access;
  access.scope = view.scope;
  Ix offset = 0;
  for (auto [d, coord] : llvm::enumerate(it.coords)) {
    auto found = llvm::find(it.dims, int64_t(d));
    int64_t size = found == it.dims.end() ? 1 : shape[found - it.dims.begin()];
    offset = e.add(offset, e.mul(e.mul(Ix(scalars.lookup(coord)), size), strideOf(d)));
  }
  access.base = e.address(view.base, offset);
  for (auto [t, d] : llvm::enumerate(it.dims)) {
    access.strides.push_back(d < 0 ? Ix(0) : strideOf(d));
    if (!it.isChecked || !Plan::mayCrossEnd(viewType, it.dims, shape, t)) {
      access.valid.push_back(Value());
      continue;
    }
    Value valid = validElements({op, unsigned(t)});
    access.valid.push_back(valid);
    Value isFull = e.cmp(ICmpPredicate::sge, valid, e.integer(shape[t]));
    access.full = access.full ? e.andI(access.full, isFull) : isFull;
  }
  if (isa<tile::GatherOp, tile::ScatterOp>(op))
    for (unsigned d = it.coords.size(); d < viewType.getRank(); ++d)
      access.gatherIndices.push_back({strideOf(d), e.subI(view.sizes[d], e.integer(1))});
  if (isa<tile::StoreOp>(op) && !shape.empty() && !cachesStores && !plan.isPrefetched(op))
    access.bypassesCaches = canBypassCaches(access);
  accesses[op] = access;
}

Value KernelEmitter::validElements(const Extent::Bound &bound) {
  // An access may be in a loop that has ended; its values do not dominate this point.
  auto dominates = [&](Value value) {
    return value && value.getParentRegion()->isAncestor(e.b.getInsertionBlock()->getParent());
  };
  if (EdgeMask mask; isa<tile::MapOp>(bound.access)) {
    (void)mask.match(bound.access->getResult(0), bound.dim);
    Value limit = scalars.lookup(mask.limit.getScalar());
    Value start = scalars.lookup(mask.index.getStart());
    if (!dominates(limit) || !dominates(start))
      return Value();
    Value size = e.integer(mask.index.getType().getShape()[0]);
    return e.maxI(e.minI(e.subI(limit, start), size), e.integer(0));
  }
  if (auto known = accesses.find(bound.access); known != accesses.end())
    if (Value valid = known->second.valid[bound.dim]; dominates(valid))
      return valid;
  AccessOp it = AccessOp::of(bound.access);
  int64_t dim = it.dims[bound.dim], size = Plan::shapeOf(it.tile)[bound.dim];
  Value coord = scalars.lookup(it.coords[dim]);
  if (!dominates(coord))
    return Value();
  Value left = e.subI(views[it.view].sizes[dim], e.mulI(coord, e.integer(size)));
  return e.maxI(e.minI(left, e.integer(size)), e.integer(0));
}

Value KernelEmitter::limit(const Extent &extent, int64_t size, int64_t step) {
  Value most;
  for (const Extent::Bound &bound : extent.bounds) {
    Value valid = extent.all ? Value() : validElements(bound);
    if (!valid)
      return e.integer(size);
    most = most ? e.maxI(most, valid) : valid;
  }
  if (extent.all || !most)
    return e.integer(size);
  if (step > 1) {
    most = e.addI(most, e.integer(step - 1));
    most = e.subI(most, LLVM::URemOp::create(e.b, most, e.integer(step)));
  }
  return e.minI(most, e.integer(size));
}

Value KernelEmitter::contractionLimit(tile::MmaOp op) {
  int64_t size = Plan::shapeOf(op.getRhs())[0];
  std::optional<Extent::Bound> bound = extents.contracted(op);
  if (!bound)
    return e.integer(size);
  Extent extent;
  extent.bounds.push_back(*bound);
  return limit(extent, size, extents.contractionStep());
}
