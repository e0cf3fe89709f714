"""Teaching by yes and no: sketches are drawn, a learner names them, and the teacher says right or wrong.

It stands for the human-robot experiment of the UCWL paper, whose pictures of gestures are not public: classes that are
taught from nothing, by binary feedback alone.
"""

from noisewise.teach.lesson import Lesson
from noisewise.teach.server import serve_lesson
from noisewise.teach.simulated import simulate_teacher
from noisewise.teach.sketch import sketch_features

__all__ = ["Lesson", "serve_lesson", "simulate_teacher", "sketch_features"]
