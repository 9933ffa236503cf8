"""The documentation as a static site: what `make docs` writes."""
