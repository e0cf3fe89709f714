"""Files are written atomically; folders are checked before the work begins."""

import os
from pathlib import Path

import pytest

from noisewise._files import check_folder, replace_files, write_all, write_whole


def test_files_appear_together_or_not_at_all(tmp_path):
    (tmp_path / "old.txt").write_text("old")
    with pytest.raises(OSError, match="nowhere") as caught:
        write_all({tmp_path / "old.txt": "new", tmp_path / "nowhere" / "b.txt": "b"})
    assert caught.value.filename == str(tmp_path / "nowhere" / "b.txt")  # not that of a temporary file
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"old.txt": "old"}
    write_whole("new", tmp_path / "old.txt")
    assert (tmp_path / "old.txt").read_text() == "new"


def test_folders_are_checked_before_anything_is_computed(tmp_path):
    check_folder(tmp_path / "a" / "b", "files")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file"):
        check_folder(tmp_path / "file" / "b", "files")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    if os.path.isdir("/proc"):
        with pytest.raises(ValueError, match="/proc can't be written to"):
            check_folder(Path("/proc/a"), "files")


def test_an_error_in_writing_leaves_the_old_file_and_no_other(tmp_path):
    def half(path):
        Path(path).write_text("half")
        raise RuntimeError("in the middle")

    (tmp_path / "old.txt").write_text("old")
    with pytest.raises(RuntimeError, match="in the middle"):
        replace_files({tmp_path / "new.txt": lambda path: None, tmp_path / "old.txt": half})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"old.txt": "old"}


def test_written_files_have_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    write_whole("", tmp_path / "whole")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode
