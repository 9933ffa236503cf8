//===- Variants.h - Code for what calls of a class have in common ---------===//
//
// A specialisation accepts all calls of its shape class. A variant of it is code for calls that
// have more in common: sizes, numbers, and the elements of tensors. It runs if its guards hold, and
// no argument was written before they are checked. Otherwise the specialisation runs the call.
//
// What calls have in common is found by an observer, which sees some calls of a specialisation.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PYTHON_VARIANTS_H
#define TESSERA_PYTHON_VARIANTS_H

#include "Specialisation.h"

namespace tessera::python {

/// What is assumed of one argument.
struct Guard {
  enum Kind { Size, Number, Content };

  bool holds(const Arguments &arguments) const;

  Kind kind = Size;
  unsigned argument = 0;      // its position in the call
  int32_t type = 0;           // the dimension; the kind of a number; the element type
  int64_t value = 0;          // the size; the bits of a number
  std::vector<int64_t> sizes; // of Content
  std::string bytes;          // the same, dense
  uint64_t misses = 0;
};

struct Variant : Specialisation {
  enum State { Active, Missed, Slower, Dropped };
  /// Calls of a trial, in which each second call of a variant runs its specialisation instead.
  static constexpr uint64_t callsOfTrial = 32;

  ~Variant();

  /// Whether all guards hold; otherwise `failed` is the first that does not.
  bool accepts(const Arguments &arguments);
  /// Counts a call of its class that it did not accept; whether that was one too many.
  bool miss();
  void hit();
  /// No call runs it from now on.
  void retire(State why);

  std::vector<Guard> guards;
  std::vector<bool> dropped;        // for each argument, whether the code has no such argument
  tessera_rt_frame *kept = nullptr; // of the last fast call
  size_t failed = 0;                // the number of the first guard that failed, or past the last
  State state = Active;
  Py_ssize_t number = 0;    // in its table
  bool isMeasured = false;  // whether there is a trial, which ends it if it is not faster
  bool isRivalNext = false; // in the trial
  uint64_t rival = never;   // nanoseconds of the specialisation's fastest call in the trial
  uint64_t patience = 8;    // the misses for each hit that it may have
  uint64_t recentHits = 0, recentMisses = 0;
};

/// Sees calls of a specialisation until there were enough of them.
class Observer {
public:
  /// Tensors with more bytes are not compared.
  static constexpr int64_t mostBytes = 4 << 20;

  Observer(uint64_t skipped, uint64_t calls, uint64_t nanoseconds)
      : skipped(skipped), calls(calls), nanoseconds(nanoseconds) {}

  /// Whether the next call is to be seen; the first ones are not.
  bool isNext() { return !isTold && (skipped == 0 || skipped-- == 0); }

  void see(const Arguments &arguments);
  /// Adds the time of a call that was seen.
  void addTime(uint64_t spent) { total += spent; }
  bool isTimed() const { return !isTold && seen > 0; }
  /// Whether enough calls were seen. If they took too short a time, it sees as many later.
  bool isDone();
  /// Copies the tensors that never changed.
  void copyContents(const Arguments &arguments);
  /// (calls, arguments): ("tensor", dtype, ((size, always), …), bytes or
  /// None), ("number", kind, value, always), or None
  PyObject *describe() const;

  bool isTold = false; // that it is done

private:
  struct Seen {
    tessera_rt_value value; // of the first call; a tensor's arrays are invalid
    std::vector<int64_t> sizes;
    std::vector<bool> sizeVaries;
    bool varies = false; // the number, or elements
    bool isConstant = false;
    uint64_t fingerprint = 0;
    std::string bytes;
  };
  void seeTensor(Seen &known, const tessera_rt_tensor &tensor, bool isFirst);

  uint64_t skipped, calls, nanoseconds, seen = 0, total = 0;
  std::vector<Seen> arguments;
};

} // namespace tessera::python

#endif // TESSERA_PYTHON_VARIANTS_H
