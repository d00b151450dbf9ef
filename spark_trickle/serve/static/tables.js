// All stream tables in a list: by state, by text, in any order.
import { add, badge, empty, h, put, STATES, tableLink, time, word } from "./dom.js";
import { get } from "./net.js";

const AT_ONCE = 200;
const COLUMNS = [
  ["state", "State", (row) => STATES.indexOf(row.state)],
  ["name", "Name", (row) => row.name.toLowerCase()],
  ["because", "Because", (row) => row.because],
  ["mode", "Mode", (row) => row.mode],
  ["schedule", "Schedule", (row) => row.schedule],
  ["last_refresh_at", "Refreshed", (row) => row.last_refresh_at ?? ""],
];

export function tables(main, { params }) {
  let rows = [];
  const wanted = { state: params.get("state") ?? "", text: params.get("text") ?? "", by: "state", down: false, most: AT_ONCE };
  const list = h("div", { class: "panel flush" });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "States" });
  const text = h("input", {
    type: "search", placeholder: "Filter by name or reason", "aria-label": "Filter", value: wanted.text,
    oninput: () => { wanted.text = text.value; draw(); },
  });

  function draw() {
    const needle = wanted.text.trim().toLowerCase();
    const matching = rows.filter((row) => !needle || row.name.toLowerCase().includes(needle) || row.because.toLowerCase().includes(needle));
    const counted = Object.fromEntries(STATES.map((state) => [state, matching.filter((row) => row.state === state).length]));
    put(chips, [counted, wanted.state, matching.length], () => ["", ...[...STATES].reverse()].map((state) =>
      h("button", { type: "button", "data-key": `chip ${state}`, class: `chip ${state}`, "aria-pressed": String(wanted.state === state), onclick: () => { wanted.state = state; draw(); } },
        state ? [h("i", { "aria-hidden": "true" }), word(state)] : "all", h("b", null, state ? counted[state] : matching.length))));
    const key = COLUMNS.find(([name]) => name === wanted.by)[2];
    const shown = matching.filter((row) => !wanted.state || row.state === wanted.state)
      .sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.name < b.name ? -1 : 1) * (wanted.down ? -1 : 1));
    put(list, [shown.slice(0, wanted.most), shown.length, wanted.by, wanted.down], drawn);
  }

  function drawn([some, all]) {
    if (!all) return empty(rows.length ? "None is like that." : "No stream tables yet.");
    const head = h("tr", null, COLUMNS.map(([name, title]) => h("th", { scope: "col", "aria-sort": wanted.by === name ? (wanted.down ? "descending" : "ascending") : null },
      h("button", { type: "button", class: "sort", "data-key": `sort ${name}`, onclick: () => { wanted.down = wanted.by === name && !wanted.down; wanted.by = name; draw(); } },
        title, wanted.by === name ? (wanted.down ? " ↓" : " ↑") : ""))));
    const body = some.map((row) => h("tr", null,
      h("td", null, badge(row.state)),
      h("td", { class: "name" }, tableLink(row.name, { "data-key": row.name }), row.group ? h("span", { class: "muted", title: `published together: ${row.group}` }, " ▣") : null, row.diverged ? h("span", { class: "tag warn" }, "diverged") : null),
      h("td", { class: "because", title: row.because }, row.because),
      h("td", null, row.mode === row.wanted_mode ? row.mode : [row.mode, h("span", { class: "muted" }, ` (${row.wanted_mode})`)]),
      h("td", null, row.schedule),
      h("td", null, time(row.last_refresh_at))));
    return [
      h("div", { class: "scroll" }, h("table", { class: "tables" }, h("thead", null, head), h("tbody", null, body))),
      all > some.length ? h("p", { class: "more" }, h("button", { type: "button", onclick: () => { wanted.most += 500; draw(); } }, `Show more (${all - some.length} left)`)) : null,
    ];
  }

  return {
    async load() {
      rows = await get("/tables");
      if (!list.isConnected) {
        main.replaceChildren();
        add(main, [h("div", { class: "head" }, h("h1", null, "Stream tables"), text), chips, list]);
      }
      draw();
    },
  };
}
