"""Many problems in one process or several."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor


def in_order(function, todo, jobs):
    """`function(*arguments)` for each, in order."""
    if jobs == 1:
        yield from (function(*arguments) for arguments in todo)
        return
    # Spawned, since libraries that have started threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(function, *zip(*todo, strict=True), chunksize=4)
