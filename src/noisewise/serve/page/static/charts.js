// SVG charts: lines over rounds with feedback, and a rate with its interval.

const SPACE = "http://www.w3.org/2000/svg";
export const plural = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
export const amount = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });
export const percent = (fraction, digits = 0) => `${(100 * fraction).toFixed(digits)} %`;

export function element(name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function svg(name, attributes = {}, text) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// lines: [{kind: "corrected" | "observed", points: [[x, value], ...]}]; x are rounds, or seconds if ends are given.
// values are fractions, or rewards of a range [lowest, highest]
export function lineChart(container, lines, label, ends, range) {
  const [width, height, left, bottom] = [Math.max(280, container.clientWidth), 220, 44, 26];
  const all = lines.flatMap((line) => line.points.map((point) => point[0]));
  const first = ends && all.length ? Math.min(...all) : 0;
  const last = Math.max(first + 1, ...all);
  const x = (value) => left + ((value - first) / (last - first)) * (width - left - 10);
  const [lowest, highest] = range || [0, 1];
  const y = (value) => 10 + ((highest - value) / (highest - lowest)) * (height - bottom - 10);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const fraction of [0, 0.25, 0.5, 0.75, 1]) {
    const value = lowest + fraction * (highest - lowest);
    picture.append(svg("line", { class: "axis", x1: left, x2: width - 10, y1: y(value), y2: y(value) }));
    picture.append(svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, range ? amount(value) : percent(value)));
  }
  const [begin, end] = ends && all.length ? ends(first, last) : ["0", plural(Math.round(last), "round")];
  picture.append(svg("text", { x: left, y: height - 6 }, begin));
  picture.append(svg("text", { x: width - 10, y: height - 6, "text-anchor": "end" }, end));
  for (const { kind, points } of lines) {
    const path = points.map(([at, fraction]) => `${x(at).toFixed(1)},${y(fraction).toFixed(1)}`).join(" ");
    picture.append(svg("polyline", { class: kind, points: path }));
  }
  container.replaceChildren(picture);
}

// A rate between 0 and 1 with its interval, and a mark at the true value if it is known.
export function intervalBar({ value, low, high }, truth) {
  const picture = svg("svg", {
    viewBox: "0 0 100 12", preserveAspectRatio: "none", role: "img",
    "aria-label": `${percent(value)}, between ${percent(low)} and ${percent(high)}`,
  });
  picture.append(svg("rect", { class: "track", x: 0, y: 5, width: 100, height: 2 }));
  picture.append(svg("rect", { class: "band", x: 100 * low, y: 1, width: Math.max(1, 100 * (high - low)), height: 10 }));
  picture.append(svg("rect", { class: "dot", x: Math.max(0, 100 * value - 0.7), y: 1, width: 1.4, height: 10 }));
  if (truth !== undefined) picture.append(svg("line", { class: "truth", x1: 100 * truth, x2: 100 * truth, y1: 0, y2: 12 }));
  return picture;
}

// The ends of a time axis, with the date only where the days differ.
export function moments(first, last) {
  const [from, to] = [first, last].map((seconds) => new Date(1000 * seconds));
  const day = from.toDateString() === to.toDateString() ? {} : { month: "short", day: "numeric" };
  const shown = { hour: "2-digit", minute: "2-digit", second: last - first < 600 ? "2-digit" : undefined, ...day };
  return [from, to].map((moment) => moment.toLocaleString("en", { ...shown, hour12: false }));
}

export function labelledRate(name, interval, truth) {
  const row = element("div", { class: "measure" });
  row.append(element("span", {}, name));
  if (interval.high - interval.low >= 1) {
    row.append(element("span", { class: "quiet" }, "not known yet"));
    return row;
  }
  row.append(element("span", {}, `${percent(interval.value)} (${percent(interval.low)} to ${percent(interval.high)})`));
  row.append(intervalBar(interval, truth));
  return row;
}
