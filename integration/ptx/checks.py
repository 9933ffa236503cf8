"""Common checks of simulator tests."""

from __future__ import annotations

import numpy as np


def assert_right(function, *arguments, **options) -> dict:
    """There are no findings, and all results agree with the reference; returns the report."""
    with np.errstate(all="ignore"):
        simulation = function.simulate(*arguments, **options)
    assert simulation.ok, simulation.text
    assert all(one["checked"] and not one["wrong"] for one in simulation.report["results"])
    return simulation.report
