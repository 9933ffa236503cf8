//===- BuiltinsLoss.cpp - Losses and one-hot encoding ---------------------===//
//
// The logit of a class is selected by comparing class indices under a sum. This selection streams
// with the other reductions over the classes, so that logits computed by a contraction are never
// stored.
//
//===------------------------------------------------------------------------------------------===//
#include "Gathers.h"
#include "Reductions.h"

using namespace tessera;
using namespace tessera::sema;

static std::optional<std::string> readHow(Args &args, size_t i) {
  if (args[i].is(Value::Str))
    for (const char *how : {"mean", "sum", "none"})
      if (*args[i].text == how)
        return how;
  args.error(i, "expected 'mean', 'sum' or 'none' for 'reduction', found " + describe(args[i]));
  return std::nullopt;
}

static Value mseLoss(Args &args) {
  Emitter &emit = args.emit();
  std::optional<std::string> how = readHow(args, 2);
  if (!how)
    return Value::error();
  if (!args.tensor(0) || !args.tensor(1))
    return Value::error();
  Value difference = emit.map(ScalarOp::Sub, {args[0], args[1]}, {args.ranges[0], args.ranges[1]});
  if (difference.isError())
    return difference;
  Value squares = emit.asTensor(emit.map(ScalarOp::Square, {difference}));
  if (!requireFloat(args, squares))
    return Value::error();
  Value weight = args[3];
  if (!weight.is(Value::None)) {
    squares = emit.map(ScalarOp::Mul, {squares, weight}, {args.ranges[0], args.ranges[3]});
    if (squares.isError())
      return squares;
  }
  if (*how == "none")
    return squares;
  llvm::SmallVector<int64_t> dims = allDims(squares.rank());
  if (*how == "sum" || !weight.is(Value::None)) {
    Value total = sumOver(emit, squares, dims);
    if (*how == "sum")
      return total;
    // A weighted mean divides by the weights of all elements.
    mlir::Value all = emit.materialise(weight, Emitter::dtype(squares), squares.shape());
    return emit.map(ScalarOp::Div, {total, sumOver(emit, Value::ofTensor(all), dims)});
  }
  return meanOver(emit, squares, dims);
}

//===------------------------------------------------------------------------------------------===//
// Cross entropy
//===------------------------------------------------------------------------------------------===//

namespace {

/// -log(softmax(x)[class]) of every sample, in the type of the computation.
class CrossEntropy {
public:
  CrossEntropy(Args &args) : args(args), emit(args.emit()) {}

  Value run();

private:
  bool read();
  Value ofIndices();
  Value ofProbabilities();
  Value combine(Value losses, Value count);

  /// A per-class value in the shape of x.
  Value alongClasses(const Value &perClass) {
    Shape shape(x.rank() - dim, SymExpr(1));
    shape[0] = x.shape()[dim];
    return Value::ofTensor(emit.broadcastTo(emit.reshape(perClass.tensor, shape), x.shape()));
  }
  Value overClasses(const Value &value) { return sumOver(emit, value, {dim}); }
  Value kept(const Value &perSample) {
    return Value::ofTensor(emit.unsqueeze(perSample.tensor, {dim}));
  }
  Value zero() { return Value::ofFloat(0); }

  Args &args;
  Emitter &emit;
  Value x, target, weight;
  DType result = DType::FP32, wide = DType::FP32;
  int64_t dim = 1; // of the classes
  double smoothing = 0;
  std::string how;
  /// Over the classes: the maximum logit and log(sum(exp(x - maximum))).
  Value largest, logSum;
};

} // namespace

bool CrossEntropy::read() {
  std::optional<Value> logits = args.tensor(0), classes = logits ? args.tensor(1) : std::nullopt;
  std::optional<std::string> reduction = classes ? readHow(args, 4) : std::nullopt;
  std::optional<double> smooth = reduction ? args.real(5) : std::nullopt;
  if (!smooth || !requireFloat(args, *logits))
    return false;
  if (logits->rank() == 0) {
    args.error(0, "expected at least one dimension, the classes, for 'cross_entropy', found " +
                      describe(*logits));
    return false;
  }
  if (*smooth < 0 || *smooth > 1) {
    args.error(5, "expected 'label_smoothing' between 0 and 1, found " + floatText(*smooth));
    return false;
  }
  how = *reduction;
  smoothing = *smooth;
  result = Emitter::dtype(*logits);
  wide = accumulationType(result);
  x = emit.cast(*logits, wide, false);
  target = *classes;
  dim = x.rank() == 1 ? 0 : 1;
  bool probabilities = Emitter::isFloat(Emitter::dtype(target));
  Shape expected(x.shape());
  if (!probabilities)
    expected.erase(expected.begin() + dim);
  bool fits = target.rank() == expected.size();
  for (size_t i = 0; fits && i < expected.size(); ++i)
    fits = args.in.sizes.equal(expected[i], target.shape()[i], args.ranges[1]);
  if (!fits || Emitter::dtype(target) == DType::Bool) {
    args.wrongShape(1, expected, target, probabilities ? "probabilities" : "class indices");
    return false;
  }
  target = Value::ofTensor(emit.reshape(target.tensor, expected));
  if (args[2].is(Value::None))
    return true;
  std::optional<Value> given = args.tensor(2);
  if (!given)
    return false;
  if (given->rank() != 1 ||
      !args.in.sizes.equal(given->shape()[0], x.shape()[dim], args.ranges[2])) {
    args.error(2, "expected a weight for each of the '" + x.shape()[dim].str() +
                      "' classes, found " + describe(*given));
    return false;
  }
  weight = alongClasses(emit.cast(*given, wide, false));
  return true;
}

Value CrossEntropy::run() {
  if (!read())
    return Value::error();
  largest = reduce(emit, tessera::ReduceOp::Max, {x, {dim}, false});
  // The loss does not depend on the shift.
  largest = Value::ofTensor(gir::StopGradientOp::create(emit.builder, emit.loc(),
                                                        largest.tensor.getType(), largest.tensor));
  Value shifted = emit.map(ScalarOp::Sub, {x, kept(largest)});
  logSum = emit.map(ScalarOp::Log, {overClasses(emit.map(ScalarOp::Exp, {shifted}))});
  bool probabilities = Emitter::isFloat(Emitter::dtype(target));
  Value loss = probabilities ? ofProbabilities() : ofIndices();
  return loss.isError() ? loss : emit.cast(loss, result, false);
}

/// Reduces the samples' losses; a mean divides by `count`.
Value CrossEntropy::combine(Value losses, Value count) {
  if (how == "none")
    return losses;
  Value total = sumOver(emit, losses, allDims(losses.rank()));
  return how == "sum" ? total : emit.map(ScalarOp::Div, {total, count});
}

Value CrossEntropy::ofIndices() {
  std::optional<int64_t> ignored = args.integer(3);
  if (!ignored)
    return Value::error();
  target = emit.cast(target, DType::Int64, false);
  Value counts = emit.map(ScalarOp::Ne, {target, Value::ofInt(SymExpr(*ignored))});
  Value asked = emit.map(ScalarOp::Where, {counts, target, Value::ofInt(SymExpr(0))});
  checkIndex(emit, asked, x.shape()[dim], false,
             "class {0} of 'cross_entropy' is out of range for {1} classes", args.ranges[1]);
  Value position = emit.iota(x.shape(), dim, DType::Int64);
  Value isTarget = emit.map(ScalarOp::Eq, {position, kept(target)});
  auto chosen = [&](const Value &values) {
    return overClasses(emit.map(ScalarOp::Where, {isTarget, values, zero()}));
  };
  // The difference first: it is exact if the class has nearly the maximum logit.
  Value loss = emit.map(ScalarOp::Sub, {logSum, emit.map(ScalarOp::Sub, {chosen(x), largest})});
  Value share = weight.isTensor() ? chosen(weight) : emit.cast(counts, wide, false);
  if (weight.isTensor())
    loss = emit.map(ScalarOp::Mul, {loss, share});
  if (smoothing > 0) {
    Value logs =
        emit.map(ScalarOp::Add, {emit.map(ScalarOp::Sub, {kept(largest), x}), kept(logSum)});
    if (weight.isTensor())
      logs = emit.map(ScalarOp::Mul, {logs, weight});
    Value classes =
        emit.map(ScalarOp::Div, {Value::ofFloat(smoothing), Value::ofInt(x.shape()[dim])});
    loss = emit.map(ScalarOp::Add, {emit.map(ScalarOp::Mul, {loss, Value::ofFloat(1 - smoothing)}),
                                    emit.map(ScalarOp::Mul, {overClasses(logs), classes})});
  }
  loss = emit.map(ScalarOp::Where, {counts, loss, zero()});
  share = emit.map(ScalarOp::Where, {counts, share, zero()});
  return combine(loss, sumOver(emit, share, allDims(share.rank())));
}

Value CrossEntropy::ofProbabilities() {
  Value shares = emit.cast(target, wide, false);
  if (smoothing > 0) {
    Value classes =
        emit.map(ScalarOp::Div, {Value::ofFloat(smoothing), Value::ofInt(x.shape()[dim])});
    shares = emit.map(ScalarOp::Mul, {shares, Value::ofFloat(1 - smoothing)});
    shares = emit.map(ScalarOp::Add, {shares, classes});
  }
  if (weight.isTensor())
    shares = emit.map(ScalarOp::Mul, {shares, weight});
  Value logs = emit.map(ScalarOp::Sub, {emit.map(ScalarOp::Sub, {x, kept(largest)}), kept(logSum)});
  Value loss = emit.map(ScalarOp::Neg, {overClasses(emit.map(ScalarOp::Mul, {logs, shares}))});
  SymExpr samples(1);
  for (SymExpr size : loss.shape())
    samples = samples * size;
  return combine(loss, Value::ofInt(samples));
}

static Value crossEntropy(Args &args) { return CrossEntropy(args).run(); }

//===------------------------------------------------------------------------------------------===//
// One-hot encoding
//===------------------------------------------------------------------------------------------===//

static Value oneHot(Args &args) {
  std::optional<Value> x = args.tensor(0);
  if (!x)
    return Value::error();
  DType type = Emitter::dtype(*x);
  if (Emitter::isFloat(type) || type == DType::Bool)
    return args.error(0, "expected class indices, which are integers, for 'one_hot', found " +
                             describe(*x));
  std::optional<SymExpr> classes = args.in.toSize(args[1], args.ranges[1], "'num_classes'");
  if (!classes)
    return Value::error();
  if (classes->isConstant(-1))
    return args.error(1, "'num_classes' must be given: a size cannot depend on a tensor's values");
  if (!args.checkSizes(1, *classes))
    return Value::error();
  if (classes->isConstant(0))
    return args.error(1, "expected at least one class, found 0");
  Emitter &emit = args.emit();
  checkIndex(emit, *x, *classes, false, "class {0} of 'one_hot' is out of range for {1} classes",
             args.ranges[0]);
  Shape shape(x->shape());
  shape.push_back(*classes);
  Value position = emit.iota(shape, x->rank(), DType::Int64);
  Value index = Value::ofTensor(
      emit.unsqueeze(emit.cast(*x, DType::Int64, false).tensor, {int64_t(x->rank())}));
  return emit.cast(emit.map(ScalarOp::Eq, {position, index}), DType::Int64, false);
}

std::vector<Builtin> sema::lossBuiltins() {
  constexpr uint8_t function = Builtin::Function;
  return {
      {"mse_loss", "x, target, reduction='mean', weight=None", function, mseLoss,
       "mean of squared differences"},
      {"cross_entropy",
       "x, target, weight=None, *, ignore_index=-100, reduction='mean', label_smoothing=0.0",
       function, crossEntropy,
       "-log(softmax(x)[class]) along dimension 1; targets are class indices or probabilities"},
      {"one_hot", "x, num_classes=-1", function, oneHot,
       "1 at the index's position along a new last dimension, else 0"},
  };
}
