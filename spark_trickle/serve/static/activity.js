// What happened: the last refreshes of all tables, what people did, and the settings that the server has.
import { add, empty, grid, h, number, panel, put, span, tableLink, time } from "./dom.js";
import { get } from "./net.js";

export function historyRows(rows, named = true) {
  return rows.map((row) => {
    const said = row.error ?? row.reason ?? "";
    return h("tr", { class: row.status === "FAILED" ? "bad" : null },
      h("td", null, time(row.started_at)),
      named && h("td", { class: "name" }, tableLink(row.name)),
      h("td", null, row.status === "COMPLETED" ? row.action.toLowerCase().replace("_", " ") : h("span", { class: `badge ${row.status === "FAILED" ? "failed" : "held"}` }, h("i"), row.status.toLowerCase())),
      h("td", { class: "number" }, span(row.duration_ms / 1000)),
      h("td", { class: "number" }, row.rows_inserted ? `+${number(row.rows_inserted)}` : ""),
      h("td", { class: "number" }, row.rows_deleted ? `−${number(row.rows_deleted)}` : ""),
      h("td", null, row.initiated_by.toLowerCase()),
      h("td", { class: "because", title: said }, said));
  });
}

export const HISTORY = ["When", "What", { title: "Took", class: "number" }, { title: "In", class: "number" }, { title: "Out", class: "number" }, "By", "Why"];

export function interventionRows(rows) {
  return rows.map((each) => h("tr", { class: each.status === "FAILED" ? "bad" : null },
    h("td", null, time(each.began_at)), h("td", null, each.by), h("td", null, each.via), h("td", null, each.action.replace("_", " ")),
    h("td", { class: "name" }, tableLink(each.subject)), h("td", null, each.status === "RUNNING" ? "begun" : each.status.toLowerCase()), h("td", { class: "because", title: each.detail }, each.detail ?? "")));
}

export const INTERVENTIONS = ["When", "Who", "Through", "What", "Table", "", "Outcome"];

export function activity(main) {
  const hands = h("div"), refreshes = h("div"), settings = h("div");
  return {
    async load() {
      const [rows, done, set] = await Promise.all([get("/history", { limit: 100 }), get("/interventions", { limit: 50 }), get("/settings")]);
      if (!hands.isConnected) {
        main.replaceChildren();
        add(main, [h("h1", null, "Activity"), hands, refreshes, settings]);
      }
      put(hands, done, () => panel("By hand", done.length ? grid(INTERVENTIONS, interventionRows(done)) : empty("Nobody did anything through this page.")));
      put(refreshes, rows, () => panel("Refreshes", rows.length ? grid([HISTORY[0], "Table", ...HISTORY.slice(1)], historyRows(rows)) : empty("Nothing was refreshed yet.")));
      put(settings, set, () => h("details", { class: "panel", "data-key": "settings" }, h("summary", null, "Settings of this server"),
        grid(["Setting", "Value", "From"], set.map((each) => h("tr", null, h("td", null, h("code", null, each.key)), h("td", { class: "wrap" }, each.value), h("td", { class: "muted" }, each.origin))))));
    },
  };
}
