//===- InterpreterTest.cpp - Interpreted programs against the reference ---===//
#include "Harness.h"

#include "../Reference/RandomProgram.h"

#include "tessera/Dialect/Common/ScalarTypes.h"
#include "tessera/Interpreter/Interpreter.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

/// Sizes that no argument has become those of one more, which is not used.
void bindSizes(func::FuncOp function) {
  SmallVector<SymExpr> shape;
  for (const char *name : {"A", "B", "C"})
    shape.push_back(SymExpr::symbol(name));
  Type type =
      gir::TensorType::get(function.getContext(), shape, Float32Type::get(function.getContext()));
  (void)function.insertArgument(function.getNumArguments(), type, {}, function.getLoc());
}

std::vector<Array> argumentsOf(RandomProgram &program, std::mt19937 &random) {
  std::vector<Array> arguments;
  for (Type type : program.function.getArgumentTypes()) {
    auto tensor = cast<gir::TensorType>(type);
    std::vector<int64_t> sizes;
    for (SymExpr size : tensor.getShape())
      sizes.push_back(*size.evaluate(
          [&](const std::string &name) { return std::optional(program.sizes.at(name)); }));
    arguments.push_back(Array::random(*dtypeFromMlir(tensor.getElementType()), sizes, random));
    if (random() % 3 == 0 && sizes.size() > 1) {
      std::vector<unsigned> order(sizes.size());
      for (unsigned d = 0; d < order.size(); ++d)
        order[d] = d;
      std::shuffle(order.begin(), order.end(), random);
      arguments.back() = arguments.back().permuted(order);
    }
  }
  return arguments;
}

TEST(Interpreter, RandomProgramsAreWithinBounds) {
  auto context = makeContext();
  int64_t checked = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomProgram program(context.get(), seed);
    std::mt19937 random(seed);
    if (seed % 4 == 3) // larger than a block
      for (auto &[name, size] : program.sizes)
        size = size ? 1 + random() % 24 : 0;
    bindSizes(program.function);
    std::string difference =
        compareWithReference(program.function, argumentsOf(program, random), &checked);
    if (difference.empty())
      continue;
    std::string text;
    llvm::raw_string_ostream stream(text);
    program.function.print(stream);
    ADD_FAILURE() << "seed " << seed << ": " << difference << "\n" << text;
    return;
  }
  EXPECT_GT(checked, 100000);
}

const char *typeName(DType dtype) {
  static const std::map<DType, const char *> names = {
      {DType::FP64, "f64"},  {DType::FP32, "f32"},         {DType::BF16, "bf16"},
      {DType::FP16, "f16"},  {DType::Int64, "i64"},        {DType::Int32, "i32"},
      {DType::Int16, "i16"}, {DType::Int8, "i8"},          {DType::UInt8, "ui8"},
      {DType::Bool, "i1"},   {DType::FP8E4M3, "f8E4M3FN"}, {DType::FP8E5M2, "f8E5M2"}};
  return names.at(dtype);
}

std::string tensor(const std::string &sizes, DType dtype) {
  return "!gir.tensor<" + sizes + ", " + typeName(dtype) + ">";
}

/// Numbers of every magnitude and sign, special ones first.
Array sweep(DType dtype, std::mt19937 &random, bool isCondition = false) {
  Array array(isCondition ? DType::Bool : dtype, {1500});
  const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, -0.5, 88.9, -103.5, 3};
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < array.count(); ++i) {
    double value = i < 12  ? special[(i * 7) % 12]
                   : i % 3 ? normal(random)
                           : std::copysign(std::exp(10 * normal(random)), normal(random));
    if (!isFloat(dtype) || isCondition)
      value = isCondition || dtype == DType::Bool ? random() % 2 : double(random() % 61) - 30;
    array.set(i, value);
  }
  return array;
}

TEST(Interpreter, EveryScalarOperationOnEveryType) {
  std::mt19937 random(7);
  unsigned count = 0;
  forEachScalarOp([&](const ScalarOpInfo &info) {
    for (unsigned t = 0; t < numDTypes; ++t) {
      auto dtype = DType(t);
      auto context = makeContext();
      Type type = dtypeToMlir(dtype, context.get());
      bool isSelect = info.rule == TypeRule::Select;
      SmallVector<Type> types(info.arity, type);
      if (isSelect)
        types[0] = IntegerType::get(context.get(), 1);
      Type result = scalarOpResultType(info.op, types);
      ScopedDiagnosticHandler silence(context.get(), [](Diagnostic &) { return success(); });
      auto none = [&] { return emitError(UnknownLoc::get(context.get())); };
      if (failed(verifyScalarOp(none, llvm::StringRef(info.name), types, result)) || isFloat8(type))
        continue;
      std::string parameters, operands, list;
      std::vector<Array> arguments;
      for (unsigned k = 0; k < info.arity; ++k) {
        std::string name = "%" + std::string(1, char('x' + k)), separator = k ? ", " : "";
        std::string each = tensor("N", isSelect && k == 0 ? DType::Bool : dtype);
        parameters += separator + name + ": " + each;
        operands += separator + name;
        list += separator + each;
        arguments.push_back(sweep(dtype, random, isSelect && k == 0));
      }
      std::string to = tensor("N", *dtypeFromMlir(result));
      std::string difference =
          compareWithReference("func.func @f(" + parameters + ") -> " + to + " { %r = gir.map " +
                                   std::string(info.name) + "(" + operands + ") : (" + list +
                                   ") -> " + to + " return %r : " + to + " }",
                               arguments);
      EXPECT_EQ(difference, "") << info.name << " on " << typeName(dtype);
      ++count;
    }
  });
  EXPECT_GT(count, 400u);
}

/// Blocks without special operands have forms of their own.
TEST(Interpreter, FunctionsOfUsualOperands) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> exponents(-6, 6);
  Array x(DType::FP32, {4000}), y(DType::FP32, {4000});
  for (int64_t i = 0; i < x.count(); ++i) {
    x.set(i, std::exp(exponents(random)));
    y.set(i, exponents(random));
  }
  for (const char *op : {"sin", "cos", "log", "exp", "tanh", "erf"})
    EXPECT_EQ(compareWithReference(elementwise(op, 1), {op[0] == 'e' ? y : x}), "") << op;
  EXPECT_EQ(compareWithReference(elementwise("pow", 2), {x, y}), "");
}

TEST(Interpreter, CastsBetweenAllTypes) {
  std::mt19937 random(3);
  for (unsigned from = 0; from < numDTypes; ++from)
    for (unsigned to = 0; to < numDTypes; ++to) {
      std::string source = tensor("N", DType(from)), target = tensor("N", DType(to));
      EXPECT_EQ(compareWithReference("func.func @f(%x: " + source + ") -> " + target +
                                         " { %r = gir.cast %x explicit : " + source + " -> " +
                                         target + " return %r : " + target + " }",
                                     {sweep(DType(from), random)}),
                "")
          << typeName(DType(from)) << " to " << typeName(DType(to));
    }
}

TEST(Interpreter, ReductionsAlongAndAcrossRows) {
  std::mt19937 random(5);
  for (DType dtype :
       {DType::FP32, DType::FP64, DType::BF16, DType::Int32, DType::UInt8, DType::Bool})
    for (const char *op : {"sum", "prod", "max", "min", "any", "all"}) {
      if ((dtype == DType::Bool) != (op[0] == 'a'))
        continue;
      for (const char *dims : {"0", "1", "2", "0, 1", "1, 2", "0, 2", "0, 1, 2"}) {
        std::string kept;
        for (const char *name : {"A", "B", "C"})
          if (!llvm::StringRef(dims).contains(char('0' + (name[0] - 'A'))))
            kept += (kept.empty() ? "" : ", ") + std::string(name);
        std::string from = tensor("A, B, C", dtype);
        std::string to = kept.empty() ? "!gir.tensor<" + std::string(typeName(dtype)) + ">"
                                      : tensor(kept, dtype);
        std::string text = "func.func @f(%x: " + from + ") -> " + to + " { %r = gir.reduce " + op +
                           " %x dims [" + dims + "] : " + from + " -> " + to +
                           " return %r : " + to + " }";
        for (std::vector<int64_t> sizes :
             {std::vector<int64_t>{3, 5, 700}, {4, 600, 9}, {2, 0, 3}, {1, 1, 1}}) {
          Array x = Array::random(dtype, sizes, random);
          EXPECT_EQ(compareWithReference(text, {x}), "") << text;
          EXPECT_EQ(compareWithReference(text, {x.permuted({2, 0, 1})}), "") << text;
        }
      }
    }
}

TEST(Interpreter, Contractions) {
  std::mt19937 random(11);
  for (DType dtype : {DType::FP32, DType::FP64, DType::BF16, DType::FP16, DType::Int32,
                      DType::Int64, DType::Int8}) {
    std::string lhs = tensor("B, M, K", dtype), rhs = tensor("B, K, N", dtype),
                to = tensor("B, M, N", dtype);
    std::string text = "func.func @f(%x: " + lhs + ", %y: " + rhs + ") -> " + to +
                       " { %r = gir.contract %x, %y batch [0] x [0] over [2] x [1] : (" + lhs +
                       ", " + rhs + ") -> " + to + " return %r : " + to + " }";
    for (std::vector<int64_t> sizes :
         {std::vector<int64_t>{2, 3, 4, 5}, {1, 150, 300, 70}, {2, 13, 17, 530}, {1, 7, 9, 0}}) {
      Array x = Array::random(dtype, {sizes[0], sizes[1], sizes[3]}, random);
      Array y = Array::random(dtype, {sizes[0], sizes[3], sizes[2]}, random);
      EXPECT_EQ(compareWithReference(text, {x, y}), "") << typeName(dtype);
      EXPECT_EQ(compareWithReference(text, {x.permuted({2, 0, 1}), y.permuted({1, 2, 0})}), "")
          << typeName(dtype);
    }
  }
}

TEST(Interpreter, RowsOfAContractionAreReduced) {
  std::mt19937 random(13);
  std::string text = R"(
    func.func @f(%x: !gir.tensor<1, K, f32>, %y: !gir.tensor<K, N, f32>) -> !gir.tensor<1, N, f32> {
      %r = gir.contract %x, %y batch [] x [] over [1] x [0]
        : (!gir.tensor<1, K, f32>, !gir.tensor<K, N, f32>) -> !gir.tensor<1, N, f32>
      return %r : !gir.tensor<1, N, f32>
    })";
  Array x = Array::random(DType::FP32, {1, 300}, random),
        y = Array::random(DType::FP32, {300, 700}, random);
  EXPECT_EQ(compareWithReference(text, {x, y}), "");
  EXPECT_EQ(compareWithReference(text, {x, y.permuted({1, 0})}), "");
}

TEST(Interpreter, GathersScansSortsAndScatters) {
  std::mt19937 random(17);
  Array table = Array::random(DType::BF16, {9, 6}, random), rows(DType::Int32, {40});
  for (int64_t i = 0; i < 40; ++i)
    rows.set(i, double(random() % 14) - 2);
  EXPECT_EQ(compareWithReference(R"(
    func.func @f(%t: !gir.tensor<V, D, bf16>, %i: !gir.tensor<S, i32>) -> !gir.tensor<S, D, bf16> {
      %j = gir.broadcast %i dims [0] : !gir.tensor<S, i32> -> !gir.tensor<S, D, i32>
      %r = gir.gather %t(%j) dims [0] rest [1]
        : (!gir.tensor<V, D, bf16>, !gir.tensor<S, D, i32>) -> !gir.tensor<S, D, bf16>
      return %r : !gir.tensor<S, D, bf16>
    })",
                                 {table, rows}),
            "");
  for (const char *op : {"sum", "prod", "max", "min"})
    for (DType dtype : {DType::FP32, DType::FP64, DType::FP16, DType::Int64, DType::Int8}) {
      std::string type = tensor("A, B, C", dtype);
      Array x = Array::random(dtype, {3, 33, 4}, random);
      std::string text = "func.func @f(%x: " + type + ") -> " + type + " { %r = gir.scan " +
                         std::string(op) + " %x dim 1 : " + type + " return %r : " + type + " }";
      EXPECT_EQ(compareWithReference(text, {x}), "") << text;
      EXPECT_EQ(compareWithReference(text, {x.permuted({1, 2, 0})}), "") << text;
    }
  for (const char *how : {"", "descending ", "first 3 ", "descending first 3 "}) {
    bool isFirst = llvm::StringRef(how).contains("first");
    std::string to = tensor(isFirst ? "S, 3" : "S, D", DType::Int64);
    EXPECT_EQ(compareWithReference(
                  "func.func @f(%x: !gir.tensor<S, D, f32>) -> " + to + " { %r = gir.argsort %x " +
                      how + ": !gir.tensor<S, D, f32> -> " + to + " return %r : " + to + " }",
                  {Array::random(DType::FP32, {5, 70}, random)}),
              "")
        << how;
  }
  Array sums = Array::random(DType::BF16, {14, 3}, random),
        sources = Array::random(DType::BF16, {40, 3}, random), indices(DType::Int64, {40, 3});
  for (int64_t i = 0; i < 120; ++i)
    indices.set(i, double(random() % 18) - 2);
  EXPECT_EQ(compareWithReference(R"(
    func.func @f(%x: !gir.tensor<V, D, bf16>, %s: !gir.tensor<S, D, bf16>, %i: !gir.tensor<S, D, i64>)
        -> !gir.tensor<V, D, bf16> {
      %r = gir.scatter_add %x, %s(%i) dim 0
        : (!gir.tensor<V, D, bf16>, !gir.tensor<S, D, bf16>, !gir.tensor<S, D, i64>) -> !gir.tensor<V, D, bf16>
      return %r : !gir.tensor<V, D, bf16>
    })",
                                 {sums, sources, indices}),
            "");
}

TEST(Interpreter, FailedChecksReportTheValue) {
  Program program(R"(
    func.func @f(%i: !gir.tensor<S, i64>) -> !gir.tensor<S, i64> {
      %n = gir.constant 5 : i64 : !gir.tensor<S, i64>
      %ok = gir.map lt(%i, %n) : (!gir.tensor<S, i64>, !gir.tensor<S, i64>) -> !gir.tensor<S, i1>
      gir.check %ok, %i else <kind = "index", message = "index {0} is out of range for size {1}", sizes = ["S"]>
        : !gir.tensor<S, i1>, !gir.tensor<S, i64>
      return %i : !gir.tensor<S, i64>
    })");
  Array good(DType::Int64, {4}), bad(DType::Int64, {4});
  bad.set(2, 7);
  func::FuncOp function = *program.module->getOps<func::FuncOp>().begin();
  std::string message;
  EXPECT_EQ(interpretOn(function, {good}, "base", &message).size(), 1u) << message;
  EXPECT_EQ(interpretOn(function, {bad}, "base", &message).size(), 0u);
  EXPECT_NE(message.find("index 7 is out of range for size 4"), std::string::npos) << message;
}

TEST(Interpreter, OptionsThatFixMoreThanBounds) {
  auto option = [](const std::string &policy) {
    Program program("func.func @f(%x: !gir.tensor<S, f32>) -> !gir.tensor<S, f32> attributes "
                    "{gir.numerics = {" +
                    policy + "}} { return %x : !gir.tensor<S, f32> }");
    return interpreter::exactOption(*program.module->getOps<func::FuncOp>().begin()).str();
  };
  EXPECT_EQ(option("numerics = \"strict\""), "numerics");
  EXPECT_EQ(option("deterministic = \"true\""), "deterministic");
  EXPECT_EQ(option("batch_invariant = \"true\""), "batch_invariant");
  EXPECT_EQ(option("accum = \"fp64\""), "accum");
  EXPECT_EQ(option("deterministic = \"false\", matmul = \"tf32\""), "");
}

} // namespace
