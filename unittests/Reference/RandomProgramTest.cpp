//===- RandomProgramTest.cpp - The bounds hold for a simulated kernel -----===//
//
// A second evaluator computes random programs as a kernel might: in float (double for f64), sums in
// a random order, functions with a random error within their bound, 16-bit values rounded or kept
// at random. It evaluates GraphOpInterface point by point. Its results must be within the
// reference's bounds.
//
//===----------------------------------------------------------------------===//
#include "RandomProgram.h"

#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Support/ScalarEval.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::reference;
using namespace tessera::test;

namespace {

using Point = std::vector<int64_t>;

/// Numbers of one tensor in row-major order; integers and bools are held as doubles, too.
struct Numbers {
  Point sizes;
  std::vector<double> data;

  double &at(const Point &point) {
    int64_t linear = 0;
    for (size_t dim = 0; dim < sizes.size(); ++dim)
      linear = linear * sizes[dim] + point[dim];
    return data[linear];
  }
};

template <typename Visit> void forEachPoint(const Point &box, Visit visit) {
  Point point(box.size(), 0);
  int64_t count = 1;
  for (int64_t size : box)
    count *= size;
  for (int64_t i = 0; i < count; ++i) {
    visit(point);
    for (size_t dim = box.size(); dim-- > 0;) {
      if (++point[dim] < box[dim])
        break;
      point[dim] = 0;
    }
  }
}

class Machine {
public:
  Machine(const std::map<std::string, int64_t> &sizes, unsigned seed)
      : random(seed), sizes(sizes) {}

  void run(Operation &op) {
    if (auto concat = dyn_cast<gir::ConcatOp>(op))
      return runConcat(concat);
    auto graphOp = cast<gir::GraphOpInterface>(op);
    Value result = op.getResult(0);
    Point iteration = evaluate(graphOp.getIterationSizes(), {});
    unsigned numParallel = iteration.size() - graphOp.getNumReduced();
    Point parallel(iteration.begin(), iteration.begin() + numParallel);
    Point reduced(iteration.begin() + numParallel, iteration.end());
    SmallVector<SmallVector<SymExpr>> indices;
    for (unsigned i = 0; i < op.getNumOperands(); ++i)
      indices.push_back(graphOp.getOperandIndex(i));

    Numbers &out = values[result];
    out.sizes = parallel;
    forEachPoint(parallel, [&](const Point &point) {
      std::vector<double> terms;
      forEachPoint(reduced, [&](const Point &inner) {
        Point all = point;
        all.insert(all.end(), inner.begin(), inner.end());
        double operands[3];
        for (unsigned i = 0; i < op.getNumOperands(); ++i)
          operands[i] = values[op.getOperand(i)].at(evaluate(indices[i], all));
        terms.push_back(body(graphOp, operands, all));
      });
      if (graphOp.getNumReduced())
        terms = {store(join(*graphOp.getReduction(), terms, result), result)};
      out.data.push_back(terms[0]);
    });
  }

  std::map<Value, Numbers, bool (*)(Value, Value)> values{
      [](Value a, Value b) { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); }};

private:
  static Type element(Value x) { return cast<gir::TensorType>(x.getType()).getElementType(); }
  static double round(double x, Type type) { return type.isF64() ? x : double(float(x)); }
  double noise() { return std::uniform_real_distribution<double>(-1, 1)(random); }

  Point evaluate(ArrayRef<SymExpr> exprs, const Point &point) {
    Point result;
    for (SymExpr expr : exprs)
      result.push_back(*expr.evaluate([&](const std::string &name) -> std::optional<int64_t> {
        return name[0] == '#' ? point[std::stoul(name.substr(1))] : sizes.at(name);
      }));
    return result;
  }

  /// A value of a 16-bit type may stay in f32.
  double store(double x, Value result) {
    Type type = element(result);
    if (!isa<FloatType>(type) || type.isF64())
      return x;
    x = float(x);
    return type.isF32() || random() % 2 ? x : roundTo(*dtypeFromMlir(type), x);
  }

  double body(gir::GraphOpInterface op, const double *x, const Point &point) {
    gir::ScalarBody body = op.getScalarBody();
    Value result = op->getResult(0);
    switch (body.kind) {
    case gir::ScalarBody::Identity:
      return x[0];
    case gir::ScalarBody::Constant: {
      auto number = dyn_cast<FloatAttr>(body.value);
      return number ? number.getValueAsDouble() : double(cast<IntegerAttr>(body.value).getInt());
    }
    case gir::ScalarBody::Index:
      return double(point[body.dim]);
    case gir::ScalarBody::Size:
      return double(evaluate(body.size, {})[0]);
    case gir::ScalarBody::Product:
      return round(x[0] * x[1], element(result));
    case gir::ScalarBody::Cast:
      return cast<gir::CastOp>(op.getOperation()).getExplicit_()
                 ? roundTo(*dtypeFromMlir(element(result)), x[0])
                 : store(x[0], result);
    case gir::ScalarBody::Map:
      return map(body.op, x, result);
    }
    return 0;
  }

  double map(ScalarOp op, const double *x, Value result) {
    double exact = evaluateFloat(op, x);
    if (!isa<FloatType>(element(result)) || !std::isfinite(exact))
      return exact;
    double units = scalarErrorUnits(op, x, exact);
    if (units == 0)
      return exact;
    double spare = std::max(0.0, units - std::fabs(exact)) *
                   std::ldexp(1, element(result).isF64() ? -53 : -24);
    return store(exact + noise() * spare, result);
  }

  double join(tessera::ReduceOp op, std::vector<double> &terms, Value result) {
    std::shuffle(terms.begin(), terms.end(), random);
    double total = op == tessera::ReduceOp::Sum    ? 0
                   : op == tessera::ReduceOp::Prod ? 1
                   : op == tessera::ReduceOp::Max  ? -INFINITY
                                                   : INFINITY;
    for (double term : terms) {
      double operands[] = {total, term};
      total = round(evaluateFloat(reduceOpCombiner(op), operands), element(result));
    }
    return total;
  }

  void runConcat(gir::ConcatOp op) {
    Numbers &out = values[op.getResult()];
    out.sizes = evaluate(cast<gir::TensorType>(op.getResult().getType()).getShape(), {});
    forEachPoint(out.sizes, [&](const Point &point) {
      Point source = point;
      for (Value input : op.getInputs()) {
        Numbers &part = values[input];
        if (source[op.getDim()] < part.sizes[op.getDim()]) {
          out.data.push_back(part.at(source));
          return;
        }
        source[op.getDim()] -= part.sizes[op.getDim()];
      }
    });
  }

  std::mt19937 random;
  const std::map<std::string, int64_t> &sizes;
};

/// Random arguments of a program: exact in their types, as doubles for the evaluator and as bytes
/// for the reference.
struct Arguments {
  Arguments(RandomProgram &program, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, 2);
    for (Value parameter : program.function.getArguments()) {
      auto type = cast<gir::TensorType>(parameter.getType());
      Numbers numbers;
      int64_t count = 1;
      for (SymExpr size : type.getShape()) {
        numbers.sizes.push_back(*size.evaluate(
            [&](const std::string &name) { return std::optional(program.sizes.at(name)); }));
        count *= numbers.sizes.back();
      }
      for (int64_t i = 0; i < count; ++i) {
        unsigned special = random() % 100;
        double value = special == 0 ? -INFINITY : special == 1 ? 0.0 : normal(random);
        numbers.data.push_back(roundTo(*dtypeFromMlir(type.getElementType()), value));
      }
      this->numbers.push_back(numbers);
      // The reference reads them through a function argument of their own type.
      Point strides(numbers.sizes.size());
      int64_t stride = 1;
      for (size_t dim = strides.size(); dim-- > 0; stride *= numbers.sizes[dim])
        strides[dim] = stride;
      bytes.push_back(encode(numbers.data, type.getElementType()));
      tensors.push_back(
          {*dtypeFromMlir(type.getElementType()), numbers.sizes, strides, bytes.back().data()});
    }
  }

  static std::vector<char> encode(const std::vector<double> &data, Type type) {
    std::vector<char> bytes(data.size() * dtypeBytes(*dtypeFromMlir(type)));
    for (size_t i = 0; i < data.size(); ++i) {
      llvm::APFloat value(data[i]);
      bool losesInfo;
      value.convert(cast<FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                    &losesInfo);
      uint64_t bits = value.bitcastToAPInt().getZExtValue();
      std::memcpy(bytes.data() + i * dtypeBytes(*dtypeFromMlir(type)), &bits,
                  dtypeBytes(*dtypeFromMlir(type)));
    }
    return bytes;
  }

  std::vector<Numbers> numbers;
  std::vector<std::vector<char>> bytes;
  std::vector<HostTensor> tensors;
};

TEST(RandomPrograms, MachineResultsAreWithinBounds) {
  auto context = makeContext();
  int64_t checked = 0, uncertain = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomProgram program(context.get(), seed);
    Arguments arguments(program, seed);
    llvm::StringMap<int64_t> symbols;
    for (auto &[name, size] : program.sizes)
      symbols[name] = size;
    auto expected = evaluate(program.function, arguments.tensors, symbols);
    ASSERT_TRUE(succeeded(expected));

    Machine machine(program.sizes, seed);
    for (auto [parameter, numbers] :
         llvm::zip_equal(program.function.getArguments(), arguments.numbers))
      machine.values[parameter] = numbers;
    Block &body = program.function.getBody().front();
    for (Operation &op : body.without_terminator())
      machine.run(op);

    for (auto [value, result] : llvm::zip_equal(body.getTerminator()->getOperands(), *expected)) {
      Type type = cast<gir::TensorType>(value.getType()).getElementType();
      std::vector<char> bytes = Arguments::encode(machine.values[value].data, type);
      Point strides(result.sizes.size());
      int64_t stride = 1;
      for (size_t dim = strides.size(); dim-- > 0; stride *= result.sizes[dim])
        strides[dim] = stride;
      Comparison comparison = compare(result, {result.dtype, result.sizes, strides, bytes.data()});
      checked += comparison.checked;
      uncertain += comparison.uncertain;
      if (comparison.ok())
        continue;
      int64_t at = comparison.firstWrong;
      std::string text;
      llvm::raw_string_ostream stream(text);
      program.function.print(stream);
      ADD_FAILURE() << "seed " << seed << " element " << at << ": expected " << result.values[at]
                    << " +- " << result.bounds[at] << ", got " << machine.values[value].data[at]
                    << "\n"
                    << text;
      return;
    }
  }
  RecordProperty("checked", std::to_string(checked));
  RecordProperty("uncertain", std::to_string(uncertain));
  // A reference that finds everything uncertain would check nothing.
  EXPECT_GT(checked, 3 * uncertain);
}

} // namespace
