"""The figures of a thesis, measured again: bench/reproduce."""
