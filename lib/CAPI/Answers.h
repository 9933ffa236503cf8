//===- Answers.h - The JSON values of the C ABI ----------------*- C++ -*-===//
//
// A caller's answer about a free name, and a constant argument, are JSON text in the forms that
// tessera.h lists (tessera_resolve_fn).
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CAPI_ANSWERS_H
#define TESSERA_LIB_CAPI_ANSWERS_H

#include "tessera-c/tessera.h"
#include "tessera/Frontend/Frontend.h"

namespace tessera::capi {

/// The meaning of an answer; "missing" if the text is null or malformed.
Resolution parseAnswer(const char *json);

/// The constant that a text describes; nullopt if it describes none.
std::optional<Constant> parseConstant(const char *json);

/// Forwards the frontend's name lookups to the caller's function.
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
