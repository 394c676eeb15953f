"""Driver of the bare loop that writes each batch with arrays: the leanest form of it."""

from benchmarks.peers.drivers.bare_loop import in_arrays, main

if __name__ == "__main__":
    main(in_arrays)
