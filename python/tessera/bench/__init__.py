"""`tessera bench`: Tessera and the peers that are installed, timed in one interleaved run.

`command.py` reads the command line, `worker.py` measures in a process of its own for each number of threads,
`harness.py` says what a benchmark is and how contenders take turns, `judge.py` tells noise from changes,
`history.py` keeps results, `page.py` draws them. `kernels/` has the benchmarks, `peers/` what they are compared with, and `gpu/` what
runs where there is a GPU. Nothing of this is imported by `import tessera`.
"""
