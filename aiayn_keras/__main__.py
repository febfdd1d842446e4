"""`python -m aiayn_keras`: the command, after a slow start, since Python imports the package first.

Stands alone because Python looks for it by this name; `python -m aiayn_keras_cli` starts at once.
"""

from aiayn_keras_cli import main

main(prog_name="aiayn-keras")
