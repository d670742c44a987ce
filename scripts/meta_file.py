"""The meta file of a measured run, as people and loggers write it: "2" for 2, "90%" for 0.9, "true" for true, 0.15 for "0.15" are read as they are plainly
meant. A value that cannot be what its key asks for is a Skip that names the key; null, "", "none" and the like tell nothing.
"""

import decimal
import json


class Skip(Exception):
    """Why a run cannot be simulated."""


NOTHING = ("", "none", "null", "nan", "n/a", "unknown")
ENGINES_CHOICE = ("auto", "default")  # of a number or a switch
SECTIONS = ("scheduler_config", "kv_cache_from_meta", "cache_config", "parallel_config", "engine_args")  # the engine's own configuration


def tells_nothing(value):
    return value is None or value != value or value in ([], {}) or isinstance(value, str) and value.strip().lower() in NOTHING


def kind(value):
    """What a value is, to someone who is told of it."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return json.dumps(value, default=str)


class MetaFile:
    """Values by key, wherever the file has them; None where it tells none."""

    def __init__(self, values):
        self.values = values

    @classmethod
    def read(cls, file):
        try:
            text = file.read_text(encoding="utf-8-sig", errors="replace")
            values = json.loads(text, parse_float=decimal.Decimal)  # as it is written: version 0.10 is not 0.1
        except json.JSONDecodeError as why:
            raise Skip(f"meta file: {why}") from None
        if not isinstance(values, dict):
            raise Skip(f"meta file: {kind(values)}, expected an object")
        return cls(values)

    def section(self, key):
        """An object in the file; empty if it is not there."""
        value = self.values.get(key)
        if tells_nothing(value):
            value = {}
        if not isinstance(value, dict):
            raise Skip(f"meta file: {key} is {kind(value)}, expected an object")
        return MetaFile(value)

    def found(self, *keys):
        """The first of the keys with a value, here or in a section of the engine's own: (key, value)."""
        for key in keys:
            for place in (self.values, *(self.section(name).values for name in SECTIONS)):
                value = place.get(key)
                if not tells_nothing(value):
                    return key, value.strip() if isinstance(value, str) else value
        return None, None

    def text(self, *keys, numbers=False):
        """A name; where `numbers`, also one that is written as a number, such as 4090."""
        key, value = self.found(*keys)
        if not value or isinstance(value, str):
            return value or None
        if numbers and isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool):
            return str(value)
        raise Skip(f"meta file: {key} is {kind(value)}, expected a name")

    def note(self, *keys):
        """Free text, whatever it is written as."""
        value = self.found(*keys)[1]
        return value if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)

    def number(self, *keys):
        """More than 0, or None: 0 and less are how engines write that they choose themselves."""
        key, value = self.found(*keys)
        if value is None or isinstance(value, str) and value.lower() in ENGINES_CHOICE:
            return None
        percent = isinstance(value, str) and value.endswith("%")
        try:
            number = decimal.Decimal(value.replace(",", "").rstrip("%") if isinstance(value, str) else value) / (100 if percent else 1)
        except (decimal.InvalidOperation, TypeError, ValueError):
            number = None
        if number is None or isinstance(value, bool) or not number.is_finite():
            raise Skip(f"meta file: {key} is {kind(value)}, expected a number")
        return number if number > 0 else None

    def whole(self, *keys):
        """A whole number of 1 or more, or None."""
        number = self.number(*keys)
        if number is not None and number != int(number):
            raise Skip(f"meta file: {self.found(*keys)[0]} is {number}, expected a whole number")
        return number and int(number)

    def flag(self, *keys):
        """True, False or None."""
        key, value = self.found(*keys)
        word = str(value).lower()
        if value is None or word in ENGINES_CHOICE:
            return None
        if word not in ("true", "false", "yes", "no", "on", "off", "1", "0", "enabled", "disabled"):
            raise Skip(f"meta file: {key} is {kind(value)}, expected true or false")
        return word in ("true", "yes", "on", "1", "enabled")

    def told(self, *keys):
        """Whether a feature is in use, in whatever words: not null, false, 0 or "off"."""
        value = self.found(*keys)[1]
        return bool(value) and str(value).lower() not in ("false", "no", "off", "0", "disabled")
