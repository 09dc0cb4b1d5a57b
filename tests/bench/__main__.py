"""Run benchmarks and print a table of results: `python -m tests.bench [NAME…] [--quick]`."""

from __future__ import annotations

import argparse
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from tests.bench.figures import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.bench.figures import Figure

Scale = Literal["tiny", "quick", "full"]
"""Scales at which a benchmark can run, in ascending order. `tiny` is only for tests of the benchmarks."""


def _size(bench: Any, scale: Scale) -> Any:
    return {"tiny": bench.TINY, "quick": bench.QUICK, "full": bench.Size()}[scale]


def _decode(scale: Scale) -> Iterator[Figure]:
    from tests.bench import decode

    return decode.figures(100 if scale == "tiny" else decode.GROUPS)


def _black_hole(scale: Scale) -> Iterator[Figure]:
    from tests.bench import black_hole

    return black_hole.figures(*{"tiny": (40, 1), "quick": (300, 5), "full": (1_000, 4)}[scale])


def _command_line(scale: Scale) -> Iterator[Figure]:
    from tests.bench import command_line as bench

    return bench.figures(_size(bench, scale))


def _start(scale: Scale) -> Iterator[Figure]:
    from tests.bench import start

    return start.figures(*{"tiny": (50, 1), "quick": (10_000, 5), "full": (10_000, 15)}[scale])


def _screen(scale: Scale) -> Iterator[Figure]:
    from tests.bench import screen as bench

    return bench.figures(_size(bench, scale))


def _sweep(scale: Scale) -> Iterator[Figure]:
    from tests.bench import sweep as bench

    return bench.figures(_size(bench, scale))


def _problems(scale: Scale) -> Iterator[Figure]:
    from tests.bench import problems as bench

    return bench.figures(_size(bench, scale))


def _record(scale: Scale) -> Iterator[Figure]:
    from tests.bench import history as bench

    return bench.record_figures(_size(bench, scale))


def _replay(scale: Scale) -> Iterator[Figure]:
    from tests.bench import history as bench

    return bench.replay_figures(_size(bench, scale))


def _pipeline(scale: Scale) -> Iterator[Figure]:
    from tests.bench import latency
    from tests.bench import pipeline as bench

    yield from bench.figures(_size(bench, scale))
    # Skip the latency benchmark at the scale `tiny`, which only tests use, because the latency benchmark takes minutes
    # even for a few commits.
    if scale != "tiny":
        yield from latency.figures(_size(latency, scale))


def _insights(scale: Scale) -> Iterator[Figure]:
    from tests.bench import insights as bench

    return bench.figures(_size(bench, scale))


BENCHES: dict[str, Callable[[Scale], Iterator[Figure]]] = {
    "decode": _decode,
    "black_hole": _black_hole,
    "command_line": _command_line,
    "start": _start,
    "screen": _screen,
    "sweep": _sweep,
    "problems": _problems,
    "record": _record,
    "replay": _replay,
    "pipeline": _pipeline,
    "insights": _insights,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected benchmarks, and print the table of results.

    Return the exit code 0, even if a benchmark misses its target.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks to run (default: all): {', '.join(BENCHES)}"
    )
    scales = parser.add_mutually_exclusive_group()
    scales.add_argument(
        "--quick",
        dest="scale",
        action="store_const",
        const="quick",
        help="use smaller clusters and fewer rounds, so that each benchmark takes only a few minutes",
    )
    scales.add_argument(
        "--tiny",
        dest="scale",
        action="store_const",
        const="tiny",
        help="only check that the benchmarks work; the measured values are meaningless",
    )
    parser.set_defaults(scale="full")
    args = parser.parse_args(arguments)
    unknown = [name for name in args.names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}: choose from {', '.join(BENCHES)}")
    for line in table(chain.from_iterable(BENCHES[name](args.scale) for name in args.names or BENCHES)):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
