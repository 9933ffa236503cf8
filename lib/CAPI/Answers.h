//===- Answers.h - The JSON values of the C ABI ----------------*- C++ -*-===//
//
// What a caller answers about a free name, and what it passes as a constant argument, is JSON text
// whose forms tessera.h lists (tessera_resolve_fn).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CAPI_ANSWERS_H
#define TESSERA_LIB_CAPI_ANSWERS_H

#include "tessera-c/tessera.h"
#include "tessera/Frontend/Frontend.h"

namespace tessera::capi {

/// The meaning of an answer; "missing" when the text is null or malformed.
Resolution parseAnswer(const char *json);

/// The constant that a text describes; nothing when it describes none.
std::optional<Constant> parseConstant(const char *json);

/// Hands the frontend's questions to the caller's function.
class CallbackResolver : public Resolver {
public:
  CallbackResolver(tessera_resolve_fn function, void *user) : function(function), user(user) {}
  Resolution resolve(const std::string &scope, const std::string &path) override {
    return parseAnswer(function(user, scope.c_str(), path.c_str()));
  }

private:
  tessera_resolve_fn function;
  void *user;
};

} // namespace tessera::capi

#endif
