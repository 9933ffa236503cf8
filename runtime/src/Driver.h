//===- Driver.h - The interface of device drivers -------------------------===//
//
// The C ABI and the interpreter of host programs use devices through this interface only; the CPU
// and CUDA implement it, and the conformance suite tests both. A driver is one object per process
// that is never destroyed, since threads may still use it at process exit.
//
// Functions return a status and set the message of tessera_rt_last_error. Ordinals count the
// devices of the driver; a stream handle belongs to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_DRIVER_H
#define TESSERA_RT_SRC_DRIVER_H

#include "Status.h"
#include "tessera_rt/bundle.h"
#include "tessera_rt/device.h"
#include "tessera_rt/program.h"

#include <atomic>
#include <memory>
#include <span>

namespace tessera::rt {

class Driver;

/// Objects that a driver creates; each driver derives its own.
struct Kernel {
  std::string name;
  tessera_rt_stream device; // its default stream
  virtual ~Kernel() = default;
};
struct Event {
  Driver *driver;
  explicit Event(Driver *driver) : driver(driver) {}
  virtual ~Event() = default;
};
struct Graph {
  Driver *driver;
  explicit Graph(Driver *driver) : driver(driver) {}
  virtual ~Graph() = default;
};
struct Library {
  virtual ~Library() = default;
  /// The kernel is valid as long as the library.
  virtual tessera_rt_status find(const std::string &name, const Kernel *&kernel) = 0;
};

/// One launch.
struct Launch {
  const Kernel *kernel;
  const KernelShape *shape;
  const int64_t *grid; // three sizes
  const int64_t *words;
  uint32_t wordCount;
  // Hints for the CPU's thread pool.
  int64_t grain = 1;
  int64_t work = -1;                  // estimate in nanoseconds of one core; negative: unknown
  std::atomic<float> *cost = nullptr; // measured time, unless null
  // Where the CPU reports a failed check, if the launch runs synchronously.
  tessera_rt_failure *failure = nullptr;
  // Parameters after the words, for GPUs.
  std::span<const TensorMap> maps = {};
};

class Driver {
public:
  virtual ~Driver() = default;
  using Status = tessera_rt_status;

  virtual Status count(int32_t &devices) = 0;
  virtual Status info(int32_t ordinal, tessera_rt_device_info &info) = 0;
  virtual Status memory(int32_t ordinal, uint64_t &free, uint64_t &total) = 0;
  virtual Status synchronizeDevice(int32_t ordinal) = 0;
  virtual Status canAccess(int32_t ordinal, int32_t peer, bool &can) = 0;
  virtual Status enableAccess(int32_t ordinal, int32_t peer) = 0;
  virtual int64_t fact(int32_t ordinal, DeviceFact fact) = 0;

  virtual Status createStream(int32_t ordinal, int32_t priority, void *&handle) = 0;
  virtual void releaseStream(tessera_rt_stream stream) = 0;
  virtual Status synchronize(tessera_rt_stream stream) = 0;
  virtual Status query(tessera_rt_stream stream, bool &done) = 0;
  virtual Status wait(tessera_rt_stream stream, Event &event) = 0;

  virtual Status createEvent(int32_t ordinal, Event *&event) = 0;
  virtual Status record(Event &event, tessera_rt_stream stream) = 0;
  virtual Status synchronizeEvent(Event &event) = 0;
  virtual Status queryEvent(Event &event, bool &done) = 0;
  virtual Status elapsed(Event &start, Event &end, double &milliseconds) = 0;

  virtual Status allocate(tessera_rt_stream stream, uint64_t bytes, void *&memory) = 0;
  virtual Status deallocate(tessera_rt_stream stream, void *memory, uint64_t bytes) = 0;
  virtual Status allocateHost(int32_t ordinal, uint64_t bytes, void *&memory) = 0;
  virtual void deallocateHost(int32_t ordinal, void *memory) = 0;
  virtual Status copy(tessera_rt_stream stream, void *target, const void *source,
                      uint64_t bytes) = 0;
  virtual Status fill(tessera_rt_stream stream, void *target, uint8_t value, uint64_t bytes) = 0;
  virtual Status poolStatistics(int32_t ordinal, tessera_rt_pool_statistics &statistics) = 0;
  virtual Status trim(int32_t ordinal, uint64_t keep) = 0;

  /// Loads an image of a bundle.
  virtual Status load(int32_t ordinal, const CodeImage &image,
                      std::unique_ptr<Library> &library) = 0;
  virtual Status launch(tessera_rt_stream stream, const Launch &launch) = 0;

  virtual Status beginCapture(tessera_rt_stream stream) = 0;
  virtual Status endCapture(tessera_rt_stream stream, Graph *&graph) = 0;
  virtual Status launchGraph(Graph &graph, tessera_rt_stream stream) = 0;
};

/// The parts of a device's number.
inline int32_t deviceKind(int32_t device) { return device >> 16; }
inline int32_t deviceOrdinal(int32_t device) { return device & 0xffff; }
/// "the CPU", "cuda:0".
std::string deviceName(int32_t device);

/// The driver of a device, or null (then the message says that there is no such kind of device).
Driver *driverOf(int32_t device);

Driver &cpuDriver();
Driver &cudaDriver();
/// The device of an address, if CUDA is in use and knows it.
bool cudaAddressDevice(const void *address, int32_t &ordinal);
/// Sums over all open GPUs; never starts the driver.
tessera_rt_pool_statistics cudaPoolTotals();
void cudaTrimAll();

/// A library of kernels in the calling program.
std::unique_ptr<Library> nativeLibrary(std::span<const tessera_rt_native_kernel> kernels);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_DRIVER_H
