// Making elements. Every text becomes a text node: no name, query or error is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.setAttribute("class", value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// A place that is filled again only when what it shows has changed: focus, selections and open details stay.
const shown = new WeakMap();

export function put(place, data, render) {
  const text = JSON.stringify(data);
  if (shown.get(place) === text) return false;
  shown.set(place, text);
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset?.key : null;
  const open = new Set([...place.querySelectorAll("details[open]")].map((each) => each.dataset.key));
  place.replaceChildren();
  add(place, [render(data)]);
  for (const each of place.querySelectorAll("details")) if (open.has(each.dataset.key)) each.open = true;
  if (focused) [...place.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
  return true;
}

export const STATES = ["failed", "late", "held", "empty", "refreshing", "due", "fresh"];
const WORDS = { empty: "not loaded" };

export function word(state) {
  return WORDS[state] ?? state;
}

export function badge(state) {
  return h("span", { class: `badge ${state}` }, h("i", { "aria-hidden": "true" }), word(state));
}

export function tableLink(name, props) {
  return h("a", { href: tableAddress(name), title: name, ...props }, name);
}

export function tableAddress(name) {
  return `#/table/${encodeURIComponent(name)}`;
}

export function panel(title, ...children) {
  return h("section", { class: "panel" }, title && h("h2", null, title), ...children);
}

export function empty(text) {
  return h("p", { class: "muted" }, text);
}

export function grid(heads, rows, props) {
  const head = h("tr", null, heads.map((each) => h("th", { scope: "col", class: each.class }, each.title ?? each)));
  return h("div", { class: "scroll" }, h("table", props, h("thead", null, head), h("tbody", null, rows)));
}

// Times are shown as how long ago, and keep walking.

export function ago(at, now = Date.now()) {
  if (!at) return "never";
  const seconds = (now - Date.parse(at)) / 1000;
  return seconds < -1 ? `in ${span(-seconds)}` : seconds < 1 ? "now" : `${span(seconds)} ago`;
}

export function span(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) {
      const whole = seconds / size;
      return `${whole >= 10 ? Math.round(whole) : Math.round(whole * 10) / 10} ${unit}`;
    }
  }
  return `${seconds >= 10 ? Math.round(seconds) : Math.round(seconds * 10) / 10} s`;
}

export function time(at, plain = false) {
  if (!at) return h("span", { class: "muted" }, "never");
  const moment = `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
  return h("time", { datetime: at, title: moment, "data-walks": !plain }, plain ? moment : ago(at));
}

export function walk() {
  for (const each of document.querySelectorAll("time[data-walks]")) {
    const text = ago(each.getAttribute("datetime"));
    if (each.textContent !== text) each.textContent = text;
  }
}

export function number(value) {
  return value === null || value === undefined ? "" : value.toLocaleString("en");
}
