// The page of one stream table.
import { button, onJob, readOnly } from "./actions.js";
import { HISTORY, historyRows, INTERVENTIONS, interventionRows } from "./activity.js";
import { durations, lag, legend } from "./charts.js";
import { add, badge, empty, grid, h, number, panel, put, tableAddress, tableLink, time } from "./dom.js";
import { get } from "./net.js";
import { sql } from "./sql.js";

export function table(main, { subject }) {
  const names = ["head", "why", "query", "frontier", "columns", "rows", "facts", "fresh", "near", "history", "hands"];
  const areas = Object.fromEntries(names.map((name) => [name, h("div", { class: `at-${name}` })]));
  let fetched = null;

  const unwatch = onJob((job) => {
    if (job.subject !== subject) return;
    if (job.action === "rows" || job.action === "verify") {
      fetched = job;
      drawRows();
    }
  });

  function drawRows() {
    put(areas.rows, fetched, () => panel(["Rows", h("span", { class: "spread" }, button("rows", subject), button("verify", subject))],
      readOnly ? empty("This server is read-only: rows are not read.") : null,
      fetched ? outcome(fetched) : readOnly ? null : empty("On request: reading them needs Spark.")));
  }

  return {
    close: unwatch,
    async load() {
      const page = await get("/table", { name: subject });
      if (!areas.head.isConnected) {
        main.replaceChildren();
        add(main, [
          areas.head, areas.why,
          h("div", { class: "two" },
            h("div", null, areas.query, areas.frontier, areas.columns, areas.rows),
            h("div", null, areas.fresh, areas.facts, areas.near)),
          areas.history, areas.hands,
        ]);
        drawRows();
      }
      put(areas.head, [page.row, page.status.status, page.rows], head);
      put(areas.why, [page.refreshing, page.reasons, page.waits], why);
      put(areas.query, [page.query, page.explanation, page.mode_reason], query);
      put(areas.frontier, page.frontier, frontier);
      put(areas.columns, page.columns, columns);
      put(areas.facts, [page.options, page.status, page.row, page.created_at, page.meaning, page.mode_reason].map(steady), facts);
      put(areas.fresh, [page.freshness, page.history, { ...page.sla, counted_since: undefined }], () => panel(null, keeping(page.sla), lag(page.freshness), durations(page.history), legend(["differential", "full", "nothing", "failed"])));
      put(areas.near, [page.group, page.readers, page.explanation.circle, page.explanation.watermark_groups], near);
      put(areas.history, page.history, () => panel("History", page.history.length ? grid(HISTORY, historyRows(page.history, false)) : empty("It was never refreshed.")));
      put(areas.hands, page.interventions, () => (page.interventions.length ? panel("By hand", grid(INTERVENTIONS, interventionRows(page.interventions))) : null));
    },
  };
}

const steady = (value) => (value && typeof value === "object" ? { ...value, staleness_seconds: undefined } : value);

function keeping(sla) {
  if (!sla.promised) return null;
  const unknown = sla.week_unknown ? h("span", { class: "muted" }, ` Of ${number(sla.week_unknown)} refreshes nobody knows when their changes were made.`) : null;
  if (sla.week_percent === null) return unknown && h("p", { class: "kept" }, unknown);
  const said = (percent, kept, missed) => (percent === null ? "no change to take in" : [h("b", null, `${percent}%`), ` (${number(kept)} of ${number(kept + missed)})`]);
  return h("p", { class: "kept", title: "Of the changes that it took in, how many were published when its schedule promised it" },
    "Schedule kept in 24 hours: ", said(sla.day_percent, sla.day_kept, sla.day_missed),
    "; in 7 days: ", said(sla.week_percent, sla.week_kept, sla.week_missed), ".", unknown);
}

function head([row, status, rows]) {
  const stopped = status === "SUSPENDED" || status === "ERROR";
  return h("div", { class: "head" },
    h("div", { class: "grow" },
      h("h1", null, row.name, " "), h("p", { class: "under" }, badge(row.state), h("span", { class: "muted" },
        ` ${row.mode.toLowerCase()} · ${row.schedule} · refreshed `, time(row.last_refresh_at), rows === null ? "" : ` · ${number(rows)} rows`, row.diverged ? " · diverged from its query" : ""))),
    h("div", { class: "buttons" },
      h("a", { class: "button", href: `#/graph?name=${encodeURIComponent(row.name)}` }, "In the graph"),
      stopped ? button("resume", row.name, null, { class: "primary" }) : button("refresh", row.name, null, { class: "primary" }),
      stopped ? button("refresh", row.name) : button("suspend", row.name),
      button("verify", row.name), button("gate", row.name)));
}

function why([, reasons, waits]) {
  const line = (each, kind) => h("li", { class: kind },
    h("p", null, each.text), h("p", { class: "muted" }, "to do: ", each.next_step),
    h("div", { class: "buttons" }, each.offers.map((offer) => button(offer.action, offer.subject, offer.how))));
  if (!reasons.length && !waits.length) return panel("Why", h("p", null, "Nothing stands in its way: the next tick of the scheduler refreshes it."));
  return panel(reasons.length ? "Why it is not refreshing" : "What it waits for", h("ul", { class: "why" }, reasons.map((each) => line(each, "reason")), waits.map((each) => line(each, "wait"))));
}

function query([text, explanation]) {
  const folded = (title, content, key) => (content ? h("details", { "data-key": key }, h("summary", null, title), content) : null);
  return panel("Query", sql(text),
    explanation.notices.map((each) => h("p", { class: "notice" }, each)),
    explanation.suggestion ? h("p", { class: "notice" }, explanation.suggestion) : null,
    folded("How it is kept: operators", explanation.tree.trim() && h("pre", { class: "sql", tabindex: "0" }, h("code", null, explanation.tree)), "tree"),
    folded("What a refresh runs", explanation.delta_sql.trim() && sql(explanation.delta_sql), "delta"),
    explanation.internal_tables.length ? folded("State tables", h("p", { class: "wrap" }, explanation.internal_tables.join(", ")), "state") : null);
}

function frontier(rows) {
  const behind = (each) => {
    if (!each.exists) return h("span", { class: "failed-text" }, "it does not exist");
    if (each.versions_behind === 0 || each.snapshots_behind === 0) return "has all";
    if (each.snapshots_behind) return `${each.snapshots_behind} snapshot${each.snapshots_behind > 1 ? "s" : ""} behind`;
    return each.versions_behind ? "behind" : "behind, by an unknown number";
  };
  return panel("Frontier", rows.length ? grid(["Reads", "Snapshot", "Made", ""], rows.map((each) => h("tr", null,
    h("td", { class: "name" }, each.state ? [tableLink(each.source), " ", badge(each.state)] : [each.source, h("span", { class: "muted" }, ` ${each.kind.toLowerCase()}`)]),
    h("td", null, each.snapshot_id === null ? h("span", { class: "muted" }, "none") : h("code", null, each.snapshot_id)),
    h("td", null, each.snapshot_at ? time(each.snapshot_at) : h("span", { class: "muted" }, "not known")),
    h("td", null, behind(each))))) : empty("It reads no table."));
}

function columns(rows) {
  return panel("Columns", rows.length ? grid(["Name", "Type"], rows.map((each) => h("tr", null, h("td", null, each.name), h("td", null, h("code", null, each.type))))) : empty("Shown where the warehouse is a folder of the server; the rows below have them, too."));
}

function facts([options, status, row, created, meaning, reason]) {
  const shown = Object.entries({
    mode: row.mode === row.wanted_mode ? row.mode : `${row.mode} (wanted: ${row.wanted_mode})`,
    "why not differential": reason, schedule: options.schedule, strict: options.strict ? "yes: an error instead of a recompute" : null,
    "diamond consistency": `${options.diamond_consistency}, ${options.diamond_schedule_policy}`, "bootstrap gating": options.bootstrap_gating,
    fuse: options.fuse === "off" ? "off" : `${options.fuse}, ${status.fuse}${options.fuse_ceiling ? `, ceiling ${number(options.fuse_ceiling)}` : ""}`,
    diverged: status.diverged, epoch: status.epoch, errors: status.consecutive_errors || null,
  }).filter(([, value]) => value !== null && value !== undefined);
  return panel("Facts", h("dl", null, shown.map(([key, value]) => [h("dt", null, key), h("dd", null, value)]),
    h("dt", null, "created"), h("dd", null, time(typeof created === "string" ? created : null, true)), typeof meaning === "string" && meaning ? [h("dt", null, "meaning"), h("dd", null, meaning)] : null));
}

function near([group, readers, circle, watermarks]) {
  const links = (names) => names.map((name, i) => [i ? ", " : "", tableLink(name)]);
  return panel("Around it",
    group ? h("p", null, h("b", null, group.origin === "circle" ? "↻ circle " : group.origin === "diamond" ? "◆ diamond " : `▣ group ${group.group_id} `), "published together, epoch ", group.epoch, ": ", links(group.members)) : h("p", { class: "muted" }, "Published by itself."),
    circle.length ? h("p", null, "way round: ", circle.join(" → ")) : null,
    watermarks.length ? h("p", null, `watermark groups: ${watermarks.join(", ")}`) : null,
    h("p", null, h("b", null, "read by "), readers.length ? h("span", null, readers.map((each) => h("span", { class: "reader" }, h("a", { href: tableAddress(each.name) }, each.name), " ", badge(each.state)))) : "nobody"));
}

function outcome(job) {
  if (job.state === "failed") return h("p", { class: "failed-text" }, job.outcome);
  if (job.state !== "done") return h("p", null, h("progress"), " ", job.state === "starting_spark" ? "starting Spark …" : job.state);
  if (job.action === "verify") {
    return h("div", null, h("p", { class: job.result.ok ? "well" : "failed-text" }, job.result.ok ? "✓ " : "✕ ", job.outcome),
      job.result.sample.length ? h("pre", { class: "sql" }, h("code", null, job.result.sample.join("\n"))) : null);
  }
  const { columns: heads, types, rows, truncated } = job.result;
  return h("div", null, grid(heads.map((name, i) => ({ title: `${name} ${types[i]}` })), rows.map((row) => h("tr", null, row.map((cell) => h("td", { class: "wrap" }, cell === null ? h("span", { class: "muted" }, "null") : cell))))),
    truncated ? h("p", { class: "muted" }, `the first ${rows.length} rows`) : null);
}

