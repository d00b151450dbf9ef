// The graph: drawn where the server says, followed live, with namespaces folded or one table's surroundings.
import { button } from "./actions.js";
import { add, badge, h, put, s, STATES, tableAddress, tableLink, word } from "./dom.js";
import { get } from "./net.js";

const NEAR = 0.15, FAR = 3;

export function graph(main, { params }) {
  const wanted = { name: params.get("name"), fold: params.get("fold"), open: params.getAll("open") };
  let turn = 0, seen = null, shape = null, chosen = null, at = { x: 0, y: 0, k: 1 };
  const picture = s("svg", { class: "graph-picture", tabindex: "0", role: "group", "aria-label": "Graph of tables; arrow keys move it, plus and minus zoom" });
  const scene = s("g");
  picture.append(
    s("defs", null, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: "8", refY: "4", markerWidth: "8", markerHeight: "8", markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z", class: "arrow" }))),
    scene,
  );
  const tools = h("div", { class: "tools-rest" }), side = h("aside", { class: "side", "aria-live": "polite" });
  const names = h("datalist", { id: "graph-names" });
  const find = h("input", { type: "search", list: "graph-names", placeholder: "Find in the graph", "aria-label": "Find in the graph", spellcheck: "false", oninput: mark, onchange: goTo });

  function go(change) {
    Object.assign(wanted, change);
    shape = null;
    const query = new URLSearchParams();
    if (wanted.name) query.set("name", wanted.name);
    if (wanted.fold) query.set("fold", wanted.fold);
    for (const each of wanted.open) query.append("open", each);
    history.replaceState(null, "", `#/graph${query.size ? `?${query}` : ""}`);
    load();
  }

  async function load() {
    const query = [];
    if (wanted.name) query.push(["name", wanted.name]);
    if (wanted.fold) query.push(["fold", wanted.fold]);
    for (const each of wanted.open) query.push(["open", each]);
    const mine = ++turn;
    const answer = await get("/graph", query);
    // What was asked for later counts, whichever answer comes first.
    if (mine !== turn) return;
    seen = answer;
    if (!picture.isConnected) {
      main.replaceChildren();
      add(main, [h("h1", { class: "away" }, "Graph"), h("div", { class: "tools" }, find, tools), names, h("div", { class: "graph-frame" }, picture, side)]);
    }
    put(tools, [seen.tables, seen.namespaces, seen.focus, seen.nodes.length, counted()], drawTools);
    const now = JSON.stringify([seen.nodes.map((each) => [each.id, each.kind, each.x, each.y, each.group]), seen.lines, seen.hulls]);
    if (now !== shape) {
      const first = shape === null;
      shape = now;
      draw();
      if (first) fit();
    } else {
      recolour();
    }
    if (chosen !== null) choose(seen.nodes.find((each) => each.id === chosen) ?? null);
    mark();
  }

  function counted() {
    const count = Object.fromEntries(STATES.map((state) => [state, 0]));
    for (const node of seen.nodes) if (node.state) count[node.state] += 1;
    return count;
  }

  function drawTools([tables, namespaces, focus, boxes, count]) {
    const folded = namespaces.some((each) => !each.open);
    names.replaceChildren(...seen.nodes.slice(0, 2000).map((each) => h("option", { value: each.id })));
    return [
      h("span", { class: "muted" }, boxes === tables ? `${tables} tables` : `${boxes} of ${tables} tables`),
      focus ? h("button", { type: "button", "data-key": "whole", onclick: () => go({ name: null }) }, `Around ${focus}  ✕`) : null,
      namespaces.length > 1 ? h("button", { type: "button", "data-key": "fold", "aria-pressed": String(folded), onclick: () => go({ fold: folded ? "false" : "true", open: [] }) }, folded ? "Unfold all namespaces" : "Fold namespaces") : null,
      namespaces.length > 1 && namespaces.some((each) => each.open) && folded
        ? namespaces.filter((each) => each.open).slice(0, 6).map((each) => h("button", { type: "button", "data-key": `fold ${each.name}`, onclick: () => go({ open: wanted.open.filter((one) => one !== each.name), fold: "true" }) }, `Fold ${each.name}`)) : null,
      h("span", { class: "spread" },
        h("button", { type: "button", "aria-label": "Zoom out", "data-key": "out", onclick: () => zoom(1 / 1.3) }, "−"),
        h("button", { type: "button", "aria-label": "Zoom in", "data-key": "in", onclick: () => zoom(1.3) }, "+"),
        h("button", { type: "button", "data-key": "fit", onclick: fit }, "Fit")),
      h("p", { class: "legend" }, [...STATES].reverse().map((state) => h("span", { class: count[state] ? "" : "none" }, h("i", { class: `dot ${state}` }), word(state))), h("span", null, h("i", { class: "dot source" }), "source"), h("span", null, "◆ diamond  ↻ circle  ▣ group")),
    ];
  }

  function draw() {
    const wide = seen.node_width, tall = seen.node_height;
    scene.replaceChildren();
    for (const hull of seen.hulls) add(scene, s("rect", { class: `hull ${hull.origin}`, x: hull.x, y: hull.y, width: hull.width, height: hull.height, rx: 14 }, s("title", null, `${hull.origin}: published together`)));
    const lines = s("g", { class: "lines" });
    for (const line of seen.lines) {
      const a = seen.nodes[line.source], b = seen.nodes[line.target];
      add(lines, s("path", { class: line.together ? "line together" : "line", d: path(a, b, wide, tall), "marker-end": "url(#arrow)", "data-a": line.source, "data-b": line.target }));
    }
    add(scene, lines);
    seen.nodes.forEach((node, i) => add(scene, box(node, i, wide, tall)));
    recolour();
  }

  function path(a, b, wide, tall) {
    const x1 = a.x + wide, y1 = a.y + tall / 2, x2 = b.x, y2 = b.y + tall / 2;
    if (a === b) return `M${x1} ${y1 - 6}c30 -24 30 36 0 12`;
    if (x2 > a.x) {
      const bend = Math.max(30, (x2 - x1) / 2);
      return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
    }
    // Back, or within a column: round the right side.
    return `M${x1} ${y1}C${x1 + 46} ${y1} ${b.x + wide + 46} ${y2} ${b.x + wide} ${y2}`;
  }

  function box(node, i, wide, tall) {
    const signs = (node.convergence ? "◆" : "") + (node.circle ? "↻" : "") + (node.group && !node.circle && !node.convergence ? "▣" : "") + (node.gated ? "⊘" : "");
    const room = node.namespace === "default" || node.kind === "NAMESPACE" ? null : node.namespace;
    const label = node.kind === "NAMESPACE" ? `▸ ${node.label} (${node.tables})` : node.label;
    return s("g", {
      class: "node", transform: `translate(${node.x} ${node.y})`, tabindex: "0", role: "button", "data-i": i, "data-id": node.id,
      "aria-label": `${node.id}, ${node.state ? word(node.state) : "source"}`,
      onclick: () => choose(node), ondblclick: () => open(node),
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); if (chosen === node.id) open(node); else choose(node); } },
      onpointerenter: () => light(i), onpointerleave: () => light(null), onfocus: () => light(i), onblur: () => light(null),
    },
      s("title", null, `${node.id}\n${node.because}`),
      s("rect", { width: wide, height: tall, rx: node.kind === "STREAM_TABLE" ? 7 : node.kind === "NAMESPACE" ? 3 : 17 }),
      s("rect", { class: "edge", width: 5, height: tall - 12, x: 6, y: 6, rx: 2.5 }),
      s("text", { x: 18, y: room ? 15 : tall / 2 + 4, }, fitted(label, wide - (signs ? 30 + 12 * signs.length : 30))),
      room && s("text", { class: "room", x: 18, y: 27 }, fitted(room, wide - 30, 10)),
      signs && s("text", { class: "signs", x: wide - 8, y: tall / 2 + 4, "text-anchor": "end" }, signs));
  }

  const ruler = document.createElement("canvas").getContext("2d");

  function fitted(text, room, size = 12) {
    ruler.font = `600 ${size}px ${getComputedStyle(document.body).fontFamily}`;
    if (ruler.measureText(text).width <= room) return text;
    let most = text.length;
    while (most > 1 && ruler.measureText(`${text.slice(0, most)}…`).width > room) most -= Math.max(1, Math.floor((most - 20) / 4));
    return `${text.slice(0, most)}…`;
  }

  function recolour() {
    scene.querySelectorAll(".node").forEach((each) => {
      const node = seen.nodes[Number(each.dataset.i)];
      each.setAttribute("class", `node ${node.kind.toLowerCase()} ${node.state ?? "source"} ${node.id === chosen ? "chosen" : ""}`);
      each.setAttribute("aria-label", `${node.id}, ${node.state ? word(node.state) : "source"}`);
      each.firstChild.textContent = `${node.id}\n${node.because}`;
    });
  }

  function light(i) {
    for (const each of scene.querySelectorAll(".line")) each.classList.toggle("lit", i !== null && (Number(each.dataset.a) === i || Number(each.dataset.b) === i));
  }

  function choose(node) {
    chosen = node?.id ?? null;
    side.hidden = node === null;
    recolour();
    if (node) put(side, [node.id, node.kind, node.state, node.because, node.held_by, node.gated], () => about(node));
  }

  function about(node) {
    const ours = node.kind === "STREAM_TABLE";
    return [
      h("div", { class: "job-head" }, h("h2", null, node.id), h("button", { class: "quiet", type: "button", "aria-label": "Close", onclick: () => choose(null) }, "✕")),
      node.state ? h("p", null, badge(node.state)) : h("p", { class: "muted" }, node.kind.toLowerCase()),
      node.because ? h("p", { class: "because" }, node.because) : null,
      node.held_by.length ? h("p", null, "held by ", node.held_by.map((name, i) => [i ? ", " : "", seen.nodes.some((each) => each.id === name && each.kind === "STREAM_TABLE") ? tableLink(name) : h("b", null, name)])) : null,
      h("div", { class: "buttons" },
        ours ? h("a", { class: "button primary", href: tableAddress(node.id) }, "Open") : null,
        node.kind === "NAMESPACE" ? h("button", { type: "button", class: "primary", onclick: () => open(node) }, "Unfold") : h("button", { type: "button", onclick: () => go({ name: node.id, fold: null, open: [] }) }, "Only what is around it"),
        ours ? button("refresh", node.id) : null,
        node.kind === "NAMESPACE" ? null : node.gated ? button("ungate", node.id) : button("gate", node.id)),
    ];
  }

  function open(node) {
    if (node.kind === "NAMESPACE") go({ fold: "true", open: [...wanted.open, node.id] });
    else if (node.kind === "STREAM_TABLE") location.hash = tableAddress(node.id);
    else go({ name: node.id, fold: null, open: [] });
  }

  function mark() {
    const needle = find.value.trim().toLowerCase();
    find.setCustomValidity("");
    scene.classList.toggle("finding", Boolean(needle));
    for (const each of scene.querySelectorAll(".node")) each.classList.toggle("found", Boolean(needle) && each.dataset.id.toLowerCase().includes(needle));
  }

  function goTo() {
    const needle = find.value.trim().toLowerCase();
    const node = seen.nodes.find((each) => each.id.toLowerCase() === needle) ?? (needle && seen.nodes.find((each) => each.id.toLowerCase().includes(needle)));
    if (!node) {
      if (needle) hidden(find.value.trim());
      return;
    }
    const frame = picture.getBoundingClientRect();
    at.k = Math.max(at.k, 0.9);
    at.x = frame.width / 2 - (node.x + seen.node_width / 2) * at.k;
    at.y = frame.height / 2 - (node.y + seen.node_height / 2) * at.k;
    move();
    choose(node);
  }

  // What is folded away is found all the same: it is shown with what is around it.
  async function hidden(name) {
    const all = await get("/tables");
    const found = all.find((each) => each.name.toLowerCase() === name.toLowerCase()) ?? all.find((each) => each.name.toLowerCase().includes(name.toLowerCase()));
    find.setCustomValidity(found ? "" : "No table is called so.");
    find.reportValidity();
    if (!found) return;
    chosen = found.name;
    find.value = "";
    go({ name: found.name, fold: null, open: [] });
  }

  const move = () => scene.setAttribute("transform", `translate(${at.x} ${at.y}) scale(${at.k})`);

  function fit() {
    const frame = picture.getBoundingClientRect();
    const k = Math.min((frame.width - 60) / Math.max(1, seen.width), (frame.height - 60) / Math.max(1, seen.height), 1.15);
    // So small that nothing can be read helps nobody: then the top left is shown.
    at.k = Math.max(k, 0.3);
    at.x = k < 0.3 ? 30 : (frame.width - seen.width * at.k) / 2;
    at.y = k < 0.3 ? 30 : (frame.height - seen.height * at.k) / 2;
    move();
  }

  function zoom(by, x, y) {
    const frame = picture.getBoundingClientRect();
    const [cx, cy] = [x ?? frame.width / 2, y ?? frame.height / 2];
    const k = Math.min(FAR, Math.max(NEAR, at.k * by));
    at = { k, x: cx - ((cx - at.x) * k) / at.k, y: cy - ((cy - at.y) * k) / at.k };
    move();
  }

  picture.addEventListener("wheel", (event) => {
    event.preventDefault();
    const frame = picture.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 500), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  let held = null;
  picture.addEventListener("pointerdown", (event) => { if (!event.target.closest(".node")) { held = { x: event.clientX - at.x, y: event.clientY - at.y }; picture.setPointerCapture(event.pointerId); } });
  picture.addEventListener("pointermove", (event) => { if (held) { at.x = event.clientX - held.x; at.y = event.clientY - held.y; move(); } });
  picture.addEventListener("pointerup", () => { held = null; });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) { event.preventDefault(); at.x += step[0]; at.y += step[1]; move(); }
    if (event.key === "+" || event.key === "=") zoom(1.3);
    if (event.key === "-") zoom(1 / 1.3);
    if (event.key === "Escape") choose(null);
  });
  side.hidden = true;

  return { load };
}
