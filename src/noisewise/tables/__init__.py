"""Tables in files and frames: reading, parsing and encoding as features."""

from noisewise.tables.columns import CategoryColumn, EmbeddedTextColumn, NumberColumn, TextColumn
from noisewise.tables.encoder import TableEncoder
from noisewise.tables.labelled import LabelledTable as LabelledTable
from noisewise.tables.labelled import read_labelled as read_labelled
from noisewise.tables.read import column_names as column_names
from noisewise.tables.read import is_parquet as is_parquet
from noisewise.tables.read import read_table as read_table

__all__ = ["TableEncoder"]
__model_parts__ = [part.__name__ for part in (CategoryColumn, EmbeddedTextColumn, NumberColumn, TextColumn)]
__shared__ = ["LabelledTable", "column_names", "is_parquet", "read_labelled", "read_table"]
