"""The libraries that Tessera is compared with. Each is used if it is installed."""
