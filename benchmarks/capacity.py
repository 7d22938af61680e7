"""What memories weigh and cost on PostgreSQL, and what a billion of them needs: see docs/explanation/capacity.md.

python -m benchmarks.capacity fill 10000    fills a database of its own with so many memories, and measures
python -m benchmarks.capacity weigh URL     weighs a database that is filled already, as a role that sees all of it
python -m benchmarks.capacity               prints the tables of what was measured, and the projection
    --into docs/explanation/capacity.md     writes them between the marks of a page instead

What is measured is kept in benchmarks/capacity.json, by size.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from benchmarks.capacity_report import page
from benchmarks.capacity_samples import Sample, keep, kept
from benchmarks.projection import Assumed, Prices
from benchmarks.weights import weigh_database

BEGIN, END = "<!-- written by benchmarks.capacity -->", "<!-- up to here -->"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure if asked to, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity")
    parser.add_argument("what", nargs="*", metavar="fill SIZE | weigh URL")
    for name, price in asdict(Prices()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=price, help="price of a month")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="write the tables between the marks of a page")
    inputs = vars(parser.parse_args(arguments))
    what, into = cast("list[str]", inputs.pop("what")), cast("Path | None", inputs.pop("into"))
    if what[:1] == ["fill"]:
        # It needs the server that the tests use, which comes in a wheel.
        from benchmarks.capacity_filling import fill  # noqa: PLC0415

        keep(asyncio.run(fill(int(what[1].replace(",", "").replace("_", "")))))
    elif what[:1] == ["weigh"]:
        keep(Sample(weights=weigh_database(what[1])))
    elif what:
        parser.error(f"{what[0]!r} is neither fill nor weigh")
    tables = page(kept(), Assumed(prices=Prices(**inputs)))
    if into is None:
        print(tables)
    else:
        into.write_text(between_marks(into.read_text(encoding="utf-8"), tables), encoding="utf-8")


def between_marks(text: str, tables: str) -> str:
    """A page with other tables; raises ValueError where it has no marks."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


if __name__ == "__main__":
    main()
