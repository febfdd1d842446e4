"""Table 3 in small: what each part of the Transformer is worth; see `__main__`."""
