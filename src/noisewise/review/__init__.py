"""Review of an audit's doubtful rows by a person: a page on this machine, every decision stored at once."""

from noisewise.review.server import serve_review
from noisewise.review.session import ReviewSession

__all__ = ["ReviewSession", "serve_review"]
