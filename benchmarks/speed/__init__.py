"""Speed of this package, beside other engines and other versions of itself."""
