// What can be done: asked first, then done by the server; what is under way is shown until it is over.
import { add, h } from "./dom.js";
import { get, post } from "./net.js";

export const readOnly = document.documentElement.dataset.mode === "read-only";

const ASKS = {
  refresh: ["Refresh", "Its sources are read as they are now, and what follows from their changes is published. Spark is started if it does not run yet.", ["", "DIFFERENTIAL", "FULL"]],
  suspend: ["Suspend", "It is not refreshed any more, except by hand, until it is resumed."],
  resume: ["Resume", "It is refreshed again when it is due; errors that were counted are forgotten."],
  gate: ["Gate", "Every stream table that depends on this table, near or far, is held until it is ungated: for the time of a load."],
  ungate: ["Ungate", "The table is said to be loaded: what waited only for it is refreshed by the next tick."],
  reset_fuse: ["Reset the fuse", "Going on after a change that was too large.", ["apply", "reinitialize", "skip_changes"]],
  verify: ["Verify", "Its rows are compared with its query at its frontier, as multisets. It may take as long as the query itself."],
  rows: ["Show rows", "Some rows are read. Spark is started if it does not run yet."],
};
const HOW = {
  "": "as it is kept", DIFFERENTIAL: "only what has changed", FULL: "everything again",
  apply: "apply: take the change in", reinitialize: "reinitialize: compute everything again",
  skip_changes: "skip_changes: leave the change out; it will not equal its query",
};

export function button(action, subject, how, props) {
  if (readOnly) return null;
  const label = ASKS[action][0] + (how && action === "reset_fuse" ? `: ${how.replace("_", " ")}` : how === "FULL" ? " (everything again)" : "");
  const dangerous = how === "skip_changes" ? "danger" : "";
  return h("button", { type: "button", class: dangerous, "data-key": `${action} ${subject} ${how ?? ""}`, onclick: () => ask(action, subject, how), ...props }, label);
}

export function ask(action, subject, how) {
  const [title, what, ways] = ASKS[action];
  const dialog = document.getElementById("ask");
  const choice = ways && h("select", { id: "ask-how" }, ways.map((way) => h("option", { value: way, selected: way === (how ?? "") }, HOW[way])));
  const form = h("form", { method: "dialog" },
    h("h2", null, `${title}?`),
    h("p", { class: "subject" }, subject),
    h("p", { class: "muted" }, what),
    choice && h("label", null, "How ", choice),
    h("p", { class: "buttons" },
      h("button", { type: "submit", value: "" }, "Cancel"),
      h("button", { type: "submit", value: "yes", class: "primary", id: "ask-yes" }, title)));
  dialog.replaceChildren(form);
  dialog.onclose = async () => {
    if (dialog.returnValue !== "yes") return;
    const asked = { action, subject };
    const chosen = choice ? choice.value : how;
    if (chosen) asked.how = chosen;
    await begin(asked);
  };
  dialog.returnValue = "";
  dialog.showModal();
  form.querySelector("#ask-yes").focus();
}

const known = new Map();
const watchers = new Set();

export function onJob(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

async function begin(asked) {
  try {
    told(await post("/actions", asked));
  } catch (error) {
    told({ id: `refused ${Date.now()}`, ...asked, state: "failed", outcome: error.message, progress: [] });
  }
}

// Jobs of others are shown while they run; what was begun here is followed to its end.
export async function follow(running) {
  for (const job of running) told(job, false);
  for (const [id, { job }] of known) {
    if (over(job) || typeof id !== "number") continue;
    if (!running.some((each) => each.id === id)) {
      try {
        told(await get(`/actions/${id}`));
      } catch {
        known.delete(id);
      }
    }
  }
}

const over = (job) => job.state === "done" || job.state === "failed";

function told(job, always = true) {
  const before = known.get(job.id);
  if (!before && over(job) && !always) return;
  known.set(job.id, { job, dismissed: false });
  if (JSON.stringify(before?.job) !== JSON.stringify(job)) {
    draw();
    for (const watcher of watchers) watcher(job);
    if (job.state === "done") setTimeout(() => dismiss(job.id), 12000);
  }
}

function dismiss(id) {
  const found = known.get(id);
  if (found) found.dismissed = true;
  draw();
}

const SAID = { waiting: "waits for its turn", starting_spark: "starting Spark …", running: "running …", done: "done", failed: "failed" };

function draw() {
  const place = document.getElementById("jobs");
  const cards = [...known.values()].filter((each) => !each.dismissed).slice(-4).map(({ job }) =>
    h("div", { class: `job ${job.state}` },
      h("div", { class: "job-head" },
        h("strong", null, ASKS[job.action]?.[0] ?? job.action), " ", h("span", { class: "job-subject" }, job.subject),
        over(job) && h("button", { class: "quiet", type: "button", "aria-label": "Dismiss", onclick: () => dismiss(job.id) }, "✕")),
      h("div", null, over(job) ? (job.outcome ?? SAID[job.state]) : SAID[job.state]),
      !over(job) && job.progress?.length ? h("div", { class: "muted" }, job.progress.at(-1)) : null,
      !over(job) && h("progress", { "aria-label": "in progress" })));
  place.replaceChildren();
  add(place, cards);
}

