//===- Binding.h - Binds the values of a call to a function's arguments -*- C++ -*-===//
//
// The values of a call are in the order of the request. The frontend records which argument of the
// function each parameter became; a constant of the specialisation has none.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CAPI_BINDING_H
#define TESSERA_LIB_CAPI_BINDING_H

#include "tessera-c/tessera.h"
#include "tessera/Pipeline/Pipeline.h"
#include "tessera/Reference/Reference.h"

#include <span>

namespace tessera::capi {

/// A scalar in the element type of the function's argument.
struct ScalarStorage {
  union {
    double fp64;
    float fp32;
    int64_t integer;
    uint8_t boolean;
  };
};

class Binding {
public:
  Binding(const CompileRequest &request, const FrontendInfo &info,
          std::span<const tessera_rt_value> values)
      : request(request), info(info), values(values) {}

  /// The requested function of the module, with its arguments bound; null after an error.
  mlir::func::FuncOp bind(mlir::ModuleOp module);

  std::vector<reference::HostTensor> arguments;
  llvm::StringMap<int64_t> symbols;

private:
  bool bind(mlir::func::FuncOp function);
  int parameterOf(const ArgSpec &spec, size_t position) const;
  bool bindOne(mlir::func::FuncOp function, int argument, const std::string &name,
               const tessera_rt_value &value, ScalarStorage &scalar);

  const CompileRequest &request;
  const FrontendInfo &info;
  std::span<const tessera_rt_value> values;
  std::vector<ScalarStorage> storage;
};

} // namespace tessera::capi

#endif
