"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_first_program_of_the_readme_prints_what_it_says(tmp_path):
    code, printed = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.S).groups()
    script = tmp_path / "first.py"
    script.write_text(code)

    shown = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)

    assert shown.stdout == printed, shown.stderr


def test_the_readme_holds_exactly_the_two_set_up_commands_that_ci_runs():
    commands = re.findall(r"^python -m pip install .*$", README, re.M)

    assert commands == [
        "python -m pip install . && vyre tune",
        "python -m pip install '.[test]' && python -m pytest -n auto",
    ]


def test_the_readme_shows_the_last_results():
    script = Path(__file__).parents[1] / "scripts" / "results_table.py"

    shown = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)

    assert shown.returncode == 0, shown.stdout + shown.stderr
