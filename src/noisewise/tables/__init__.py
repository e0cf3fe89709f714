"""Tables as people keep them: read from files, and encoded as numbers."""

from noisewise.tables.columns import CategoryColumn, NumberColumn, TextColumn
from noisewise.tables.encoder import TableEncoder

__all__ = ["TableEncoder"]
__model_parts__ = [part.__name__ for part in (CategoryColumn, NumberColumn, TextColumn)]
