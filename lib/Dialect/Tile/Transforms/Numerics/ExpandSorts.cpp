//===- ExpandSorts.cpp - Sorting networks as reductions of pairs ----------===//
//
// In a step of the network the dimension is divided into pairs, whose minimum and maximum are
// reductions. Which of the two an element gets is a function of its position.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Tile/IR/Tile.h"
#include "tessera/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

namespace tessera::tile {
#define GEN_PASS_DEF_TILEEXPANDSORTS
#include "tessera/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tessera::tile

namespace {
class Network {
public:
  explicit Network(SortOp sort) : builder(sort), loc(sort.getLoc()), sort(sort) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    positions = IotaOp::create(
        builder, loc, RankedTensorType::get(sort.getType().getShape()[dim()], builder.getI32Type()),
        zero);
  }

  void run() {
    Value words = sort.getInput();
    for (SortOp::Step step : sort.getNetwork())
      words = compared(words, step);
    sort.replaceAllUsesWith(words);
    sort.erase();
  }

private:
  int64_t dim() { return sort.getDim(); }
  Value map(ScalarOp op, Value x, int64_t y) {
    auto type = cast<RankedTensorType>(x.getType());
    Value other =
        tile::ConstantOp::create(builder, loc, type, builder.getI32IntegerAttr(int32_t(y)));
    return MapOp::create(builder, loc, op, ValueRange{x, other});
  }
  /// Whether a bit of the position is set; bits above all positions are not.
  Value bit(unsigned number) {
    return map(ScalarOp::Ne, map(ScalarOp::And, positions, int64_t(1) << number), 0);
  }

  Value compared(Value words, SortOp::Step step) {
    ArrayRef<int64_t> shape = sort.getType().getShape();
    int64_t pairs = shape[dim()] >> (step.bit + 1), distance = int64_t(1) << step.bit;
    SmallVector<int64_t> split(shape.take_front(dim()));
    split.append({pairs, 2, distance});
    llvm::append_range(split, shape.drop_front(dim() + 1));
    SmallVector<int64_t> kept;
    for (int64_t each = 0; each < int64_t(split.size()); ++each)
      if (each != dim() + 1)
        kept.push_back(each);
    Value both = ReshapeOp::create(builder, loc, words, split);
    auto extreme = [&](tessera::ReduceOp kind) -> Value {
      Value one = tile::ReduceOp::create(builder, loc, kind, both, ArrayRef(dim() + 1));
      return BroadcastOp::create(builder, loc, one, split, kept);
    };
    Value isLarger = bit(step.bit);
    if (int64_t(step.phase) < int64_t(llvm::Log2_64(shape[dim()])))
      isLarger = MapOp::create(builder, loc, ScalarOp::Xor, ValueRange{isLarger, bit(step.phase)});
    isLarger = ReshapeOp::create(builder, loc, isLarger, ArrayRef<int64_t>{pairs, 2, distance});
    isLarger = BroadcastOp::create(builder, loc, isLarger, split,
                                   ArrayRef<int64_t>{dim(), dim() + 1, dim() + 2});
    Value result = MapOp::create(
        builder, loc, ScalarOp::Where,
        ValueRange{isLarger, extreme(tessera::ReduceOp::Max), extreme(tessera::ReduceOp::Min)});
    return ReshapeOp::create(builder, loc, result, shape);
  }

  OpBuilder builder;
  Location loc;
  SortOp sort;
  Value positions;
};

struct TileExpandSorts : tile::impl::TileExpandSortsBase<TileExpandSorts> {
  using TileExpandSortsBase::TileExpandSortsBase;

  void runOnOperation() override {
    SmallVector<SortOp> sorts;
    getOperation().walk([&](SortOp sort) { sorts.push_back(sort); });
    for (SortOp sort : sorts)
      Network(sort).run();
  }
};
} // namespace
