"""`python -m aiayn_keras` is the command `aiayn-keras`."""

from aiayn_keras.cli import main

main(prog_name="aiayn-keras")
