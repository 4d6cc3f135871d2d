"""The report in a real browser; it also makes the screenshots of the docs, when asked to."""

import shutil
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from vyre.model import Knobs, Measurement, Timed, Workload
from vyre.report.gather import gather
from vyre.report.page import page
from vyre.store.memory import MemoryStore
from vyre.store.sqlite.database import Database

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: pip install playwright"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not here: apt-get install chromium"
)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def opened(browser, store, tmp_path):
    """Open the report of the store, and fail on anything that the console says."""
    file = tmp_path / "report.html"
    file.write_text(page(gather(store), now=datetime(2026, 11, 15, tzinfo=UTC)))
    said: list[str] = []
    pages = []

    def open_page(width: int = 1180, theme: str = "light"):
        made = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        made.on("console", lambda message: said.append(message.text))
        made.on("pageerror", lambda error: said.append(str(error)))
        made.on("request", lambda request: said.extend(_outside(request.url)))
        made.goto(file.as_uri())
        made.wait_for_selector("figure[data-kind='strip'] svg")
        pages.append(made)
        return made

    yield open_page
    for made in pages:
        made.close()
    assert said == []


def _outside(url: str) -> list[str]:
    return [] if url.startswith(("file:", "data:")) else [f"it asked for {url}"]


def background(shown) -> str:
    return shown.evaluate("getComputedStyle(document.body).backgroundColor")


def test_every_picture_is_drawn(opened):
    shown = opened()
    for figure in shown.locator("figure[data-kind]").all():
        figure.scroll_into_view_if_needed()
        assert figure.locator("svg").count() >= 1

    assert shown.locator("figure[data-kind]").count() == 1 + 3 * 3


@pytest.mark.parametrize("kind", ["overview", "strip", "landscape", "convergence"])
def test_hovering_tells_what_is_under_the_pointer(opened, kind):
    shown = opened()
    figure = shown.locator(f"figure[data-kind='{kind}']").first
    figure.scroll_into_view_if_needed()
    mark = figure.locator("svg").last.locator(
        "g[aria-label='cell'] rect" if kind == "landscape" else "g[aria-label='dot'] circle"
    )
    mark.first.hover(force=True)

    tip = figure.locator("g[aria-label='tip']").text_content()

    assert any(word in tip for word in ("default", "dispatch", "elements")), tip


def test_the_theme_follows_the_system_and_the_button(opened):
    light, dark = opened(), opened(theme="dark")
    assert background(light) != background(dark)

    light.click("#theme")

    assert background(light) == background(dark)
    assert light.inner_text("#theme") == "Light theme"
    light.click("#theme")
    assert background(light) != background(dark)


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_is_wider_than_the_window(opened, width):
    shown = opened(width=width)

    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_it_prints_with_all_its_pictures_in_light_colours(opened, tmp_path):
    shown = opened(theme="dark")
    shown.emulate_media(media="print")

    data = shown.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)

    assert data.startswith(b"%PDF")
    assert shown.locator("#theme").is_hidden()


def test_a_figure_follows_the_width_of_the_window(opened):
    shown = opened()
    before = shown.locator("figure[data-kind='overview'] svg").first.bounding_box()["width"]

    shown.set_viewport_size({"width": 500, "height": 900})
    shown.wait_for_timeout(400)

    after = shown.locator("figure[data-kind='overview'] svg").first.bounding_box()["width"]
    assert after < before - 300


@pytest.mark.parametrize(
    "settings",
    [
        [{"BLOCK": n, "num_warps": warps} for n in (128, 64) for warps in (2, 4)],
        [{"layout": word} for word in ("rows", "columns")],
        [{"n": 1}, {"n": "1"}, {}],
    ],
)
def test_the_knobs_of_somebody_elses_kernel_are_drawn(browser, tmp_path, settings):
    """They have no workgroup to be drawn by."""
    configs = [Knobs.of(one) for one in settings]
    workload = Workload(fingerprint=b"f", buckets=(1,), traits=(), device="d", toolchain="t")
    store = MemoryStore(writer="ada")
    store.append(
        Measurement(
            writer="ada",
            sequence=number,
            workload=workload,
            outcome=Timed(config, 1e6 + 1e5 * number),
            size=1000,
            at_ns=1 + number,
        )
        for number, config in enumerate(configs * 3)
    )
    file, said = tmp_path / "report.html", []
    file.write_text(page(gather(store), now=datetime(2026, 11, 15, tzinfo=UTC)))
    shown = browser.new_page()
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.goto(file.as_uri())
    for figure in shown.locator("figure[data-kind]").all():
        figure.scroll_into_view_if_needed()
        figure.locator("svg").first.wait_for()
    drawn = shown.locator("figure[data-kind='strip'] g[aria-label='dot'] circle").count()
    shown.close()

    assert said == []
    assert drawn == len(configs)


SCREENSHOTS = {"light": (1180, 1330), "dark": (1180, 1330), "narrow": (400, 1330)}
LEARNED = Path(__file__).with_name("learned.sqlite3")
"""What `vyre tune` learned on a two-core machine, with the writer's name taken out."""


@pytest.mark.parametrize("name", SCREENSHOTS)
def test_the_docs_show_a_report_of_real_measurements(browser, name, tmp_path, request):
    copy, file = tmp_path / "store.sqlite3", tmp_path / "report.html"
    shutil.copyfile(LEARNED, copy)
    with closing(Database(copy, writer="reader")) as store:
        file.write_text(page(gather(store), now=datetime(2026, 11, 15, tzinfo=UTC)))
    width, height = SCREENSHOTS[name]
    shown = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if name == "dark" else "light",
    )
    shown.goto(file.as_uri())
    shown.wait_for_selector("figure[data-kind='strip'] svg")
    made = tmp_path / "made.png"
    shown.screenshot(path=made)
    shown.close()

    kept = Path(__file__).parents[2] / "docs" / "images" / f"report-{name}.png"
    if request.config.getoption("--update-golden"):
        shutil.copyfile(made, kept)
    # Fonts differ from machine to machine, so pixels are not compared.
    assert 10_000 < kept.stat().st_size < 300_000
    assert _size_of(kept) == _size_of(made) == (width, height)


def _size_of(png: Path) -> tuple[int, int]:
    head = png.read_bytes()[16:24]
    return int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")
