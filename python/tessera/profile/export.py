"""A profile as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .model import Kernel
from .profiler import Profile


def _kernel(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "line": kernel.line,
        "us": kernel.us,
        "source": kernel.source,
        "predicted_us": kernel.predicted_us,
        "roofline": {
            "us": kernel.roofline_us,
            "bound": kernel.bound,
            "tensor_us": kernel.tensor_us,
            "vector_us": kernel.vector_us,
            "memory_us": kernel.memory_us,
            "source": "predicted",
        },
        "gap": [asdict(one) for one in kernel.causes],
        "schedule": kernel.schedule,
        "tensor_cores": kernel.tensor_cores,
        "traffic": {"memory": kernel.bytes, "l2": kernel.l2_bytes, "source": "predicted"},
        "ctas": kernel.ctas,
        "waves": kernel.waves,
        "assembled": kernel.figures,
        "counted": kernel.counters,
    }


def as_json(profile: Profile) -> dict[str, Any]:
    return {
        "function": profile.function,
        "target": profile.target,
        "backend": profile.backend,
        "us": profile.us,
        "measured": profile.measured,
        "kernels": [_kernel(one) for one in profile.kernels],
        "lines": [asdict(one) for one in profile.lines],
        "simulated": [{**asdict(one), "ratio": one.ratio} for one in profile.accesses],
        "advice": [
            {
                "cause": one.cause,
                "line": one.line,
                "text": one.text,
                "change": one.change,
                "gain_us": one.gain_us,
                "verified": one.verified,
            }
            for one in profile.advice
        ],
        "notes": profile.notes,
    }
