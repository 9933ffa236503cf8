"""What `make test SANITIZE=…` runs, and with which settings (cmake/TesseraSanitize.cmake says what is
instrumented).

A report is a file of its own, because a process may hide what it writes and how it ends: a message
that a test expects, a fault that the compiler recovers from. utils/test.py counts them.
"""

import fnmatch
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

LLVM = Path("/usr/lib/llvm-22/bin")
STACK = 64 << 20  # bytes: instrumented frames are several times as large, and limits of depth count plain ones

# Code that is compiled at run time is not instrumented, so numbers are no business of these runs.
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
    left_out: dict[str, str]  # what is not run, and why

    def environment(self, reports: Path, preload: bool) -> dict[str, str]:
        options = f"{self.options}:log_path={reports}/{self.name}-report"
        result = {
            self.variable: options,
            "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={reports}/{self.name}-report",
            f"{self.variable.split('_')[0]}_SYMBOLIZER_PATH": str(LLVM / "llvm-symbolizer"),
        }
        if preload:
            # Python is not linked with the checking library, which must be the first in a process.
            result["LD_PRELOAD"] = self.library()
        return result

    def widen_stacks(self) -> None:
        """Of processes that are started from now on."""
        _, hard = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (STACK if hard < 0 else min(STACK, hard), hard))

    def library(self) -> str:
        short = {"address": "asan", "thread": "tsan"}[self.name]
        machine = subprocess.run(["uname", "-m"], capture_output=True, text=True).stdout.strip()
        command = [LLVM / "clang", f"-print-file-name=libclang_rt.{short}-{machine}.so"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def reports(self, folder: Path) -> list[str]:
        """What was found; an allocation that is refused, as some tests ask for, is no more than a warning."""
        texts = [p.read_text(errors="replace") for p in sorted(folder.glob(f"{self.name}-report*"))]
        return [text for text in texts if not all(_REFUSED in line for line in text.splitlines())]

    def takes(self, patterns: list[str], path: str) -> bool:
        return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


SANITIZERS = {
    "address": Sanitizer(
        name="address",
        variable="ASAN_OPTIONS",
        # Allocators of LLVM mark memory in headers and use it in archives; what is interned stays. What is freed is
        # held back for a while, less of it than the test allows that looks whether memory is given back.
        options="allow_user_poisoning=0:alloc_dealloc_mismatch=0:detect_leaks=0:allocator_may_return_null=1"
        ":quarantine_size_mb=16",
        unit=["*"],
        lit=True,
        python=[*CALLS, "integration/python/test_cache.py", "integration/fake_gpu/test_gpu_interface.py"],
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
