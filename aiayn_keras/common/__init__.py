"""Tools used throughout the package: addresses, locks, weight files, child processes."""
