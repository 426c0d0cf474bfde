"""The parts of a system: bodies, constraints, forces, events and sampled functions, validated and indexed by name."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any, TypeVar

from ..beams import Beam, BeamSegment
from ..bodies.body import GROUND, Body, Ground
from ..constraints import Constraint
from ..constraints.unilateral import Unilateral
from ..errors import InputError, UnknownNameError
from ..events import Event, Sampled
from ..forces import ComputedTorque, ForceElement
from ..forces.state_function import in_state
from ..forces.stick_slip import sticking_elements
from ..forces.tree_control import TreeControl
from ..util.fixed_list import FixedList
from ..util.suggestion import suggestion

T = TypeVar("T")
Part = Body | Beam | Constraint | ForceElement | Event | Sampled

# What to do instead of changing a system.
OTHER_SYSTEMS = "make another one with with_parts(), without() or System([*system], gravity=...)"
# Inputs that the caller of a run can set, as listed in messages.
SETTABLE = (
    "that of an Actuator, JointTorque, JointForce, Force, Torque or Tendon, or the target of a Controller or "
    "ComputedTorque"
)


class Parts:
    """All bodies, constraints, forces and events of one system.

    Parameters
    ----------
    items : iterable of Body, Beam, Constraint, ForceElement and Event
        In any order. Implicit parts of an item, its `companions`, are added: for example the plane constraint of a
        planar body, and the bodies of a beam.

    Attributes
    ----------
    bodies, constraints, forces, events, sampled : lists that cannot be changed, in the order of the items
        Forces declared for all bodies are replaced by copies for the bodies of this system.
    switch : whether contacts, stops or ropes may close, or friction may stick
    gap_monitors : objects that evaluate the gaps of contacts, kept between analyses of states
    switches : number of times that the caller has enabled or disabled parts of a system with these parts

    Raises
    ------
    InputError
        If names repeat, or a constraint or force acts on a body or joint that is not among the items.
    """

    def __init__(self, items: Any) -> None:
        self._by_name: dict[str, Part] = {}
        self.switches = 0
        listed = _listed(items)
        given = {id(item) for item in listed}
        companions = [part for item in listed for part in getattr(item, "companions", ()) if id(part) not in given]
        for item in [*listed, *companions]:
            self._add(item)
        self.bodies = self._all(Body)
        self.constraints = self._all(Constraint)
        elastic = {body.name for part in self if isinstance(part, BeamSegment) for body in part.bodies}
        for name, part in self._by_name.items():
            if isinstance(part, ForceElement):
                if isinstance(part, TreeControl):
                    _check_rigid(part, part.needs, elastic)
                placed = part.placed(self.bodies, self.constraints)
                placed.check_names()
                if isinstance(placed, TreeControl):
                    _check_rigid(placed, placed.reads, elastic)
                self._by_name[name] = in_state(placed, self._by_name)
        self.forces = self._all(ForceElement)
        self.events = self._all(Event)
        self.sampled = self._all(Sampled)
        self.switch = any(isinstance(one, Unilateral) for one in self.constraints) or bool(
            sticking_elements(self.forces)
        )
        self.gap_monitors: list[Any] = []
        self._check_membership()
        self._check_names_of_inputs()
        self._check_sampled()
        if not self.bodies:
            raise InputError("System: at least one body is needed; got none")

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, without monitors of gaps, which are compiled again."""
        return {**vars(self), "gap_monitors": []}

    def _all(self, kind: type[T]) -> list[T]:
        """Return all parts of one class, as a list that cannot be changed."""
        refusal = f"System: its lists of parts cannot be changed after it was made; {OTHER_SYSTEMS}"
        return FixedList((part for part in self if isinstance(part, kind)), refusal)

    def __getitem__(self, name: Any) -> Part:
        """Return the part named `name`; the argument may also be the part itself.

        Raises
        ------
        UnknownNameError
            If there is no such part.
        """
        name = getattr(name, "name", name)
        if not isinstance(name, str):
            raise UnknownNameError(f"System: objects are found by name, a text; got {name!r}")
        if name not in self._by_name:
            raise UnknownNameError(f'System: no object is named "{name}"; {suggestion(name, self._by_name)}')
        return self._by_name[name]

    def __iter__(self) -> Iterator[Part]:
        return iter(self._by_name.values())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._by_name

    def names_to_switch(self, asked_by: str, names: Iterable[Any]) -> set[str]:
        """Return the names of constraints and forces that a user has passed as names or as objects.

        Other parts raise an InputError; `asked_by` is the name of the calling method for the message.
        """
        parts = [self[name] for name in names]
        for part in parts:
            if not isinstance(part, Constraint | ForceElement):
                raise InputError(f"System.{asked_by}: {part} is not a constraint or force, and cannot be switched")
        return {part.name for part in parts}

    @property
    def by_name(self) -> dict[str, Part]:
        """All parts by name."""
        return self._by_name

    def _add(self, item: Any) -> None:
        if not isinstance(item, Part):
            raise InputError(
                f"System: items must be bodies, beams, constraints, forces, events and sampled functions; got {item!r}"
            )
        if not hasattr(item, "name"):
            kind = type(item).__name__
            raise InputError(f"System: a {kind} has no name: its __init__ must call super().__init__(name, ...)")
        if self._by_name.get(item.name) is item:
            raise InputError(f"System: {item} is in the list twice: drop one")
        if item.name == GROUND.name or item.name in self._by_name:
            taken = self._by_name.get(item.name, GROUND)
            raise InputError(f"System: names must be unique; {item} has the name of {taken}: rename one")
        self._by_name[item.name] = item

    def _check_membership(self) -> None:
        members = {id(body) for body in self.bodies}
        elements: list[Constraint | ForceElement] = [*self.constraints, *self.forces]
        for element in elements:
            for body in element.bodies:
                if not isinstance(body, Ground) and id(body) not in members:
                    raise InputError(
                        f"System: {element} acts on {body}, which is not in the system: add it to the items"
                    )
            joint = getattr(element, "joint", None)
            if joint is not None and self._by_name.get(joint.name) is not joint:
                raise InputError(f"System: {element} acts on {joint}, which is not in the system: add it to the items")

    def _check_names_of_inputs(self) -> None:
        """Raise an InputError if the name of a part is also the name of an input, such as "control.rates"."""
        for force in self.forces:
            name = f"{force.name}.rates"
            if isinstance(force, ComputedTorque) and name in self._by_name:
                raise InputError(
                    f"System: {self._by_name[name]} has the name of an input, the rates of {force}: rename one"
                )

    def _check_sampled(self) -> None:
        """Raise an InputError if an input of a sampled function is invalid, or is set by two functions."""
        set_by: dict[str, Sampled] = {}
        for sampled in self.sampled:
            for name in sampled.inputs:
                part_name = part_of_input(name, self)
                if part_name not in self._by_name:
                    known = [force.name for force in self.forces]
                    raise UnknownNameError(f'{sampled}: inputs: no object is named "{name}"; {suggestion(name, known)}')
                if not isinstance(self._by_name[part_name], ForceElement):
                    raise InputError(
                        f"{sampled}: inputs names {self._by_name[part_name]}, which is not a force element; "
                        f"an input is {SETTABLE}"
                    )
                if name in set_by:
                    raise InputError(
                        f"{sampled}: inputs names {self._by_name[part_name]}, which {set_by[name]} sets, too"
                    )
                set_by[name] = sampled
            sampled.in_system(self._by_name)


def part_of_input(name: Any, parts: Container[str]) -> Any:
    """Return the name of the force element to which an input such as "motor" or "control.rates" belongs.

    `parts` are the names of all parts of the system.
    """
    if not isinstance(name, str) or name in parts:
        return name
    head = name.rpartition(".")[0]
    return head if head in parts else name


def _listed(items: Any) -> list[Any]:
    try:
        return list(items)
    except TypeError:
        raise InputError(f"System: items must be a list of bodies, constraints and forces; got {items!r}") from None


def _check_rigid(element: TreeControl, parts: Iterable[Any], elastic: Container[str]) -> None:
    """Raise an InputError if the tree of joints that a `TreeControl` controls contains a body of a beam.

    `parts` are the bodies and joints of the tree, and `elastic` the names of all bodies of beams.
    """
    for part in parts:
        if isinstance(part, Body) and part.name in elastic:
            raise InputError(
                f"{element}: {part} belongs to a beam, but the law knows rigid links only: use a Controller, "
                "JointTorque or Sampled at each joint of a robot with beams"
            )
