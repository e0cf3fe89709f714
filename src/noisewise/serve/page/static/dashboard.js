// Summaries of all models, and the report of one.

import { get, model as path, showError, text } from "./api.js";
import { amount, element, intervalBar, labelledRate, lineChart, moments, percent, plural } from "./charts.js";

const at = (id) => document.getElementById(id);
const WORST = 6, LOGGED = 15, WEIGHTS = 10;
const TITLES = {
  rows: ["Learning curve: fraction of right decisions", "Noise rates of the feedback", "Actions with the lowest recent accuracy"],
  features: ["Learning curve: mean reward", "Largest weights of context and action features", "Actions with the most decisions"],
};
const ROUTES = [["decide", "/models/{name}/decide"], ["feedback", "/models/{name}/feedback"]];
let chosen = null;

export async function refresh() {
  try {
    const { models } = await get("/models");
    if (!models.some((one) => one.name === chosen)) chosen = models.length ? models[0].name : null;
    showCards(models);
    at("detail").hidden = chosen === null;
    if (chosen !== null) await showDetail(chosen);
    showError(null);
  } catch (error) {
    showError(error);
  }
}

function showCards(models) {
  const cards = at("cards");
  if (!models.length) {
    cards.replaceChildren(element("p", {}, "There is no model yet. Teach one by hand, or create one: PUT /models/NAME."));
    return;
  }
  const focused = document.activeElement?.dataset?.model;
  cards.replaceChildren(...models.map(card));
  if (focused) cards.querySelector(`[data-model="${CSS.escape(focused)}"]`)?.focus();
}

function card(one) {
  const made = element("button", { class: "card", type: "button", "aria-pressed": String(one.name === chosen) });
  made.dataset.model = one.name;
  made.append(element("strong", {}, one.name));
  const [what, found, shown] = one.kind === "features" ? ["reward", one.reward, amount] : ["accuracy", one.accuracy, percent];
  made.append(element("span", { class: "big" }, found ? shown(found.value) : "–"));
  const nothing = one.counts.answers ? `${what} is not known` : "no feedback yet";
  const agreement = one.agreement ? [`would have played the baseline in ${percent(one.agreement.value)}`] : [];
  const facts = [
    found ? `recent ${what} (${shown(found.low)} to ${shown(found.high)})` : nothing,
    ...agreement,
    `${plural(one.counts.decisions, "decision")}, ${one.counts.answers.toLocaleString("en")} with feedback`,
    `${one.decisions_per_second.toFixed(1)} decisions a second`,
    `${one.recipe}, ${plural(one.n_actions, "action")}, ${plural(one.n_features, "feature")}`,
  ];
  made.append(...facts.map((fact) => element("div", { class: "facts" }, fact)));
  made.append(...notices(one).map((notice) => element("div", { class: "warning" }, notice)));
  made.addEventListener("click", () => {
    chosen = one.name;
    refresh();
  });
  return made;
}

async function showDetail(name) {
  const [report, history, log] = await Promise.all([get(path(name)), get(`${path(name)}/history`), get(`${path(name)}/events?limit=${LOGGED}`)]);
  at("detail-name").textContent = name;
  at("detail-warning").hidden = !notices(report).length;
  at("detail-warning").textContent = notices(report).join(" ");
  const byTime = at("by-time").checked;
  const line = (kind, what) => ({ kind, points: smooth(history.points, what, byTime ? "time" : "answers") });
  const graded = report.kind === "features";
  const rights = () => [line("observed", "heard_right"), ...(report.warning ? [] : [line("corrected", "accuracy")])];
  const lines = graded ? [line("corrected", "reward")] : rights();
  lineChart(at("learning-curve"), lines, `Learning curve of ${name}`, byTime ? moments : undefined, report.spec.reward_range);
  ["curve-title", "rates-title", "worst-title"].forEach((id, index) => { at(id).textContent = TITLES[report.kind][index]; });
  at("curve-key").hidden = graded;
  if (graded) {
    at("rates").replaceChildren(...weights(report));
    at("worst").replaceChildren(...rewards(report.actions));
  } else {
    showRates(report.noise, report.people);
    showWorst(report.actions);
  }
  at("annotators-panel").hidden = !report.people_rates.length;
  at("annotators").replaceChildren(...report.people_rates.map(annotator));
  at("log").replaceChildren(...log.events.map(logged));
  await showLatency();
}

function notices(one) {
  return [one.warning, one.change].filter(Boolean);
}

function measure(name, value) {
  const row = element("div", { class: "measure" });
  row.append(element("span", {}, name), element("span", {}, value));
  return row;
}

function weights(report) {
  const found = report.coefficients.filter((one) => one.feature !== "1 * 1").slice(0, WEIGHTS);
  if (!found.length) return [element("p", { class: "note" }, report.counts.answers ? "There are too many features to list." : "No feedback yet.")];
  const note = element("p", { class: "note" }, "Of the expected reward; numbers count in standard deviations. 1 is a feature alone.");
  return [...found.map((one) => measure(one.feature, amount(one.weights[0]))), note];
}

function rewards(actions) {
  if (!actions.length) return [element("p", { class: "note" }, "No decisions yet.")];
  const shown = (one) => `${one.reward === null ? "–" : amount(one.reward)} (${plural(one.decisions, "decision")})`;
  return actions.slice(0, WORST).map((one) => measure(`${one.action}`, shown(one)));
}

function logged(one) {
  const row = element("tr");
  const graded = one.reward === null ? "missing" : `reward ${amount(one.reward)}`;
  const feedback = one.right === null || one.reward !== null ? graded : one.right ? "right" : "wrong";
  const what = {
    decision: () => `${one.action} (${percent(one.probability, 1)})`,
    feedback: () => `${feedback}${one.by_default ? ", by default" : ""}${one.person ? `, ${one.person}` : ""}`,
    change: () => JSON.stringify(one.change),
    reward: () => amount(one.reward),
    activation: () => "",
  }[one.kind]();
  row.append(
    element("td", {}, new Date(1000 * one.time).toLocaleTimeString("en", { hour12: false })),
    element("td", {}, one.kind), element("td", { class: "wrap" }, what), element("td", { class: "quiet" }, one.decision_id || ""),
  );
  return row;
}

// Quantiles of the time to respond, from the histograms of /metrics; of this process.
async function showLatency() {
  const metrics = await text("/metrics").catch(() => "");
  const rows = ROUTES.map(([label, route]) => {
    const found = [...metrics.matchAll(/^noisewise_request_seconds_bucket\{(.*)\} (\S+)$/gm)]
      .filter((one) => one[1].includes(`route="${route}"`))
      .map((one) => [Number(/le="([^"]+)"/.exec(one[1])[1].replace("+Inf", "Infinity")), Number(one[2])]);
    const total = found.length ? found[found.length - 1][1] : 0;
    const below = (q) => found.find(([, count]) => count >= q * total)[0];
    const shown = (q) => (total ? `≤ ${(1000 * below(q)).toLocaleString("en")} ms` : "–");
    const row = element("tr");
    row.append(element("th", { scope: "row" }, label), element("td", { class: "number" }, total.toLocaleString("en")));
    row.append(...[0.5, 0.99].map((q) => element("td", { class: "number" }, shown(q))));
    return row;
  });
  at("latency").replaceChildren(...rows);
}

// Moving average over a tenth of the learning curve: single points are too noisy.
function smooth(points, what, along) {
  const halfWidth = Math.ceil(points.length / 20);
  return points.map((point, index) => {
    const near = points.slice(Math.max(0, index - halfWidth), index + halfWidth + 1);
    return [point[along], near.reduce((sum, one) => sum + one[what], 0) / near.length];
  });
}

function showRates(noise, byAnnotator) {
  const rates = [labelledRate("false positive rate", noise.false_positive), labelledRate("false negative rate", noise.false_negative)];
  const notes = { given: "These rates were given.", estimated: "Estimated, and corrected for.", watched: "Estimated over all feedback; not corrected for." };
  if (byAnnotator) notes.watched = "Estimated over all feedback; each round is weighted by the rates of its annotator, below.";
  const note = noise.identified ? notes[noise.source] : `Not identified yet: ${noise.reason}`;
  const meaning = "False positive: a wrong decision called right; false negative: a right one called wrong.";
  at("rates").replaceChildren(...rates, element("p", { class: "note" }, note), element("p", { class: "note" }, meaning));
}

function showWorst(actions) {
  const known = actions.filter((one) => one.accuracy).sort((a, b) => a.accuracy.value - b.accuracy.value);
  const rows = known.slice(0, WORST).map((one) => labelledRate(`${one.action}`, one.accuracy));
  at("worst").replaceChildren(...(rows.length ? rows : [element("p", { class: "note" }, "No feedback yet.")]));
}

function annotator(one) {
  const row = element("tr");
  row.append(element("th", { scope: "row" }, one.person));
  row.append(element("td", { class: `verdict ${one.signal > 0.7 ? "good" : one.signal < 0.3 ? "bad" : ""}` }, informative(one)));
  row.append(element("td", { class: "number" }, one.answers.toLocaleString("en")));
  for (const rate of [one.false_positive, one.false_negative]) {
    const cell = element("td");
    cell.append(intervalBar(rate), ` ${percent(rate.value)}`);
    row.append(cell);
  }
  return row;
}

function informative(one) {
  if (!one.settled) return "not estimated yet";
  if (one.signal < -0.1) return "yes, with the sign reversed";
  if (one.signal < 0.3) return "hardly";
  return one.signal > 0.7 ? "yes" : "somewhat";
}
