"""Checks and figures for the devices of this machine."""
