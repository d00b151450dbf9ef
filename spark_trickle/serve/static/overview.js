// The first page: how many are well, what needs somebody, who schedules, what happened in the last hour.
import { button } from "./actions.js";
import { legend, timeline } from "./charts.js";
import { add, badge, empty, h, panel, put, span, STATES, tableLink, time, word } from "./dom.js";
import { get } from "./net.js";

export function overview(main) {
  const place = (name) => h("div", { class: `at-${name}` });
  const areas = Object.fromEntries(
    ["counts", "attention", "scheduler", "hold", "line", "slow", "busy", "together", "acts"].map((name) => [name, place(name)]),
  );
  return {
    async load() {
      const seen = await get("/overview");
      if (!areas.counts.isConnected) {
        main.replaceChildren();
        add(main, [
          h("h1", { class: "away" }, "Overview"),
          areas.counts,
          h("div", { class: "two" }, h("div", null, areas.attention, areas.line), h("div", null, areas.scheduler, areas.hold, areas.together)),
          h("div", { class: "three" }, areas.slow, areas.busy, areas.acts),
        ]);
      }
      put(areas.counts, [seen.counts, seen.total], counts);
      put(areas.attention, [seen.attention, seen.attention_omitted, seen.total], attention);
      put(areas.scheduler, [seen.scheduler, seen.total], scheduler);
      put(areas.hold, [seen.gates.map(steady), seen.watermark_groups, seen.fuses], holds);
      put(areas.line, [seen.timeline.lanes, seen.timeline.omitted, seen.timeline.slots], lastHour);
      put(areas.slow, seen.slowest, (rows) => ranked("Slowest", rows));
      put(areas.busy, seen.busiest, (rows) => ranked("Busiest", rows));
      put(areas.together, [seen.groups, seen.circles], together);
      put(areas.acts, seen.interventions, acts);
    },
  };
}

// How long a gate has been closed walks by itself.
const steady = ({ gate_duration, ...rest }) => rest;

function counts([found, total]) {
  if (!total) {
    return panel("No stream tables yet",
      h("p", null, "A stream table is a query that is kept: "),
      h("pre", { class: "sql" }, h("code", null, "trickle create order_totals \"SELECT region, SUM(amount) AS total FROM orders GROUP BY region\"")),
      h("p", { class: "muted" }, "It appears here as soon as it is made."));
  }
  return h("ul", { class: "tiles" }, [...STATES].reverse().map((state) =>
    h("li", null, h("a", { class: `tile ${state} ${found[state] ? "" : "none"}`, href: `#/tables?state=${state}`, "data-key": state },
      h("b", null, found[state]), h("span", null, h("i", { "aria-hidden": "true" }), word(state))))));
}

function attention([rows, omitted, total]) {
  if (!total) return null;
  return panel("Needs somebody",
    rows.length ? h("ul", { class: "list" }, rows.map((row) =>
      h("li", null, badge(row.state), h("div", { class: "grow" }, tableLink(row.name), h("p", { class: "because" }, row.because)),
        h("span", { class: "muted when" }, row.since ? time(row.since) : null))))
      : empty("Nothing: every stream table has what its sources have, or will when it is due."),
    omitted ? h("p", null, h("a", { href: "#/tables" }, `and ${omitted} more`)) : null);
}

function scheduler([found]) {
  const running = found.running.length
    ? h("ul", { class: "list tight" }, found.running.map((each) => h("li", null, badge("refreshing"), h("div", { class: "grow" }, each.tables.map((name, i) => [i ? ", " : "", tableLink(name)])), h("span", { class: "muted when" }, time(each.since)))))
    : empty(found.live ? "Nothing is being refreshed." : "");
  return panel("Scheduler",
    found.live
      ? h("p", null, h("span", { class: "badge fresh" }, h("i"), "at work"), " ", h("span", { class: "muted" }, found.holder))
      : h("p", null, h("span", { class: "badge held" }, h("i"), "nobody schedules"), " ", h("span", { class: "muted" }, h("code", null, "trickle run"), " starts one")),
    h("p", { class: "muted" }, "last heard of ", time(found.seen_at)), running);
}

function holds([gates, groups, fuses]) {
  const blown = fuses.filter((each) => each.fuse_state === "blown");
  const quoted = (part, plain) => (plain.test(part) ? part : `\`${part.replaceAll("`", "``")}\``);
  const full = (each) => (each.schema_name === "default" ? "" : `${quoted(each.schema_name, /^[\w.-]+$/)}.`) + quoted(each.source_table, /^[\w-]+$/);
  return [
    panel(["Gates", small(gates.length, "closed")],
      gates.length ? h("ul", { class: "list" }, gates.map((each) => h("li", null,
        h("div", { class: "grow" }, h("b", null, full(each)), h("p", { class: "because" }, "closed ", time(each.gated_at), ` by ${each.gated_by}`, each.stale ? " (stale)" : "", `; holds ${each.affected_stream_tables.length}`)),
        button("ungate", full(each))))) : empty("No source is gated.")),
    panel(["Watermark groups", small(groups.filter((each) => !each.aligned).length, "apart")],
      groups.length ? h("ul", { class: "list" }, groups.map((each) => h("li", null,
        h("span", { class: `badge ${each.aligned ? "fresh" : "held"}` }, h("i"), each.aligned ? "aligned" : "apart"),
        h("div", { class: "grow" }, h("b", null, each.group_name), h("p", { class: "because" }, each.lag_secs === null ? "no watermarks yet" : `${span(each.lag_secs)} apart, ${each.mode}`, each.stuck.length ? `; stuck: ${each.stuck.join(", ")}` : ""))))) : empty("No watermark groups.")),
    panel(["Fuses", small(blown.length, "blown")],
      fuses.length ? h("ul", { class: "list" }, (blown.length ? blown : fuses).slice(0, 8).map((each) => h("li", null,
        h("span", { class: `badge ${each.fuse_state === "blown" ? "failed" : "fresh"}` }, h("i"), each.fuse_state),
        h("div", { class: "grow" }, tableLink(each.stream_table), h("p", { class: "because" }, each.blow_reason ?? (each.effective_ceiling === null ? "" : `up to ${each.effective_ceiling.toLocaleString("en")} changed rows`)))))) : empty("No fuses are on.")),
  ];
}

const small = (count, what) => (count ? h("span", { class: "count" }, `${count} ${what}`) : null);

function lastHour([lanes, omitted, slots]) {
  return panel(["The last hour", legend()], lanes.length ? timeline({ lanes, omitted, slots }) : empty("Nothing was refreshed."));
}

function ranked(title, rows) {
  return panel([title, h("span", { class: "muted plain" }, "in the last hour")],
    rows.length ? h("ol", { class: "ranked" }, rows.map((row) => h("li", null, tableLink(row.name), h("span", { class: "muted" }, `${row.refreshes} ×`), h("b", null, span(row.value / 1000))))) : empty("Nothing was refreshed."));
}

function together([groups, circles]) {
  const members = (names) => h("p", { class: "because" }, names.map((name, i) => [i ? ", " : "", tableLink(name)]));
  return panel("Published together",
    groups.length ? h("ul", { class: "list" }, groups.slice(0, 8).map((each) => {
      const circle = circles.find((one) => one.members.every((name) => each.members.includes(name)));
      const how = each.origin === "circle" ? `↻ circle${circle?.last_iterations ? `, ${circle.last_iterations} rounds` : ""}` : each.origin === "diamond" ? "◆ diamond" : `▣ ${each.group_id}`;
      return h("li", null, h("div", { class: "grow" }, h("b", null, how), members(each.members)), h("span", { class: "muted when" }, `epoch ${each.epoch}`));
    })) : empty("Each stream table by itself."));
}

function acts(rows) {
  return panel("By hand",
    rows.length ? h("ul", { class: "list" }, rows.map((each) => h("li", null,
      h("div", { class: "grow" }, h("b", null, each.action.replace("_", " ")), " ", tableLink(each.subject), h("p", { class: each.status === "FAILED" ? "because failed-text" : "because" }, `${each.by}: ${each.detail ?? each.status.toLowerCase()}`)),
      h("span", { class: "muted when" }, time(each.began_at))))) : empty("Nobody did anything through this page."));
}
