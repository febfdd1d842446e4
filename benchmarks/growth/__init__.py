"""Growth of time and memory with the size of what is translated or prepared."""
