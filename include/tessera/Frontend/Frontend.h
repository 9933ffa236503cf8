//===- Frontend.h - From source text and argument types to Graph IR -----------------*- C++ -*-===//
//
// The one door of the frontend. A request names a function in a source text and says what its
// arguments are; `compileToGraph` parses the text, interprets the function over abstract values and
// emits a module with one `func.func` of `gir` operations, into which calls of other functions are
// inlined and loops are unrolled.
//
// Sizes are symbols of the function (`gir.symbols`) unless the program needs their values. Where it
// does, the size at hand is assumed, and the assumption is a guard of this specialisation.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_FRONTEND_FRONTEND_H
#define TESSERA_FRONTEND_FRONTEND_H

#include "tessera/Support/DType.h"
#include "tessera/Support/Diagnostics.h"
#include "tessera/Support/SymExpr.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera {

/// The language's name: "fp32", "int64", "bool".
std::string_view dtypeName(DType type);
/// By the language's or NumPy's name ("fp32", "float32").
std::optional<DType> dtypeByName(std::string_view name);
mlir::Type dtypeToMlir(DType type, mlir::MLIRContext *context);
std::optional<DType> dtypeFromMlir(mlir::Type type);

/// A value that is known when the function is compiled.
struct Constant {
  enum Kind { None, Bool, Int, Float, Str, DType, Tuple, Object } kind = None;
  int64_t integer = 0; // Bool, Int
  double real = 0;
  std::string text; // Str; of an Object the name of its type
  tessera::DType dtype = tessera::DType::FP32;
  std::vector<Constant> elements;

  Constant() = default;
  explicit Constant(Kind kind) : kind(kind) {}
  static Constant ofBool(bool value) { return ofNumber(Bool, value, 0); }
  static Constant ofInt(int64_t value) { return ofNumber(Int, value, 0); }
  static Constant ofFloat(double value) { return ofNumber(Float, 0, value); }
  static Constant ofStr(std::string value) {
    Constant constant(Str);
    constant.text = std::move(value);
    return constant;
  }

private:
  static Constant ofNumber(Kind kind, int64_t integer, double real) {
    Constant constant(kind);
    constant.integer = integer;
    constant.real = real;
    return constant;
  }
};

/// One dimension of a tensor argument.
struct DimSpec {
  /// The size at hand, -1 if it is not known.
  int64_t size = -1;
  /// A known divisor of the size.
  int64_t divisor = 1;
  /// For the cost model: an upper bound of the sizes to be expected, 0 if there is none.
  int64_t hint = 0;
  /// The size is part of the specialisation. Sizes 0 and 1 always are.
  bool fixed = false;
};

/// What the caller passes for one parameter.
struct ArgSpec {
  enum Kind {
    Default, // nothing: the parameter's default
    Tensor,
    Int,
    Float,
    Bool,
    Constant, // part of the specialisation, not passed at run time
  } kind = Default;
  /// The parameter's name; empty: by position.
  std::string name;

  // Tensors.
  DType dtype = DType::FP32;
  std::vector<DimSpec> dims;
  /// A dimension whose stride is 1.
  std::optional<unsigned> unitStrideDim;
  /// Dense and row-major.
  bool contiguous = false;

  // Scalars: the value at hand, used as a size at hand is.
  bool hasValue = false;
  bool fixed = false;
  int64_t integer = 0;

  tessera::Constant constant;
};

/// Source text of one function or of a whole file.
struct SourceText {
  std::string text;
  std::string file;
  uint32_t firstLine = 1;
  uint32_t columnShift = 0;
};

/// What a free name means.
struct Resolution {
  enum Kind {
    Missing,
    Value,     // `constant`; an Object's attributes are asked for by their dotted path
    Function,  // another @tsr.function: `text` is its name, `scope` its id, `source` its text
    Module,    // `text`: "tessera", "math", or another name
    Operation, // `text`: "tessera.softmax", "math.sqrt"
    Array,     // a captured array; `text` is its type
  } kind = Missing;
  Constant constant;
  std::string text;
  std::string scope;
  SourceText source;
  /// Of a missing name: names that exist, for "did you mean".
  std::vector<std::string> candidates;
};

/// Answers what the free names of a function mean. `scope` is "" for the requested function, else
/// the scope of a function that was an answer.
class Resolver {
public:
  virtual ~Resolver();
  virtual Resolution resolve(const std::string &scope, const std::string &path) = 0;
};

struct Request {
  SourceText source;
  /// The function to compile; empty: the only decorated one. "Class.method" names a method.
  std::string function;
  std::vector<ArgSpec> arguments;
  /// Null: the text is a whole file and resolves its names itself.
  Resolver *resolver = nullptr;
  /// Options of the decorator and of the caller ("numerics", "matmul", …), for `gir.numerics`.
  std::vector<std::pair<std::string, std::string>> options;
};

/// A free name whose value went into the specialisation.
struct Capture {
  std::string scope;
  std::string path;
  Constant value;
};

/// An equality of sizes or scalars that the specialisation assumes. Equalities that the types of
/// the arguments show (a fixed size, one symbol twice) are listed too.
struct Guard {
  SymExpr left;
  SymExpr right;
  /// Where the program needed it.
  SourceRange reason;
  std::string text() const { return left.str() + " == " + right.str(); }
};

/// What is known of a size that stayed a symbol.
struct SymbolInfo {
  std::string name;
  int64_t divisor = 1;
  /// The value at hand, if it is known.
  std::optional<int64_t> size;
  /// An upper bound of the sizes that are compiled for, 0 if there is none.
  int64_t hint = 0;
  /// The least value: 2 for sizes (0 and 1 are specialised), INT64_MIN for int arguments.
  int64_t min = 2;
};

/// A size (or, with dim -1, a scalar) of an argument whose value became a guard or decided one.
struct Guarded {
  unsigned argument;
  int dim;
};

struct ParamInfo {
  std::string name;
  /// The function's argument number, -1 for constants and defaults.
  int argument = -1;
};

struct FrontendInfo {
  std::string function;
  std::vector<ParamInfo> params;
  std::vector<Capture> captures;
  std::vector<Guard> guards;
  std::vector<Guarded> guarded;
  std::vector<SymbolInfo> symbols;
  /// The arguments that it writes; their new values are its first results.
  std::vector<std::string> written;
  /// The function returns a tuple (also of one or none), not a single value.
  bool returnsTuple = false;
};

/// Compiles the requested function. On errors the result is null and `diagnostics` says why; the
/// context stays usable.
mlir::OwningOpRef<mlir::ModuleOp> compileToGraph(mlir::MLIRContext &context, const Request &request,
                                                 Diagnostics &diagnostics, FrontendInfo &info);

/// What the decorators of the requested function say, as options of a request; nothing where the
/// source is wrong, which compiling it reports.
std::map<std::string, std::string> decoratorOptions(const Request &request);

/// The names of the decorated functions of a file, methods as "Class.method", in order.
std::vector<std::string> findFunctions(const SourceText &source, Diagnostics &diagnostics);

/// What the language reference says about one operation.
struct OperationDoc {
  std::string module; ///< "tsr", "math", or "" for Python's own
  std::string name;
  std::string signature; ///< its parameters: "x, dim=None, *, dtype=None"
  std::string meaning;
  bool isFunction; ///< tsr.name(x, …)
  bool isMethod;   ///< x.name(…)
  bool isProperty; ///< x.name
};
/// All of them, by module and name.
std::vector<OperationDoc> documentOperations();

} // namespace tessera

#endif // TESSERA_FRONTEND_FRONTEND_H
