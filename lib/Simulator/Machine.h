//===- Machine.h - Warps, CTAs and copies of one launch --------*- C++ -*-===//
//
// The state of a launch and its transitions. A transition is one visible step of a warp with all
// steps up to the next visible one, or the completion of an asynchronous copy. The caller chooses
// which transition comes next.
//
// Happens-before. Each warp counts its visible steps. Its vector clock has the step of each other
// warp that is ordered before it; barriers join clocks. The simulator runs the threads of a warp in
// lockstep, but hardware does not order their accesses before the next barrier of the warp:
// accesses of different lanes are ordered only by such a barrier or one of the CTA. An asynchronous
// copy happens at an unknown time until its thread waits for it, and at the time of the wait from
// then on.
//
// Shared memory keeps the accesses that are not yet ordered before every warp; a new access is
// compared with them. A barrier of the CTA clears most of them, so the list stays short. Of global
// memory, only tensors that the kernel writes are tracked, element by element, over the whole
// launch: different clusters are never ordered.
//
// The unit that runs is a cluster of CTAs, which is one CTA for most kernels. Its warps are
// numbered consecutively, and its shared memory has a range for each CTA; barriers are those of one
// CTA. CTAs interact by dsmem, TMA multicast, and mbarriers at which warps of all CTAs arrive.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_SIMULATOR_MACHINE_H
#define TESSERA_LIB_SIMULATOR_MACHINE_H

#include "Program.h"
#include "tessera/Simulator/Simulator.h"

#include <map>

namespace tessera::simulator {

/// The last access to an element of a tensor in this launch.
struct Mark {
  uint32_t step = ~0u, cluster = 0, time = 0;
  uint16_t warp = 0;
  uint8_t lane = 0;
  bool isAtomic = false;
  uint64_t bits = 0; // that a write stores; a bulk copy stores them later
  bool isSet() const { return step != ~0u; }
};

/// A tensor of the host program.
struct Memory {
  Element element;
  int64_t lowest = 0; // the index of the first element in `bytes`; views count from element 0
  std::vector<std::byte> bytes;
  std::vector<uint8_t> isInitialized; // by element
  std::string name;
  int64_t count() const { return int64_t(isInitialized.size()); }
};

/// Collects findings, one for each kind and pair of operations.
class Findings {
public:
  void add(FindingKind kind, mlir::Operation *op, const std::string &text,
           mlir::Operation *other = nullptr, const std::string &otherText = "");
  bool empty() const { return list.empty(); }
  std::vector<Finding> list;

private:
  std::map<std::tuple<FindingKind, mlir::Operation *, mlir::Operation *>, size_t> known;
};

/// A warp of a cluster (copy 0), or an asynchronous copy that it issued.
struct Agent {
  uint32_t cluster = 0; // its number in the grid
  uint16_t warp = 0;
  uint32_t copy = 0; // counted from 1, in the order of the warp's copies
  auto operator<=>(const Agent &) const = default;
};

/// Bytes that a transition accesses, in one address space of all memories.
struct Touch {
  uint64_t begin, end;
  bool isWrite, isAtomic;
};

/// A transition and its vector clock.
struct Transition {
  Agent agent;
  std::vector<Touch> touches;
  std::vector<uint32_t> clock; // of the warp
  uint32_t time = 0;           // of a copy: of its wait, if it was waited for
};

class Machine {
public:
  struct Setup {
    const Program &program;
    const LaunchValues &launch;
    std::vector<Memory> &memories;
    Findings &findings;
    unsigned residentClusters;
    bool recordsTouches = false;
    std::vector<Cost> *costs = nullptr; // by step number
    uint64_t *instructions, *elements;
    llvm::DenseSet<mlir::Operation *> *reached;
  };
  explicit Machine(const Setup &setup);

  /// The agents that can continue, warps before copies.
  std::vector<Agent> enabled() const;
  /// The agent is one of enabled().
  void execute(Agent agent);
  /// Whether all clusters have finished. If no agent is enabled before that, it is a deadlock.
  bool isFinished() const { return clusters.empty(); }
  void reportDeadlock();
  /// Whether warps waited at different barriers: the simulation cannot continue.
  bool isBroken() const { return broken; }
  /// The step that wrote an element last; null if none did.
  const Step *writerOf(unsigned memory, int64_t element) const {
    const Mark &mark = writes[memory][element];
    return mark.isSet() ? &setup.program.steps[mark.step] : nullptr;
  }

  std::vector<Transition> transitions; // with recordsTouches

private:
  struct Mbarrier {
    uint64_t phases = 0;                                 // completed
    int64_t arrived = 0, landed = 0;                     // arrivals and copies of the current phase
    std::vector<uint32_t> arrivedClock = {}, clock = {}; // of the current and the last phase
  };
  struct Copy {
    const Step *step;
    unsigned warp, number; // number: among the warp's copies
    int id;                // among the cluster's copies
    int64_t group, base;
    TileRef data;
    std::vector<uint32_t> clock; // of the issuing warp at that time
    bool hasLanded = false;
    size_t transition = ~size_t(0);
    std::vector<int64_t> at = {}; // of bulk copies and TMA: elements of the tensor
    Mbarrier *mbarrier = nullptr; // the full mbarrier of a load
    int64_t bulkStore = 0;        // the number of a bulk store of the warp, from 1; 0: none
    int64_t mmaGroup = 0;         // the number of a group of MMA of the warp, from 1; 0: none
  };
  /// A tile in registers that an MMA reads until it is waited for.
  struct Held {
    const Step *step;
    unsigned slot;
    TileRef tile;
    int64_t mmaGroup; // from 1
  };
  struct Warp {
    enum class State { Ready, AtBarrier, Exited };
    State state = State::Ready;
    unsigned at = 0; // the next step
    Frame frame;
    std::vector<uint32_t> clock; // of all warps of the cluster; its own entry is its time
    uint32_t lastSync = 0;       // the last barrier that orders its lanes
    int64_t group = 0;           // the open group of cp.async
    unsigned copies = 0;
    int64_t bulkStores = 0;
    uint64_t fenced = 0; // the last wgmma fence, as a count of tiles (Tile::made)
    std::vector<Held> held;
    uint32_t clusterArrived = 0;            // when it arrived at the cluster's barrier; 0: not yet
    uint32_t lastDsmemWait = 0;             // its own dsmem stores before it are ordered
    std::map<unsigned, int64_t> iterations; // completed iterations of a dsmem, by buffer
  };
  /// Bytes that have arrived in a dsmem, and the joined clocks of the storing warps.
  struct Iteration {
    int64_t bytes = 0;
    std::vector<uint32_t> clock;
  };
  /// An access to shared memory.
  struct Event {
    const Step *step;
    unsigned warp;
    uint32_t time;
    int64_t base, end; // bytes of the stage
    bool isWrite;
    int copy; // the id of a copy that is not waited for; -1: none
    bool isCopy;
    TileRef data;
    const Mbarrier *mbarrier = nullptr; // the wait that orders it
    bool hasLanded = false;
    std::map<unsigned, uint32_t> known = {}; // warps that have waited at the mbarrier, and when
  };
  /// An arrival at an mbarrier of another CTA.
  struct RemoteArrival {
    const Step *step;
    unsigned warp, cta;
    uint32_t time;
  };
  /// A write to shared memory that is not yet visible to the async proxy.
  struct Unfenced {
    const Step *step;
    unsigned warp;
    int64_t base, end;
    uint32_t fencedAt = 0;
  };
  struct Cluster {
    uint32_t number;
    llvm::SmallVector<int64_t> coords;
    std::vector<Warp> warps;
    std::vector<std::byte> shared;
    std::vector<uint8_t> isInitialized;
    std::vector<Event> events;
    std::vector<Copy> copies; // that are not waited for
    int copyCount = 0;
    struct Mbarriers {
      std::vector<Mbarrier> each; // empty before they are initialized
      uint32_t initializedAt = 0;
    };
    std::vector<Mbarriers> mbarriers; // by mbarrier_alloc, CTA by CTA
    std::vector<Unfenced> unfenced;
    std::vector<RemoteArrival> remoteArrivals;
    std::map<std::tuple<unsigned, unsigned, int64_t>, Iteration>
        iterations; // of dsmem, by CTA, buffer, number
  };

  // Control (Machine.cpp)
  void begin(uint32_t number);
  Cluster &clusterOf(uint32_t number);
  void retireIfDone(Cluster &cluster);
  /// Runs to the next visible step.
  void advance(Cluster &cluster, Warp &warp);
  bool isVisible(const Step &step) const;
  void perform(Cluster &cluster, Warp &warp, const Step &step);
  void arrive(Cluster &cluster, Warp &warp);
  void release(Cluster &cluster, llvm::MutableArrayRef<Warp> warps);
  /// The rank of a warp's CTA in the cluster.
  unsigned ctaOf(const Warp &warp) const { return warp.frame.warp / setup.program.warps; }
  bool isInSameCta(const Warp &warp, unsigned other) const {
    return ctaOf(warp) == other / setup.program.warps;
  }
  /// The CTA whose shared memory has an address.
  unsigned ctaAt(int64_t base) const { return unsigned(base / setup.program.sharedBytes); }
  bool isFirstOfCta(const Warp &warp) const { return warp.frame.warp % setup.program.warps == 0; }
  llvm::MutableArrayRef<Warp> ctaWarps(Cluster &cluster, const Warp &warp) const {
    return llvm::MutableArrayRef(cluster.warps)
        .slice(ctaOf(warp) * setup.program.warps, setup.program.warps);
  }
  /// Joins a clock into the warp's.
  static void joinClock(Warp &warp, const std::vector<uint32_t> &clock);
  void land(Cluster &cluster, Copy &copy);
  void waitFor(Cluster &cluster, Warp &warp, int64_t pending);
  /// Marks copies as waited for.
  void finish(Cluster &cluster, Warp &warp, llvm::function_ref<bool(const Copy &)> isOver);
  bool canContinue(const Cluster &cluster, const Warp &warp) const;
  void moveSlots(Frame &frame, const std::vector<unsigned> &from, const std::vector<unsigned> &to);

  // Shared memory (SharedMemory.cpp)
  /// " of stage 2", or " of iteration 2" for dsmem.
  std::string stageText(const Warp &warp, const Step &step) const;
  /// The address of the stage of an access; none, after a finding, if it is out of bounds.
  std::optional<int64_t> stageBase(Cluster &cluster, Warp &warp, const Step &step);
  void access(Cluster &cluster, Warp &warp, const Step &step);
  void issueCpAsync(Cluster &cluster, Warp &warp, const Step &step);
  /// Compares an access with those that are not ordered before it. True after a finding.
  bool compareWithEvents(Cluster &cluster, Warp &warp, const Step &step, int64_t base, bool isWrite,
                         const TileRef &data);
  bool areInOrder(const Event &event, const Warp &warp) const;
  struct Overlap {
    unsigned first, second; // indices of the values in both accesses
    int64_t byte;
  };
  std::optional<Overlap> overlap(const Event &event, const Step &step, unsigned warp, int64_t base,
                                 bool isWrite, const TileRef &data);
  void addEvent(Cluster &cluster, Event event);
  void touchShared(const Cluster &cluster, const Step &step, unsigned warp, int64_t base,
                   bool isWrite);

  // Mbarriers, bulk copies and TMA (Bulk.cpp)
  bool checkTensorMap(const Step &step);
  std::optional<int64_t> copyBase(Cluster &cluster, Warp &warp, const Step &step);
  void recordWrite(Cluster &cluster, const Warp &warp, const Step &step, int64_t base);
  void fence(Cluster &cluster, const Warp &warp);
  void compareWithFences(Cluster &cluster, Warp &warp, const Step &step, int64_t base);
  /// The index of a CTA's mbarriers among those of the cluster.
  size_t mbarriersOf(unsigned cta, unsigned mbarriers) const {
    return cta * setup.program.mbarrierCounts.size() + mbarriers;
  }
  /// The mbarrier of a CTA whose index a slot has. Null, after a finding, if there is none.
  Mbarrier *mbarrierOf(Cluster &cluster, Warp &warp, const Step &step, unsigned mbarriers,
                       unsigned indexSlot, unsigned cta);
  void initMbarriers(Cluster &cluster, const Warp &warp, const Step &step);
  /// Whether a phase of the CTA's own mbarrier has completed, with index and phase in slots.
  bool hasCompleted(const Cluster &cluster, const Warp &warp, unsigned mbarriers,
                    unsigned indexSlot, unsigned phaseSlot) const;
  void passMbarrier(Cluster &cluster, Warp &warp, const Step &step, unsigned mbarriers,
                    unsigned indexSlot);
  void arriveAtMbarrier(Cluster &cluster, Warp &warp, const Step &step);
  TileRef copiedData(Cluster &cluster, const Step &step, const Copy &copy);
  void issueBulkCopy(Cluster &cluster, Warp &warp, const Step &step);
  void completeIfDone(Mbarrier &mbarrier, unsigned mbarriers);
  bool hasExited(const Cluster &cluster, unsigned cta) const;
  void checkRemoteAccesses(Cluster &cluster, const Warp &warp, const Step &step);
  void landBulkCopy(Cluster &cluster, Copy &copy);
  bool areBulkStoresDone(const Cluster &cluster, const Warp &warp, int64_t pending) const;
  void waitForBulkStores(Cluster &cluster, Warp &warp, int64_t pending);
  void reportUnfinished(const Cluster &cluster);

  // Warpgroup MMA (Wgmma.cpp)
  void issueWgmma(Cluster &cluster, Warp &warp, const Step &step);
  void waitForWgmma(Cluster &cluster, Warp &warp, const Step &step);
  /// Reports a step that overwrites registers which an MMA may still read.
  void checkHeldRegisters(const Cluster &cluster, Warp &warp, const Step &step);

  // Distributed shared memory (Cluster.cpp)
  bool haveAllArrived(const Cluster &cluster) const;
  bool hasArrived(const Cluster &cluster, const Warp &warp, const Step &step) const;
  int64_t iterationOf(const Warp &warp, const Step &step) const;
  /// The address of the stage of a warp's iteration, in the shared memory of CTA `cta`.
  int64_t dsmemBase(const Warp &warp, const Step &step, unsigned cta) const;
  void passClusterBarrier(Cluster &cluster, Warp &warp);
  void storeDsmem(Cluster &cluster, Warp &warp, const Step &step);
  void passDsmemWait(Cluster &cluster, Warp &warp, const Step &step);
  void exitWarp(Cluster &cluster, Warp &warp, const Step &step);

  // Global memory (GlobalMemory.cpp)
  /// The element of the tensor's memory that each of a warp's values accesses; -1: none.
  std::vector<int64_t> addresses(Cluster &cluster, Warp &warp, const Step &step);
  TileRef load(Cluster &cluster, Warp &warp, const Step &step);
  void store(Cluster &cluster, Warp &warp, const Step &step);
  /// Compares an access with earlier ones to the same elements. `data` is null for reads.
  void watch(Cluster &cluster, Warp &warp, const Step &step, const std::vector<int64_t> &at,
             const TileRef &data);
  bool areInOrder(const Mark &mark, const Cluster &cluster, const Warp &warp, unsigned lane) const;
  /// Reports vector accesses that are not contiguous and aligned.
  void checkVectors(Cluster &cluster, Warp &warp, const Step &step, const std::vector<int64_t> &at);
  void countSectors(const Step &step, const std::vector<int64_t> &at);
  bool isWatched(const Step &step) const {
    return step.global && setup.program.isWritten[step.global->view];
  }

  /// "CTA (0), warp 1, lane 2".
  std::string threadText(const Cluster &cluster, const Warp &warp, unsigned lane) const;
  const View &viewOf(const GlobalAccess &access) const { return setup.launch.views[access.view]; }

  Setup setup;
  uint32_t nextCluster = 0, clusterCount = 1;
  std::vector<std::unique_ptr<Cluster>> clusters; // that run
  bool broken = false;
  Transition *current = nullptr;
  std::vector<std::vector<Mark>> writes;                                  // by memory, by element
  std::vector<llvm::DenseMap<int64_t, llvm::SmallVector<Mark, 2>>> reads; // by memory
  std::map<std::tuple<const Step *, unsigned, int64_t, const Step *, unsigned, int64_t>, bool>
      areApart;
};

/// "(3, 4)".
std::string indexText(llvm::ArrayRef<int64_t> index);

} // namespace tessera::simulator

#endif
