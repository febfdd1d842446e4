"""The paper's experiments (section 6) at a size that two CPU cores can repeat."""
