"""The programs that are timed: each file has the Tessera functions, their peers and the cases."""
