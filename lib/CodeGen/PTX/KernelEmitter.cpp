//===- KernelEmitter.cpp - Control flow and coordinates -------------------===//
//
// Declares the kernel's parameters, computes where the thread is in the grid, and emits the
// operations of the kernel one after the other. The other files of this folder emit single groups
// of operations.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;
using LLVM::ICmpPredicate;

/// A thread as the target of the scalar code generator: one lane with FMA and f16 conversions.
static const CpuDescription &oneLane(bool fusesArithmetic) {
  auto make = [](bool fuses) {
    CpuDescription one;
    one.vectorBytes = 8;
    one.hasFma = one.hasHalfConversion = true;
    one.fusesArithmetic = fuses;
    return one;
  };
  static const CpuDescription descriptions[] = {make(false), make(true)};
  return descriptions[fusesArithmetic];
}

KernelEmitter::KernelEmitter(tile::KernelOp kernel, LLVM::LLVMFuncOp function,
                             const PtxOptions &options, const GpuDescription &gpu)
    : kernel(kernel), function(function), options(options), gpu(gpu), coordinates(kernel),
      warps(kernel.getNumWarps()), cluster(kernel.getClusterSize()),
      e(OpBuilder(kernel.getContext()), kernel.getLoc(), oneLane(options.fusesArithmetic)),
      maps(tensorMapsOf(kernel)) {}

Layout KernelEmitter::layoutOf(Value tile) { return *tile::layoutOf(tile); }
unsigned KernelEmitter::countRegisters(Value tile) {
  return layoutOf(tile).in().size(Dim::Register);
}
Type KernelEmitter::elementOf(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

/// A run of neighbouring bits that maps to neighbouring bits takes one shift and one mask.
Value KernelEmitter::threadPart(const Layout &layout, Dim dim) {
  Value &part = threadParts[{layout.str(), dim}];
  if (part)
    return part;
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPoint(entry->getTerminator());
  part = e.integer(0, e.i32);
  for (Dim from : {Dim::Lane, Dim::Warp, Dim::Block}) {
    gf2::VectorsRef columns = layout.columns(from);
    Value place = from == Dim::Lane ? lane : from == Dim::Warp ? warp : ctaRank;
    for (unsigned bit = 0; bit < columns.size();) {
      uint64_t first = layout.out().unpack(columns[bit])[dim];
      unsigned end = bit + 1;
      while (first && end < columns.size() &&
             layout.out().unpack(columns[end])[dim] == first << (end - bit))
        ++end;
      if (first && llvm::isPowerOf2_64(first)) {
        unsigned to = llvm::Log2_64(first);
        Value bits = e.andI(place, e.integer(((1 << (end - bit)) - 1) << bit, e.i32));
        if (to > bit)
          bits = LLVM::ShlOp::create(e.b, bits, e.integer(to - bit, e.i32));
        else if (to < bit)
          bits = LLVM::LShrOp::create(e.b, bits, e.integer(bit - to, e.i32));
        part = e.xorI(part, bits);
      } else if (first) {
        // A column with several bits: the bit of the thread selects all of them.
        Value one = LLVM::LShrOp::create(e.b, place, e.integer(bit, e.i32));
        one = e.andI(one, e.integer(1, e.i32));
        part = e.xorI(part, e.mulI(one, e.integer(first, e.i32)));
        end = bit + 1;
      }
      bit = end;
    }
  }
  return part;
}

Ix KernelEmitter::coordinate(const Layout &layout, unsigned reg, Dim out, uint64_t first) {
  auto along = [&](Dim in) {
    uint64_t mask = 0;
    for (uint64_t column : layout.columns(in))
      mask |= layout.out().unpack(column)[out];
    return mask;
  };
  uint64_t fixed = layout(Point({{Dim::Register, reg}}))[out] ^ first;
  uint64_t threadBits = along(Dim::Lane) | along(Dim::Warp) | along(Dim::Block);
  if (!threadBits)
    return Ix(int64_t(fixed));
  Value part = threadPart(layout, out);
  bool isDisjoint = !(threadBits & fixed);
  if (!isDisjoint)
    part = e.xorI(part, e.integer(fixed, e.i32));
  Value wide = LLVM::ZExtOp::create(e.b, e.i64, part);
  return Ix(wide, isDisjoint ? int64_t(fixed) : 0);
}

Value KernelEmitter::isOwner(const Layout &layout, DimSet dims, uint64_t others) {
  uint64_t free = layout.freeBits();
  Value owner;
  for (auto [dim, place] :
       {std::pair(Dim::Lane, lane), std::pair(Dim::Warp, warp), std::pair(Dim::Block, ctaRank)}) {
    uint64_t bits = (free & layout.in().mask({dim})) >> layout.in().shift(dim);
    if (dim == Dim::Lane)
      bits &= ~others;
    if (!bits || !dims.contains(dim))
      continue;
    Value rest = e.andI(place, e.integer(bits, e.i32));
    Value isFirst = e.cmp(ICmpPredicate::eq, rest, e.integer(0, e.i32));
    owner = owner ? e.andI(owner, isFirst) : isFirst;
  }
  return owner;
}

Value KernelEmitter::assembly(StringRef text, StringRef constraints, Type result,
                              ValueRange operands, bool hasEffects) {
  auto op = LLVM::InlineAsmOp::create(
      e.b, result ? TypeRange(result) : TypeRange(), operands, text, constraints, hasEffects,
      /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return result ? op.getResult(0) : Value();
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void KernelEmitter::declare() {
  entry = function.addEntryBlock(e.b);
  e.setConstantBlock(entry);
  e.b.setInsertionPointToEnd(entry);
  auto special = [&](StringRef name) {
    return e.intrinsic(("llvm.nvvm.read.ptx.sreg." + name).str(), e.i32, {});
  };
  Value thread = special("tid.x");
  lane = e.andI(thread, e.integer(31, e.i32));
  warp = LLVM::LShrOp::create(e.b, thread, e.integer(5, e.i32));

  bool isRow = kernel.getField(LaunchField::PersistentCtas) ||
               int64_t(kernel.getGridRank()) > launchAxes(kernel);
  SmallVector<Value> grid;
  unsigned word = 0;
  // Sizes and strides that are known to be equal share one word.
  std::map<std::string, Value> words;
  auto wordOf = [&](std::optional<SymExpr> known, Value value) {
    return known ? words.try_emplace(known->str(), value).first->second : value;
  };
  Type global = LLVM::LLVMPointerType::get(kernel.getContext(), 1);
  forEachWord(kernel, [&](WordRole role, unsigned number, unsigned dim) {
    if (role == WordRole::Grid) {
      if (isRow)
        grid.push_back(function.getArgument(word++));
      return;
    }
    Value value = function.getArgument(word++), argument = kernel.getArgument(number);
    if (role == WordRole::Scalar) {
      Type type = e.valueType(argument.getType());
      if (type.getIntOrFloatBitWidth() < 64)
        value = LLVM::TruncOp::create(
            e.b, IntegerType::get(type.getContext(), type.getIntOrFloatBitWidth()), value);
      scalars[argument] =
          value.getType() == type ? value : Value(LLVM::BitcastOp::create(e.b, type, value));
      // A mask tells LLVM a known power of two that divides the size, so that it can combine
      // offsets.
      if (int64_t known = coordinates.divisor(argument); argument.getType().isIndex() && known > 1)
        scalars[argument] =
            e.andI(value, e.integer(-(int64_t(1) << llvm::countr_zero(uint64_t(known)))));
      return;
    }
    auto type = cast<tile::ViewType>(argument.getType());
    View &view = views[argument];
    if (role == WordRole::Address)
      view.pointer = LLVM::IntToPtrOp::create(e.b, global, value);
    else if (role == WordRole::Size)
      view.sizes.push_back(type.isDynamic(dim) ? Ix(wordOf(coordinates.size(argument, dim), value))
                                               : Ix(type.getShape()[dim]));
    else
      view.strides.push_back(ShapedType::isDynamic(type.getStrides()[dim])
                                 ? Ix(wordOf(coordinates.stride(argument, dim), value))
                                 : Ix(type.getStrides()[dim]));
  });
  SmallVector<Value> ctaIds = {special("ctaid.x"), special("ctaid.y"), special("ctaid.z")};
  ctaIds.resize(launchAxes(kernel));
  // The CTAs of a cluster are neighbours in the grid.
  auto clustersIn = [&](Value ctas) -> Value {
    return cluster == 1 ? ctas
                        : LLVM::LShrOp::create(e.b, ctas, e.integer(llvm::Log2_32(cluster), e.i32));
  };
  if (cluster > 1)
    ctaRank = e.andI(ctaIds[0], e.integer(cluster - 1, e.i32));
  ctaIds[0] = clustersIn(ctaIds[0]);
  if (kernel.isOn(TuningField::ReverseGrid))
    ctaIds[0] = e.subI(e.subI(clustersIn(special("nctaid.x")), e.integer(1, e.i32)), ctaIds[0]);
  computeProgramIds(ctaIds, grid);
  bool hasWgmma =
      kernel.walk([](tile::WgmmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (!maps.empty() || hasWgmma)
    uniformWarp =
        e.intrinsic("llvm.nvvm.shfl.sync.idx.i32", e.i32,
                    {e.integer(-1, e.i32), warp, e.integer(0, e.i32), e.integer(31, e.i32)});
  // The entry block holds what depends only on the thread.
  Block *body = e.b.createBlock(&function.getBody());
  e.b.setInsertionPointToEnd(entry);
  LLVM::BrOp::create(e.b, ValueRange(), body);
  e.b.setInsertionPointToEnd(body);
}

/// Computes the program ids from the CTA's indices in the launch; the last index covers the
/// remaining dimensions of the grid. A launch has less than 2^31 CTAs. With a `raster_group` the
/// row varies fastest within groups of rows, so that neighbours share loads; the last group may be
/// smaller.
void KernelEmitter::computeProgramIds(SmallVector<Value> ctaIds, ArrayRef<Value> grid) {
  auto narrow = [&](Value size) { return LLVM::TruncOp::create(e.b, e.i32, size); };
  auto divide = [&](Value a, Value b) -> std::pair<Value, Value> {
    return {LLVM::UDivOp::create(e.b, a, b), LLVM::URemOp::create(e.b, a, b)};
  };
  Value linear = ctaIds.pop_back_val();
  unsigned rank = kernel.getGridRank();
  std::optional<int64_t> group = kernel.getField(TuningField::RasterGroup);
  if (group && rank >= 2 && ctaIds.empty()) {
    Value columns = narrow(grid[0]), rows = narrow(grid[1]), most = e.integer(*group, e.i32);
    Value rest = linear;
    if (rank > 2)
      std::tie(linear, rest) = divide(linear, e.mulI(columns, rows));
    auto [number, inside] = divide(rest, e.mulI(columns, most));
    Value first = e.mulI(number, most), height = e.minI(e.subI(rows, first), most);
    auto [column, row] = divide(inside, height);
    ctaIds = {column, e.addI(first, row)};
  }
  while (ctaIds.size() + 1 < rank) {
    auto [next, id] = divide(linear, narrow(grid[ctaIds.size()]));
    ctaIds.push_back(id);
    linear = next;
  }
  if (ctaIds.size() < rank)
    ctaIds.push_back(linear);
  for (Value id : ctaIds)
    programIds.push_back(LLVM::ZExtOp::create(e.b, e.i64, id));
}

LogicalResult KernelEmitter::run() {
  declare();
  prefetchMaps();
  if (failed(emit(kernel.getBody().front())))
    return failure();
  LLVM::ReturnOp::create(e.b, ValueRange());
  return success();
}

LogicalResult KernelEmitter::emit(Block &block) {
  for (Operation &op : block.without_terminator()) {
    e.b.setLoc(op.getLoc());
    if (failed(emit(&op)))
      return failure();
  }
  return success();
}

static void append(SmallVectorImpl<Value> &list, ArrayRef<Value> values) {
  list.append(values.begin(), values.end());
}

/// Induction variables and loop-carried indices have 32 bits unless tensors need wide indices.
LogicalResult KernelEmitter::emitFor(scf::ForOp loop) {
  auto isNarrow = [&](Value value) { return value.getType().isIndex() && !options.wideIndices; };
  auto narrow = [&](Value value) -> Value {
    return isNarrow(value) ? LLVM::TruncOp::create(e.b, e.i32, get(value)) : get(value);
  };
  auto widen = [&](Value value, Value part) -> Value {
    return isNarrow(value) ? LLVM::SExtOp::create(e.b, e.i64, part) : part;
  };
  // Two 16-bit elements share one register.
  auto isPaired = [&](Value value) {
    return isa<RankedTensorType>(value.getType()) &&
           (elementOf(value).isBF16() || elementOf(value).isF16()) &&
           countRegisters(value) % 2 == 0;
  };
  auto partsOf = [&](Value value) {
    if (isPaired(value))
      return pack(tiles.lookup(value), elementOf(value));
    return tiles.contains(value) ? tiles.lookup(value) : Registers{narrow(value)};
  };
  SmallVector<Value> initial;
  for (auto [value, carried] : llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs())) {
    bool isAccumulator = llvm::any_of(carried.getUsers(), llvm::IsaPred<tile::WgmmaOp>) &&
                         value.getDefiningOp<tile::ConstantOp>();
    append(initial, isAccumulator ? pinned(partsOf(value)) : partsOf(value));
  }
  auto made = scf::ForOp::create(e.b, narrow(loop.getLowerBound()), narrow(loop.getUpperBound()),
                                 narrow(loop.getStep()), initial);
  auto bind = [&](ValueRange to, ValueRange from) {
    for (Value value : to) {
      unsigned count = isa<RankedTensorType>(value.getType())
                           ? countRegisters(value) / (isPaired(value) ? 2 : 1)
                           : 1;
      Registers parts(from.take_front(count));
      from = from.drop_front(count);
      if (isPaired(value))
        for (Value both : parts)
          append(tiles[value], halvesOf(both, elementOf(value)));
      else if (isa<RankedTensorType>(value.getType()))
        tiles[value] = parts;
      else
        scalars[value] = widen(value, parts[0]);
    }
  };
  {
    OpBuilder::InsertionGuard guard(e.b);
    if (!made.getBody()->empty())
      made.getBody()->getTerminator()->erase();
    e.b.setInsertionPointToEnd(made.getBody());
    scalars[loop.getInductionVar()] = widen(loop.getInductionVar(), made.getInductionVar());
    bind(loop.getRegionIterArgs(), made.getRegionIterArgs());
    if (failed(emit(*loop.getBody())))
      return failure();
    SmallVector<Value> yielded;
    for (Value value : loop.getYieldedValues())
      append(yielded, partsOf(value));
    scf::YieldOp::create(e.b, yielded);
  }
  bind(loop.getResults(), made.getResults());
  return success();
}

LogicalResult KernelEmitter::emitIf(scf::IfOp branch) {
  SmallVector<Type> types;
  for (Value result : branch.getResults()) {
    bool isTile = isa<RankedTensorType>(result.getType());
    types.append(isTile ? countRegisters(result) : 1,
                 e.valueType(isTile ? elementOf(result) : result.getType()));
  }
  bool hasElse = !branch.getElseRegion().empty();
  auto made = scf::IfOp::create(e.b, types, get(branch.getCondition()), hasElse);
  auto side = [&](Region &from, Region &to) -> LogicalResult {
    OpBuilder::InsertionGuard guard(e.b);
    if (!to.front().empty())
      to.front().getTerminator()->erase();
    e.b.setInsertionPointToEnd(&to.front());
    if (failed(emit(from.front())))
      return failure();
    SmallVector<Value> yielded;
    for (Value value : from.front().getTerminator()->getOperands())
      append(yielded, tiles.contains(value) ? tiles.lookup(value) : Registers{get(value)});
    scf::YieldOp::create(e.b, yielded);
    return success();
  };
  if (failed(side(branch.getThenRegion(), made.getThenRegion())) ||
      (hasElse && failed(side(branch.getElseRegion(), made.getElseRegion()))))
    return failure();
  ValueRange from = made.getResults();
  for (Value result : branch.getResults()) {
    bool isTile = isa<RankedTensorType>(result.getType());
    unsigned count = isTile ? countRegisters(result) : 1;
    Registers parts(from.take_front(count));
    from = from.drop_front(count);
    if (isTile)
      tiles[result] = parts;
    else
      scalars[result] = parts[0];
  }
  return success();
}

LogicalResult KernelEmitter::emitIndex(Operation *op) {
  auto x = [&](unsigned i) { return get(op->getOperand(i)); };
  auto floorDiv = [&](Value a, Value b) { return e.scalarOp(ScalarOp::FloorDiv, {a, b}, e.i64); };
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case([&](arith::ConstantOp constant) {
            return constant.getType().isIndex()
                       ? e.integer(cast<IntegerAttr>(constant.getValue()).getInt())
                       : e.number(cast<TypedAttr>(constant.getValue()), constant.getType(), 0);
          })
          .Case([&](arith::AddIOp) { return e.addI(x(0), x(1)); })
          .Case([&](arith::SubIOp) { return e.subI(x(0), x(1)); })
          .Case([&](arith::MulIOp) { return e.mulI(x(0), x(1)); })
          .Case([&](arith::MinSIOp) { return e.minI(x(0), x(1)); })
          .Case([&](arith::MaxSIOp) { return e.maxI(x(0), x(1)); })
          .Case([&](arith::AndIOp) { return e.andI(x(0), x(1)); })
          .Case([&](arith::OrIOp) { return e.orI(x(0), x(1)); })
          .Case([&](arith::XOrIOp) { return e.xorI(x(0), x(1)); })
          .Case([&](arith::DivUIOp) { return LLVM::UDivOp::create(e.b, x(0), x(1)); })
          .Case([&](arith::RemUIOp) { return LLVM::URemOp::create(e.b, x(0), x(1)); })
          .Case([&](arith::FloorDivSIOp) { return floorDiv(x(0), x(1)); })
          .Case([&](arith::CeilDivSIOp) {
            return e.subI(e.integer(0), floorDiv(e.subI(e.integer(0), x(0)), x(1)));
          })
          .Case([&](arith::CmpIOp compare) {
            auto isSmall = [&](Value value) {
              return value.getType().isIndex() && coordinates.isNonNegative(value) &&
                     coordinates.most(value) <= INT32_MAX;
            };
            bool areSmall = llvm::all_of(compare->getOperands(), isSmall);
            auto part = [&](unsigned i) -> Value {
              return areSmall ? LLVM::TruncOp::create(e.b, e.i32, x(i)) : x(i);
            };
            return e.cmp(ICmpPredicate(int64_t(compare.getPredicate())), part(0), part(1));
          })
          .Case([&](arith::SelectOp) { return e.select(x(0), x(1), x(2)); })
          .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>([&](Operation *) {
            return e.cast(x(0), e.valueType(op->getOperand(0).getType()),
                          e.valueType(op->getResult(0).getType()));
          })
          .Default([](Operation *) { return Value(); });
  if (!result)
    return op->emitError("is not supported by the PTX code generator");
  scalars[op->getResult(0)] = result;
  return success();
}

/// How many elements the address of an element lies after a multiple of `by` elements.
void KernelEmitter::emitMisalignment(tile::MisalignmentOp shift) {
  const View &view = views[shift.getView()];
  unsigned bytes = codegen::Emitter::byteWidth(shift.getView().getType().getElementType());
  Ix place = 0;
  for (auto [coordinate, stride] : llvm::zip_equal(shift.getCoords(), view.strides))
    place = e.add(place, e.mul(Ix(get(coordinate)), stride));
  Value start = LLVM::PtrToIntOp::create(e.b, e.i64, view.pointer);
  start = LLVM::LShrOp::create(e.b, start, e.integer(llvm::Log2_32(bytes)));
  scalars[shift] = e.andI(e.addI(start, e.materialize(place)), e.integer(shift.getModulus() - 1));
}

/// Operations whose operands and results are tiles in registers.
std::optional<LogicalResult> KernelEmitter::emitTileOp(Operation *op) {
  using Result = std::optional<LogicalResult>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](tile::MapOp map) { return emitMap(map); })
      .Case([&](tile::ReduceOp reduce) { return emitReduce(reduce); })
      .Case([&](tile::WarpReduceOp partial) { return emitWarpReduce(partial); })
      .Case([&](tile::ConvertOp convert) { return emitConvert(convert); })
      .Case([&](tile::ScanOp scan) { return emitScan(scan); })
      .Case([&](tile::SortOp sort) { return emitSort(sort); })
      .Case([&](tile::MmaOp mma) { return emitMma(mma); })
      .Case([&](tile::CastOp cast) { return emitCast(cast); })
      .Case([&](tile::BitcastOp cast) {
        for (Value part : tiles.lookup(cast.getInput()))
          tiles[cast.getResult()].push_back(e.bitcast(part, elementOf(cast)));
        return success();
      })
      .Case([&](tile::BroadcastOp broadcast) {
        Space from = tile::spaceOf(broadcast.getInput().getType().getShape()),
              to = layoutOf(broadcast).out();
        return emitMove(op, [&](uint64_t element) {
          Point all = to.unpack(element), kept;
          for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
            kept[tensorDim(i)] = all[tensorDim(dim)];
          return from.pack(kept);
        });
      })
      .Case([&](tile::TransposeOp transpose) {
        Space from = tile::spaceOf(transpose.getInput().getType().getShape()),
              to = layoutOf(transpose).out();
        return emitMove(op, [&](uint64_t element) {
          Point point = to.unpack(element), before;
          for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
            before[tensorDim(dim)] = point[tensorDim(i)];
          return from.pack(before);
        });
      })
      .Case([&](tile::ReshapeOp) { return emitMove(op, [](uint64_t element) { return element; }); })
      .Case([&](tile::SliceOp slice) {
        return emitMove(op, [&](uint64_t element) { return slice.getInputElement(element); });
      })
      .Case([&](tile::ConstantOp constant) {
        Value number = e.number(cast<TypedAttr>(constant.getValue()), elementOf(constant), 0);
        tiles[constant.getResult()].assign(countRegisters(constant), number);
        return success();
      })
      .Case([&](tile::SplatOp splat) {
        Value scalar = get(splat.getScalar());
        if (splat.getScalar().getType().isIndex())
          scalar = e.cast(scalar, e.i64, elementOf(splat));
        tiles[splat.getResult()].assign(countRegisters(splat), scalar);
        return success();
      })
      .Case([&](tile::IotaOp iota) {
        emitIota(iota);
        return success();
      })
      .Case([&](tile::ExtractOp extract) {
        Value part = tiles.lookup(extract.getTile()).front();
        bool isIndex = extract.getResult().getType().isIndex();
        scalars[extract.getResult()] =
            isIndex ? e.cast(part, elementOf(extract.getTile()), e.i64) : part;
        return success();
      })
      .Case([&](tile::ElementOp element) {
        scalars[element] = emitElement(element);
        return success();
      })
      .Default([](Operation *) { return Result(); });
}

/// Accesses to global and shared memory, and what is known of views.
std::optional<LogicalResult> KernelEmitter::emitViewOp(Operation *op) {
  using Result = std::optional<LogicalResult>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](tile::LoadOp load) { return emitLoad(load); })
      .Case([&](tile::GatherOp gather) { return emitLoad(gather); })
      .Case([&](tile::StoreOp store) { return emitStore(store); })
      .Case([&](tile::ScatterOp scatter) { return emitScatter(scatter); })
      .Case([&](tile::MmaSharedOp mma) { return emitMmaShared(mma); })
      .Case([&](tile::SharedLoadOp read) { return emitRead(read); })
      .Case([&](tile::SharedStoreOp write) { return emitWrite(write); })
      .Case([&](tile::ProgramIdOp id) {
        scalars[id] = programIds[id.getDim()];
        return success();
      })
      .Case([&](tile::DimOp dim) {
        scalars[dim] = e.materialize(views[dim.getView()].sizes[dim.getDim()]);
        return success();
      })
      .Case([&](tile::MisalignmentOp shift) {
        emitMisalignment(shift);
        return success();
      })
      .Case([&](tile::AlignedRowOp row) {
        emitAlignedRow(row);
        return success();
      })
      .Case([&](tile::AllocOp alloc) -> LogicalResult {
        if (!alloc.getOffset())
          return alloc.emitError("expected a buffer with an offset");
        return success();
      })
      .Default([](Operation *) { return Result(); });
}

/// Asynchronous copies and MMA, distributed shared memory, and synchronization.
std::optional<LogicalResult> KernelEmitter::emitAsyncOp(Operation *op) {
  using Result = std::optional<LogicalResult>;
  auto synchronize = [&](const std::string &text) {
    assembly(text, "~{memory}", Type(), {}, /*hasEffects=*/true);
    return success();
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](tile::WgmmaOp mma) { return emitWgmma(mma); })
      .Case([&](tile::WgmmaWaitOp wait) { return emitWgmmaWait(wait); })
      .Case([&](tile::WgmmaFenceOp) {
        isFenced = true;
        return success();
      })
      .Case([&](tile::WgmmaCommitOp) { return synchronize("wgmma.commit_group.sync.aligned;"); })
      .Case([&](tile::CpAsyncOp copy) { return emitCpAsync(copy); })
      .Case([&](tile::CpAsyncCommitOp) { return synchronize("cp.async.commit_group;"); })
      .Case([&](tile::CpAsyncWaitOp wait) {
        return synchronize("cp.async.wait_group " + std::to_string(wait.getPending()) + ";");
      })
      .Case([&](tile::MbarrierAllocOp mbarriers) { return emitMbarrierAlloc(mbarriers); })
      .Case([&](tile::BulkLoadOp load) { return emitBulkLoad(load); })
      .Case([&](tile::TmaLoadOp load) { return emitTmaLoad(load); })
      .Case([&](tile::MbarrierWaitOp wait) { return emitMbarrierWait(wait); })
      .Case([&](tile::MbarrierArriveOp arrive) { return emitMbarrierArrive(arrive); })
      .Case([&](tile::BulkStoreOp store) { return emitBulkStore(store); })
      .Case([&](tile::BulkWaitOp wait) {
        return synchronize("cp.async.bulk.wait_group.read " + std::to_string(wait.getPending()) +
                           ";");
      })
      .Case([&](tile::FenceProxyAsyncOp) { return synchronize("fence.proxy.async.shared::cta;"); })
      .Case([&](tile::ClusterArriveOp arrive) { return emitClusterArrive(arrive); })
      .Case([&](tile::ClusterWaitOp) { return synchronize("barrier.cluster.wait.aligned;"); })
      .Case([&](tile::DsmemStoreOp store) { return emitDsmemStore(store); })
      .Case([&](tile::DsmemWaitOp wait) { return emitDsmemWait(wait); })
      .Case([&](tile::DsmemLoadOp load) { return emitDsmemLoad(load); })
      .Case([&](tile::BarrierOp barrier) {
        return synchronize(barrier.getWarp() ? "bar.warp.sync -1;" : "bar.sync 0;");
      })
      .Default([](Operation *) { return Result(); });
}

LogicalResult KernelEmitter::emit(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (!loop->hasAttr(tile::kOneThreadAttr))
      return emitFor(loop);
    LogicalResult result = success();
    inOneThread([&] { result = emitFor(loop); });
    return result;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return emitIf(branch);
  for (auto emitGroup :
       {&KernelEmitter::emitTileOp, &KernelEmitter::emitViewOp, &KernelEmitter::emitAsyncOp})
    if (std::optional<LogicalResult> done = (this->*emitGroup)(op))
      return *done;
  return emitIndex(op);
}
