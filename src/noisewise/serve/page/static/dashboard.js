// Summaries of all models, and the report of one.

import { get, model as path, showError } from "./api.js";
import { element, intervalBar, labelledRate, lineChart, percent } from "./charts.js";

const at = (id) => document.getElementById(id);
const WORST = 6;
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
  const accuracy = one.accuracy;
  made.append(element("span", { class: "big" }, accuracy ? percent(accuracy.value) : "–"));
  const range = accuracy ? `recent accuracy (${percent(accuracy.low)} to ${percent(accuracy.high)})` : "no feedback yet";
  const count = (number) => number.toLocaleString("en");
  const facts = [
    range,
    `${count(one.counts.decisions)} decisions, ${count(one.counts.answers)} with feedback`,
    `${one.decisions_per_second.toFixed(1)} decisions a second`,
    `${one.recipe}, ${one.n_actions} actions, ${one.n_features} features`,
  ];
  made.append(...facts.map((fact) => element("div", { class: "facts" }, fact)));
  made.addEventListener("click", () => {
    chosen = one.name;
    refresh();
  });
  return made;
}

async function showDetail(name) {
  const [report, history] = await Promise.all([get(path(name)), get(`${path(name)}/history`)]);
  at("detail-name").textContent = name;
  const line = (kind, what) => ({ kind, points: smooth(history.points, what) });
  lineChart(at("learning-curve"), [line("observed", "heard_right"), line("corrected", "accuracy")], `Learning curve of ${name}`);
  showRates(report.noise, report.people);
  showWorst(report.actions);
  at("annotators-panel").hidden = !report.people_rates.length;
  at("annotators").replaceChildren(...report.people_rates.map(annotator));
}

// Moving average over a tenth of the learning curve: single points are too noisy.
function smooth(points, what) {
  const halfWidth = Math.ceil(points.length / 20);
  return points.map((point, index) => {
    const near = points.slice(Math.max(0, index - halfWidth), index + halfWidth + 1);
    return [point.answers, near.reduce((sum, one) => sum + one[what], 0) / near.length];
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
  row.append(element("th", { scope: "row" }, one.person), element("td", { class: "number" }, one.answers.toLocaleString("en")));
  for (const rate of [one.false_positive, one.false_negative]) {
    const cell = element("td");
    cell.append(intervalBar(rate), ` ${percent(rate.value)}`);
    row.append(cell);
  }
  row.append(element("td", { class: one.signal > 0.7 ? "good" : one.signal < 0.3 ? "bad" : "" }, informative(one)));
  return row;
}

function informative(one) {
  if (!one.settled) return "not estimated yet";
  if (one.signal < -0.1) return "yes, with the sign reversed";
  if (one.signal < 0.3) return "hardly";
  return one.signal > 0.7 ? "yes" : "somewhat";
}
