"""Every kept result says where it comes from."""

import json
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
class TestEveryResult:
    def test_names_the_command_that_made_it(self, path):
        words = shlex.split(json.loads(path.read_text())["command"])

        assert words[0] == "python"
        assert (ROOT / words[1]).is_file()
        assert "--help" not in words

    def test_names_the_code_that_it_measured(self, path):
        code = json.loads(path.read_text())["code"]

        assert code.get("sources") or code["commit"]

    def test_says_whether_the_machine_was_loaded(self, path):
        load = json.loads(path.read_text())["load"]

        assert load["quiet"] in (True, False, None)
        assert load["quiet"] is not None or load["note"] == "not recorded"

    def test_names_no_folder_of_the_machine(self, path):
        assert not [word for word in path.read_text().split('"') if word.startswith("/")]
