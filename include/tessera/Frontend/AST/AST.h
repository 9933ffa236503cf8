//===- AST.h - The syntax tree ------------------------------------------------------*- C++ -*-===//
//
// Nodes are plain structs with a kind tag and a source range. They are allocated in an `Arena`,
// refer to each other by pointer, hold lists as spans of the arena, and are never freed
// individually: every node is trivially destructible. `node->as<CallExpr>()` returns the node as a
// call, or null.
//
// All of Python's statements and expressions have a node, so that whole files can be parsed. Those
// that the language does not support become `UnsupportedStmt` and `UnsupportedExpr`, which record
// the construct and the suggested replacement; they are reported only if a compiled function
// contains them.
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_FRONTEND_AST_AST_H
#define TESSERA_FRONTEND_AST_AST_H

#include "tessera/Support/Diagnostics.h"

#include <cstring>
#include <new>
#include <type_traits>

namespace tessera::ast {

/// Memory that is released all at once.
class Arena {
public:
  template <typename T, typename... Args> T *make(Args &&...args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }
  template <typename T> std::span<T> copy(const std::vector<T> &items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty())
      return {};
    T *memory = static_cast<T *>(allocate(items.size() * sizeof(T), alignof(T)));
    std::memcpy(static_cast<void *>(memory), items.data(), items.size() * sizeof(T));
    return {memory, items.size()};
  }
  std::string_view copy(std::string_view text) {
    if (text.empty())
      return {};
    char *memory = static_cast<char *>(allocate(text.size(), 1));
    std::memcpy(memory, text.data(), text.size());
    return {memory, text.size()};
  }

private:
  void *allocate(size_t size, size_t align);

  std::vector<std::unique_ptr<char[]>> slabs;
  char *next = nullptr;
  char *end = nullptr;
};

//===------------------------------------------------------------------------------------------===//
// Expressions
//===------------------------------------------------------------------------------------------===//

enum class ExprKind : uint8_t {
  Name,
  Integer,
  Float,
  String,
  Bool,
  None,
  Ellipsis,
  Unary,
  Binary,
  Logical,
  Compare,
  Conditional,
  Call,
  Attribute,
  Subscript,
  Slice,
  Tuple,
  List,
  Unsupported,
  Error,
};

struct Expr {
  ExprKind kind;
  /// Height of the subtree, bounded by the parser so that visitors may recurse.
  uint16_t height = 1;
  SourceRange range;

  template <typename T> bool is() const { return kind == T::tag; }
  template <typename T> const T *as() const {
    return is<T>() ? static_cast<const T *>(this) : nullptr;
  }
};

template <ExprKind K> struct ExprOf : Expr {
  static constexpr ExprKind tag = K;
};

using ExprList = std::span<Expr *>;

struct NameExpr : ExprOf<ExprKind::Name> {
  std::string_view name;
};

struct IntegerExpr : ExprOf<ExprKind::Integer> {
  int64_t value = 0;
  /// The literal does not fit in 64 bits.
  bool overflow = false;
};

struct FloatExpr : ExprOf<ExprKind::Float> {
  double value = 0;
};

/// One or several adjacent string literals, concatenated.
struct StringExpr : ExprOf<ExprKind::String> {
  std::string_view value;
};

struct BoolExpr : ExprOf<ExprKind::Bool> {
  bool value = false;
};

struct NoneExpr : ExprOf<ExprKind::None> {};
struct EllipsisExpr : ExprOf<ExprKind::Ellipsis> {};
struct ErrorExpr : ExprOf<ExprKind::Error> {};

enum class UnaryOp : uint8_t { Negate, Plus, Invert, Not };
std::string_view spelling(UnaryOp op);

struct UnaryExpr : ExprOf<ExprKind::Unary> {
  UnaryOp op = UnaryOp::Plus;
  Expr *operand = nullptr;
};

enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  MatMul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  LeftShift,
  RightShift,
  And,
  Or,
  Xor,
};
std::string_view spelling(BinaryOp op);

struct BinaryExpr : ExprOf<ExprKind::Binary> {
  BinaryOp op = BinaryOp::Add;
  Expr *left = nullptr;
  Expr *right = nullptr;
  SourceRange opRange;
};

/// `a and b and c`, `a or b`: two or more operands.
struct LogicalExpr : ExprOf<ExprKind::Logical> {
  bool isAnd = false;
  ExprList operands;
};

enum class CompareOp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Is, IsNot, In, NotIn };
std::string_view spelling(CompareOp op);

/// `a < b <= c`: one more operand than operators.
struct CompareExpr : ExprOf<ExprKind::Compare> {
  ExprList operands;
  std::span<CompareOp> ops;
  std::span<SourceRange> opRanges;
};

struct ConditionalExpr : ExprOf<ExprKind::Conditional> {
  Expr *condition = nullptr;
  Expr *whenTrue = nullptr;
  Expr *whenFalse = nullptr;
};

struct KeywordArg {
  std::string_view name;
  SourceRange nameRange;
  Expr *value;
};

struct CallExpr : ExprOf<ExprKind::Call> {
  Expr *callee = nullptr;
  ExprList args;
  std::span<KeywordArg> keywords;
};

struct AttributeExpr : ExprOf<ExprKind::Attribute> {
  Expr *base = nullptr;
  std::string_view name;
  SourceRange nameRange;
};

/// `base[indices]`; a tuple of indices is flattened into the list.
struct SubscriptExpr : ExprOf<ExprKind::Subscript> {
  Expr *base = nullptr;
  ExprList indices;
  bool isTuple = false;
};

/// `a:b:c` in a subscript; parts may be null.
struct SliceExpr : ExprOf<ExprKind::Slice> {
  Expr *lower = nullptr;
  Expr *upper = nullptr;
  Expr *step = nullptr;
};

struct TupleExpr : ExprOf<ExprKind::Tuple> {
  ExprList elements;
};

struct ListExpr : ExprOf<ExprKind::List> {
  ExprList elements;
};

/// A Python expression that the language does not support.
struct UnsupportedExpr : ExprOf<ExprKind::Unsupported> {
  /// "lambda", "a list comprehension".
  std::string_view what;
  /// The suggested replacement; may be empty.
  std::string_view instead;
};

//===------------------------------------------------------------------------------------------===//
// Statements
//===------------------------------------------------------------------------------------------===//

enum class StmtKind : uint8_t {
  Function,
  Class,
  Import,
  FromImport,
  Assign,
  AugAssign,
  AnnAssign,
  Return,
  For,
  If,
  Assert,
  Pass,
  Break,
  Continue,
  Expression,
  Unsupported,
  Error,
};

struct Stmt {
  StmtKind kind;
  SourceRange range;

  template <typename T> bool is() const { return kind == T::tag; }
  template <typename T> const T *as() const {
    return is<T>() ? static_cast<const T *>(this) : nullptr;
  }
};

template <StmtKind K> struct StmtOf : Stmt {
  static constexpr StmtKind tag = K;
};

using Block = std::span<Stmt *>;

enum class ParamKind : uint8_t { Normal, KeywordOnly, PositionalOnly, VarArgs, VarKeywords };

struct Param {
  std::string_view name;
  SourceRange nameRange;
  Expr *annotation;
  Expr *defaultValue;
  ParamKind kind;
};

struct FunctionStmt : StmtOf<StmtKind::Function> {
  std::string_view name;
  SourceRange nameRange;
  std::span<Param> params;
  Expr *returns = nullptr;
  ExprList decorators;
  Block body;
  bool isAsync = false;
};

struct ClassStmt : StmtOf<StmtKind::Class> {
  std::string_view name;
  SourceRange nameRange;
  Block body;
};

/// `name` is dotted in an import; `alias` is empty if there is none.
struct ImportedName {
  std::string_view name;
  std::string_view alias;
  SourceRange range;
};

struct ImportStmt : StmtOf<StmtKind::Import> {
  std::span<ImportedName> names;
};

struct FromImportStmt : StmtOf<StmtKind::FromImport> {
  std::string_view module;
  std::span<ImportedName> names;
  bool star = false;
};

/// `a = b = value`.
struct AssignStmt : StmtOf<StmtKind::Assign> {
  ExprList targets;
  Expr *value = nullptr;
};

struct AugAssignStmt : StmtOf<StmtKind::AugAssign> {
  Expr *target = nullptr;
  BinaryOp op = BinaryOp::Add;
  SourceRange opRange;
  Expr *value = nullptr;
};

/// `target: annotation = value`; the value may be null.
struct AnnAssignStmt : StmtOf<StmtKind::AnnAssign> {
  Expr *target = nullptr;
  Expr *annotation = nullptr;
  Expr *value = nullptr;
};

struct ReturnStmt : StmtOf<StmtKind::Return> {
  Expr *value = nullptr;
};

struct ForStmt : StmtOf<StmtKind::For> {
  Expr *target = nullptr;
  Expr *iterable = nullptr;
  Block body;
  Block orElse;
};

struct IfBranch {
  Expr *condition;
  Block body;
};

/// `if` with its `elif`s in order.
struct IfStmt : StmtOf<StmtKind::If> {
  std::span<IfBranch> branches;
  Block orElse;
};

struct AssertStmt : StmtOf<StmtKind::Assert> {
  Expr *condition = nullptr;
  Expr *message = nullptr;
};

struct PassStmt : StmtOf<StmtKind::Pass> {};
struct BreakStmt : StmtOf<StmtKind::Break> {};
struct ContinueStmt : StmtOf<StmtKind::Continue> {};
struct ErrorStmt : StmtOf<StmtKind::Error> {};

struct ExpressionStmt : StmtOf<StmtKind::Expression> {
  Expr *value = nullptr;
};

/// A Python statement that the language does not support. `body` holds its blocks in order, so that
/// functions in them are found.
struct UnsupportedStmt : StmtOf<StmtKind::Unsupported> {
  std::string_view what;
  std::string_view instead;
  Block body;
};

/// A parsed file.
struct Module {
  Arena arena;
  Block body;
};

/// Reports every unsupported statement and expression in the parameters and the body of `function`,
/// each once and without those nested in it.
void reportUnsupported(const FunctionStmt &function, Diagnostics &diagnostics);

} // namespace tessera::ast

#endif // TESSERA_FRONTEND_AST_AST_H
