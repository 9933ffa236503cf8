//===- Program.h - Parsed sources and scopes --------------------*- C++ -*-===//
//
// A `Program` owns the parsed texts of one compilation and their scopes. The scope of a whole file
// finds its decorated functions, resolves imports and aliases, and evaluates a module-level
// constant on its first use. The scope of a function that came from Python uses the caller's
// resolver. Both outlive the attempts of the interpreter (Sizes.h).
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_PROGRAM_H
#define TESSERA_LIB_FRONTEND_SEMA_PROGRAM_H

#include "Value.h"
#include "tessera/Frontend/AST/AST.h"

#include <map>

namespace tessera::sema {

/// The privileges of a function on an argument: `Region[read | write]`.
inline constexpr std::string_view privilegeNames[] = {"read", "write", "reduce_sum"};

class FileScope;
class Interpreter;
class Program;

/// Resolves the free names of functions.
class Scope {
public:
  virtual ~Scope();
  /// The value of a free name. If there is none, `candidates` gets existing names.
  virtual std::optional<Value> lookup(Interpreter &in, const std::string &name, SourceRange range,
                                      std::vector<std::string> &candidates) = 0;
  /// The value of an attribute of an object, by its dotted path.
  virtual std::optional<Value> attribute(Interpreter &in, const std::string &path,
                                         SourceRange range,
                                         std::vector<std::string> &candidates) = 0;
  /// The spelling of a qualified name of the language in this scope: "tsr.exp"; empty if it has
  /// none.
  virtual std::string spelling(std::string_view path) const = 0;
  /// The qualified name of a dotted expression through imports: "tessera.function"; empty if
  /// unknown.
  virtual std::string qualifiedName(const ast::Expr *) const { return ""; }
  /// The function `part` ("forward", "backward") of the derivative rule of a function of this
  /// scope; nothing if it has none.
  virtual std::optional<Value> rule(Interpreter &in, const UserFunction &function,
                                    std::string_view part) = 0;
  /// The location where an import line can be added; invalid if unknown.
  virtual SourceRange importPlace() const { return {}; }
};

struct Gradient;

/// A function of the user and the scope of its free names.
struct UserFunction {
  const ast::FunctionStmt *def = nullptr;
  Scope *scope = nullptr;
  std::string name;
  /// For the gradient of another function, which has no body of its own (Gradients.h).
  std::shared_ptr<const Gradient> gradient = nullptr;
};

class Program {
public:
  Program(const Request &request, Diagnostics &diagnostics)
      : request(request), diagnostics(diagnostics) {}

  /// The requested function, or null after an error.
  UserFunction *load();
  /// The gradient that an option or a resolver's answer asks for; the function itself if `text` is
  /// empty, null after an error.
  UserFunction *applyGradients(UserFunction *function, const std::string &text);

  /// Parses a text with one function, and returns it.
  UserFunction *parseFunction(const SourceText &source, const std::string &name, Scope *scope);
  /// The function with the resolver's `id`: always the same object.
  UserFunction *resolvedFunction(const std::string &id, const SourceText &source,
                                 const std::string &name);
  UserFunction *addFunction(const ast::FunctionStmt *def, Scope *scope, std::string name);
  void capture(const std::string &scope, const std::string &path, const Constant &value);
  /// The value of an option of the request, or else of the decorator; "" if neither sets it.
  std::string option(const std::string &name) const;
  Scope *addScope(std::unique_ptr<Scope> scope);

  const Request &request;
  Diagnostics &diagnostics;
  std::vector<Capture> captures;
  /// Options of the decorator, by name.
  std::map<std::string, std::string> options;

private:
  UserFunction *loadFunction();
  const ast::Module *parse(const SourceText &source, bool snippet);
  // Decorators (Decorators.cpp).
  void readDecorators(const FileScope &scope, const ast::FunctionStmt &def);
  void readSchedule(const ast::Expr *decorator);
  /// Checks the options of the request. Returns false after an error.
  bool checkOptions();
  void readOption(std::string_view name, SourceRange nameRange, const ast::Expr *value);
  void reportNoFunction(const ast::Module &module, const FileScope &scope, uint32_t file);
  std::vector<std::unique_ptr<ast::Module>> modules;
  std::vector<std::unique_ptr<Scope>> scopes;
  std::vector<std::unique_ptr<UserFunction>> functions;
  std::map<std::string, UserFunction *> resolved; // by the resolver's ids
};

/// The scope of a whole file.
class FileScope : public Scope {
public:
  FileScope(Program &program, const ast::Module &module, bool predeclared);

  std::optional<Value> lookup(Interpreter &in, const std::string &name, SourceRange range,
                              std::vector<std::string> &candidates) override;
  std::optional<Value> attribute(Interpreter &in, const std::string &path, SourceRange range,
                                 std::vector<std::string> &candidates) override;
  std::string spelling(std::string_view path) const override;
  SourceRange importPlace() const override { return firstImport; }
  std::optional<Value> rule(Interpreter &in, const UserFunction &function,
                            std::string_view part) override;

  /// A decorated function, by its qualified name.
  struct Found {
    std::string name;
    const ast::FunctionStmt *def;
    const ast::Expr *decorator;
    /// What its other decorators make of it, as in the option `grad`.
    std::string gradients = {};
  };
  const std::vector<Found> &functions() const { return found; }
  std::string qualifiedName(const ast::Expr *expr) const override;

private:
  struct Binding {
    enum { Import, Constant, Function, Class, Other } kind = Other;
    std::string path;                 // Import: the qualified name
    const ast::Expr *value = nullptr; // Constant: the value, or a part of it
    std::optional<size_t> element;    // Constant: of a tuple assignment
    const ast::FunctionStmt *def = nullptr;
    SourceRange range;
    enum { Unknown, Running, Known } state = Unknown;
    Value known;
  };

  void collect(ast::Block block, const std::string &prefix);
  void collectFunction(const ast::FunctionStmt &def, const std::string &prefix);
  void collectRule(const ast::Expr *expr, const std::string &prefix);
  void bindTarget(const ast::Expr *target, const ast::Expr *value, SourceRange range);
  std::optional<Value> evaluate(Interpreter &in, const std::string &name, Binding &binding,
                                SourceRange range);

  Program &program;
  std::map<std::string, Binding, std::less<>> bindings;
  std::vector<Found> found;
  /// The calls `f.defvjp(forward, backward)`, by the name of the function.
  std::map<std::string, const ast::CallExpr *, std::less<>> rules;
  SourceRange firstImport;
};

/// The scope of a function whose free names the caller resolves.
class ResolverScope : public Scope {
public:
  ResolverScope(Program &program, std::string id) : program(program), id(std::move(id)) {}

  std::optional<Value> lookup(Interpreter &in, const std::string &name, SourceRange range,
                              std::vector<std::string> &candidates) override;
  std::optional<Value> attribute(Interpreter &in, const std::string &path, SourceRange range,
                                 std::vector<std::string> &candidates) override {
    return lookup(in, path, range, candidates);
  }
  std::string spelling(std::string_view path) const override;
  std::optional<Value> rule(Interpreter &in, const UserFunction &function,
                            std::string_view part) override;

private:
  Program &program;
  std::string id;
  std::map<std::string, std::optional<Value>> known;
  std::map<std::string, std::vector<std::string>> missing;
};

/// The value of a qualified name of the language: "tessera", "tessera.softmax", "math.pi",
/// "tessera.fp16".
std::optional<Value> languageName(const std::string &path);
/// The language's name for another library's operation `name`; empty if there is none.
std::string_view otherName(std::string_view name);
/// Types of the language that this compiler does not support.
bool isLaterType(std::string_view name);
/// All names in a module of the language, for "did you mean".
std::vector<std::string_view> languageNames(std::string_view module);

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_PROGRAM_H
