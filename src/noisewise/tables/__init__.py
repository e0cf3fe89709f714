"""Tables in files and frames: reading, parsing and encoding as features."""

from noisewise.tables.columns import CategoryColumn as CategoryColumn
from noisewise.tables.columns import EmbeddedTextColumn as EmbeddedTextColumn
from noisewise.tables.columns import NumberColumn as NumberColumn
from noisewise.tables.columns import TextColumn as TextColumn
from noisewise.tables.encoder import TableEncoder
from noisewise.tables.labelled import LabelledTable as LabelledTable
from noisewise.tables.labelled import read_labelled as read_labelled
from noisewise.tables.labelled import read_tagged as read_tagged
from noisewise.tables.labelled import read_target as read_target
from noisewise.tables.mend import mend_table as mend_table
from noisewise.tables.mend import raw_table as raw_table
from noisewise.tables.read import column_names as column_names
from noisewise.tables.read import is_parquet as is_parquet
from noisewise.tables.read import read_table as read_table
from noisewise.tables.write import check_ending as check_ending
from noisewise.tables.write import write_frame as write_frame
from noisewise.tables.write import write_rows as write_rows

__all__ = ["TableEncoder"]
__model_parts__ = [part.__name__ for part in (CategoryColumn, EmbeddedTextColumn, NumberColumn, TextColumn)]
__shared__ = [
    "LabelledTable",
    "check_ending",
    "column_names",
    "is_parquet",
    "mend_table",
    "raw_table",
    "read_labelled",
    "read_table",
    "read_tagged",
    "read_target",
    "write_frame",
    "write_rows",
]
