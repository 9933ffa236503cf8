//===- Tiles.cpp - Tiles from tiles, within a thread ----------------------===//
#include "Program.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simulator;

static RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }

std::shared_ptr<Places> TileCompiler::placesOf(const Layout &layout) {
  for (auto &[each, places] : known)
    if (each == layout)
      return places;
  known.emplace_back(layout, std::make_shared<Places>(layout, program.warps, program.clusterSize));
  return known.back().second;
}

std::shared_ptr<Places> TileCompiler::placesOf(Value tile) {
  return placesOf(*tile::layoutOf(tile));
}

LogicalResult TileCompiler::compileMap(tile::MapOp op, Step &step) {
  std::vector<unsigned> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(slotOf(input));
  Element operand = *Element::of(typeOf(op.getInputs().back()).getElementType());
  Element result = *Element::of(op.getType().getElementType());
  size_t count = placesOf(op.getResult())->count();
  unsigned to = slotOf(op);
  step.compute = [=, kind = op.getScalarOp()](Frame &frame) {
    std::vector<const Number *> values;
    for (unsigned input : inputs)
      values.push_back(frame.slots[input].tile->values.data());
    TileRef made(new Tile(count));
    evaluateMap(kind, operand, result, values, made->values.data(), count);
    frame.slots[to].tile = std::move(made);
  };
  return success();
}

LogicalResult TileCompiler::compileCast(Operation *op, Step &step) {
  unsigned from = slotOf(op->getOperand(0)), to = slotOf(op->getResult(0));
  Element was = *Element::of(typeOf(op->getOperand(0)).getElementType());
  Element is = *Element::of(typeOf(op->getResult(0)).getElementType());
  step.compute = [=, keepsBits = isa<tile::BitcastOp>(op)](Frame &frame) {
    const std::vector<Number> &old = frame.slots[from].tile->values;
    TileRef made(new Tile(old.size()));
    for (size_t i = 0; i < old.size(); ++i)
      made->values[i] = keepsBits ? is.decode(was.encode(old[i])) : is.convert(old[i], was);
    frame.slots[to].tile = std::move(made);
  };
  return success();
}

/// A tile from a scalar: a constant, a splat, an iota.
LogicalResult TileCompiler::compileFill(Operation *op, Step &step) {
  unsigned to = slotOf(op->getResult(0));
  Element element = *Element::of(typeOf(op->getResult(0)).getElementType());
  std::shared_ptr<Places> places = placesOf(op->getResult(0));
  if (auto iota = dyn_cast<tile::IotaOp>(op)) {
    unsigned start = slotOf(iota.getStart());
    step.compute = [=](Frame &frame) {
      TileRef made(new Tile(places->count()));
      for (unsigned i = 0; i < places->count(); ++i)
        made->values[i] =
            element.wrap(frame.slots[start].scalar.integer + int64_t((*places)(frame.warp, i)));
      frame.slots[to].tile = std::move(made);
    };
    return success();
  }
  unsigned from = ~0u;
  Element was = element;
  Number value = integer(0);
  if (auto splat = dyn_cast<tile::SplatOp>(op)) {
    from = slotOf(splat.getScalar());
    was = *Element::of(splat.getScalar().getType());
  } else if (auto number = dyn_cast<FloatAttr>(cast<tile::ConstantOp>(op).getValue())) {
    value = real(number.getValueAsDouble());
  } else {
    APInt bits = cast<IntegerAttr>(cast<tile::ConstantOp>(op).getValue()).getValue();
    value =
        element.wrap(bits.getBitWidth() == 1 ? int64_t(bits.getZExtValue()) : bits.getSExtValue());
  }
  step.compute = [=](Frame &frame) {
    TileRef made(new Tile(places->count()));
    Number number = from == ~0u ? value : element.convert(frame.slots[from].scalar, was);
    std::fill(made->values.begin(), made->values.end(), number);
    frame.slots[to].tile = std::move(made);
  };
  return success();
}

/// Element `element(e)` of the operand becomes element e of the result; both are registers of the
/// same thread.
LogicalResult TileCompiler::compileMove(Operation *op, Step &step,
                                        const std::function<uint64_t(uint64_t)> &element) {
  std::shared_ptr<Places> from = placesOf(op->getOperand(0)), to = placesOf(op->getResult(0));
  llvm::DenseMap<uint64_t, unsigned> held;
  for (unsigned reg = 0; reg < from->registers(); ++reg)
    held.try_emplace((*from)(0, reg, 0), reg);
  std::vector<unsigned> source;
  for (unsigned reg = 0; reg < to->registers(); ++reg) {
    auto found = held.find(element((*to)(0, reg, 0)));
    bool isSame = found != held.end();
    for (unsigned lane = 1; isSame && lane < kLanes; lane *= 2)
      isSame = (*from)(0, found->second, lane) == element((*to)(0, reg, lane));
    for (unsigned warp = 1; isSame && warp < warps; ++warp)
      isSame = (*from)(warp, found->second, 0) == element((*to)(warp, reg, 0));
    if (!isSame)
      return op->emitError("expected an operand whose threads hold the elements of the result");
    source.push_back(found->second);
  }
  unsigned in = slotOf(op->getOperand(0)), out = slotOf(op->getResult(0));
  step.compute = [=](Frame &frame) {
    const Number *old = frame.slots[in].tile->values.data();
    TileRef made(new Tile(source.size() * kLanes));
    for (size_t reg = 0; reg < source.size(); ++reg)
      std::copy_n(old + source[reg] * kLanes, kLanes, made->values.data() + reg * kLanes);
    frame.slots[out].tile = std::move(made);
  };
  return success();
}

LogicalResult TileCompiler::compile(Operation *op, Step &step) {
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
    if (auto type = dyn_cast<RankedTensorType>(value.getType());
        type && !Element::of(type.getElementType()))
      return op->emitError("is not supported by the simulator");
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::MapOp map) { return compileMap(map, step); })
      .Case<tile::CastOp, tile::BitcastOp>([&](auto) { return compileCast(op, step); })
      .Case<tile::ConstantOp, tile::SplatOp, tile::IotaOp>(
          [&](auto) { return compileFill(op, step); })
      .Case([&](tile::BroadcastOp broadcast) {
        Space from = tile::spaceOf(broadcast.getInput().getType().getShape()),
              to = tile::spaceOf(broadcast.getType().getShape());
        return compileMove(op, step, [&](uint64_t element) {
          Point all = to.unpack(element), kept;
          for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
            kept[tensorDim(i)] = all[tensorDim(dim)];
          return from.pack(kept);
        });
      })
      .Case([&](tile::TransposeOp transpose) {
        Space from = tile::spaceOf(transpose.getInput().getType().getShape()),
              to = tile::spaceOf(transpose.getType().getShape());
        return compileMove(op, step, [&](uint64_t element) {
          Point point = to.unpack(element), before;
          for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
            before[tensorDim(dim)] = point[tensorDim(i)];
          return from.pack(before);
        });
      })
      .Case([&](tile::SliceOp slice) {
        return compileMove(op, step,
                           [&](uint64_t element) { return slice.getInputElement(element); });
      })
      .Case([&](tile::ReshapeOp) {
        return compileMove(op, step, [](uint64_t element) { return element; });
      })
      .Case([&](tile::ReduceOp reduce) {
        return compileReduce(op, reduce.getInput(), reduce.getResult(), reduce.getDims(),
                             reduce.getReduceOp(), reduce.getSkipNan(), /*isPartial=*/false, step);
      })
      .Case([&](tile::WarpReduceOp partial) {
        return compileReduce(op, partial.getInput(), partial.getResult(), partial.getDims(),
                             partial.getReduceOp(), partial.getSkipNan(), /*isPartial=*/true, step);
      })
      .Case([&](tile::ScanOp scan) { return compileScan(scan, step); })
      .Case([&](tile::SortOp sort) { return compileSort(sort, step); })
      .Case([&](tile::ConvertOp convert) { return compileConvert(convert, step); })
      .Case([&](tile::MmaOp mma) { return compileMma(mma, step); })
      .Default([&](Operation *) { return op->emitError("is not supported by the simulator"); });
}
