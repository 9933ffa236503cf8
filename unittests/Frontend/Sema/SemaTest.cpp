//===- SemaTest.cpp - The frontend's interface: requests, resolvers, guards -------------------===//
//
// The semantics of programs are tested by test/Frontend; this file tests the parts that the command
// line does not reach: answers of a resolver, fixed sizes, unknown sizes, and the report of a
// compilation.
//
//===------------------------------------------------------------------------------------------===//
#include "tessera/Frontend/Frontend.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

#include <map>

using namespace tessera;

namespace {

ArgSpec tensor(std::string name, DType dtype, std::vector<int64_t> sizes, bool fixed = false) {
  ArgSpec spec;
  spec.kind = ArgSpec::Tensor;
  spec.name = std::move(name);
  spec.dtype = dtype;
  for (int64_t size : sizes) {
    DimSpec dim;
    dim.size = size;
    dim.fixed = fixed;
    spec.dims.push_back(dim);
  }
  return spec;
}

/// One compilation and its result.
struct Compilation {
  mlir::MLIRContext context;
  Diagnostics diagnostics;
  FrontendInfo info;
  std::string graph;

  explicit Compilation(const Request &request) {
    mlir::OwningOpRef<mlir::ModuleOp> module = compileToGraph(context, request, diagnostics, info);
    EXPECT_EQ(bool(module), !diagnostics.hasErrors());
    if (module) {
      llvm::raw_string_ostream stream(graph);
      module->print(stream);
    }
  }
  bool has(std::string_view text) const { return graph.find(text) != std::string::npos; }
  std::string guards() const {
    std::string text;
    for (const Guard &guard : info.guards)
      text += (text.empty() ? "" : ", ") + guard.text();
    return text;
  }
  std::string errors() const {
    std::string text;
    for (const Diagnostic &diagnostic : diagnostics.all())
      text += diagnostic.message + "\n";
    return text;
  }
};

Request request(std::string source, std::vector<ArgSpec> arguments, Resolver *resolver = nullptr) {
  Request request;
  request.source = {std::move(source), "f.py"};
  request.arguments = std::move(arguments);
  request.resolver = resolver;
  return request;
}

class MapResolver : public Resolver {
public:
  std::map<std::string, Resolution> answers;
  std::vector<std::string> asked;

  Resolution resolve(const std::string &scope, const std::string &path) override {
    asked.push_back(scope + ":" + path);
    auto it = answers.find(scope + ":" + path);
    if (it != answers.end())
      return it->second;
    Resolution missing;
    missing.candidates = {"scale", "gelu"};
    return missing;
  }
  void value(std::string path, Constant constant) {
    Resolution answer;
    answer.kind = Resolution::Value;
    answer.constant = std::move(constant);
    answers[path] = answer;
  }
  void text(std::string path, Resolution::Kind kind, std::string text) {
    Resolution answer;
    answer.kind = kind;
    answer.text = std::move(text);
    answers[path] = answer;
  }
};

TEST(Sema, ResolverGivesConstantsAndHelpers) {
  MapResolver resolver;
  resolver.text(":tsr", Resolution::Module, "tessera");
  resolver.text(":soft", Resolution::Operation, "tessera.softmax");
  resolver.value(":scale", Constant::ofFloat(0.5));
  resolver.value(":self", Constant(Constant::Object));
  resolver.value(":self.config", Constant(Constant::Object));
  resolver.value(":self.config.dim", Constant::ofInt(1));
  Resolution helper;
  helper.kind = Resolution::Function;
  helper.text = "helper";
  helper.scope = "h";
  helper.source = {"@tsr.function\ndef helper(x):\n    return x + offset\n", "h.py", 40};
  resolver.answers[":helper"] = helper;
  resolver.value("h:offset", Constant::ofInt(3));

  ArgSpec self;
  self.kind = ArgSpec::Constant;
  self.name = "self";
  self.constant = Constant(Constant::Object);
  Compilation c(request("    @tsr.function\n"
                        "    def f(self, x):\n"
                        "        return soft(helper(x) * scale, dim=self.config.dim)\n",
                        {self, tensor("x", DType::FP32, {4, 8})}, &resolver));
  EXPECT_EQ(c.errors(), "");
  EXPECT_TRUE(c.has("gir.softmax"));
  EXPECT_TRUE(c.has("gir.constant 3.0"));
  ASSERT_EQ(c.info.captures.size(), 3u);
  EXPECT_EQ(c.info.captures[0].path, "offset");
  EXPECT_EQ(c.info.captures[0].scope, "h");
  EXPECT_EQ(c.info.captures[1].path, "scale");
  EXPECT_EQ(c.info.captures[2].path, "self.config.dim");
  ASSERT_EQ(c.info.params.size(), 2u);
  EXPECT_EQ(c.info.params[0].argument, -1);
  EXPECT_EQ(c.info.params[1].argument, 0);
}

TEST(Sema, ResolverErrors) {
  MapResolver resolver;
  resolver.text(":W", Resolution::Array, "numpy.ndarray");
  resolver.text(":conv", Resolution::Operation, "tessera.rfft");
  resolver.text(":np", Resolution::Module, "numpy");
  resolver.value(":np.exp", Constant(Constant::Object));
  resolver.value(":plain", Constant(Constant::Object));
  Compilation c(request("def f(x):\n    a = x + W\n    b = conv(x)\n    c = scal\n"
                        "    d = plain(x)\n    return np.exp(x) + np.log(x)\n",
                        {tensor("x", DType::FP32, {4})}, &resolver));
  EXPECT_EQ(c.errors(),
            "'W' is an array (numpy.ndarray) from outside the function; pass it as an argument\n"
            "operation 'rfft' is not supported by this compiler\n"
            "unknown name 'scal'; did you mean 'scale'?\n"
            "'plain' is not a @tsr.function; decorate it with @tsr.function\n"
            "'np.exp' is not a @tsr.function; use tsr.exp\n"
            "'np' has no attribute 'log'\n");
}

TEST(Sema, ObjectsKeepTheirScope) {
  // `self` is an object of the first function's scope wherever it is passed.
  MapResolver resolver;
  resolver.value(":self.scale", Constant::ofFloat(0.5));
  Resolution method;
  method.kind = Resolution::Function;
  method.text = "scaled";
  method.scope = "m";
  method.source = {"def scaled(self, x, by: Tensor['N'] = None):\n    return x * self.scale\n",
                   "m.py", 1};
  resolver.answers[":self.scaled"] = method;
  ArgSpec self;
  self.kind = ArgSpec::Constant;
  self.name = "self";
  self.constant = Constant(Constant::Object);
  Compilation c(request("def f(self, x):\n    return self.scaled(x)\n",
                        {self, tensor("x", DType::FP32, {4})}, &resolver));
  EXPECT_EQ(c.errors(), "");
  EXPECT_TRUE(c.has("gir.constant 5.000000e-01"));
}

TEST(Sema, EqualSizesWithoutNamesStayRunTime) {
  Compilation c(request("@tsr.function\ndef f(x, y):\n    assert x.shape == y.shape\n"
                        "    return x\n",
                        {tensor("x", DType::FP32, {4, 8}), tensor("y", DType::FP32, {4, 8})}));
  EXPECT_EQ(c.guards(), "y.0 == x.0, y.1 == x.1");
}

TEST(Sema, ErrorsInHelpersSurviveRepetition) {
  // The guard on N makes the interpreter run twice; the helper's error must be reported the second
  // time.
  MapResolver resolver;
  resolver.text(":tsr", Resolution::Module, "tessera");
  Resolution helper;
  helper.kind = Resolution::Function;
  helper.text = "helper";
  helper.scope = "h";
  helper.source = {"def helper(x):\n    while x:\n        pass\n    return x\n", "h.py", 7};
  resolver.answers[":helper"] = helper;
  Compilation c(request("def f(x):\n    if x.shape[0] == 4:\n        return helper(x)\n"
                        "    return x\n",
                        {tensor("x", DType::FP32, {4})}, &resolver));
  ASSERT_EQ(c.diagnostics.errorCount(), 1u);
  EXPECT_NE(c.diagnostics.render().find("h.py:8:5: error: a 'while' loop"), std::string::npos);
}

const char *plain = "@tsr.function\n"
                    "def f(x: Tensor['N', 'M'], y: Tensor['N', 'M']):\n"
                    "    return x + y\n";

/// The arguments of `plain`, both of one shape.
std::vector<ArgSpec> pair(int64_t rows, int64_t columns) {
  return {tensor("x", DType::FP32, {rows, columns}), tensor("y", DType::FP32, {rows, columns})};
}

TEST(Sema, SizesStayRunTime) {
  Compilation c(request(plain, pair(4, 8)));
  EXPECT_TRUE(c.has("!gir.tensor<N, M, f32>"));
  EXPECT_EQ(c.guards(), "");
  ASSERT_EQ(c.info.symbols.size(), 2u);
  EXPECT_EQ(c.info.symbols[0].name, "N");
  EXPECT_EQ(c.info.symbols[0].size, 4);
  EXPECT_EQ(c.info.symbols[0].min, 2);
  EXPECT_FALSE(c.info.returnsTuple);
}

TEST(Sema, FixedAndUnitSizes) {
  Compilation fixed(
      request(plain, {tensor("x", DType::FP32, {4, 8}, true), tensor("y", DType::FP32, {4, 8})}));
  EXPECT_TRUE(fixed.has("!gir.tensor<4, 8, f32>"));
  EXPECT_EQ(fixed.guards(), "");
  Compilation unit(request(plain, pair(1, 8)));
  EXPECT_TRUE(unit.has("!gir.tensor<1, M, f32>"));
  EXPECT_EQ(unit.guards(), "N == 1");
  ASSERT_EQ(unit.info.guarded.size(), 2u);
  EXPECT_EQ(unit.info.guarded[1].argument, 1u);
  EXPECT_EQ(unit.info.guarded[1].dim, 0);
}

TEST(Sema, UnknownSizes) {
  Compilation c(request(plain, pair(-1, 8)));
  EXPECT_EQ(c.errors(), "");
  Compilation needed(request("@tsr.function\ndef f(x):\n"
                             "    for i in range(x.shape[0]):\n        pass\n    return x\n",
                             {tensor("x", DType::FP32, {-1})}));
  EXPECT_EQ(needed.errors(), "the value of 'x.shape[0]' must be known here, and it is not given; "
                             "give dimension 0 of 'x' as a number with --arg\n");
}

TEST(Sema, Results) {
  Compilation tuple(request("@tsr.function\ndef f(x):\n    return x, 2, 0.5, x.shape[0]\n",
                            {tensor("x", DType::FP16, {4})}));
  EXPECT_TRUE(tuple.info.returnsTuple);
  EXPECT_TRUE(tuple.has("-> (!gir.tensor<\"x.0\", f16>, !gir.tensor<i64>, !gir.tensor<f32>, "
                        "!gir.tensor<i64>)"));
  Compilation none(
      request("@tsr.function\ndef f(x):\n    x + 1\n", {tensor("x", DType::FP16, {4})}));
  EXPECT_EQ(none.errors(), "'f' does not return a value\n");
  Compilation text(
      request("@tsr.function\ndef f(x):\n    return 'a'\n", {tensor("x", DType::FP16, {4})}));
  EXPECT_EQ(text.errors(), "expected a tensor, a number or a tuple of them as the result of 'f', "
                           "found the string 'a'\n");
}

TEST(Sema, LocationsAndLayouts) {
  ArgSpec x = tensor("x", DType::FP32, {4, 8});
  x.unitStrideDim = 1;
  x.contiguous = true;
  Request r = request("@tsr.function\ndef g(x):\n    return x * 2\n\n@tsr.function\ndef f(x):\n"
                      "    return g(x)\n",
                      {x});
  r.function = "f";
  r.options = {{"matmul", "tf32"}};
  mlir::MLIRContext context;
  Diagnostics diagnostics;
  FrontendInfo info;
  mlir::OwningOpRef<mlir::ModuleOp> module = compileToGraph(context, r, diagnostics, info);
  ASSERT_TRUE(module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(true, false);
  module->print(stream, flags);
  EXPECT_NE(text.find("loc(\"f.py\":3:12 to :17)"), std::string::npos) << text;
  EXPECT_NE(text.find("loc(\"f.py\":7:12 to :16)"), std::string::npos) << text;
  EXPECT_NE(text.find("loc(callsite("), std::string::npos) << text;
  EXPECT_NE(text.find("gir.contiguous, gir.name = \"x\", gir.unit_stride = 1 : i64"),
            std::string::npos);
  EXPECT_NE(text.find("gir.numerics = {matmul = \"tf32\"}"), std::string::npos);
}

TEST(Sema, BadRequests) {
  EXPECT_EQ(Compilation(request(plain, {tensor("z", DType::FP32, {4})})).errors(),
            "'f' has no parameter 'z'\n");
  EXPECT_EQ(Compilation(request("", {})).errors(), "the file has no @tsr.function\n");
  EXPECT_EQ(Compilation(request("x = '\xff'", {})).errors(),
            "source is not valid UTF-8 (byte 0xff)\nunterminated string\n");
  EXPECT_EQ(Compilation(request(plain, {tensor("x", DType::FP32, {4, 3}),
                                        tensor("y", DType::FP32, {5, 3})}))
                .errors(),
            "size 'N' is 5 in dimension 0 of 'y', but 4 in dimension 0 of 'x'\n");
  std::vector<ArgSpec> many(3, tensor("", DType::FP32, {4, 3}));
  EXPECT_EQ(Compilation(request(plain, many)).errors(),
            "expected at most 2 arguments for 'f', found 3\n");
}

TEST(Sema, SmallProgramsThatWouldRunForEver) {
  auto errors = [](std::string body) {
    return Compilation(request("@tsr.function\ndef f(x):\n" + body + "    return x\n",
                               {tensor("x", DType::FP32, {4})}))
        .errors();
  };
  EXPECT_EQ(errors("    t = (1,)\n    for i in range(60):\n        t = t + t\n"),
            "the tuple has too many elements\n");
  EXPECT_EQ(errors("    t = (1,)\n    for i in range(90):\n        t = (t, t)\n"),
            "tuples are nested too deeply\n");
  EXPECT_EQ(errors("    t, u = (1,), (1,)\n    for i in range(60):\n        t, u = (t, t), (u, u)\n"
                   "    v = t == u\n"),
            "the function takes too many steps to compile\n");
  EXPECT_EQ(errors("    s = 'ab' * 99999999\n"), "the result has too many elements\n");
  EXPECT_EQ(errors("    n = x.shape[0] + 1\n    for i in range(80):\n"
                   "        n = n * n + x.shape[0]\n"),
            "the size expression is too complex\n");
  EXPECT_EQ(errors("    l = []\n    l.append(l)\n"),
            "lists inside lists are not supported by this compiler; use tuples\n");
}

TEST(Sema, DeepCallChain) {
  std::string source;
  for (int i = 0; i < 2000; ++i)
    source += "@tsr.function\ndef f" + std::to_string(i) + "(x):\n    return f" +
              std::to_string(i + 1) + "(x)\n";
  source += "@tsr.function\ndef f2000(x):\n    return x\n";
  Request r = request(source, {tensor("x", DType::FP32, {4})});
  r.function = "f0";
  EXPECT_EQ(Compilation(r).errors(), "calls and expressions are nested too deeply\n");
}

TEST(Sema, FindFunctions) {
  Diagnostics diagnostics;
  SourceText source{"import tessera as t\n@t.function\ndef a(x): pass\ndef b(x): pass\nclass C:\n"
                    "  @t.function(numerics='strict')\n  def m(self): pass\n",
                    "f.py"};
  EXPECT_EQ(findFunctions(source, diagnostics), (std::vector<std::string>{"a", "C.m"}));
}

TEST(Sema, EveryOperationIsDocumented) {
  std::vector<OperationDoc> docs = documentOperations();
  EXPECT_GT(docs.size(), 150u);
  for (const OperationDoc &doc : docs) {
    EXPECT_FALSE(doc.meaning.empty()) << doc.name;
    EXPECT_TRUE(doc.isFunction || doc.isMethod || doc.isProperty) << doc.name;
  }
}

} // namespace
