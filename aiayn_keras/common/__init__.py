"""Files, addresses, checks and the terminal: what every other folder may use."""
