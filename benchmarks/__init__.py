"""Measurements of this package beside others; see the module docstrings for how to run them."""
