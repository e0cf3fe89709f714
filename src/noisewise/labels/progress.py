"""Progress of a fit: a line on the screen; scikit-learn's callbacks, where the installed one has them (from 1.9 on)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from noisewise._progress import reporting, step

Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING:

    class CallbackSupport:
        """`set_callbacks`, where scikit-learn has it."""

    def with_callbacks(method: Method) -> Method:
        """Runs the callbacks' clean-up, also after an exception."""
        return method

else:
    try:
        from sklearn.callback import CallbackSupportMixin as CallbackSupport
        from sklearn.callback import with_callbacks
    except ImportError:

        class CallbackSupport:
            """Without callbacks there is nothing to support."""

        def with_callbacks(method):
            """The method as it is."""
            return method


def shown(fit: Method) -> Method:
    """A fit that shows a line while it takes more than two seconds and a person looks on."""

    @wraps(fit)
    def shown_fit(self: Any, *arguments: Any, **options: Any) -> Any:
        with reporting(None, f"fitting {type(self).__name__}"):
            return fit(self, *arguments, **options)

    return cast(Method, shown_fit)


class Progress:
    """Counts iterations, of `total` if it is known, and calls an estimator's callbacks after each.

    >>> Progress(object()).step()
    False
    """

    def __init__(self, estimator: Any, total: int | None = None) -> None:
        self._estimator, self._total = estimator, total
        self._context: Any = None
        self._count = 0
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator)

    def step(self) -> bool:
        """One more iteration is done; True if a callback asks to stop."""
        self._count += 1
        if self._total is not None:
            step(self._count, self._total)
        if self._context is None:
            return False
        task = self._context.subcontext(task_name=f"iteration {self._count - 1}")
        task.call_on_fit_task_begin(estimator=self._estimator)
        return bool(task.call_on_fit_task_end(estimator=self._estimator))

    def end(self) -> None:
        """The fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)
