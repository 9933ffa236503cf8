//===- Gradients.h - Functions that compute gradients ---------------*- C++ -*-===//
//
// `tsr.grad(f, wrt="w")` is a function with the parameters of `f`. Calling it calls `f` with marked
// arguments and emits `gir.vjp`; the pass `gir-differentiate` does the rest. The same function is
// made for a request with the option `grad`, so that gradients inside and outside a @tsr.function
// have one meaning.
//
// Results are a flat tuple: with `value_and_grad` the value first, then auxiliary results, then the
// gradients. `vjp` has one more parameter for each result of `f`, its cotangent; `jvp` has one more
// for each differentiated parameter, its tangent.
//
// The two parts of a function whose gradients are asked for later are compiled one by one:
// "forward:w,b," returns its results and what backward needs, "backward:w,b,:1:3" takes the
// arguments of the function, a cotangent for each float result, and three such tensors. Both are
// made from one function with results and gradients, which `gir-partition` splits.
//
// A function with a derivative rule is made from its own definition in the same way ("custom_vjp"),
// and so is one with a checkpoint policy ("checkpoint::nothing", "checkpoint:NAME,NAME:names").
//
//===------------------------------------------------------------------------------------------===//
#ifndef TESSERA_LIB_FRONTEND_SEMA_GRADIENTS_H
#define TESSERA_LIB_FRONTEND_SEMA_GRADIENTS_H

#include "Program.h"

#include <deque>

namespace tessera::sema {

/// What is asked for, by names of parameters.
struct GradientRequest {
  enum Kind { Grad, ValueAndGrad, Vjp, Jvp, CustomVjp, Checkpoint, Forward, Backward } kind = Grad;
  /// Names or numbers of parameters; empty for the first one, or for all floats (vjp and jvp). For
  /// a checkpoint: names of saved tensors.
  std::vector<std::string> wrt;
  /// Whether the gradients are a tuple, also if there is only one.
  bool isTuple = false;
  bool hasAux = false;
  /// The number of results of the function, for vjp; of its float results, for backward.
  unsigned results = 1;
  /// The number of saved tensors, for backward.
  unsigned residuals = 0;
  /// Of a checkpoint: "auto", "nothing", "everything", "contractions" or "names".
  std::string policy = "auto";
  /// Where it is written; invalid if the caller of the compiler asks for it.
  SourceRange range = {};
  std::vector<SourceRange> wrtRanges = {};

  bool isJoint() const { return kind == Forward || kind == Backward; }
};

/// The parts of a request's option `grad`: "value_and_grad:w,b:aux", separated by ';', the
/// innermost first. Nothing if it is malformed.
std::optional<std::vector<GradientRequest>> parseGradients(std::string_view text);

/// A function made from another one.
struct Gradient {
  const UserFunction *of = nullptr;
  GradientRequest request;
  /// The differentiated parameters; empty for all floats.
  std::vector<size_t> wrt;
  size_t numParams = 0; ///< of the function
  ast::FunctionStmt def;
  std::vector<ast::Param> params;
  std::deque<std::string> names; ///< of the parameters for cotangents and tangents
};

/// The gradient of a function, whose first parameter is an object if `isMethod`; null after an
/// error.
UserFunction *makeGradient(Program &program, const UserFunction &function,
                           const GradientRequest &request, bool isMethod = false);

/// The result of a function with a derivative rule in the current frame (CustomVjp.cpp).
Value runCustomVjp(Interpreter &in, const Gradient &gradient);
/// The result of a function with a checkpoint policy in the current frame (Checkpoints.cpp).
Value runCheckpoint(Interpreter &in, const Gradient &gradient);
/// Reads a policy of 'checkpoint' into a request. Returns false if it is none.
bool readPolicy(const Value &policy, GradientRequest &request);

} // namespace tessera::sema

#endif // TESSERA_LIB_FRONTEND_SEMA_GRADIENTS_H
