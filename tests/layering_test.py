#!/usr/bin/env python3
"""The arrows of the house: what sim/README.md's table allows is what the sources include, and nothing else.

Usage: layering_test.py (from anywhere). The table is read, not repeated, so the document is the law; the checker itself is tried
on small made-up houses that break one rule each.
"""

import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGEST_FILE = 500
BANNED_FOLDERS = {"utils", "util", "common", "include", "helpers", "misc"}
# Third-party headers that only one room knows.
KEEPERS = {"boost/heap/": "engine", "yaml-cpp/": "scenario", "boost/program_options": "cli", "spdlog/": "cli"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
ROW = re.compile(r"^\|\s*(\d+)\s*\|\s*`(\w+)/`\s*\|.*\|\s*([^|]+?)\s*\|\s*$")


def allowed_rooms(readme):
    """{room: set of rooms it may include}, from the rows `| floor | `room/` | purpose | may include |`."""
    allowed = {}
    for line in readme.splitlines():
        row = ROW.match(line)
        if not row:
            continue
        room, may = row.group(2), row.group(3)
        if may in ("all", "all above"):
            allowed[room] = set(allowed)
        else:
            allowed[room] = {name.strip() for name in may.split(",")} - {"–", "-"}
    return allowed


def faults(root):
    """Every broken rule of the tree under `root`, one line each, with file and line."""
    found = []
    allowed = allowed_rooms((root / "sim/README.md").read_text())
    arrows = {}
    files = sorted(p for top in ("sim", "tests") for p in (root / top).rglob("*") if p.suffix in (".h", ".cc"))
    for path in files:
        name = path.relative_to(root)
        text = path.read_text()
        lines = text.count("\n")
        if lines > LONGEST_FILE:
            found.append(f"{name}: {lines} lines, over {LONGEST_FILE}: two ideas in one file?")
        for folder in BANNED_FOLDERS.intersection(name.parts):
            found.append(f"{name}: a folder called {folder}/ says nothing; put the file into the room whose purpose it serves")
        if path.suffix == ".h":
            if not text.startswith("//"):
                found.append(f"{name}:1: a header begins with a comment that says what it is")
            if "#pragma once" not in text:
                found.append(f"{name}: no #pragma once")
        if name.parts[0] != "sim":
            continue
        room = name.parts[1]
        if len(name.parts) < 3 or room not in allowed:
            found.append(f"{name}: in no room of the table in sim/README.md")
            continue
        for include in INCLUDE.finditer(text):
            place = f"{name}:{text.count(chr(10), 0, include.start(2)) + 1}"
            quote, target = include.groups()
            for prefix, keeper in KEEPERS.items():
                if target.startswith(prefix) and room != keeper:
                    found.append(f"{place}: only {keeper}/ includes <{prefix}...>")
            if quote == "<":
                continue
            parts = target.split("/")
            if parts[0] != "sim" or len(parts) < 3:
                found.append(f'{place}: "{target}": includes of our own are written from the root, "sim/<room>/..."')
                continue
            if parts[1] != room:
                arrows.setdefault(room, set()).add(parts[1])
                if parts[1] not in allowed[room]:
                    found.append(f"{place}: {room}/ may not include {parts[1]}/ (it may: {', '.join(sorted(allowed[room])) or 'none'})")
    circle = find_circle(arrows)
    if circle:
        found.append("a circle of rooms: " + " -> ".join(circle))
    return found


def find_circle(arrows):
    """A list of rooms that include each other in turn, first = last; None if there is none."""
    done = set()

    def visit(room, path):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done:
            return None
        for target in sorted(arrows.get(room, ())):
            circle = visit(target, path + [room])
            if circle:
                return circle
        done.add(room)
        return None

    for room in sorted(arrows):
        circle = visit(room, [])
        if circle:
            return circle
    return None


TABLE = """
| floor | room | one purpose | may include |
| --- | --- | --- | --- |
| 1 | `base/` | words | – |
| 2 | `kv/` | memory | base |
| 2 | `sched/` | who runs | base, kv |
| 3 | `cli/` | main | all |
"""


class TheHouse(unittest.TestCase):
    def test_every_rule_holds(self):
        self.assertEqual(faults(ROOT), [])

    def test_the_table_has_the_rooms_that_exist(self):
        rooms = {p.name for p in (ROOT / "sim").iterdir() if p.is_dir()}
        table = set(allowed_rooms((ROOT / "sim/README.md").read_text()))
        self.assertEqual(rooms - table, set(), "rooms that the table does not name")
        self.assertGreaterEqual(len(table), 13)


class TheChecker(unittest.TestCase):
    def house(self, files):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "sim").mkdir()
            (root / "tests").mkdir()
            (root / "sim/README.md").write_text(TABLE)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return faults(root)

    def assert_one_fault(self, files, words):
        found = self.house(files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_a_good_house_has_no_fault(self):
        header = '// What it is.\n#pragma once\n#include <vector>\n#include "sim/base/b.h"\n'
        self.assertEqual(self.house({"sim/sched/s.h": header, "sim/cli/c.cc": '#include "sim/sched/s.h"\n'}), [])

    def test_an_arrow_up(self):
        self.assert_one_fault({"sim/base/b.cc": '\n#include "sim/kv/k.h"\n'}, "sim/base/b.cc:2: base/ may not include kv/ (it may: none)")

    def test_an_arrow_the_table_does_not_have(self):
        self.assert_one_fault({"sim/kv/k.cc": '#include "sim/sched/s.h"\n'}, "kv/ may not include sched/ (it may: base)")

    def test_a_circle(self):
        found = self.house({"sim/kv/k.cc": '#include "sim/sched/s.h"\n', "sim/sched/s.cc": '#include "sim/kv/k.h"\n'})
        self.assertIn("a circle of rooms: kv -> sched -> kv", found)

    def test_a_library_in_the_wrong_room(self):
        self.assert_one_fault({"sim/kv/k.cc": "#include <yaml-cpp/yaml.h>\n"}, "only scenario/ includes <yaml-cpp/...>")
        self.assert_one_fault({"sim/kv/k.cc": "#include <boost/heap/d_ary_heap.hpp>\n"}, "only engine/")
        self.assert_one_fault({"sim/kv/k.cc": "#include <boost/program_options.hpp>\n"}, "only cli/")

    def test_an_include_not_from_the_root(self):
        self.assert_one_fault({"sim/kv/k.cc": '#include "k.h"\n'}, "written from the root")

    def test_a_long_file(self):
        self.assert_one_fault({"sim/kv/k.cc": "\n" * 501}, "sim/kv/k.cc: 501 lines")
        self.assert_one_fault({"tests/k_test.cc": "\n" * 501}, "tests/k_test.cc: 501 lines")

    def test_a_folder_that_says_nothing(self):
        self.assert_one_fault({"sim/kv/utils/k.cc": ""}, "utils/")

    def test_a_header_without_a_comment(self):
        self.assert_one_fault({"sim/kv/k.h": "#pragma once\n"}, "begins with a comment")

    def test_a_file_in_no_room(self):
        self.assert_one_fault({"sim/loose.cc": ""}, "in no room")
        self.assert_one_fault({"sim/attic/a.cc": ""}, "in no room")


if __name__ == "__main__":
    unittest.main()
