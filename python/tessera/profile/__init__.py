"""`f.profile` and `tessera profile`: why a function is not faster, line by line."""

from .profiler import Profile, profile

__all__ = ["Profile", "profile"]
