"""A report as a page: whole, safe and readable without its pictures."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

from vyre.report.gather import gather
from vyre.report.page import page
from vyre.store.memory import MemoryStore

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
_VOID = {"meta", "link", "br"}


class Reader(HTMLParser):
    """Collects what a browser would load, and whether every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.loads, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in _VOID:
            self.open.append(tag)
        self.loads += [v for k, v in attrs if k in ("src", "href") and not v.startswith("#")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_loads_nothing_from_anywhere(store):
    text = page(gather(store), now=NOW)

    assert read(text).loads == ["data:,"]
    assert "default-src 'none'" in text


def test_it_says_when_a_device_was_throttled(store):
    assert "hrottled" not in "".join(read(page(gather(store), now=NOW)).text)
    (row, *_) = store.measurements()
    slow = replace(row.outcome, clock="about 1024 MHz, throttled")
    store.append([replace(row, writer="later", outcome=slow)])

    words = " ".join(read(page(gather(store), now=NOW)).text)

    assert "The device was throttled for 1 timing; they are compared" in words
    assert "throttled the device was, for 1 timing" in words


def test_the_text_says_it_all_without_the_pictures(store):
    words = " ".join(read(page(gather(store), now=NOW)).text)

    for said in (
        "3 kernels on 1 device",
        "2026-11-15 12:30 UTC",
        "Acme G1",
        "acme, driver 1.2, cc 3",
        "2.34\N{MULTIPLICATION SIGN}",
        "99% sure",
        "the compiler gave up: </script>",
        "decided 2023-11-14 22:13 UTC by ada-1",
    ):
        assert said in words, said


def test_names_and_reasons_cannot_break_out_of_the_page(store):
    text = page(gather(store), now=NOW)

    assert "<b>&sharpen" not in text
    assert "<h3>&lt;b&gt;&amp;sharpen" in text
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1]
    assert "</" not in data
    assert json.loads(data)["cases"][1]["kernel"] == "<b>&sharpen"


def test_an_empty_store_makes_a_page_that_says_what_to_do():
    words = " ".join(read(page(gather(MemoryStore()), now=NOW)).text)

    assert "Nothing is remembered yet" in words


def test_the_page_stays_small(store):
    assert len(page(gather(store), now=NOW).encode()) < 700_000


def test_the_libraries_are_as_they_were_published():
    folder = files("vyre.report") / "assets"

    assert {
        name: sha256((folder / name).read_bytes()).hexdigest()
        for name in ("d3.min.js", "plot.umd.min.js")
    } == {
        "d3.min.js": "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1",
        "plot.umd.min.js": "4358086467740777dd788d6b27a95cebdbaefdd50c730a3060117073bd7134cb",
    }
    assert "Permission to use" in (folder / "d3.LICENSE").read_text()
    assert "Permission to use" in (folder / "plot.LICENSE").read_text()
