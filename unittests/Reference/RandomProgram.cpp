//===- RandomProgram.cpp - Random graph functions -------------------------===//
#include "RandomProgram.h"

#include "mlir/IR/Verifier.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

RandomProgram::RandomProgram(MLIRContext *context, unsigned seed)
    : random(seed), builder(context), loc(builder.getUnknownLoc()), module(ModuleOp::create(loc)) {
  for (const char *name : {"A", "B", "C"})
    sizes[name] = chance(3) ? 0 : 1 + below(5);
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> arguments;
  for (unsigned i = 0; i < 2; ++i)
    arguments.push_back(gir::TensorType::get(shape(), floatType()));
  function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType(arguments, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  pool.assign(body->args_begin(), body->args_end());
  for (unsigned n = 4 + below(10); n > 0; --n)
    addOperation();

  SmallVector<Value> results(pool.end() - std::min<size_t>(pool.size(), 4), pool.end());
  func::ReturnOp::create(builder, loc, results);
  function.setType(builder.getFunctionType(arguments, ValueRange(results).getTypes()));
  SmallVector<gir::CompositeOpInterface> composites;
  function.walk([&](gir::CompositeOpInterface op) { composites.push_back(op); });
  for (gir::CompositeOpInterface op : composites) {
    builder.setInsertionPoint(op);
    op->getResult(0).replaceAllUsesWith(op.decompose(builder));
    op->erase();
  }
  EXPECT_TRUE(succeeded(mlir::verify(*module)));
}

Type RandomProgram::floatType() {
  Type types[] = {builder.getF32Type(), builder.getF32Type(),  builder.getF32Type(),
                  builder.getF16Type(), builder.getBF16Type(), builder.getF64Type()};
  return types[below(std::size(types))];
}

SmallVector<SymExpr> RandomProgram::shape() {
  SmallVector<SymExpr> result;
  for (unsigned rank = below(4); result.size() < rank;) {
    const char *names[] = {"A", "B", "C"};
    result.push_back(chance(15) ? SymExpr(1) : SymExpr::symbol(names[below(3)]));
  }
  return result;
}

Value RandomProgram::pick() {
  // Recent values are chosen more often, so that programs are deep.
  return pool[std::max(below(pool.size()), below(pool.size()))];
}

Value RandomProgram::like(Value x) {
  Value y = pick();
  if (type(y).getElementType() != type(x).getElementType())
    y = gir::CastOp::create(builder, loc, y, type(x).getElementType(), chance(30));
  if (y.getType() == x.getType())
    return y;
  // The trailing dimensions that fit are broadcast; the others are reduced away.
  if (type(y).getRank() > 0) {
    SmallVector<int64_t> all(type(y).getRank());
    std::iota(all.begin(), all.end(), 0);
    bool fits = type(y).getRank() <= type(x).getRank() &&
                type(x).getShape().take_back(type(y).getRank()) == type(y).getShape();
    if (fits) {
      for (int64_t &dim : all)
        dim += type(x).getRank() - type(y).getRank();
      return gir::BroadcastOp::create(builder, loc, y, type(x).getShape(), all);
    }
    y = gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Max, y, all);
  }
  return gir::BroadcastOp::create(builder, loc, y, type(x).getShape(), ArrayRef<int64_t>());
}

void RandomProgram::addOperation() {
  unsigned kind = below(100);
  Value result = kind < 45   ? addMap()
                 : kind < 62 ? addView()
                 : kind < 77 ? addReduction()
                 : kind < 85 ? addContraction()
                             : addComposite();
  if (result)
    pool.push_back(result);
}

Value RandomProgram::addMap() {
  Value x = pick();
  switch (below(10)) {
  case 0: {
    ScalarOp comparisons[] = {ScalarOp::Lt, ScalarOp::Le, ScalarOp::Gt,
                              ScalarOp::Ge, ScalarOp::Eq, ScalarOp::Ne};
    Value y = like(x);
    Value condition = gir::MapOp::create(builder, loc, comparisons[below(6)], ValueRange{x, y});
    return gir::MapOp::create(builder, loc, ScalarOp::Where, ValueRange{condition, x, like(x)});
  }
  case 1:
    return gir::CastOp::create(builder, loc, x, floatType(), chance(50));
  case 2: { // through an index
    if (type(x).getRank() == 0)
      return {};
    auto index = gir::TensorType::get(type(x).getShape(), builder.getI64Type());
    Value i = gir::IotaOp::create(builder, loc, index, below(type(x).getRank()));
    return gir::CastOp::create(builder, loc, i, type(x).getElementType(), false);
  }
  default:
    break;
  }
  std::vector<ScalarOp> ops;
  forEachScalarOp([&](const ScalarOpInfo &info) {
    bool isFloat = info.rule == TypeRule::Float || info.rule == TypeRule::Number ||
                   info.rule == TypeRule::Same;
    if (isFloat && info.op != ScalarOp::ScaleB)
      ops.push_back(info.op);
  });
  ScalarOp op =
      chance(40) ? std::array{ScalarOp::Add, ScalarOp::Sub, ScalarOp::Mul, ScalarOp::Div}[below(4)]
                 : ops[below(ops.size())];
  SmallVector<Value> operands = {x};
  while (operands.size() < scalarOpInfo(op).arity)
    operands.push_back(
        chance(25) ? Value(gir::ConstantOp::create(builder, loc, type(x), double(below(9)) / 2 - 1))
                   : like(x));
  return gir::MapOp::create(builder, loc, op, operands);
}

Value RandomProgram::addView() {
  Value x = pick();
  unsigned rank = type(x).getRank();
  if (rank == 0)
    return {};
  unsigned dim = below(rank);
  switch (below(4)) {
  case 0: {
    SmallVector<int64_t> permutation(rank);
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random);
    return gir::TransposeOp::create(builder, loc, x, permutation);
  }
  case 1: { // merge two dimensions, or add one
    SmallVector<SymExpr> shape(type(x).getShape());
    if (dim + 1 < rank) {
      shape[dim] = shape[dim] * shape[dim + 1];
      shape.erase(shape.begin() + dim + 1);
    } else if (rank < 4) {
      shape.insert(shape.begin() + dim, SymExpr(1));
    }
    return gir::ReshapeOp::create(builder, loc, x, shape);
  }
  case 2: { // backwards, or every second element
    SmallVector<SymExpr> starts(rank), sizes(type(x).getShape());
    SmallVector<int64_t> steps(rank, 1);
    if (chance(50)) {
      starts[dim] = sizes[dim] - 1;
      steps[dim] = -1;
    } else {
      sizes[dim] = sizes[dim].ceilDiv(2);
      steps[dim] = 2;
    }
    return gir::SliceOp::create(builder, loc, x, starts, steps, sizes);
  }
  default:
    if (rank > 3)
      return {};
    return gir::ConcatOp::create(builder, loc, dim, ValueRange{x, like(x)});
  }
}

Value RandomProgram::addReduction() {
  Value x = pick();
  SmallVector<int64_t> dims;
  for (unsigned dim = 0; dim < type(x).getRank(); ++dim)
    if (chance(50))
      dims.push_back(dim);
  tessera::ReduceOp ops[] = {tessera::ReduceOp::Sum, tessera::ReduceOp::Sum, tessera::ReduceOp::Max,
                             tessera::ReduceOp::Min, tessera::ReduceOp::Prod};
  return gir::ReduceOp::create(builder, loc, ops[below(5)], x, dims);
}

Value RandomProgram::addContraction() {
  // With a value of the same shape: one dimension is contracted, some are batches, the others are
  // paired.
  Value x = pick();
  unsigned rank = type(x).getRank();
  if (rank == 0 || rank > 3)
    return {};
  Value y = like(x);
  SmallVector<int64_t> batch, contract = {int64_t(below(rank))};
  for (unsigned dim = 0; dim < rank; ++dim)
    if (dim != contract[0] && (rank > 2 ? chance(70) : chance(30)))
      batch.push_back(dim);
  return gir::ContractOp::create(builder, loc, x, y, batch, batch, contract, contract);
}

Value RandomProgram::addComposite() {
  Value x = pick();
  int64_t rank = type(x).getRank();
  if (rank == 0)
    return {};
  int64_t dim = below(rank);
  SmallVector<SymExpr> rest(type(x).getShape());
  rest.erase(rest.begin() + dim);
  gir::TensorType reduced = type(x).withShape(rest);
  switch (below(7)) {
  case 0:
    return gir::SoftmaxOp::create(builder, loc, x.getType(), x, dim, chance(50));
  case 1:
    return gir::LogSoftmaxOp::create(builder, loc, x.getType(), x, dim);
  case 2:
    return gir::LogSumExpOp::create(builder, loc, reduced, x, ArrayRef<int64_t>{dim});
  case 3:
    return gir::MeanOp::create(builder, loc, reduced, x, ArrayRef<int64_t>{dim});
  case 4:
    return gir::VarOp::create(builder, loc, reduced, x, ArrayRef<int64_t>{dim},
                              llvm::APFloat(double(below(2))));
  case 5:
    return gir::LayerNormOp::create(builder, loc, x.getType(), x, Value(), Value(), 1,
                                    llvm::APFloat(1e-5));
  default:
    return gir::RmsNormOp::create(builder, loc, x.getType(), x, Value(), 1, llvm::APFloat(1e-6));
  }
}
