// Small charts, drawn as SVG: a line of lags against the schedule, bars of durations, the timeline of an hour.
import { add, ago, h, number, s, span, tableAddress } from "./dom.js";

const KINDS = ["differential", "full", "nothing", "held", "failed"];

export function legend(kinds = KINDS) {
  return h("p", { class: "legend" }, kinds.map((kind) => h("span", null, h("i", { class: `mark ${kind}` }), kind)));
}

export function timeline(line) {
  const width = 1000, row = 18, left = 0;
  const lanes = h("div", { class: "lanes" });
  for (const lane of line.lanes) {
    const bars = s("svg", {
      viewBox: `0 0 ${width} ${row}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${lane.unit}: ${lane.refreshes} refreshes, ${lane.failures} failed`,
    });
    const slot = width / line.slots;
    for (const each of lane.slots) {
      const tall = each.kind === "failed" || each.kind === "held" ? row - 4 : Math.max(4, Math.min(row - 4, 3 + Math.log10(1 + each.longest_ms) * 3.2));
      add(bars, s("rect", {
        class: `mark ${each.kind}`, x: left + each.at * slot, y: row - 2 - tall, width: Math.max(3, slot - 1), height: tall, rx: 1,
      }, s("title", null, `${each.refreshes} × ${each.kind}, longest ${span(each.longest_ms / 1000)}, ${number(each.rows)} rows`)));
    }
    const together = lane.members.length > 1;
    const label = together ? `${lane.members.length} together: ${lane.members.join(", ")}` : lane.unit;
    add(lanes, [h("a", { class: "lane", href: tableAddress(lane.members.at(-1)), title: label }, together ? `▣ ${lane.members.join(", ")}` : lane.unit), h("div", { class: "track" }, bars)]);
  }
  const marks = h("div", { class: "axis" }, ["60 min ago", "45", "30", "15", "now"].map((text) => h("span", null, text)));
  return h("div", null, lanes, h("div", { class: "lanes" }, h("span"), marks),
    line.omitted ? h("p", { class: "muted" }, `and ${line.omitted} more units`) : null);
}

export function durations(rows) {
  const shown = rows.filter((each) => each.status !== "SKIPPED").slice(0, 80).reverse();
  if (shown.length < 2) return null;
  const most = Math.max(...shown.map((each) => each.duration_ms), 1);
  const wide = 8, tall = 90;
  const chart = s("svg", { viewBox: `0 0 ${80 * wide} ${tall}`, class: "chart", preserveAspectRatio: "none", role: "img",
    "aria-label": `durations of the last ${shown.length} refreshes, at most ${span(most / 1000)}` });
  shown.forEach((each, i) => {
    const height = each.status === "FAILED" ? tall - 6 : Math.max(2, (each.duration_ms / most) * (tall - 6));
    const kind = each.status === "FAILED" ? "failed" : each.action === "DIFFERENTIAL" ? "differential" : each.action === "NO_DATA" ? "nothing" : "full";
    const x = (80 - shown.length + i) * wide;
    add(chart, s("rect", { class: `mark ${kind}`, x, y: tall - height, width: wide - 2, height, rx: 1 },
      s("title", null, `${ago(each.started_at)}: ${kind}, ${span(each.duration_ms / 1000)}, +${number(each.rows_inserted)} −${number(each.rows_deleted)} rows`)));
  });
  return h("figure", null, h("figcaption", null, "Duration of each refresh", h("span", { class: "muted" }, `up to ${span(most / 1000)}`)), chart);
}

export function lag(freshness) {
  const points = freshness.points.slice(-80);
  const promised = freshness.promised_seconds;
  if (points.length < 2) {
    return h("figure", null, h("figcaption", null, "Lag at each refresh"),
      h("p", { class: "muted" }, "Not known yet: it takes two refreshes that took something in, and sources whose snapshots have not expired."));
  }
  const wide = 640, tall = 110, floor = tall - 4;
  const most = Math.max(...points.map((each) => each.lag_seconds), promised ?? 0, 0.001) * 1.08;
  const y = (value) => floor - (value / most) * (floor - 6);
  const x = (i) => (points.length === 1 ? wide : (i / (points.length - 1)) * (wide - 8) + 4);
  const chart = s("svg", { viewBox: `0 0 ${wide} ${tall}`, class: "chart", preserveAspectRatio: "none", role: "img",
    "aria-label": `lag at the last ${points.length} refreshes` });
  if (promised !== null) add(chart, s("line", { class: "promise", x1: 0, x2: wide, y1: y(promised), y2: y(promised) }));
  add(chart, s("polyline", { class: "lag", points: points.map((each, i) => `${x(i)},${y(each.lag_seconds)}`).join(" ") }));
  points.forEach((each, i) => add(chart, s("circle", { class: promised !== null && each.lag_seconds > promised + 5 ? "point late" : "point", cx: x(i), cy: y(each.lag_seconds), r: 2.5 },
    s("title", null, `${ago(each.at)}: ${span(each.lag_seconds)} behind`))));
  const kept = promised === null ? "its schedule promises no time" : `promised ${span(promised)} (grace 5 s): kept ${freshness.kept} of ${freshness.points.length}`;
  return h("figure", null, h("figcaption", null, "Lag at each refresh", h("span", { class: "muted" }, kept)), chart);
}
