"""What runs of the suite spent their time on: `slowest.py REPORT.xml...`, reports as JUnit has them."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

SHOWN = 12


def main(reports: list[str]) -> None:
    for report in map(Path, reports):
        seconds: Counter[str] = Counter()
        tests: Counter[str] = Counter()
        slowest: Counter[str] = Counter()
        for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - our own report
            module, name = case.get("classname", ""), case.get("name", "")
            # tests/FOLDER/... by folder, tests/test_x.py under the name of the file
            folder = module.split(".")[1] if module.count(".") else module
            taken = float(case.get("time", 0))
            tests[folder] += 1
            seconds[folder] += taken
            slowest[f"{module}::{name}"] += taken
        print(f"{report.stem}: {tests.total()} tests, {seconds.total():.0f} s in all processes together")
        for folder, taken in seconds.most_common():
            print(f"  {taken:6.0f} s  {tests[folder]:5}  {folder}")
        for name, taken in slowest.most_common(SHOWN):
            print(f"  {taken:6.1f} s  {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
