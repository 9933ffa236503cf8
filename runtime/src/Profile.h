//===- Profile.h - Time of single kernels ---------------------------------===//

#ifndef TESSERA_RT_SRC_PROFILE_H
#define TESSERA_RT_SRC_PROFILE_H

#include "Driver.h"

#include <atomic>

namespace tessera::rt {

/// Whether launches of calls are timed.
extern std::atomic<bool> profiling;

/// Launches, and keeps the time that the kernel takes. On a GPU nothing waits: events stand before
/// and after it, and are read when someone asks.
tessera_rt_status launchTimed(const std::string &function, Driver &driver, tessera_rt_stream stream,
                              const Launch &launch);

/// The times so far in Prometheus' format, "" where nothing was timed. Waits for GPUs that are still
/// at work on what was timed.
std::string profileText();

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_PROFILE_H
