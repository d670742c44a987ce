"""A measured run's CSV -> the one that `blockyard validate` reads: itself, or a copy in which prompts have numbers for names, and in which the
groups' shared beginnings that only the meta file tells are columns. Rows keep their places, so that what the program says of a line holds.
"""

import csv
import decimal
import re

from meta_file import NOTHING

MOST_IDS = 2**29  # what `blockyard validate` takes for a prompt_id


def plain(name):
    """Of a column, as the program compares names."""
    return re.sub(r"[ \t]", "", name).lower()


def number_of(text):
    """7 of "7" and "7.0"; None: it is no number that could be an id."""
    try:
        value = decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None
    return int(value) if value.is_finite() and value == int(value) and 0 <= value < MOST_IDS else None


def numbered(texts):
    """The prompts' ids as numbers, None for one that has none ("", "nan", -1), and whether they count the prompts in the order of their first
    appearance, as they do where one is no number."""
    texts = [None if text.lower() in NOTHING or re.fullmatch(r"-\d+(\.0*)?", text) else text for text in texts]
    numbers = {text: number_of(text) for text in texts if text is not None}
    words = None in numbers.values()
    if words:
        numbers = {text: i for i, text in enumerate(numbers)}
    return [numbers.get(text) for text in texts], words


def measured_of(file, meta, folder, assume):
    with file.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as source:
        rows = list(csv.reader(source, skipinitialspace=True))
    top = next((i for i, row in enumerate(rows) if any(map(str.strip, row))), None)
    names = [] if top is None else [plain(name) for name in rows[top]]
    if "prompt_id" not in names or file.with_suffix(".blocks.csv").exists():
        return file
    requests = [row for row in rows[top + 1 :] if any(map(str.strip, row))]  # blank rows are no rows
    if any(len(row) != len(names) for row in requests):
        return file  # the program says where
    column = names.index("prompt_id")
    texts = [row[column].strip() for row in requests]
    ids, words = numbered(texts)
    if lone := ids.count(None):
        assume(f"{lone} request{'' if lone == 1 else 's'} without a prompt_id share{'s' if lone == 1 else ''} nothing")
    shared = None if "prefix_id" in names else meta.whole("system_prompt_len")
    if not shared and all(text == ("" if i is None else str(i)) for text, i in zip(texts, ids)):
        return file
    groups = re.search(r"(\d+) groups x (\d+) prompts", meta.note("workload"))
    a_group = int(groups.group(2)) if groups else 10
    if shared and not groups:
        assume(f"{a_group} prompts a group that begins alike")
    if words:
        assume("prompts numbered as they first appear" + (f", {a_group} a group" if shared else ""))
    rows[top] += ["prefix_id", "prefix_tokens"] if shared else []
    for row, number in zip(requests, ids):
        row[column] = "" if number is None else number
        if shared:
            row += ["", ""] if number is None else [number // a_group, shared]
    copy = folder / file.name
    with copy.open("w", newline="", encoding="utf-8", errors="surrogateescape") as target:
        csv.writer(target, lineterminator="\n").writerows(rows)
    return copy
