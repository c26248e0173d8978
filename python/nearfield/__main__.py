"""`python -m nearfield`: the command line.

It is the same program that CMake builds, and lies in the package. This process becomes it, so that
signals, exit codes and output are its own.
"""

import os
import sys
from pathlib import Path
from typing import NoReturn

PROGRAM = Path(__file__).with_name("bin") / "nearfield"


def main() -> NoReturn:
    os.execv(PROGRAM, ["nearfield", *sys.argv[1:]])


if __name__ == "__main__":
    main()
