"""Growth of time and memory with the size of translated or prepared text."""
