"""Recording: items read and written by the models of `records.py`, without an instance of PynamoDB's.

Such an instance looks each attribute up by four calls, when it is read and each time it is asked, which was two thirds
of what a firing cost the dispatcher (docs/decisions/0035-what-a-firing-costs-us.md).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

from pynamodb.attributes import Attribute, UnicodeAttribute
from pynamodb.constants import NULL
from pynamodb.exceptions import AttributeDeserializationError
from pynamodb.models import Model

from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.records import WholeAttribute
from cronfleet.ports.job_store import Damaged

Record = TypeVar("Record", bound=Model)


@dataclass(frozen=True, slots=True)
class _Form:
    """How items of a model are read: by the name of a stored attribute its own, its type and what reads its value."""

    places: Mapping[str, tuple[str, str, Callable[[Any], Any] | None]]
    required: frozenset[str]
    made: type[Any]
    """What is read: it says `None` for whatever the item lacks."""


@cache
def _form_of(model: type[Model]) -> _Form:
    attributes = model.get_attributes()
    return _Form(
        {one.attr_name: (name, one.attr_type, _reader(one)) for name, one in attributes.items()},
        frozenset(name for name, one in attributes.items() if not one.null),
        type(model.__name__, (), dict.fromkeys(attributes)),
    )


def _reader(attribute: Attribute[Any]) -> Callable[[Any], Any] | None:
    """`None` for text, which is stored as it is."""
    if isinstance(attribute, UnicodeAttribute):
        return None
    return int if isinstance(attribute, WholeAttribute) else attribute.deserialize


def read(model: type[Record], item: Item) -> Record:
    """`item` as a record to read from; raises `Damaged` when an attribute is missing or of the wrong type.

    It has the attributes of `model` and nothing else.
    """
    form = _form_of(model)
    record = form.made()
    values = record.__dict__
    try:
        for name, stored in item.items():
            place = form.places.get(name)
            if place is not None:
                own_name, kind, reader = place
                value = stored.get(kind)
                if value is not None:
                    value = value if reader is None else reader(value)
                    if value is not None:  # JSON may say null
                        values[own_name] = value
                elif stored and NULL not in stored:
                    raise AttributeDeserializationError(name, kind)
    except (ValueError, TypeError) as error:
        raise Damaged(*_name(item), str(error)) from error
    if not form.required <= values.keys():
        raise Damaged(*_name(item), f"{', '.join(sorted(form.required - values.keys()))} missing")
    return cast("Record", record)


@cache
def _writers_of(model: type[Model]) -> Mapping[str, tuple[str, str, Callable[[Any], Any] | None]]:
    """By the own name of an attribute that as which it is stored, its type, and what writes its value."""
    attributes = model.get_attributes()
    return {
        name: (one.attr_name, one.attr_type, None if isinstance(one, UnicodeAttribute) else one.serialize)
        for name, one in attributes.items()
    }


def written(model: type[Model], partition: str, sort: str, /, **values: Any) -> dict[str, Any]:
    """The item of a record of `model`, without what is `None`.

    Raises `ValueError` where that may not be, and `KeyError` for an attribute that the model has not.
    """
    writers = _writers_of(model)
    item: dict[str, Any] = {"pk": {"S": partition}, "sk": {"S": sort}}
    for own_name, value in values.items():
        name, kind, writer = writers[own_name]
        if value is not None:
            item[name] = {kind: value if writer is None else writer(value)}
    missing = [name for name in _form_of(model).required if writers[name][0] not in item]
    if missing:
        raise ValueError(f"{model.__name__} without {', '.join(sorted(missing))}")
    return item


def damaged(item: Item, error: Exception) -> Damaged:
    """What is said of an item whose attributes have the right types and hold nothing that can be used."""
    return Damaged(*_name(item), f"{type(error).__name__}: {error}")


def _name(item: Item) -> tuple[str, str]:
    partition, sort = (str(item.get(key, {}).get("S")) for key in ("pk", "sk"))
    return partition, sort
