"""The command `aiayn-keras`, with a record of what its process writes.

`python -m tests.training.recorded_writes FOLDER RECORD ARGUMENT ...` runs
`aiayn-keras ARGUMENT ...` and writes to the file RECORD, one a line, which paths below FOLDER
Python creates, opens to write, renames or removes.
"""

import os
import sys
from pathlib import Path

CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree", "tempfile.mkstemp")


def record_writes(folder, record):
    """Starts the record, which nothing ends but the process."""
    file = Path(record).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115

    def hook(event, arguments):
        opened = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if (opened or event in CHANGES) and str(arguments[0]).startswith(folder):
            file.write(f"{event} {arguments[0]}\n")

    sys.addaudithook(hook)


if __name__ == "__main__":
    folder, record, *arguments = sys.argv[1:]
    record_writes(folder, record)
    from aiayn_keras_cli import main

    main(arguments)
