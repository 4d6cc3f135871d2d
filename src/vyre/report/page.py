"""A report as one HTML page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from importlib.resources import files
from math import exp, log

from vyre.model import Decision, Reason, Schedule, span
from vyre.plain import elements as counted
from vyre.plain import plain
from vyre.report.gather import Case, Report
from vyre.report.values import to_json
from vyre.report.words import day, elements, sure

_LIBRARIES = ("d3", "plot.umd")


def page(report: Report, *, now: datetime | None = None) -> str:
    """The page; what was learned is in its text, and the pictures are drawn from values in it."""
    at = (now or datetime.now(UTC)).isoformat(sep=" ", timespec="minutes")[:16]
    body = "\n".join(_body(report, at))
    # Nothing in it may end the element that it stands in.
    values = to_json(report.value()).replace("<", "\\u003c")
    libraries = "\n".join(f"<script>{_asset(f'{name}.min.js')}</script>" for name in _LIBRARIES)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<title>What Vyre learned</title>
<link rel="icon" href="data:,">
<style>
{_asset("page.css")}</style>
</head>
<body>
<main>
{body}
</main>
<script type="application/json" id="data">{values}</script>
{libraries}
<script>
{_asset("page.js")}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (files("vyre.report") / "assets" / name).read_text(encoding="utf-8")


def _body(report: Report, at: str) -> Iterator[str]:
    cases = report.cases
    kernels, devices = {case.kernel for case in cases}, {case.device for case in cases}
    yield f"""<header>
<div><h1>What Vyre learned</h1>
<p class="muted">{_count(len(kernels), "kernel")} on {_count(len(devices), "device")}, \
vyre {escape(version("vyre"))}, {at} UTC</p></div>
<button id="theme" type="button">Dark theme</button>
</header>
<noscript><p>The pictures need JavaScript; everything they show is in the tables, too.</p>\
</noscript>"""
    yield _tiles(report)
    if report.left_out:
        yield f"<p class='muted'>{report.left_out:,} older workloads are left out.</p>"
    if not cases:
        yield "<p>Nothing is remembered yet: run <code>vyre tune</code>, or call kernels.</p>"
    for device in dict.fromkeys(case.device for case in cases):
        numbered = [(number, case) for number, case in enumerate(cases) if case.device == device]
        yield from _device(device, numbered)
    yield (
        "<footer>Times are the device's own: medians, at a workload's usual size. A gain is the "
        "default's over the choice's; what was adopted was faster in pairs, measured in turns with "
        "the default, with the stated confidence. "
        "Pictures: Observable Plot and D3 (ISC licence).</footer>"
    )


def _tiles(report: Report) -> str:
    decided = [case.decision for case in report.cases if case.decision is not None]
    gains = [case.gain for case in report.cases if case.gain]
    mean = exp(sum(map(log, gains)) / len(decided)) if decided else 1.0  # the others gain nothing
    saved = sum(case.saved_ns for case in report.cases)
    spent = sum(case.spent_ns for case in report.cases)
    tiles = [
        (
            f"{sum(gain > 1 for gain in gains)} of {len(decided)}",
            "workloads run faster than by default",
        ),
        (f"{mean:.2f}&times;", "geometric mean over all"),
        (f"{max(gains, default=1.0):.2f}&times;", "the largest gain"),
        (span(saved), "saved by one call of each"),
        (f"{report.timings:,}", f"timings, {span(spent)} on the device"),
    ]
    shown = "".join(f"<div class='tile'><b>{a}</b><span>{b}</span></div>" for a, b in tiles)
    return f"<div class='tiles'>{shown}</div>"


def _device(device: str, cases: list[tuple[int, Case]]) -> Iterator[str]:
    yield f"<h2>{escape(device)}</h2>"
    toolchains = dict.fromkeys(case.toolchain for _, case in cases)
    yield f"<p class='muted'>{escape('; '.join(toolchains))}</p>"
    if throttled := sum(case.throttled for _, case in cases):
        yield (
            f"<p>The device was throttled for {_count(throttled, 'timing')}; they are compared "
            "with the default's times in that state only.</p>"
        )
    yield "<div class='card'>"
    if any(case.default_ns and case.chosen_ns for _, case in cases):
        yield f"<figure data-kind='overview' data-device='{escape(device, quote=True)}'></figure>"
    yield _table(cases)
    yield "</div>"
    yield (
        "<div class='key'><span><i style='background:var(--chosen)'></i>chosen</span>"
        "<span><i style='background:var(--default)'></i>default</span>"
        "<span><i style='background:var(--other)'></i>others that were tried</span></div>"
    )
    for number, case in cases:
        yield from _case(number, case)


def _table(cases: list[tuple[int, Case]]) -> str:
    rows = []
    for number, case in cases:
        decision = case.decision
        rows.append(
            "<tr>"
            f"<td><a href='#case-{number}'>{escape(case.kernel)}</a></td>"
            f"<td class='number'>{elements(case.elements) if case.elements else '?'}</td>"
            f"<td class='number'>{_span(case.default_ns)}</td>"
            f"<td class='number'>{_span(case.chosen_ns)}</td>"
            f"<td class='number'>{_gain(case)}</td>"
            f"<td>{escape(decision.config.text) if decision else ''}</td>"
            f"<td class='number'>{_pays(case)}</td>"
            "</tr>"
        )
    head = (
        "<tr><th>kernel</th><th class='number'>size</th><th class='number'>default</th>"
        "<th class='number'>tuned</th><th class='number'>gain</th><th>schedule</th>"
        "<th class='number'>paid back after</th></tr>"
    )
    return f"<div class='scroll'><table>{head}{''.join(rows)}</table></div>"


def _gain(case: Case) -> str:
    decision = case.decision
    if decision is None:
        return "learning"
    if decision.reason is Reason.NOT_FREE:
        return "left alone"
    return "default" if case.gain is None else f"{case.gain:.2f}&times;"


def _when_decided(decision: Decision) -> str:
    """The gain that was decided on, and how sure it was."""
    if not sure(decision):
        return ""
    return f"{decision.gain:.2f}&times;, {escape(sure(decision))}"


def _pays(case: Case) -> str:
    """After how many calls the time that measuring took is won back."""
    return f"{case.spent_ns / case.saved_ns:,.0f} calls" if case.saved_ns > 0 else ""


def _case(number: int, case: Case) -> Iterator[str]:
    decision = case.decision
    gained = case.gain is not None
    size = counted(case.elements) if case.elements else "size unknown"
    yield f"<section class='card' id='case-{number}'>"
    yield (
        f"<header><h3>{escape(case.kernel)} <span class='muted'>{size}</span></h3>"
        f"<span class='gain{'' if gained else ' none'}'>{_gain(case)}</span></header>"
    )
    facts = {
        "runs": escape(decision.config.text) if decision else "still learning",
        "when decided": _when_decided(decision) if decision else "",
        "default to chosen": f"{_span(case.default_ns)} to {_span(case.chosen_ns)}"
        if case.saved_ns
        else "",
        "saved a call": span(case.saved_ns) if case.saved_ns > 0 else "",
        "tried": f"{len(case.tried)} schedules, {case.timings:,} timings" if case.tried else "",
        "of it exploring": f"{case.explored:.0%}" if case.spent_ns else "",
        "throttled": f"the device was, for {_count(case.throttled, 'timing')}"
        if case.throttled
        else "",
    }
    shown = "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in facts.items() if v)
    yield f"<dl class='facts'>{shown}</dl>"
    if decision is not None and decision.detail:
        yield f"<p class='muted'>{escape(plain(decision.detail))}</p>"
    if len(case.tried) > 1:
        yield "<div class='charts'>"
        yield _figure(number, "strip", "Every schedule", "timings, and their median")
        yield _figure(number, "landscape", "Landscape", _axes(case))
        line = "timings as they came; the line is the fastest known by then"
        yield _figure(number, "convergence", "Convergence", line, wide=True)
        yield "</div>"
    yield from _notes(case)
    yield "</section>"


def _axes(case: Case) -> str:
    """What a landscape spreads configs over."""
    ours = isinstance(case.tried[0].config, Schedule)
    return "speed over workgroup and code" if ours else "speed over the first knob and the others"


def _figure(number: int, kind: str, title: str, note: str, *, wide: bool = False) -> str:
    return (
        f"<div class='{'wide' if wide else ''}'><h4>{title} <small>{note}</small></h4>"
        f"<figure data-kind='{kind}' data-case='{number}'></figure></div>"
    )


def _notes(case: Case) -> Iterator[str]:
    if case.failures:
        yield f"<details><summary>{_count(len(case.failures), 'schedule')} refused</summary><ul>"
        for schedule, reason in case.failures[:50]:
            yield f"<li>{escape(schedule.text)}: {escape(plain(reason, 300))}</li>"
        yield "</ul></details>"
    workload = case.workload
    decided = f"decided {day(case.decided_at_ns)} UTC by {escape(plain(case.writer))}; " * bool(
        case.decided_at_ns and case.writer
    )
    yield (
        "<details><summary>Provenance</summary>"
        f"<p>{decided}measured {day(case.first_at_ns) or 'never'}"
        f"{' to ' + day(case.last_at_ns) if case.last_at_ns else ''} UTC by "
        f"{_count(len(case.writers), 'process', 'processes')}.</p>"
        f"<p>workload {workload.key()}; program {plain(workload.fingerprint.hex()) or 'unknown'}; "
        f"buckets {plain(', '.join(map(str, workload.buckets))) or 'none'}; "
        f"{escape(plain(', '.join(workload.traits)))}; {escape(case.toolchain)}</p></details>"
    )


def _span(ns: float | None) -> str:
    return "?" if ns is None else span(ns)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
