"""`tessera bench`: Tessera and the installed peers, timed in one interleaved run.

`command.py` reads the command line, `worker.py` measures in a separate process for each number of
threads, `harness.py` defines a benchmark and interleaves the contenders, `judge.py` separates noise
from changes, `history.py` stores results, `page.py` draws them. What is timed is in `benchmarks` of
the source tree, which the package links to: `kernels/` has the benchmarks, `peers/` the libraries
they are compared with, and `gpu/` the benchmarks for GPUs. `import tessera` imports nothing of this.
"""
