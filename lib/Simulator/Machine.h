//===- Machine.h - Warps, blocks and copies of one launch ------*- C++ -*-===//
//
// The state of a launch, and its transitions: one visible step of a warp with all that it does on
// its own after it, or the arrival of an asynchronous copy. Who comes next is up to the caller.
//
// What must come before what. Each warp counts its visible steps; its clock says how far it knows
// of each other warp of the block, and barriers join clocks. Threads of a warp run in step here,
// but on the machine nothing orders their accesses before the next barrier of the warp: two
// accesses of one warp by different lanes are in order only if such a barrier (or one of the block)
// lies between them. A copy happens at no known time until its thread waits for it; from then on,
// at the time of the wait.
//
// Shared memory keeps the accesses that some warp does not yet know of; a new one is compared with
// them. After a barrier of the block none are left, so there are few at any time. Of global memory
// only tensors that the kernel writes are watched, element by element, over the whole launch:
// blocks know nothing of each other.
//
// The blocks of a cluster run as one whose warps are numbered through and whose shared memory has a
// part for each; barriers are those of one of them. Between them are mailboxes, copies that one block
// begins for all, and gates that warps of all blocks tell.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_SIMULATOR_MACHINE_H
#define TESSERA_LIB_SIMULATOR_MACHINE_H

#include "Program.h"
#include "tessera/Simulator/Simulator.h"

#include <map>

namespace tessera::simulator {

/// Of a tensor's element: who accessed it last in this launch.
struct Mark {
  uint32_t step = ~0u, block = 0, time = 0;
  uint16_t warp = 0;
  uint8_t lane = 0;
  bool isAtomic = false;
  bool isSet() const { return step != ~0u; }
};

/// A tensor of the host program.
struct Memory {
  Element element;
  int64_t lowest = 0; // the number of the first element in `bytes`; views count from element 0
  std::vector<std::byte> bytes;
  std::vector<uint8_t> isInitialized; // by element
  std::string name;
  int64_t count() const { return int64_t(isInitialized.size()); }
};

/// Collects what is found, once for each kind and pair of operations.
class Findings {
public:
  void add(FindingKind kind, mlir::Operation *op, const std::string &text,
           mlir::Operation *other = nullptr, const std::string &otherText = "");
  bool empty() const { return list.empty(); }
  std::vector<Finding> list;

private:
  std::map<std::tuple<FindingKind, mlir::Operation *, mlir::Operation *>, size_t> known;
};

/// A warp of a block (copy 0), or a copy that it has begun.
struct Agent {
  uint32_t block = 0; // its number in the grid
  uint16_t warp = 0;
  uint32_t copy = 0; // counted from 1, in the order of the warp's copies
  auto operator<=>(const Agent &) const = default;
};

/// Bytes that a transition touches, in an address space of all memories.
struct Touch {
  uint64_t begin, end;
  bool isWrite, isAtomic;
};

/// A transition and what is known when it happens.
struct Transition {
  Agent agent;
  std::vector<Touch> touches;
  std::vector<uint32_t> clock; // of the warp
  uint32_t time = 0;           // of a copy: of its wait, once that is known
};

class Machine {
public:
  struct Setup {
    const Program &program;
    const LaunchValues &launch;
    std::vector<Memory> &memories;
    Findings &findings;
    unsigned residents;
    bool recordsTouches = false;
    std::vector<Cost> *costs = nullptr; // by step number
    uint64_t *instructions, *elements;
    llvm::DenseSet<mlir::Operation *> *reached;
  };
  explicit Machine(const Setup &setup);

  /// Who can go on, warps before copies.
  std::vector<Agent> enabled() const;
  /// Only for one that can.
  void execute(Agent agent);
  /// Nobody is left; where nobody can go on before that, it is a dead-lock.
  bool isFinished() const { return blocks.empty(); }
  void reportDeadlock();
  /// A barrier that warps came to by different ways: nothing that follows means anything.
  bool isBroken() const { return broken; }
  /// Who wrote an element last; null: nobody.
  const Step *writerOf(unsigned memory, int64_t element) const {
    const Mark &mark = writes[memory][element];
    return mark.isSet() ? &setup.program.steps[mark.step] : nullptr;
  }

  std::vector<Transition> transitions; // with recordsTouches

private:
  /// Opens when what it waits for has come.
  struct Gate {
    uint64_t opened = 0;             // how often
    int64_t arrived = 0, landed = 0; // since then
    std::vector<uint32_t> told = {}, clock = {}; // what warps knew that have told it: all of them, and those who opened it
  };
  struct Copy {
    const Step *step;
    unsigned warp, number; // of the warp's copies
    int id;                // of the block's
    int64_t group, base;
    TileRef data;
    std::vector<uint32_t> clock; // of the warp that began it, then
    bool hasLanded = false;
    size_t transition = ~size_t(0);
    std::vector<int64_t> at = {}; // of a row: addresses
    Gate *gate = nullptr;         // that a fetch opens
    int64_t send = 0;             // the number of the warp's sends, counted from 1
    int64_t product = 0;          // the number of the warp's groups of products, counted from 1
  };
  /// A tile in registers that a product reads until it is waited for.
  struct Held {
    const Step *step;
    unsigned slot; // of the frame
    TileRef tile;
    int64_t product; // the number of its group, counted from 1
  };
  struct Warp {
    enum class State { Ready, AtBarrier, Ended };
    State state = State::Ready;
    unsigned at = 0; // the next step
    Frame frame;
    std::vector<uint32_t> clock; // of all warps of the block; its own entry is its time
    uint32_t lastSync = 0;       // until when its lanes know of each other
    int64_t group = 0;           // that copies are added to
    unsigned copies = 0;
    int64_t sends = 0;
    uint64_t fenced = 0;           // until when products see what is in registers, by when tiles are made
    std::vector<Held> held;
    uint32_t opened = 0;    // when it has told the cluster that it runs; 0: it has not
    uint32_t lastReceived = 0; // until when it knows of its own pushes
    std::map<unsigned, int64_t> turns; // of mailboxes, by buffer: those that are over
  };
  /// What has come into a mailbox, and what its senders knew.
  struct Turn {
    int64_t bytes = 0;
    std::vector<uint32_t> clock;
  };
  /// An access to shared memory.
  struct Event {
    const Step *step;
    unsigned warp;
    uint32_t time;
    int64_t base, end; // bytes of the slot
    bool isWrite;
    int copy; // that is not waited for, by its id; -1: none
    bool isCopy;
    TileRef data;
    const Gate *gate = nullptr; // behind which it is known
    bool hasLanded = false;
    std::map<unsigned, uint32_t> known = {}; // warps that have waited at the gate, and when
  };
  /// A warp that has told a gate of another block.
  struct Told {
    const Step *step;
    unsigned warp, part;
    uint32_t time;
  };
  /// A write to shared memory that copies of rows do not see yet.
  struct Unfenced {
    const Step *step;
    unsigned warp;
    int64_t base, end;
    uint32_t fencedAt = 0;
  };
  struct Block {
    uint32_t number;
    llvm::SmallVector<int64_t> coords;
    std::vector<Warp> warps;
    std::vector<std::byte> shared;
    std::vector<uint8_t> isInitialized;
    std::vector<Event> events;
    std::vector<Copy> copies; // that are not waited for
    int copyCount = 0;
    struct Gates {
      std::vector<Gate> each; // none before they are made
      uint32_t madeAt = 0;
    };
    std::vector<Gates> gates; // by number, of one block of a cluster after the other
    std::vector<Unfenced> unfenced;
    std::vector<Told> told; // other blocks
    std::map<std::tuple<unsigned, unsigned, int64_t>, Turn> turns; // by block, buffer, number
  };

  // Control (Machine.cpp)
  void begin(uint32_t number);
  Block &blockOf(uint32_t number);
  void endIfOver(Block &block);
  /// Runs to the next visible step.
  void advance(Block &block, Warp &warp);
  bool isVisible(const Step &step) const;
  void perform(Block &block, Warp &warp, const Step &step);
  void arrive(Block &block, Warp &warp);
  void release(Block &block, llvm::MutableArrayRef<Warp> warps);
  /// The number of a warp's block in its cluster, and the warps of that block.
  unsigned partOf(const Warp &warp) const { return warp.frame.warp / setup.program.warps; }
  bool isOfBlock(const Warp &warp, unsigned other) const { return partOf(warp) == other / setup.program.warps; }
  /// The block in whose memory a place lies.
  unsigned partAt(int64_t base) const { return unsigned(base / setup.program.sharedBytes); }
  bool isFirstOfBlock(const Warp &warp) const { return warp.frame.warp % setup.program.warps == 0; }
  llvm::MutableArrayRef<Warp> besides(Block &block, const Warp &warp) const {
    return llvm::MutableArrayRef(block.warps).slice(partOf(warp) * setup.program.warps, setup.program.warps);
  }
  /// What a warp hears of others.
  static void know(Warp &warp, const std::vector<uint32_t> &clock);
  void land(Block &block, Copy &copy);
  void waitFor(Block &block, Warp &warp, int64_t pending);
  /// Copies that a warp has waited for.
  void finish(Block &block, Warp &warp, llvm::function_ref<bool(const Copy &)> isOver);
  bool canGoOn(const Block &block, const Warp &warp) const;
  void moveSlots(Frame &frame, const std::vector<unsigned> &from, const std::vector<unsigned> &to);

  // Shared memory (SharedMemory.cpp)
  /// " of slot 2".
  std::string slotText(const Warp &warp, const Step &step) const;
  /// Where the slot of an access begins; nothing, after a finding, where there is none.
  std::optional<int64_t> slotBase(Block &block, Warp &warp, const Step &step);
  void access(Block &block, Warp &warp, const Step &step);
  void beginCopy(Block &block, Warp &warp, const Step &step);
  /// Whether something is wrong.
  bool compareWithEvents(Block &block, Warp &warp, const Step &step, int64_t base, bool isWrite,
                         const TileRef &data);
  bool areInOrder(const Event &event, const Warp &warp) const;
  struct Overlap {
    unsigned first, second; // the numbers in both
    int64_t byte;
  };
  std::optional<Overlap> overlap(const Event &event, const Step &step, unsigned warp, int64_t base,
                                 bool isWrite, const TileRef &data);
  void addEvent(Block &block, Event event);
  void touchShared(const Block &block, const Step &step, unsigned warp, int64_t base, bool isWrite);

  // Copies of rows (Bulk.cpp)
  bool isBoxed(const Step &step);
  std::optional<int64_t> rowBase(Block &block, Warp &warp, const Step &step);
  void noteWrite(Block &block, const Warp &warp, const Step &step, int64_t base);
  void fence(Block &block, const Warp &warp);
  void compareWithFences(Block &block, Warp &warp, const Step &step, int64_t base);
  /// The gates of a block, by their number among those of all blocks.
  size_t gatesOf(unsigned part, unsigned gates) const { return part * setup.program.gateCounts.size() + gates; }
  /// Of a block's gates the one that a slot of the warp's frame names. Null, after a finding, where there is none.
  Gate *gateOf(Block &block, Warp &warp, const Step &step, unsigned gates, unsigned slot, unsigned part);
  void makeGates(Block &block, const Warp &warp, const Step &step);
  /// Of the gates of that number, the one that a slot of the frame names, in the phase that another one says.
  bool isOpen(const Block &block, const Warp &warp, unsigned gates, unsigned slot, unsigned phase) const;
  void passGate(Block &block, Warp &warp, const Step &step, unsigned gates, unsigned slot);
  void arriveAtGate(Block &block, Warp &warp, const Step &step);
  void beginRow(Block &block, Warp &warp, const Step &step);
  void openIfComplete(Gate &gate, unsigned gates);
  bool hasEnded(const Block &block, unsigned part) const;
  void reportUnknown(Block &block, const Warp &warp, const Step &step);
  void landRow(Block &block, Copy &copy);
  bool areSent(const Block &block, const Warp &warp, int64_t pending) const;
  void waitForSends(Block &block, Warp &warp, int64_t pending);
  void reportUnfinished(const Block &block);

  // Products of groups of warps (Group.cpp)
  void beginProduct(Block &block, Warp &warp, const Step &step);
  void waitForProducts(Block &block, Warp &warp, const Step &step);
  /// Whether a step has put something else where products still read.
  void compareWithHeld(const Block &block, Warp &warp, const Step &step);

  // Mailboxes (Cluster.cpp)
  bool hasAllOpened(const Block &block) const;
  bool hasCome(const Block &block, const Warp &warp, const Step &step) const;
  int64_t turnOf(const Warp &warp, const Step &step) const;
  /// Where the slot of a warp's turn begins, in the memory of block `part`.
  int64_t mailboxBase(const Warp &warp, const Step &step, unsigned part) const;
  void meet(Block &block, Warp &warp);
  void push(Block &block, Warp &warp, const Step &step);
  void receive(Block &block, Warp &warp, const Step &step);
  void leave(Block &block, Warp &warp, const Step &step);

  // Global memory (GlobalMemory.cpp)
  /// The element of the tensor's memory that each of a warp's numbers is; -1: none, outside where
  /// that is allowed.
  std::vector<int64_t> addresses(Block &block, Warp &warp, const Step &step);
  TileRef load(Block &block, Warp &warp, const Step &step);
  void store(Block &block, Warp &warp, const Step &step);
  /// `data`: what is written; null for reads.
  void watch(Block &block, Warp &warp, const Step &step, const std::vector<int64_t> &at,
             const TileRef &data);
  bool areInOrder(const Mark &mark, const Block &block, const Warp &warp, unsigned lane) const;
  /// Whether what a thread accesses at once lies side by side, whole and aligned.
  void checkVectors(Block &block, Warp &warp, const Step &step, const std::vector<int64_t> &at);
  void countSectors(const Step &step, const std::vector<int64_t> &at);
  bool isWatched(const Step &step) const {
    return step.global && setup.program.isWritten[step.global->view];
  }

  std::string placeOf(const Block &block, const Warp &warp, unsigned lane) const;
  const View &viewOf(const GlobalAccess &access) const { return setup.launch.views[access.view]; }

  Setup setup;
  uint32_t nextBlock = 0, blockCount = 1;
  std::vector<std::unique_ptr<Block>> blocks; // that run
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
