"""The tests and settings of `make test SANITIZE=…` (cmake/TesseraSanitize.cmake lists the
instrumented parts).

A report is a separate file, because a process may hide its output and its exit status: a message
that a test expects, a fault that the compiler recovers from. utils/test.py counts them.
"""

import fnmatch
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

LLVM = Path("/usr/lib/llvm-22/bin")
STACK = (
    64 << 20
)  # bytes: instrumented frames are several times as large, and depth limits assume plain ones

# Code that is compiled at run time is not instrumented, so numerics are not tested in these runs.
CALLS = [
    "integration/python/test_calls.py",
    "integration/python/test_exchange.py",
    "integration/python/test_interoperation.py",
    "integration/python/test_specializations.py",
    "integration/python/test_threads.py",
]
_REFUSED = "WARNING: AddressSanitizer failed to allocate"


@dataclass(frozen=True)
class Sanitizer:
    name: str
    variable: str  # of the environment
    options: str
    unit: list[str]  # patterns of programs
    lit: bool
    python: list[str]  # patterns of files
    fuzz: bool
    left_out: dict[str, str]  # tests that are not run, and why

    def environment(self, reports: Path, preload: bool) -> dict[str, str]:
        options = f"{self.options}:log_path={reports}/{self.name}-report"
        result = {
            self.variable: options,
            "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={reports}/{self.name}-report",
            f"{self.variable.split('_')[0]}_SYMBOLIZER_PATH": str(LLVM / "llvm-symbolizer"),
        }
        if preload:
            # Python is not linked with the sanitizer's runtime, which must be loaded first in a
            # process.
            result["LD_PRELOAD"] = self.library()
        return result

    def widen_stacks(self) -> None:
        """The environment of processes that are started from now on."""
        _, hard = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (STACK if hard < 0 else min(STACK, hard), hard))

    def library(self) -> str:
        short = {"address": "asan", "thread": "tsan"}[self.name]
        machine = subprocess.run(["uname", "-m"], capture_output=True, text=True).stdout.strip()
        command = [LLVM / "clang", f"-print-file-name=libclang_rt.{short}-{machine}.so"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def reports(self, folder: Path) -> list[str]:
        """The findings; a rejected allocation, which some tests request, is only a warning."""
        texts = [p.read_text(errors="replace") for p in sorted(folder.glob(f"{self.name}-report*"))]
        return [text for text in texts if not all(_REFUSED in line for line in text.splitlines())]

    def takes(self, patterns: list[str], path: str) -> bool:
        return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


SANITIZERS = {
    "address": Sanitizer(
        name="address",
        variable="ASAN_OPTIONS",
        # LLVM's allocators poison memory in headers and use it in archives; interned objects are
        # never freed. Freed memory is quarantined, less of it than the test of memory release
        # allows.
        options="allow_user_poisoning=0:alloc_dealloc_mismatch=0:detect_leaks=0:allocator_may_return_null=1"
        ":quarantine_size_mb=16",
        unit=["*"],
        lit=True,
        python=[
            *CALLS,
            "integration/python/test_cache.py",
            "integration/fake_gpu/test_gpu_interface.py",
        ],
        fuzz=True,
        left_out={"python": "other files look at numbers, times and packages"},
    ),
    "thread": Sanitizer(
        name="thread",
        variable="TSAN_OPTIONS",
        options="die_after_fork=0",
        unit=["runtime_cts", "runtime_fake_cts"],
        lit=False,
        python=CALLS,
        fuzz=False,
        left_out={
            "lit, fuzz and other unit tests": "the compiler's threads share nothing but LLVM's own state, "
            "which is not instrumented",
            "python": "other files look at numbers, times and packages",
        },
    ),
}
