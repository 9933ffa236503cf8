//===- Builtins.h - The functions of the language -----------------------------------*- C++ -*-===//
//
// Every function of `tsr`, `math` and Python that programs can call is one entry: its name, its
// signature in Python's notation, its meaning, and a handler. Argument binding (positional, keyword
// and default), synonyms (`axis`, `keepdims`), methods, "did you mean" and the reference page are
// derived from the entry. The elementwise operations of ScalarOps.def are entries automatically.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_BUILTINS_H
#define TESSERA_LIB_FRONTEND_SEMA_BUILTINS_H

#include "Emitter.h"

namespace tessera::sema {

/// The bound arguments of one call of a builtin, in the order of its signature.
struct Args {
  Interpreter &in;
  const Builtin &builtin;
  /// The whole call.
  SourceRange range;
  std::vector<Value> values;
  std::vector<SourceRange> ranges;
  /// The call expression; null for attributes.
  const ast::CallExpr *call = nullptr;
  /// For arguments that are given separately or as a tuple: the range of each part.
  std::vector<std::vector<SourceRange>> parts = {};

  Value &operator[](size_t i) { return values[i]; }
  Emitter &emit() { return *in.emitter; }
  ErrorBuilder error(size_t i, std::string message) {
    return in.error(ranges[i], std::move(message));
  }
  /// The range of part `k` of argument `i`, or else of the whole argument.
  SourceRange part(size_t i, size_t k) const {
    return i < parts.size() && k < parts[i].size() ? parts[i][k] : ranges[i];
  }
  /// The name before the call's parentheses.
  SourceRange nameRange() const;
  bool isMethod() const { return method; }
  bool method = false;

  // Arguments converted to the required kind; nothing after an error.
  /// A number as a rank-0 tensor, a tensor unchanged; weak tensors become strong.
  std::optional<Value> tensor(size_t i);
  std::optional<int64_t> integer(size_t i);
  std::optional<double> real(size_t i);
  std::optional<bool> boolean(size_t i);
  std::optional<DType> dtype(size_t i, DType otherwise);
  /// A dimension of a tensor of this rank, counted from the front. A rank-0 tensor accepts 0 and
  /// -1, as in PyTorch.
  std::optional<int64_t> dim(size_t i, unsigned rank, bool rank0 = false);
  std::optional<int64_t> dim(const Value &value, SourceRange range, size_t i, unsigned rank,
                             bool rank0 = false);
  /// Sorted dimensions; None means all.
  std::optional<llvm::SmallVector<int64_t>> dims(size_t i, unsigned rank);
  /// A shape: one size or a sequence of them.
  std::optional<Shape> shape(size_t i);
  /// Reports that argument `i`, described by `what`, does not have the shape that argument 0
  /// requires.
  void wrongShape(size_t i, llvm::ArrayRef<SymExpr> expected, const Value &found,
                  std::string_view what = "a tensor");
  /// Reports that argument `i` is not a floating-point tensor.
  void needsFloat(size_t i, const Value &found);
  /// Reports negative sizes in argument `i`. Returns false if there is one.
  bool checkSizes(size_t i, llvm::ArrayRef<SymExpr> sizes);
};

struct Builtin {
  enum Use : uint8_t {
    Function = 1,
    Method = 2,
    Property = 4, // an attribute of tensors, not a call
  };
  using Handler = Value (*)(Args &args);

  std::string_view name;
  /// Parameters: "x, dim=None, *, dtype=None"; "*dims" collects the rest.
  std::string_view signature;
  uint8_t use;
  Handler handler;
  std::string_view meaning;
  ScalarOp op = ScalarOp::Add;
  ReduceOp reduce = ReduceOp::Sum;

  struct Param {
    std::string_view name;
    std::optional<Value> otherwise;
    bool variadic = false;
    bool keywordOnly = false;
  };
  std::vector<Param> params = {};
};

/// The tables, one per file.
std::vector<Builtin> elementwiseBuiltins();
std::vector<Builtin> reductionBuiltins();
std::vector<Builtin> shapeBuiltins();
std::vector<Builtin> partBuiltins();
std::vector<Builtin> gatherBuiltins();
std::vector<Builtin> creationBuiltins();
std::vector<Builtin> randomBuiltins();
std::vector<Builtin> sortBuiltins();
std::vector<Builtin> windowBuiltins();
std::vector<Builtin> poolBuiltins();
std::vector<Builtin> linearBuiltins();
std::vector<Builtin> normBuiltins();
std::vector<Builtin> gradientBuiltins();
std::vector<Builtin> lossBuiltins();
std::vector<Builtin> printBuiltins();
std::vector<Builtin> mathBuiltins();
std::vector<Builtin> pythonBuiltins();

/// A handler that is defined in another file.
Value einsum(Args &args);

/// By qualified name: "tessera.softmax", "math.sqrt", "range".
const Builtin *findBuiltin(std::string_view qualified);
/// By the name of a method or property of tensors.
const Builtin *findMethod(std::string_view name);
/// The last parts of the qualified names in "tessera", "math" or "" (Python).
std::vector<std::string_view> builtinNames(std::string_view module);
std::vector<std::string_view> methodNames();
/// Operations of the language that this compiler does not support.
bool isLaterOperation(std::string_view name);

Value callBuiltin(Interpreter &in, const Builtin &builtin, const Value *self, SourceRange selfRange,
                  const ast::CallExpr &call);

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_BUILTINS_H
