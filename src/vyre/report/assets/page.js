// Draws the pictures of a report from the values in the page; the text is there without it.
(() => {
  "use strict";
  const root = document.documentElement;
  const { cases } = JSON.parse(document.getElementById("data").textContent);
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const unitOf = (ns) => units.find(([factor]) => ns >= factor) ?? units[3];
  const span = (ns) => {
    const [factor, unit] = unitOf(ns);
    return `${(ns / factor).toPrecision(3)} ${unit}`;
  };
  const times = (ratio) => `${ratio.toFixed(2)}×`;
  const medianOf = (sorted) => (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;

  const roleOf = (one, number) =>
    number === one.chosen ? "chosen" : number === one.default ? "default" : "other";
  // A schedule is a workgroup and a code; the knobs of other people's kernels, the first and the rest.
  const settingsOf = (s) => Object.entries(s.knobs).map(([name, value]) => `${name}=${value}`);
  const codeOf = (s) =>
    s.knobs ? settingsOf(s).slice(1).join(", ") : [
      s.items > 1 ? "" : "1 item",
      ...s.text.split(", ").slice(1).map((part) => part.replace(" items", "").replace("vectors of", "vec")),
      s.doubled ? (s.checked ? "checked" : "unchecked") : "",
    ].filter(Boolean).join(", ");
  const groupOf = (s) =>
    s.knobs ? settingsOf(s)[0] ?? "as it is" : s.text.split(", ")[0].replaceAll("x", "×");
  const sizeOfGroup = (s) =>
    s.knobs ? Number(Object.values(s.knobs)[0]) || 0 : s.workgroup.reduce((a, b) => a * b);
  const nameOf = (s) =>
    s.knobs ? (s.doubled ? JSON.stringify(s.knobs) : s.text) : `${groupOf(s)} · ${codeOf(s)}`;

  for (const one of cases) {
    one.base_ns = one.default_ns;
    const texts = one.schedules.map((s) => s.text);
    one.schedules.forEach((s, number) => {
      s.number = number;
      s.doubled = texts.indexOf(s.text) !== texts.lastIndexOf(s.text);
    });
  }

  const common = (width, rest) => ({
    width,
    style: { background: "transparent", fontFamily: "inherit", fontSize: "12px", overflow: "visible" },
    ...rest,
  });
  const tipOf = { stroke: "var(--line)", fontSize: 13, lineHeight: 1.4, pathFilter: "none" };

  // Every schedule that was tried: its timings as ticks, their median as a dot.
  const strip = (one, width) => {
    const narrow = width < 430;
    const shown = one.schedules.filter(
      (s, number) => number < 14 || number === one.default || number === one.chosen,
    );
    const slowest = one.schedules.at(-1);
    if (slowest && !shown.includes(slowest)) shown.push(slowest);
    const [factor, unit] = unitOf(shown[0].median_ns);
    const rows = shown.map((s) => ({ s, name: nameOf(s), role: roleOf(one, s.number) }));
    const ticks = rows.flatMap((row) => row.s.samples_ns.map((ns) => ({ ...row, ns })));
    const most = 2.2 * Math.max(...shown.map((s) => s.median_ns));
    const wide = most > 12 * shown[0].median_ns;
    const left = narrow ? 112 : 158;
    return Plot.plot(common(width, {
      height: 46 + 19 * rows.length,
      marginLeft: left,
      marginTop: 8,
      marginRight: 12,
      marginBottom: 36,
      x: { label: `time of a call (${unit})`, labelAnchor: "right", grid: true, type: wide ? "log" : "linear", nice: !wide, ticks: narrow ? 3 : 5, tickFormat: wide ? "~g" : undefined },
      y: { label: null, domain: rows.map((row) => row.name), tickSize: 0,
        tickFormat: (name) => (narrow && name.length > 18 ? `${name.slice(0, 17)}…` : name) },
      marks: [
        one.base_ns ? Plot.ruleX([one.base_ns / factor], { stroke: "var(--default)", strokeDasharray: "3,3" }) : null,
        Plot.tickX(ticks.filter((d) => d.ns <= most), { x: (d) => d.ns / factor, y: "name", stroke: (d) => `var(--${d.role})`, strokeOpacity: 0.35, inset: 4 }),
        Plot.dot(rows, { x: (d) => d.s.median_ns / factor, y: "name", fill: (d) => `var(--${d.role})`, r: (d) => (d.role === "other" ? 3.5 : 5) }),
        Plot.tip(rows, Plot.pointerY({
          x: (d) => d.s.median_ns / factor, y: "name", ...tipOf,
          title: (d) => [d.s.text, `median ${span(d.s.median_ns)} of ${d.s.count} timings`,
            one.base_ns ? `${times(one.base_ns / d.s.median_ns)} the default's speed` : "",
            d.role === "other" ? "" : d.role === "chosen" ? "chosen" : "the default"].filter(Boolean).join("\n"),
        })),
      ],
    }));
  };

  // Speed over workgroup and code: where the fast ones are, and what was never tried.
  const landscape = (one, width) => {
    const groups = [...new Map(one.schedules.map((s) => [groupOf(s), sizeOfGroup(s)]))]
      .sort((a, b) => a[1] - b[1] || a[0].localeCompare(b[0])).map(([name]) => name);
    const speed = (s) => (one.base_ns ?? one.schedules.at(-1).median_ns) / s.median_ns;
    const codes = [...new Set([...one.schedules].sort((a, b) =>
      a.items - b.items || a.vector - b.vector || a.unroll - b.unroll).map(codeOf))];
    const best = Math.max(1.5, ...one.schedules.map(speed));
    const faster = d3.interpolateRgb(colour("even"), colour("chosen"));
    const slower = d3.interpolateRgb(colour("even"), colour("default"));
    const paint = (s) => {
      const value = speed(s);
      return value >= 1 ? faster(Math.log(value) / Math.log(best)) : slower(Math.min(1, -Math.log2(value)));
    };
    const narrow = width < 430;
    const roomy = (width - 130) / groups.length > 34;
    return Plot.plot(common(width, {
      height: Math.max(120, 60 + 26 * codes.length),
      marginLeft: narrow ? 104 : 124,
      marginTop: 8,
      marginRight: 12,
      marginBottom: roomy ? 28 : 46,
      x: { label: null, domain: groups, tickSize: 0, tickRotate: roomy ? 0 : -45 },
      y: { label: null, domain: codes, tickSize: 0 },
      marks: [
        Plot.cell(one.schedules, { x: groupOf, y: codeOf, fill: paint, rx: 3, inset: 1 }),
        Plot.cell(one.schedules.filter((s) => roleOf(one, s.number) !== "other"), {
          x: groupOf, y: codeOf, fill: "none", stroke: (s) => `var(--${roleOf(one, s.number)})`, strokeWidth: 2, rx: 3, inset: 1 }),
        roomy ? Plot.text(one.schedules, { x: groupOf, y: codeOf, text: (s) => speed(s).toFixed(speed(s) >= 9.95 ? 0 : 1), fill: "var(--ink)", fontSize: 11 }) : null,
        Plot.tip(one.schedules, Plot.pointer({ x: groupOf, y: codeOf, ...tipOf,
          title: (s) => `${s.text}\n${times(speed(s))} the default's speed\nmedian ${span(s.median_ns)} of ${s.count} timings` })),
      ],
    }));
  };

  // Each timing as it came, and the fastest median known by then.
  const convergence = (one, width) => {
    const [factor, unit] = unitOf(one.schedules[0].median_ns);
    const steps = one.steps.map(([at, number, ns]) => ({ at, ns, s: one.schedules[number], role: roleOf(one, number) }));
    const seen = new Map();
    let best = Infinity;
    const line = steps.map(({ at, ns, s }) => {
      const list = seen.get(s) ?? [];
      list.splice(d3.bisectLeft(list, ns), 0, ns);
      seen.set(s, list);
      best = Math.min(...[...seen.values()].filter((l) => l.length > 1).map(medianOf), Infinity);
      return { at, ns: best };
    }).filter((d) => d.ns < Infinity);
    const top = 1.6 * Math.max(one.base_ns ?? 0, medianOf(steps.map((d) => d.ns).sort((a, b) => a - b)));
    return Plot.plot(common(width, {
      height: 190,
      marginLeft: 52,
      marginRight: 12,
      marginBottom: 36,
      x: { label: "timed dispatch", labelAnchor: "right", ticks: width < 430 ? 4 : 8 },
      y: { label: `time (${unit})`, grid: true, ticks: 4, zero: true },
      marks: [
        one.base_ns ? Plot.ruleY([one.base_ns / factor], { stroke: "var(--default)", strokeDasharray: "3,3" }) : null,
        Plot.dot(steps.filter((d) => d.ns <= top), { x: "at", y: (d) => d.ns / factor, fill: (d) => `var(--${d.role})`, r: 2, fillOpacity: 0.55 }),
        Plot.line(line, { x: "at", y: (d) => d.ns / factor, curve: "step-after", stroke: "var(--ink)", strokeWidth: 1.5 }),
        Plot.tip(steps.filter((d) => d.ns <= top), Plot.pointer({ x: "at", y: (d) => d.ns / factor, ...tipOf,
          title: (d) => `${span(d.ns)}\n${d.s.text}\ndispatch ${d.at + 1}` })),
      ],
    }));
  };

  // Default to tuned for each workload, side by side.
  const overview = (list, width) => {
    const rows = list
      .filter((one) => one.default_ns && one.chosen_ns)
      .map((one) => ({ one, name: `${one.kernel}  ${sizeOf(one.elements)}`, gain: one.gain ?? 1 }))
      .sort((a, b) => b.gain - a.gain);
    const names = new Set();
    for (const row of rows) {
      while (names.has(row.name)) row.name += " ";
      names.add(row.name);
    }
    const most = Math.max(1.5, ...rows.map((row) => row.gain));
    return Plot.plot(common(width, {
      height: 48 + 22 * rows.length,
      marginLeft: width < 500 ? 120 : 150,
      marginTop: 8,
      marginRight: 56,
      marginBottom: 34,
      x: { label: "times the default's speed", labelAnchor: "right", domain: [1, most], type: "log", grid: true,
        ticks: [1, ...(width < 500 && most > 4 ? [] : [1.5]), 2, 3, 5, 10, 20, 50, 100].filter((n) => n <= most), tickFormat: (n) => `${n}×` },
      y: { label: null, domain: rows.map((row) => row.name), tickSize: 0 },
      marks: [
        Plot.ruleX([1], { stroke: "var(--default)" }),
        Plot.ruleY(rows, { x1: 1, x2: (d) => Math.max(d.gain, 1), y: "name", stroke: "var(--chosen)", strokeWidth: 7, strokeLinecap: "butt", strokeOpacity: 0.35 }),
        Plot.dot(rows, { x: (d) => Math.max(d.gain, 1), y: "name", fill: (d) => (d.gain > 1 ? "var(--chosen)" : "var(--default)"), r: 5 }),
        Plot.text(rows, { x: (d) => Math.max(d.gain, 1), y: "name", text: (d) => (d.one.gain == null ? "default" : times(d.gain)), dx: 10, textAnchor: "start", fill: "currentColor" }),
        Plot.tip(rows, Plot.pointerY({ x: (d) => Math.max(d.gain, 1), y: "name", ...tipOf,
          title: (d) => `${d.one.kernel}, ${d.one.elements.toLocaleString("en")} element${d.one.elements === 1 ? "" : "s"}\n${span(d.one.default_ns)} → ${span(d.one.chosen_ns)}\n${d.one.schedules[d.one.chosen]?.text ?? ""}` })),
      ],
    }));
  };
  const sizeOf = (n) => (n >= 1024 && (n & (n - 1)) === 0 ? `2^${Math.log2(n)}` : n.toLocaleString("en"));

  const draw = { strip, landscape, convergence };
  const render = (figure, forced) => {
    const width = Math.floor(forced ?? figure.clientWidth);
    if (!width) return;
    const list = cases.filter((one) => one.device === figure.dataset.device);
    const one = cases[figure.dataset.case];
    const made = figure.dataset.kind === "overview" ? overview(list, width) : draw[figure.dataset.kind](one, width);
    figure.querySelector("svg, .plot-d6a7b5")?.remove();
    figure.append(made);
    figure.dataset.drawn = "yes";
  };
  const figures = [...document.querySelectorAll("figure[data-kind]")];
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting && !entry.target.dataset.drawn) render(entry.target);
  }, { rootMargin: "600px" });
  figures.forEach((figure) => seen.observe(figure));
  const redraw = () => figures.filter((figure) => figure.dataset.drawn).forEach((figure) => render(figure));

  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const apply = () => {
    root.dataset.theme = chosen ?? (system.matches ? "dark" : "light");
    button.textContent = root.dataset.theme === "dark" ? "Light theme" : "Dark theme";
    redraw();
  };
  button.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    apply();
  });
  system.addEventListener("change", apply);
  apply();

  let waiting = 0;
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 120);
  });
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    figures.forEach((figure) => render(figure, figure.clientWidth));
  });
  addEventListener("afterprint", apply);
})();
