//===- Frontend.h - From source text and argument types to Graph IR -----------------*- C++ -*-===//
//
// The interface of the frontend. A request names a function in a source text and describes its
// arguments. `compileToGraph` parses the text, interprets the function over abstract values and
// emits a module with one `func.func` of `gir` operations; calls of other functions are inlined and
// loops are unrolled.
//
// Sizes are symbols of the function (`gir.symbols`) unless the program needs their values. Where it
// does, the concrete size of the call is used, and the assumption becomes a guard of this
// specialisation.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_FRONTEND_FRONTEND_H
#define TESSERA_FRONTEND_FRONTEND_H

#include "tessera/Support/DType.h"
#include "tessera/Support/Diagnostics.h"
#include "tessera/Support/SymExpr.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace tessera {

/// By the language's or NumPy's name ("fp32", "float32").
std::optional<DType> dtypeByName(std::string_view name);

struct TensorPattern;

/// A value that is known at compile time.
struct Constant {
  enum Kind { None, Bool, Int, Float, Str, DType, Tuple, Object, Tensor } kind = None;
  int64_t integer = 0; // Bool, Int
  double real = 0;
  std::string text; // Str; of an Object the name of its type
  tessera::DType dtype = tessera::DType::FP32;
  std::vector<Constant> elements;
  std::shared_ptr<const TensorPattern> pattern; // Tensor

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

/// A tensor whose elements follow from their indices. With `position` the sum of `offset` and the
/// products of steps and indices, an element is the position, or, where `values` has numbers: the
/// first one for positions from `low` to `high`, and the second one for others.
struct TensorPattern {
  DType dtype = DType::FP32;
  std::vector<int64_t> shape;
  std::vector<int64_t> steps; ///< as many as dimensions
  int64_t offset = 0;
  std::vector<Constant> values; ///< none, one for all elements, or two
  std::optional<int64_t> low, high;
};

/// One dimension of a tensor argument.
struct DimSpec {
  /// The concrete size, -1 if it is not known.
  int64_t size = -1;
  /// A known divisor of the size.
  int64_t divisor = 1;
  /// An upper bound of the expected sizes for the cost model, 0 if there is none.
  int64_t hint = 0;
  /// The size is part of the specialisation. Sizes 0 and 1 always are.
  bool fixed = false;
};

/// The caller's description of one parameter.
struct ArgSpec {
  enum Kind {
    Default, // nullopt: the parameter's default
    Tensor,
    Int,
    Float,
    Bool,
    Constant, // part of the specialisation, not passed at run time
  } kind = Default;
  /// The parameter's name; empty for a positional argument.
  std::string name;

  // Tensors.
  DType dtype = DType::FP32;
  std::vector<DimSpec> dims;
  /// A dimension whose stride is 1.
  std::optional<unsigned> unitStrideDim;
  /// Dense and row-major.
  bool contiguous = false;

  // Scalars: the concrete value, used like a concrete size.
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

/// The meaning of a free name.
struct Resolution {
  enum Kind {
    Missing,
    Value,     // `constant`; an Object's attributes are resolved by their dotted path
    Function,  // another @tsr.function: `text` is its name, `scope` its id, `source` its text
    Module,    // `text`: "tessera", "math", or another name
    Operation, // `text`: "tessera.softmax", "math.sqrt"
    Array,     // a captured array; `text` is its type
  } kind = Missing;
  Constant constant;
  std::string text;
  std::string scope;
  SourceText source;
  /// Of a function: the gradients of it that are meant, as in the option `grad`; empty for itself.
  std::string gradients;
  /// For a missing name: existing names, for "did you mean".
  std::vector<std::string> candidates;
};

/// Resolves the free names of a function. `scope` is "" for the requested function, otherwise the
/// scope of a function that was resolved before.
class Resolver {
public:
  virtual ~Resolver();
  virtual Resolution resolve(const std::string &scope, const std::string &path) = 0;
};

struct Request {
  SourceText source;
  /// The function to compile; empty for the only decorated one. "Class.method" names a method.
  std::string function;
  std::vector<ArgSpec> arguments;
  /// A parameter that is not given and has no default is described by its annotation.
  bool fromAnnotations = false;
  /// Null: the text is a whole file and resolves its names itself.
  Resolver *resolver = nullptr;
  /// The code is for a CPU, which sorts each row sequentially: from shorter rows on, counting all
  /// pairs of elements takes longer than sorting by digits.
  bool sortsSequentially = false;
  /// The code sorts rows of any length by comparing elements, as the interpreter does.
  bool sortsAllRows = false;
  /// Options of the decorator and of the caller ("numerics", "matmul", …), for `gir.numerics`.
  /// "grad" asks for gradients of the function instead: "grad:w,b" (lib/Frontend/Sema/Gradients.h).
  std::vector<std::pair<std::string, std::string>> options;
};

/// A free name whose value is part of the specialisation.
struct Capture {
  std::string scope;
  std::string path;
  Constant value;
};

/// An equality of sizes or scalars that the specialisation assumes. Equalities that follow from the
/// types of the arguments (a fixed size, one symbol twice) are listed too.
struct Guard {
  SymExpr left;
  SymExpr right;
  /// The location that requires it.
  SourceRange reason;
  std::string text() const { return left.str() + " == " + right.str(); }
};

/// Facts about a size that is still a symbol.
struct SymbolInfo {
  std::string name;
  int64_t divisor = 1;
  /// The concrete value, if it is known.
  std::optional<int64_t> size;
  /// An upper bound of the supported sizes, 0 if there is none.
  int64_t hint = 0;
  /// The minimum: 2 for sizes (0 and 1 are specialised), INT64_MIN for int arguments.
  int64_t min = 2;
};

/// A size (or, with dim -1, a scalar) of an argument whose value became a guard or determined one.
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
  /// The arguments that the function writes; their new values are its first results.
  std::vector<std::string> written;
  /// The function returns a tuple (possibly of one or zero elements), not a single value.
  bool returnsTuple = false;
};

/// Compiles the requested function. On errors the result is null and `diagnostics` holds them; the
/// context stays usable.
mlir::OwningOpRef<mlir::ModuleOp> compileToGraph(mlir::MLIRContext &context, const Request &request,
                                                 Diagnostics &diagnostics, FrontendInfo &info);

/// The options in the decorators of the requested function, as options of a request; nullopt if the
/// source has errors, which compiling it reports.
std::map<std::string, std::string> decoratorOptions(const Request &request);

/// The names of the decorated functions of a file, methods as "Class.method", in order.
std::vector<std::string> findFunctions(const SourceText &source, Diagnostics &diagnostics);

/// The entry of one operation in the language reference.
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
