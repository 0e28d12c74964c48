"""The README says what the code does."""

from pathlib import Path

from bot.settings import settings_table

README = Path(__file__).resolve().parent.parent / "README.md"


def test_the_readme_holds_the_table_of_settings_as_it_is() -> None:
    """Paste the output of `python -c "from bot.settings import settings_table; print(settings_table())"`."""
    assert settings_table() in README.read_text(encoding="utf-8")
