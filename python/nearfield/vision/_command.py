"""What commands of this package share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from nearfield._errors import Error


def run_command(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None]) -> int:
    """The exit code; an error that is ours is a line."""
    options = parser.parse_args()
    try:
        run(options)
    except Error as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
