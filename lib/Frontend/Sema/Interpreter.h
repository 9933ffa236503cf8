//===- Interpreter.h - Abstract interpretation of a function ------------------------*- C++ -*-===//
//
// Evaluates a function once over abstract values (Value.h). Control flow is decided during
// evaluation, so loops are unrolled and calls are inlined implicitly; only operations on tensors
// are recorded, in the graph. `Emitter` (Emitter.h) builds that graph, builtins (Builtins.h) are
// the language's functions.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_INTERPRETER_H
#define TESSERA_LIB_FRONTEND_SEMA_INTERPRETER_H

#include "Program.h"
#include "Sizes.h"
#include "tessera/Frontend/AST/AST.h"

#include "llvm/ADT/StringMap.h"

namespace tessera::sema {

class Emitter;

/// A parameter annotated as `Region[...]` (Regions.cpp).
struct Region {
  enum : unsigned { Read = 1, Write = 2, ReduceSum = 4 };
  unsigned privileges = 0;
  SourceRange range; ///< of the privileges
  Value value;       ///< the caller's value, or the value last written
  bool isWritten = false;
};

/// One call of a user's function.
struct Frame {
  const UserFunction *function = nullptr;
  llvm::StringMap<Value> locals;
  /// Names of sizes in annotations; `*batch` is a tuple.
  llvm::StringMap<Value> dims;
  /// The location where each of them was bound.
  llvm::StringMap<SourceRange> dimRanges;
  Value result = Value::none();
  /// The expression of the `return` that was reached.
  const ast::Expr *returned = nullptr;
  /// Parameters with privileges.
  llvm::StringMap<Region> regions;
  SourceRange callSite;
  Frame *caller = nullptr;
  /// Not a call, but the evaluation of a module-level constant at its first use.
  bool isConstant = false;
  /// A call of a derivative rule.
  bool isRule = false;
};

/// An error under construction. Its destructor adds the call stack as notes, and replaces unnamed
/// sizes by names that the user knows.
class ErrorBuilder {
public:
  ErrorBuilder(Diagnostic &diagnostic, const Frame *frame, const Sizes &sizes)
      : diagnostic(diagnostic), frame(frame), sizes(sizes) {}
  ErrorBuilder(const ErrorBuilder &) = delete;
  ~ErrorBuilder();

  /// The calls from `frame` outward.
  static void noteCalls(Diagnostic &diagnostic, const Frame *frame);

  /// Adds a note; repetitions are dropped.
  ErrorBuilder &note(SourceRange range, std::string text);
  ErrorBuilder &fix(SourceRange range, std::string replacement) {
    diagnostic.fix(range, std::move(replacement));
    return *this;
  }
  /// A replacement at the location of the last note.
  ErrorBuilder &fixNote(SourceRange range, std::string replacement) {
    diagnostic.notes.back().fix(range, std::move(replacement));
    return *this;
  }
  ErrorBuilder &highlight(SourceRange range) {
    diagnostic.highlight(range);
    return *this;
  }
  ErrorBuilder &didYouMean(std::string_view name) {
    diagnostic.didYouMean(name);
    return *this;
  }
  ErrorBuilder &help(std::string_view text) {
    diagnostic.message += "; ";
    diagnostic.message += text;
    return *this;
  }
  operator Value() const { return Value::error(); }

private:
  Diagnostic &diagnostic;
  const Frame *frame;
  const Sizes &sizes;
};

class Interpreter {
public:
  Interpreter(Program &program, Sizes &sizes, Emitter *emitter);

  Program &program;
  Diagnostics &diagnostics;
  Sizes &sizes;
  /// Null while module-level constants are evaluated.
  Emitter *emitter;
  Frame *frame = nullptr;
  /// How many times the operations of the current call are differentiated.
  unsigned differentiations = 0;

  ErrorBuilder error(SourceRange range, std::string message);

  // Statements and calls (Interpreter.cpp, Calls.cpp).
  /// Reports the unsupported constructs of a function, once. Returns false if there are any.
  bool checkFunction(const UserFunction &function, SourceRange callSite = {});
  /// Evaluates the body of the current frame and checks the returned value.
  void runBody();
  /// `self`, if not null, precedes the call's arguments.
  Value callFunction(const UserFunction &function, const Value *self, const ast::CallExpr &call);
  Value call(const Value &callee, const ast::CallExpr &call);
  /// Calls a function with a value for each parameter; `returned` is the expression that it
  /// returned.
  Value invoke(const UserFunction &function, llvm::ArrayRef<Value> values,
               llvm::ArrayRef<SourceRange> ranges, const ast::Expr *&returned, bool isRule = false);
  /// The result of the gradient of a function in the current frame (Gradients.cpp).
  Value runGradient(const Gradient &gradient);
  /// Binds a parameter of the frame's function to a value, checking its annotation.
  bool bindParam(const ast::Param &param, const Value &value, SourceRange valueRange);

  // Expressions (Expressions.cpp).
  Value eval(const ast::Expr *expr);
  Value attribute(const Value &base, std::string_view name, const ast::AttributeExpr &expr);
  Value subscript(const ast::SubscriptExpr &expr);
  Value lookup(const std::string &name, SourceRange range);

  // Operators (Operators.cpp).
  Value unary(ast::UnaryOp op, const Value &operand, SourceRange range);
  Value binary(ast::BinaryOp op, const Value &left, const Value &right, const ast::Expr *leftExpr,
               const ast::Expr *rightExpr, SourceRange range, SourceRange opRange);
  Value compare(ast::CompareOp op, const Value &left, const Value &right, SourceRange range,
                SourceRange leftRange, SourceRange rightRange);
  Value multiply(const Value &left, const Value &right, SourceRange range);

  // Conversions, with a message if the value is of another kind. `what` names it: "'dim'".
  std::optional<bool> truth(const Value &value, SourceRange range,
                            std::string_view what = "a branch");
  std::optional<SymExpr> toSize(const Value &value, SourceRange range, std::string_view what);
  std::optional<int64_t> toInt(const Value &value, SourceRange range, std::string_view what);
  std::optional<double> toDouble(const Value &value, SourceRange range, std::string_view what);
  std::optional<std::vector<Value>> toSequence(const Value &value, SourceRange range,
                                               std::string_view what);
  /// The value of a size expression, which becomes a guard.
  std::optional<int64_t> fix(SymExpr e, SourceRange range);
  /// How an unknown size or int is given on the command line; empty if it cannot be.
  std::string howToGive(SymExpr e);
  /// A symbolic number as a weak rank-0 tensor.
  Value sizeAsTensor(SymExpr e, bool asFloat);

  /// Reports that two sizes differ, with notes on their origin.
  Value sizeMismatch(SourceRange range, std::string message, SymExpr a, SymExpr b);
  /// The same for two operands, each with a note that describes it at its range.
  struct Operand {
    const Value &value;
    SourceRange range;
  };
  Value sizeMismatch(SourceRange range, std::string message, SymExpr a, SymExpr b, Operand left,
                     Operand right);
  void noteSize(ErrorBuilder &error, SymExpr e);

  // Suggestions (Hints.cpp).
  /// The source text of an expression, in parentheses if an adjacent operator or attribute would
  /// split it; empty if it spans lines.
  std::string textOf(const ast::Expr *expr, bool asOperand = false) const;
  /// The spelling of a name of the language in the current program: "tsr.exp"; empty if it has
  /// none.
  std::string spell(std::string_view name) const;
  /// The same for messages, with the usual spelling as default.
  std::string usual(std::string_view name) const;
  /// Adds a suggestion to an error about an operator.
  void hintOperator(Diagnostic &report, ast::BinaryOp op, const Value &left, const Value &right,
                    const ast::Expr *leftExpr, const ast::Expr *rightExpr);
  /// `x > 0 & x < 1` compares with `0 & x`.
  void hintPrecedence(const ast::CompareExpr &expr);
  /// `a and b` of tensors as `a & b`.
  std::string asBitwise(const ast::LogicalExpr &expr) const;
  /// The location where the function assigns a name; the invalid range if nowhere.
  SourceRange assignedAt(const std::string &name);
  Value unknownName(const std::string &name, SourceRange range,
                    const std::vector<std::string> &candidates);
  Value noAttribute(const Value &base, std::string_view name, const ast::AttributeExpr &expr);
  Value notCallable(const Value &callee, const ast::CallExpr &call);
  /// The expression of the current expression statement; null in other statements.
  const ast::Expr *statement = nullptr;
  /// "use '//'" if a float results from dividing integers.
  void hintDivision(ErrorBuilder &report, const Value &value);

  // Annotations (Annotations.cpp).
  bool checkAnnotation(const ast::Expr *annotation, const Value &value, SourceRange valueRange,
                       std::string_view what, const ast::Expr *written = nullptr);
  /// The names and sizes of a Tensor[…] annotation.
  struct DimAnnotation {
    enum { Name, Rest, Size, Any } kind = Any;
    std::string name;
    SymExpr size;
    SourceRange range;
  };
  struct TensorAnnotation {
    bool anyShape = true;
    std::vector<DimAnnotation> dims;
    std::optional<DType> dtype;
    SourceRange range;
    SourceRange dtypeRange;
    /// For a region: its privileges.
    unsigned privileges = 0;
    SourceRange privilegeRange;
  };
  enum class AnnotationKind { None, Tensor, Int, Float, Bool, Other, Tuple, Error };
  AnnotationKind readAnnotation(const ast::Expr *annotation, TensorAnnotation &tensor);
  AnnotationKind readDims(ast::ExprList entries, TensorAnnotation &tensor);

  // Regions (Regions.cpp).
  AnnotationKind readRegion(const ast::SubscriptExpr &annotation, TensorAnnotation &tensor);
  /// Records the privileges of a parameter from its annotation.
  void declareRegion(std::string_view name, const TensorAnnotation &annotation);
  /// The region's value, or an error if the function must not read it.
  Value readRegionValue(const std::string &name, Region &region, SourceRange range);
  /// `y[...] = value`, and with an operator `y[...] += value`.
  void writeRegion(const ast::SubscriptExpr &target, const Value &value, const ast::Expr *written,
                   const ast::AugAssignStmt *update = nullptr);
  /// Reports the regions that the current function must write and does not.
  void checkRegionsWritten();

  /// Counts work, so that a small program cannot run forever. Returns false after an error.
  bool spend(SourceRange range, uint64_t steps = 1);

  static constexpr uint64_t maxSteps = 3'000'000;
  static constexpr unsigned maxIterations = 100'000;
  static constexpr unsigned maxEvalDepth = 1500;
  static constexpr size_t maxElements = 100'000;
  static constexpr unsigned maxTupleDepth = 64;
  static constexpr size_t maxSizeText = 512;

private:
  enum class Flow { Next, Break, Continue, Return };
  Flow run(ast::Block block);
  Flow run(const ast::Stmt *stmt);
  Flow runFor(const ast::ForStmt &loop);
  Flow runIf(const ast::IfStmt &stmt);
  void runAssert(const ast::AssertStmt &stmt);
  void assign(const ast::Expr *target, const Value &value, SourceRange valueRange);
  /// The arguments of a call, one per parameter.
  struct BoundArguments {
    std::vector<Value> values;
    std::vector<SourceRange> ranges;
    std::vector<bool> given; ///< whether the call has an argument for the parameter
  };
  std::optional<BoundArguments> bindArguments(const UserFunction &function, const Value *self,
                                              const ast::CallExpr &call);
  bool bindKeywords(const UserFunction &function, const ast::CallExpr &call, BoundArguments &bound);
  bool checkTuple(const ast::Expr *annotation, const Value &value, SourceRange range,
                  std::string_view what, const ast::Expr *written);
  bool checkTensor(const TensorAnnotation &tensor, const Value &value, SourceRange range,
                   std::string_view what, const ast::Expr *written);
  bool checkElementType(const TensorAnnotation &tensor, const Value &value, SourceRange range,
                        std::string_view what, const ast::Expr *written);
  bool checkDims(const DimAnnotation &dim, llvm::ArrayRef<SymExpr> found, size_t first,
                 SourceRange range, std::string_view what);
  bool reportDim(const DimAnnotation &dim, size_t index, SymExpr expected, SymExpr actual,
                 SourceRange range, std::string_view what);
  Value evalUnchecked(const ast::Expr *expr);
  std::string foreignPath(const ast::AttributeExpr *expr);
  Value evalUnary(const ast::UnaryExpr &expr);
  Value evalConditional(const ast::ConditionalExpr &expr);
  Value evalAttribute(const ast::AttributeExpr &expr);
  Value evalLogical(const ast::LogicalExpr &expr);
  Value evalCompare(const ast::CompareExpr &expr);
  Value makeSequence(Value::Kind kind, ast::ExprList elements, SourceRange range);
  Value applyBinary(ast::BinaryOp op, const Value &left, const Value &right,
                    const ast::Expr *leftExpr, const ast::Expr *rightExpr, SourceRange range);
  Value subscriptSequence(const Value &base, const Value &index, SourceRange range);
  Value staticBinary(ast::BinaryOp op, const Value &left, const Value &right, SourceRange range);
  Value intBinary(ast::BinaryOp op, SymExpr left, SymExpr right, SourceRange range);
  Value floatBinary(ast::BinaryOp op, double left, double right, SourceRange range);
  std::optional<bool> staticEqual(const Value &left, const Value &right, SourceRange range);
  Value staticCompare(ast::CompareOp op, const Value &left, const Value &right, SourceRange range);

  std::map<const UserFunction *, bool> checked;
  std::map<const ast::FunctionStmt *, llvm::StringMap<SourceRange>> assigned;
  uint64_t steps = 0;
  unsigned iterations = 0;
  unsigned evalDepth = 0;
  bool exhausted = false;
};

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_INTERPRETER_H
