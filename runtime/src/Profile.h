//===- Profile.h - Kernel times -------------------------------------------===//

#ifndef TESSERA_RT_SRC_PROFILE_H
#define TESSERA_RT_SRC_PROFILE_H

#include "Driver.h"

#include <atomic>

namespace tessera::rt {

/// Whether launches of calls are timed.
extern std::atomic<bool> profiling;

/// Launches, and records the time of the kernel. It does not wait for a GPU: events are recorded
/// before and after the kernel, and read on demand.
tessera_rt_status launchTimed(const std::string &function, Driver &driver, tessera_rt_stream stream,
                              const Launch &launch);

/// The times so far in Prometheus' format, "" if nothing was timed. Waits for timed work on GPUs.
std::string profileText();

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_PROFILE_H
