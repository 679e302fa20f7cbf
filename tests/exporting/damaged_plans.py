"""Plans of an unpacked FMU with one fault each, by seed: `python -m tests.exporting.damaged_plans FOLDER SEED COUNT`.

Prints each fault before it is tried, so that the last line names the one that ended the process.
"""

import copy
import faulthandler
import json
import random
import sys
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave

from tests.exporting.fmus import Messages, initialize
from tests.exporting.of_exchange import ExchangeInstance

SECONDS = 60.0
"""For one fault, also with sanitizers on a busy machine; it takes some milliseconds."""
MOST_BYTES = 1 << 30
"""Of memory, more than before the first fault."""
INTEGERS = (-1, 0, 1, 2, 7, 1000, 2**31, 2**32, 2**40, 2**53, 2**63, 2**64 - 1, 2**64, -(2**63))
NUMBERS = (0.0, -0.0, 0.5, -1.0, 1e-300, 5e-324, 1e300, -1e300, "NaN", "INF", "-INF", float("nan"), float("inf"))
TEXTS = ("", "x", "..", "../x", "parts/0/..", "Binary", "String", "UInt64", "Boolean", "Real", "0" * 1000)
OTHERS = (None, True, False, 0, -1, 1.5, "text", [], {}, [[]], [{}], {"loop": 0}, {"hex": "0g"}, {"hex": "123"})
DEPTHS = (10, 150, 300, 100_000)
IN_THE_TEXT = ("cut", "cut", "letter", "twice", "nested")


def faults(plan, seed):
    """Texts of damaged plans, each with its description, without end."""
    chance = random.Random(seed)
    whole = json.dumps(plan)
    places = {}
    for path in _paths(plan, ()):
        places.setdefault(tuple("*" if isinstance(key, int) else key for key in path), []).append(path)
    kinds = sorted(places)
    while True:
        if chance.random() < 0.1:
            yield _damage_text(whole, chance)
            continue
        kind = chance.choice(kinds)  # the seldom as often as the frequent
        path = chance.choice(places[kind])
        damaged = copy.deepcopy(plan)
        way = _damage(damaged, path, places, kind, chance)
        yield f"{'.'.join(map(str, path))}: {way}", json.dumps(damaged)


def _paths(value, path):
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))


def _damage_text(whole, chance):
    way = chance.choice(IN_THE_TEXT)
    place = chance.randrange(len(whole))
    depth = chance.choice(DEPTHS)
    text = {
        "cut": whole[:place],
        "letter": whole[:place] + chance.choice('{}[],:"\\0-eE.\n\x00\xff') + whole[place + 1 :],
        "twice": "{" + whole[1:-1] + ", " + whole[1:],
        "nested": whole[:-1]
        + ', "wires": '
        + chance.choice(
            '[{"": ',
        )
        * depth
        if chance.random() < 0.5
        else whole[:-1] + ', "wires": ' + "[" * depth + "]" * depth + "}",
    }[way]
    return f"the text at {place}: {way} ({depth})", text


def _damage(plan, path, places, kind, chance):
    """Change what is at this place; `places` are those of all kinds."""
    around, key = _at(plan, path[:-1]), path[-1]
    value = around[key]
    ways = ["remove", "remove", "other", "exchange", "replace"]
    if isinstance(around, list):
        ways.append("repeat")
    if isinstance(value, list) and value:
        ways += ["empty", "reverse", "shorten", "repeat all"]
    if not isinstance(value, list | dict | None):
        ways += ["value"] * 4
    way = chance.choice(ways)
    if way == "remove":
        del around[key]
    elif way == "repeat":
        around.insert(chance.randrange(len(around) + 1), copy.deepcopy(value))
    elif way in ("exchange", "replace"):
        others = places[kind] if way == "exchange" else chance.choice(list(places.values()))
        other = chance.choice(others)
        found = copy.deepcopy(_at(plan, other))
        if way == "exchange":
            _at(plan, other[:-1])[other[-1]] = value
        around[key] = found
        way = f"{way}d by {'.'.join(map(str, other))}"
    else:
        around[key] = _other(value, way, chance)
        way = json.dumps(around[key])[:80]
    return way


def _other(value, way, chance):
    if way == "value" and isinstance(value, bool):
        return not value
    if way == "value":
        near = (value - 1, value + 1) if isinstance(value, int) else ()
        return chance.choice((*(TEXTS if isinstance(value, str) else INTEGERS + near + NUMBERS), value))
    if way == "other":
        return chance.choice(OTHERS)
    return {"empty": [], "reverse": value[::-1], "shorten": value[:-1], "repeat all": value * 2}[way]


def _at(value, path):
    for key in path:
        value = value[key]
    return value


class Trials:
    """Instances of an unpacked FMU: what they do with a plan."""

    def __init__(self, folder):
        self.folder = folder
        self.description = fmpy.read_model_description(str(folder))
        self.file = folder / "resources" / "plan.json"
        self.plan = json.loads(self.file.read_text(encoding="utf-8"))
        modern = self.description.fmiVersion.startswith("3")
        self.kinds = []
        if self.description.coSimulation:
            self.kinds.append((FMU3Slave if modern else FMU2Slave, self._step))
        if self.description.modelExchange:
            self.kinds.append((FMU3Model if modern else FMU2Model, self._continue))

    def run(self, text):
        """Outcomes with this text of the plan: "works", or the message."""
        self.file.write_text(text, encoding="utf-8")
        return [self._outcome(kind, act) for kind, act in self.kinds]

    def _outcome(self, kind, act):
        messages = Messages()
        fmu = kind(
            guid=self.description.guid,
            unzipDirectory=str(self.folder),
            modelIdentifier=(self.description.coSimulation or self.description.modelExchange).modelIdentifier,
            instanceName="damaged",
        )
        try:
            if isinstance(fmu, FMU3Slave | FMU3Model):
                fmu.instantiate(logMessage=messages.log)
            else:
                fmu.instantiate(callbacks=messages.callbacks())
        except Exception:
            fmu.freeLibrary()
            return _text_of(messages)
        try:
            act(fmu)
        except Exception:
            return _text_of(messages)
        finally:
            fmu.freeInstance()
        return "works"

    def _step(self, fmu):
        step = self.plan["step"]
        initialize(fmu)
        for k in range(3):
            fmu.doStep(k * step, step)
        self._get_all(fmu)
        fmu.terminate()

    def _continue(self, fmu):
        exchange = ExchangeInstance(fmu, self.description)
        exchange.start(0.0)
        exchange.set(1e-6, exchange.states())
        exchange.derivatives()
        exchange.indicators()
        self._get_all(fmu)
        fmu.terminate()

    def _get_all(self, fmu):
        """Texts and bytes among them."""
        for one in self.description.modelVariables:
            if one.dimensions or one.type == "Clock":
                continue
            modern = isinstance(fmu, FMU3Slave | FMU3Model)
            suffix = ("Int64" if modern else "Integer") if one.type == "Enumeration" else one.type
            getattr(fmu, f"get{suffix}")([one.valueReference])


def _text_of(messages):
    text = "\n".join(text for _, _, text in messages)
    if not text:
        raise SystemExit("refused without a message")
    return text


def _memory():
    """The most bytes that this process has had in memory, where the system tells."""
    status = Path("/proc/self/status")
    told = status.read_text(encoding="ascii") if status.exists() else ""
    return next((int(line.split()[1]) * 1024 for line in told.splitlines() if line.startswith("VmHWM:")), 0)


def main(folder, seed, count):
    trials = Trials(Path(folder))
    trials.run(json.dumps(trials.plan))
    before = _memory()
    for (name, damaged), _ in zip(faults(trials.plan, seed), range(int(count)), strict=False):
        print(name, flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        for outcome in trials.run(damaged):
            print("   ", outcome.replace("\n", " ")[:300], flush=True)
        faulthandler.cancel_dump_traceback_later()
        if _memory() > before + MOST_BYTES:
            raise SystemExit(f"{_memory()} bytes of memory")
    trials.file.write_text(json.dumps(trials.plan), encoding="utf-8")
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
