// The dashboard's page: asks for the rows every few seconds and puts them where they stand.
import { Chart, colourOf, shown } from "/dashboard/chart.js";

const EVERY = 5000;
const state = { window: 900, paused: false, cards: new Map(), last: null, reach: true };
const root = document.documentElement;
const rows = document.getElementById("rows");

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function draw(data) {
  state.last = data;
  summary(data);
  data.rows.forEach((row, at) => {
    let place = rows.children[at];
    if (!place) {
      place = element("section", {}, element("h2", {}, row.title), element("p", {}, row.about), element("div", { class: "widgets" }));
      rows.append(place);
    }
    row.widgets.forEach((widget, number) => card(place.lastChild, `${at}.${number}`, widget)(widget, data));
  });
}

function card(place, id, widget) {
  if (!state.cards.has(id)) {
    const body = element("div");
    const wide = widget.kind === "states" ? " wide" : "";
    place.append(element("div", { class: "card" + wide }, element("h3", {}, widget.title), element("p", { class: "about" }, widget.about), body));
    state.cards.set(id, makers[widget.kind](body, widget));
  }
  return state.cards.get(id);
}

const makers = {
  chart(body, widget) {
    const keys = element("ul", { class: "keys" });
    const plot = element("div", { class: "plot" });
    const nothing = element("div", { class: "nothing" });
    body.append(keys, plot, nothing);
    let now = null, chart = null;
    const legend = (at) => {
      if (!now) return;
      const lines = now.lines.filter((line) => line.values.some((value) => value !== null));
      keys.replaceChildren(...lines.map((line) => {
        const mark = element("i");
        mark.style.background = colourOf(line.label, now.lines.indexOf(line));
        const value = at === null ? line.values.findLast((one) => one !== null) : line.values[at];
        return element("li", {}, mark, line.label, element("b", {}, shown(value, now.unit)));
      }));
    };
    return (latest, data) => {
      now = latest;
      const known = latest.lines.some((line) => line.values.some((value) => value !== null));
      plot.hidden = !known;
      keys.hidden = !known;
      nothing.style.display = known ? "none" : "";
      nothing.textContent = latest.only_on_aws
        ? "On AWS, DynamoDB tells CloudWatch this. The emulator counts no units and throttles nothing."
        : "Nothing yet. It stays empty while there is nothing to tell.";
      if (!known) return;
      chart ??= new Chart(plot, latest, legend);
      const drawn = { ...latest, lines: latest.lines };
      chart.draw(data.times, drawn);
      legend(null);
    };
  },
  figures(body) {
    const place = element("div", { class: "figures" });
    body.append(place);
    return (latest) => place.replaceChildren(...latest.lines.map((line) =>
      element("div", {}, element("b", {}, shown(line.values.at(-1), latest.unit)), line.label)));
  },
  states(body) {
    const calls = element("div", { class: "calls" }), chips = element("div", { class: "chips" });
    body.append(calls, chips);
    return (_, data) => {
      const link = (alarm, kind) => element("a", { class: kind, href: `/dashboard/runbook?alarm=${alarm.name}`, title: `${alarm.summary}. ${alarm.reason}` }, alarm.name);
      const loud = data.alarms.filter((alarm) => alarm.state === "ALARM");
      calls.replaceChildren(...loud.map((alarm) => element("div", { class: "call" },
        link(alarm, ""), element("p", {}, alarm.summary + "."), element("small", {}, `${alarm.reason}; since ${clock(alarm.since)}`))));
      chips.replaceChildren(...data.alarms.filter((alarm) => alarm.state !== "ALARM").map((alarm) =>
        link(alarm, alarm.state === "OK" ? "chip" : "chip unknown")));
    };
  },
  top(body) {
    const table = element("table", { class: "top" }), nothing = element("div", { class: "nothing" }, "Nobody in this time.");
    body.append(table, nothing);
    return (latest) => {
      nothing.style.display = latest.top.length ? "none" : "";
      const most = latest.top[0]?.[1] ?? 1;
      table.replaceChildren(...latest.top.map(([name, value]) => {
        const bar = element("span", { title: name }, name);
        bar.style.setProperty("--part", `${100 * value / most}%`);
        return element("tr", {}, element("td", {}, bar), element("td", {}, shown(value, latest.unit)));
      }));
    };
  },
};

function clock(seconds) {
  return seconds ? new Date(seconds * 1000).toLocaleTimeString("en-GB") : "now";
}

function summary(data) {
  const loud = data.alarms.filter((alarm) => alarm.state === "ALARM").length;
  const word = element("b", { class: loud ? "bad" : "good" }, loud ? `${loud} ${loud === 1 ? "alarm" : "alarms"}` : "All is well");
  document.getElementById("summary").replaceChildren(word, state.paused ? ` · paused at ${clock(data.now)}` : ` · ${clock(data.now)}`);
  document.title = loud ? `(${loud}) Cronfleet` : "Cronfleet";
}

async function look() {
  try {
    const answer = await fetch(`/dashboard/data?window=${state.window}`);
    if (!answer.ok) throw new Error(answer.status);
    draw(await answer.json());
  } catch {
    const word = element("b", { class: "bad" }, "The stack does not answer");
    document.getElementById("summary").replaceChildren(word, " · what is shown is old; trying again");
  }
}

async function go() {
  if (!state.paused && !document.hidden) await look();
  setTimeout(go, EVERY);
}

document.getElementById("windows").addEventListener("click", (event) => {
  if (!event.target.dataset.window) return;
  state.window = Number(event.target.dataset.window);
  for (const one of event.currentTarget.children) one.setAttribute("aria-pressed", String(one === event.target));
  look();
});
document.getElementById("pause").addEventListener("click", (event) => {
  state.paused = !state.paused;
  event.target.setAttribute("aria-pressed", String(state.paused));
  event.target.textContent = state.paused ? "Go on" : "Pause";
  if (state.last) summary(state.last);
  if (!state.paused) look();
});
const THEMES = ["system", "light", "dark"];
function wear(theme) {
  if (theme === "system") delete root.dataset.theme; else root.dataset.theme = theme;
  document.getElementById("theme").textContent = `Theme: ${theme}`;
  localStorage.setItem("theme", theme);
  if (state.last) draw(state.last);
}
document.getElementById("theme").addEventListener("click", () =>
  wear(THEMES[(THEMES.indexOf(localStorage.getItem("theme") ?? "system") + 1) % THEMES.length]));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.last && draw(state.last));
document.addEventListener("visibilitychange", () => !document.hidden && !state.paused && look());
wear(new URLSearchParams(location.search).get("theme") ?? localStorage.getItem("theme") ?? "system");
go();
