// All models, and one of them in detail.

import { get, model as path, say } from "./api.js";
import { element, intervalBar, lineChart, measure, percent } from "./charts.js";

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
    say(null);
  } catch (trouble) {
    say(trouble);
  }
}

function showCards(models) {
  const place = at("cards");
  if (!models.length) {
    place.replaceChildren(element("p", {}, "There is no model yet. Teach one by hand, or make one: PUT /models/NAME."));
    return;
  }
  const focused = document.activeElement?.dataset?.model;
  place.replaceChildren(...models.map(card));
  if (focused) place.querySelector(`[data-model="${CSS.escape(focused)}"]`)?.focus();
}

function card(one) {
  const made = element("button", { class: "card", type: "button", "aria-pressed": String(one.name === chosen) });
  made.dataset.model = one.name;
  made.append(element("strong", {}, one.name));
  const accuracy = one.accuracy;
  made.append(element("span", { class: "big" }, accuracy ? percent(accuracy.value) : "–"));
  const range = accuracy ? `right of late (${percent(accuracy.low)} to ${percent(accuracy.high)})` : "nobody has answered yet";
  const count = (number) => number.toLocaleString("en");
  const facts = [
    range,
    `${count(one.counts.decisions)} decisions, ${count(one.counts.answers)} answers`,
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
  lineChart(at("curve"), [line("heard", "heard_right"), line("corrected", "accuracy")], `Learning curve of ${name}`);
  showRates(report.noise, report.people);
  showWorst(report.actions);
  at("people-panel").hidden = !report.people_rates.length;
  at("people").replaceChildren(...report.people_rates.map(person));
}

// Means over stretches of a tenth of the curve: ten answers alone say little.
function smooth(points, what) {
  const reach = Math.ceil(points.length / 20);
  return points.map((point, place) => {
    const near = points.slice(Math.max(0, place - reach), place + reach + 1);
    return [point.answers, near.reduce((sum, one) => sum + one[what], 0) / near.length];
  });
}

function showRates(noise, people) {
  const parts = [measure("says right when wrong", noise.false_positive), measure("says wrong when right", noise.false_negative)];
  const words = { given: "These rates were given.", estimated: "Estimated, and corrected for.", watched: "Over all answers; none is corrected for it." };
  if (people) words.watched = "Over all answers; each counts by what is believed of its person, below.";
  const note = noise.identified ? words[noise.source] : `Not sure yet: ${noise.reason}`;
  at("rates").replaceChildren(...parts, element("p", { class: "note" }, note));
}

function showWorst(actions) {
  const known = actions.filter((one) => one.accuracy).sort((a, b) => a.accuracy.value - b.accuracy.value);
  const rows = known.slice(0, WORST).map((one) => measure(`${one.action}`, one.accuracy));
  at("worst").replaceChildren(...(rows.length ? rows : [element("p", { class: "note" }, "Nobody has answered yet.")]));
}

function person(one) {
  const row = element("tr");
  row.append(element("th", { scope: "row" }, one.person), element("td", { class: "number" }, one.answers.toLocaleString("en")));
  for (const rate of [one.false_positive, one.false_negative]) {
    const cell = element("td");
    cell.append(intervalBar(rate), ` ${percent(rate.value)}`);
    row.append(cell);
  }
  row.append(element("td", { class: one.signal > 0.7 ? "good" : one.signal < 0.3 ? "bad" : "" }, trust(one)));
  return row;
}

function trust(one) {
  if (!one.settled) return "not known yet";
  if (one.signal < -0.1) return "believed the other way round";
  if (one.signal < 0.3) return "hardly";
  return one.signal > 0.7 ? "yes" : "somewhat";
}
