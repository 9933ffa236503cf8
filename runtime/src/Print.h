//===- Print.h - Tensors as text ------------------------------------------===//

#ifndef TESSERA_RT_SRC_PRINT_H
#define TESSERA_RT_SRC_PRINT_H

#include "tessera_rt/program.h"

namespace tessera::rt {

/// A dense tensor as text: its label, type and shape on a line, then its elements in nested
/// brackets. Of more than a thousand elements only the first and last three along each dimension
/// are shown.
std::string formatTensor(const std::string &label, DType dtype, std::span<const int64_t> sizes,
                         const char *data);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_PRINT_H
