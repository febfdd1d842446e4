"""Table 3 on a small scale: what each part of the Transformer is worth; see `__main__`."""
