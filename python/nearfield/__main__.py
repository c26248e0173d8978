"""`python -m nearfield`: the command line.

It is the same program that CMake builds, and lies in the package. This process becomes it, so that
signals, exit codes and output are its own. `serve` alone is in Python, as Ray Serve is.
"""

import os
import sys
from pathlib import Path
from typing import NoReturn

PACKAGE = Path(__file__).parent
PROGRAM = PACKAGE / "bin" / "nearfield"
PLUGINS = "NEARFIELD_PLUGINS"


def main() -> NoReturn:
    if sys.argv[1:2] == ["serve"]:
        from nearfield.cluster import _serve_command

        sys.exit(_serve_command.main(sys.argv[2:]))
    # Plugins lie beside the extension module, not beside the program.
    folders = [str(PACKAGE), os.environ.get(PLUGINS, "")]
    os.environ[PLUGINS] = ":".join(filter(None, folders))
    os.execv(PROGRAM, ["nearfield", *sys.argv[1:]])


if __name__ == "__main__":
    main()
