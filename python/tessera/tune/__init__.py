"""The autotuner: `f.tune(*args)`, `@tsr.autotune(...)` and the command `tessera tune`.

It starts from the schedule with the smallest predicted time, measures candidates on the device, and
keeps the fastest in the tuning table, which every later compilation reads (docs/schedules.md).
"""

from .autotune import Settings, autotune
from .tuner import KernelTuning, Tuning, tune

__all__ = ["KernelTuning", "Settings", "Tuning", "autotune", "tune"]
