//===- Status.h - Errors as a status and a message per thread -------------===//

#ifndef TESSERA_RT_SRC_STATUS_H
#define TESSERA_RT_SRC_STATUS_H

#include "tessera_rt.h"

#include <string>

namespace tessera::rt {

/// Stores `message` for tessera_rt_last_error and returns `status`.
tessera_rt_status fail(tessera_rt_status status, std::string message);

void log(tessera_rt_log_level level, const std::string &text);

/// "1.5 GiB", for messages.
std::string formatBytes(uint64_t bytes);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_STATUS_H
