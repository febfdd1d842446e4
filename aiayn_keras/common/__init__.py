"""Tools used throughout the package: files, addresses, checks, child processes, progress bars."""
