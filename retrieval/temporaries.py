"""The names that files have while they are being made, and their removal when nobody makes them any more."""

import shutil
from pathlib import Path
from typing import Final

BUILDER_PREFIX: Final = ".building-"


def clear_builder_temporaries(folder: Path, pattern: str = f"{BUILDER_PREFIX}*") -> tuple[Path, ...]:
    """Remove what an interrupted build left in *folder*, and return it; only for who holds the builder's lock."""
    left = tuple(sorted(folder.glob(pattern)))
    for path in left:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return left
