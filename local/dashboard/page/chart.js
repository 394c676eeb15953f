// One chart of the dashboard, drawn by uPlot: lines, or areas on top of each other.
import uPlot from "/dashboard/uplot.js";

const LIGHT = ["#2563eb", "#c2690a", "#0f8a5f", "#7c3aed", "#0e8fa8", "#c02674", "#5f8a10", "#64748b"];
const DARK = ["#7aa8ff", "#f5b14c", "#4fd3a0", "#b79bff", "#4fd0e6", "#ff8cc6", "#b4dc5a", "#a3b0c2"];
// What means the same everywhere has the same colour everywhere.
const MEANS = {
  good: ["#0f8a5f", "#4fd3a0"], bad: ["#c92a2a", "#ff7b72"], warn: ["#c2690a", "#f5b14c"], calm: ["#2563eb", "#7aa8ff"],
};
const MEANING = {
  succeeded: "good", "2xx": "good", won: "good", p50: "calm", "4xx": "warn", p99: "warn", timed_out: "warn", lost: "warn",
  dead: "bad", failed: "bad", "5xx": "bad", longest: "bad", undelivered: "bad",
};

// Round ones, also where a minute has sixty seconds.
const DURATIONS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200];

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function colourOf(label, place) {
  const meant = MEANS[MEANING[label]];
  return meant ? meant[isDark() ? 1 : 0] : (isDark() ? DARK : LIGHT)[place % LIGHT.length];
}

export function shown(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "dollars") return "$" + value.toFixed(value < 0.1 ? 3 : 2);
  if (unit === "percent") return Math.round(value) + " %";
  if (unit === "seconds") return duration(value);
  if (Math.abs(value) >= 10000) return Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 0);
}

function duration(seconds) {
  if (seconds === 0) return "0 s";
  if (seconds < 1) return Math.round(seconds * 1000) + " ms";
  if (seconds < 10) return Number(seconds.toFixed(2)) + " s";
  if (seconds < 120) return Math.round(seconds) + " s";
  if (seconds < 7200) return Math.round(seconds / 60) + " min";
  return Number((seconds / 3600).toFixed(1)) + " h";
}

// What lies on top is drawn first, so that what lies below covers its foot.
function stacked(lines) {
  const sums = new Array(lines[0].values.length).fill(0);
  return lines.map((line) => ({
    ...line,
    values: line.values.map((value, at) => (value === null ? null : (sums[at] += value))),
  })).reverse();
}

export class Chart {
  constructor(place, widget, onPoint) {
    this.place = place;
    this.onPoint = onPoint;
    this.key = "";
    this.plot = null;
    new ResizeObserver(() => this.plot?.setSize({ width: place.clientWidth, height: 170 })).observe(place);
  }

  draw(times, widget) {
    const order = widget.lines.map((line, at) => ({ ...line, colour: colourOf(line.label, at) }));
    const lines = widget.shape === "stacked" ? stacked(order) : order;
    const key = JSON.stringify([lines.map((line) => [line.label, line.colour]), widget.unit, isDark()]);
    const data = [times, ...lines.map((line) => line.values)];
    if (this.plot && key === this.key) return this.plot.setData(data);
    this.plot?.destroy();
    this.key = key;
    this.plot = new uPlot(this.options(lines, widget), data, this.place);
  }

  options(lines, widget) {
    const soft = isDark() ? "#98a2b3" : "#5b6474";
    const grid = { stroke: isDark() ? "#262c36" : "#eceef2", width: 1 };
    const axis = { stroke: soft, grid, ticks: { show: false }, font: "11px system-ui" };
    const fill = widget.shape === "stacked";
    return {
      width: this.place.clientWidth, height: 170, padding: [8, 6, 0, 0],
      cursor: { sync: { key: "time" }, drag: { x: false, y: false }, points: { size: 6 } },
      scales: { y: { range: (_, least, most) => [0, most > 0 ? most * 1.08 : 1] } },
      axes: [
        { ...axis, size: 26, values: [[3600, "{HH}:{mm}"], [60, "{HH}:{mm}"], [1, "{HH}:{mm}:{ss}"]] },
        { ...axis, size: 58, ...(widget.unit === "seconds" ? { incrs: DURATIONS } : {}), values: (_, ticks) => ticks.map((tick) => shown(tick, widget.unit)) },
      ],
      series: [{}, ...lines.map((line) => ({
        label: line.label, stroke: line.colour, width: fill ? 1 : 1.6, spanGaps: true,
        fill: fill ? line.colour + (isDark() ? "99" : "b0") : line.colour + (lines.length === 1 ? "22" : "00"),
        points: { show: false },
      }))],
      hooks: { setCursor: [(plot) => this.onPoint(plot.cursor.idx ?? null)] },
    };
  }
}
