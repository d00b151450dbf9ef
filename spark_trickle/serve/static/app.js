// The frame around the views: which one is shown, when it is asked for again, finding tables, light and dark.
import { activity } from "./activity.js";
import { follow, readOnly } from "./actions.js";
import { h, tableAddress, walk } from "./dom.js";
import { graph } from "./graph.js";
import { get, Refused } from "./net.js";
import { overview } from "./overview.js";
import { table } from "./table.js";
import { tables } from "./tables.js";

const VIEWS = { overview, graph, tables, table, activity };
const LOOK = 1000;
const AT_LEAST = 5000;
const main = document.getElementById("main");
const link = document.getElementById("link");

let view = null;
let stamp = null;
let asked = 0;
let asking = null;

function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const params = new URLSearchParams(query ?? "");
  if (name === "table" && rest.length) return { name: "table", subject: decodeURIComponent(rest.join("/")), params };
  return { name: name in VIEWS && name !== "table" ? name : "overview", subject: null, params };
}

async function go() {
  const here = place();
  for (const each of document.querySelectorAll("nav a")) {
    if (each.dataset.view === here.name) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  view?.close?.();
  main.className = here.name;
  main.replaceChildren(h("p", { class: "muted loading" }, "Loading …"));
  document.title = `${here.subject ?? here.name} · spark-trickle`;
  view = VIEWS[here.name](main, here);
  await refresh();
  window.scrollTo(0, 0);
}

async function refresh() {
  const current = view;
  asked = Date.now();
  asking = (async () => {
    try {
      await current.load();
      connected(true);
    } catch (error) {
      if (current !== view) return;
      if (error instanceof Refused && error.status === 404) {
        main.replaceChildren(h("section", { class: "panel" }, h("h1", null, "Not found"), h("p", null, error.message), h("p", null, h("a", { href: "#/tables" }, "All tables"))));
      } else if (error instanceof Refused) {
        link.textContent = error.message;
      } else {
        connected(false);
        if (!(error instanceof TypeError)) throw error;
      }
    }
  })();
  await asking;
}

function connected(well) {
  link.textContent = well ? "" : "not connected: the server does not answer";
  link.classList.toggle("lost", !well);
}

// One small question a second; everything else is asked when its answer has moved.
async function look() {
  if (document.visibilityState === "visible") {
    try {
      const pulse = await get("/pulse");
      connected(true);
      const moved = stamp !== null && pulse.stamp !== stamp;
      stamp = pulse.stamp;
      await follow(pulse.jobs);
      if (moved || pulse.jobs.length || Date.now() - asked > AT_LEAST) await refresh();
    } catch (error) {
      if (!(error instanceof Refused)) connected(false);
    }
    walk();
  }
  setTimeout(look, LOOK);
}

function findTables() {
  const form = document.getElementById("find");
  const text = document.getElementById("find-text");
  const names = document.getElementById("find-names");
  let known = [];
  text.addEventListener("focus", async () => {
    known = (await get("/tables")).map((each) => each.name);
    names.replaceChildren(...known.map((name) => h("option", { value: name })));
  });
  const open = () => {
    const wanted = text.value.trim().toLowerCase();
    if (!wanted) return;
    const found = known.find((name) => name.toLowerCase() === wanted);
    location.hash = found ? tableAddress(found) : `#/tables?text=${encodeURIComponent(text.value.trim())}`;
    text.value = "";
    text.blur();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    open();
  });
  text.addEventListener("input", (event) => {
    // Choosing from the list is an answer, not a letter.
    if (event.inputType !== "insertText" && event.inputType !== "deleteContentBackward" && known.includes(text.value)) open();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, dialog");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      text.focus();
    }
  });
}

function lightAndDark() {
  const root = document.documentElement;
  const kept = localStorage.getItem("theme");
  if (kept) root.dataset.theme = kept;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
  });
}

lightAndDark();
findTables();
document.getElementById("readonly").hidden = !readOnly;
window.addEventListener("hashchange", go);
go();
look();
