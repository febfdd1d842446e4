"""`python -m aiayn_keras_cli` is the command `aiayn-keras`.

Stands alone because Python looks for it by this name.
"""

from aiayn_keras_cli import main

main(prog_name="aiayn-keras")
