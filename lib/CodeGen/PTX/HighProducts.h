//===- HighProducts.h - Differences of high products -----------*- C++ -*-===//
#ifndef TESSERA_LIB_CODEGEN_PTX_HIGHPRODUCTS_H
#define TESSERA_LIB_CODEGEN_PTX_HIGHPRODUCTS_H

#include <string>

namespace tessera::ptx {

/// Rewrites 64-bit differences whose first operand is the high half of a 32-bit product, such as a
/// quotient by a constant: x - y becomes x + ~y + 1. ptxas of CUDA 13.0 adds -y inside of the
/// multiplication (IMAD.HI with a carry) and takes the carry of -y, which is missing for y = 0: the
/// difference is then 2^32 too small.
std::string rewriteHighProducts(std::string ptx);

} // namespace tessera::ptx

#endif
