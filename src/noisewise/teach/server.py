"""The page of a lesson, served to this machine alone."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from noisewise._local_page import LocalServer, Refused
from noisewise.teach.lesson import Lesson


class LessonServer(LocalServer):
    """Serves a lesson on this machine; `url` opens its page."""

    package, command = "noisewise.teach", "noisewise teach"
    most_bytes = 1_000_000  # of a sketch

    def __init__(self, lesson: Lesson, port: int = 0) -> None:
        super().__init__(port)
        self.lesson = lesson

    def get(self, path: str) -> Any:
        """How far the lesson is."""
        return self.lesson.summary() if path == "/api/lesson" else None

    def calls(self) -> dict[str, tuple[Callable[..., Any], set[str]]]:
        """A sketch to guess, and whether the guess was right."""
        return {"/api/guess": (self.guess, {"sketch"}), "/api/answer": (self.answer, {"right"})}

    def guess(self, sketch: Any) -> dict[str, Any]:
        """What the learner takes a sketch for."""
        try:
            return {"guess": self.lesson.guess(sketch)}
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None

    def answer(self, right: Any) -> dict[str, Any]:
        """Teach whether the last guess was right."""
        if not isinstance(right, bool):
            raise Refused(HTTPStatus.BAD_REQUEST, "right is true or false")
        try:
            self.lesson.answer(right)
        except ValueError as error:
            raise Refused(HTTPStatus.CONFLICT, str(error)) from None
        return self.lesson.summary()


def serve_lesson(lesson: Lesson, port: int = 0, browser: bool = True, ready: Callable[[str], None] = print) -> None:
    """Open the page of a lesson in a browser and serve it until Ctrl-C.

    Parameters
    ----------
    lesson : Lesson
    port : int
        On 127.0.0.1; 0 takes any that is free.
    browser : bool
        Whether to open a browser.
    ready : callable
        Called with the address when the page can be opened; by default it is printed.
    """
    LessonServer(lesson, port).run(browser, ready)
