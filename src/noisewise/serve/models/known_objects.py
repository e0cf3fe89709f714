"""Objects of requests that come again and again, as items of a catalogue do."""

from __future__ import annotations

from typing import Any

from noisewise.online import FixedRecord


class KnownObject(dict[str, Any]):
    """A JSON object that requests share: nobody may change it.

    >>> item = KnownObject({"id": "tart", "price": 4})
    >>> item.without("id"), item.without("id") is item.without("id")
    ({'price': 4}, True)
    """

    __slots__ = ("_rest",)
    _rest: FixedRecord

    def without(self, name: str) -> FixedRecord:
        """The object without a name, which is the same at each call, and so is what is returned."""
        try:
            return self._rest
        except AttributeError:
            self._rest = FixedRecord((key, value) for key, value in self.items() if key != name)
            return self._rest
