"""Progress of a fit through scikit-learn's callbacks, where the installed scikit-learn has them (from 1.9 on)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    Method = TypeVar("Method", bound=Callable[..., Any])

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


class Progress:
    """Calls an estimator's callbacks after every iteration; without any it does nothing.

    >>> Progress(object()).step()
    False
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._context: Any = None
        self._count = 0
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator)

    def step(self) -> bool:
        """One more iteration is done; True if a callback asks to stop."""
        if self._context is None:
            return False
        task = self._context.subcontext(task_name=f"iteration {self._count}")
        self._count += 1
        task.call_on_fit_task_begin(estimator=self._estimator)
        return bool(task.call_on_fit_task_end(estimator=self._estimator))

    def end(self) -> None:
        """The fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)
