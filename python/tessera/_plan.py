"""Plans: made once, looked at, and run often."""

from __future__ import annotations

import html
import json
from typing import Any, Optional, Sequence, Union

from . import _tessera
from ._frameworks import framework_of, type_name
from ._kinds import is_shape, refusal
from ._products import _RESULT_TYPES, _readable, _refuse_beta, _result_shape, _results, _shape

Shape = tuple[int, int, int]


class Plan:
    """The planner's answer to a problem, with its reasons. ``plan`` makes one."""

    def __init__(self, handle: _tessera.PlanHandle) -> None:
        self._handle = handle
        self._document = json.loads(handle.to_json())

    @staticmethod
    def from_json(text: str) -> Plan:
        return Plan(_tessera.PlanHandle.from_json(text))

    def to_json(self) -> str:
        return self._handle.to_json()

    @property
    def kernel(self) -> str:
        return self._document["kernel"]

    @property
    def reason(self) -> str:
        """Why this path, in a sentence."""
        return self._document["reason"]

    @property
    def seconds(self) -> float:
        """The predicted time."""
        return self._document["cost"]["seconds"]

    @property
    def shapes(self) -> list[Shape]:
        return [(g["m"], g["n"], g["k"]) for g in self._document["problem"]["groups"]]

    @property
    def tile(self) -> Shape:
        tile = self._document["tile"]
        return (tile["block_m"], tile["block_n"], tile["block_k"])

    @property
    def schedule(self) -> dict[str, Any]:
        return dict(self._document["schedule"])

    @property
    def decomposition(self) -> dict[str, int]:
        return dict(self._document["decomposition"])

    @property
    def others(self) -> list[dict[str, Any]]:
        """Every other candidate: slower, or rejected with its reason; empty unless asked for."""
        return list(self._document.get("others", []))

    @property
    def workspace_bytes(self) -> int:
        return self._handle.workspace_bytes()

    def __call__(
        self,
        a: Any,
        b: Any,
        *,
        out: Any = None,
        bias: Any = None,
        threads: int = 0,
        stream: Optional[int] = None,
    ) -> Any:
        """Runs the plan of a single product on operands of its shape."""
        biases = None if bias is None else [bias]
        return self.run(
            [a],
            [b],
            out=None if out is None else [out],
            bias=biases,
            threads=threads,
            stream=stream,
        )[0]

    def run(
        self,
        a: Sequence[Any],
        b: Sequence[Any],
        *,
        out: Optional[Sequence[Any]] = None,
        bias: Optional[Sequence[Any]] = None,
        threads: int = 0,
        stream: Optional[int] = None,
    ) -> list[Any]:
        """Runs the plan on one a and b for each of its products; beta takes what ``out`` holds."""
        try:
            if len(a) == 0:
                self._handle.run([], [], [], None, threads, 0)
                return []
            if out is None:
                _refuse_beta(self._document["problem"]["beta"])
            framework = framework_of(a[0])
            with framework.device(a[0]):
                results = _results(framework, a, b, out, self._document["problem"]["types"]["c"])
                self._handle.run(
                    _readable(a, "a"),
                    _readable(b, "b"),
                    [framework.writable(x) for x in results],
                    None if bias is None else _readable(bias, "bias"),
                    threads,
                    framework.stream(a[0]) if stream is None else stream,
                )
            return results if out is not None else [framework.finished(x) for x in results]
        except TypeError as error:
            raise refusal(error, locals(), has_lists=True) from None

    def explain(self) -> str:
        """The plan, its cost and its candidates, as text."""
        lines = [f"{name}: {value}" for name, value in self._rows()]
        if self.others:
            lines.append("other candidates:")
            lines += [f"  {' | '.join(row)}" for row in self._candidate_rows()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<tessera.Plan {self._problem_text()}: {self._path_text()}>"

    def _repr_html_(self) -> str:
        """For notebooks: the plan as a table; its schedule, tile order and time as pictures."""
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self._rows()
        )
        text = f"<div class='tessera-plan'><table>{rows}</table>{self._handle.pictures()}"
        if self.others:
            candidates = "".join(
                "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                for row in self._candidate_rows()
            )
            text += (
                f"<details><summary>other candidates</summary><table>{candidates}</table></details>"
            )
        return text + "</div>"

    def _problem_text(self) -> str:
        shapes = [_times(shape) for shape in self.shapes]
        text = ", ".join(shapes) if len(shapes) <= 4 else f"{len(shapes)} products"
        types = self._document["problem"]["types"]
        names = [types["a"], types["b"], types["c"]]
        return (
            f"{text} {names[0] if len(set(names)) == 1 else '·'.join(names[:2]) + '→' + names[2]}"
        )

    def _path_text(self) -> str:
        return f"{self.kernel}, tile {_times(self.tile)}, {_schedule_text(self.schedule)}"

    def _rows(self) -> list[tuple[str, str]]:
        d = self._document["decomposition"]
        terms = ", ".join(
            f"{t['name']} {_time(t['seconds'])}" for t in self._document["cost"]["terms"]
        )
        rows = [
            ("problem", self._problem_text()),
            (
                "machine",
                f"{self._document['machine']['name']}, {self._document['machine']['workers']} workers",
            ),
            ("path", self._path_text()),
            ("because", self.reason),
            (
                "tiles",
                f"{d['tiles']}: {d['data_parallel_tiles']} data-parallel, {d['stream_k_tiles']} stream-K",
            ),
            ("iterations", f"{d['iterations']}, {d['iterations_per_tile']} per tile"),
            ("predicted", f"{_time(self.seconds)}: {terms}"),
        ]
        if d["stream_k_iterations"]:
            rows.insert(
                6,
                (
                    "stream-K",
                    f"{d['stream_k_iterations']} iterations: {d['iterations_per_worker']} "
                    f"per worker and {d['leftover_iterations']} left over",
                ),
            )
        return rows

    def _candidate_rows(self) -> list[list[str]]:
        rows = []
        for other in self.others:
            tile = other["tile"]
            shape = (tile["block_m"], tile["block_n"], tile["block_k"])
            cost = other.get("cost")
            rows.append(
                [
                    other["kernel"],
                    _times(shape),
                    _schedule_text(other["schedule"]) if cost else "rejected",
                    _time(cost["seconds"]) if cost else other["rejection"],
                ]
            )
        return rows


def plan(
    *operands: Any,
    types: Any = "f32",
    machine: Union[_tessera.Machine, str, None] = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    bias_axis: str = "none",
    activation: str = "none",
    schedule: Optional[str] = None,
    workers: Optional[int] = None,
    splits: Optional[int] = None,
    tile: Optional[Shape] = None,
    order: Optional[str] = None,
    two_tile: bool = True,
    kernel: Optional[str] = None,
    batch_invariant: bool = False,
    packed_b: bool = False,
    keep_others: bool = False,
) -> Plan:
    """Plans a product: ``plan(a, b)`` for arrays, ``plan((m, n, k))`` for a shape, or
    ``plan([(m, n, k), ...])`` for a group.

    ``types`` is one element type, or three for a, b and the result. ``machine`` is the name of one
    that ships with the library ("h200"), a Machine, or None for the processor this runs on. What
    else is given is held fast; the planner chooses the rest. A ``b`` that ``pack_b`` has packed gives
    the kernel and the depth that it is for, unless ``kernel`` or ``tile`` are given; ``packed_b`` plans
    for one that ``pack_b(b, plan=...)`` is going to pack.
    """
    packed = None
    if len(operands) == 2:
        a, b = operands
        m, n = _result_shape(a, b)[-2:]
        k = _shape(a, "a")[-1]
        shapes = [(m, n, k)]
        types = framework_of(a).type_name(a, "a")
        if _shape(b, "b")[-2] != k:
            raise _tessera.InvalidArgumentError(
                f"b: must have as many rows as a has columns, {k}; given shape {tuple(_shape(b, 'b'))}; "
                "check k, or transpose b"
            )
        if isinstance(a, _tessera.PackedMatrix):
            raise _tessera.InvalidArgumentError(
                f"a: must be an array; given {a!r}; only b can be packed"
            )
        if isinstance(b, _tessera.PackedMatrix):
            packed = b
            type_b = _type_triple(types)[1]
            if b.type != type_b:
                raise _tessera.InvalidArgumentError(
                    f"b: must be {type_b} beside an a of {types}; given {b!r}; pack one of that type"
                )
    elif len(operands) == 1:
        shapes = [operands[0]] if is_shape(operands[0]) else operands[0]
    else:
        raise TypeError("plan() takes two arrays, one shape (m, n, k), or a list of shapes")
    if machine is None:
        machine = _tessera.Machine.host()
    elif isinstance(machine, str):
        machine = _tessera.Machine.by_name(machine)
    names = _type_triple(types)
    try:
        handle = _tessera.plan(
            [tuple(shape) for shape in shapes],
            names,
            machine,
            alpha,
            beta,
            bias_axis,
            activation,
            packed,
            packed_b,
            schedule,
            workers,
            splits,
            None if tile is None else tuple(tile),
            order,
            two_tile,
            kernel,
            batch_invariant,
            keep_others,
        )
    except TypeError as error:
        raise refusal(error, locals()) from None
    return Plan(handle)


def explain(*operands: Any, **options: Any) -> str:
    """What ``plan`` chooses, why, and what it chose it from."""
    return plan(*operands, **{"keep_others": True, **options}).explain()


def _type_triple(types: Any) -> tuple[str, str, str]:
    if isinstance(types, (tuple, list)):
        if len(types) != 3:
            raise _tessera.InvalidArgumentError(
                f"types: must be one, or three for a, b and the result; given {len(types)}; "
                "pass one or three"
            )
        a, b, c = (type_name(name, "types") for name in types)
        return (a, b, c)
    name = type_name(types, "types")
    return (name, "i8" if name == "u8" else name, _RESULT_TYPES.get(name, name))


def _times(shape: Sequence[int]) -> str:
    return "x".join(str(extent) for extent in shape)


def _schedule_text(schedule: dict[str, Any]) -> str:
    splits = f"({schedule['splits']})" if schedule["kind"] == "split_k" else ""
    return f"{schedule['kind']}{splits} over {schedule['workers']} workers"


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
