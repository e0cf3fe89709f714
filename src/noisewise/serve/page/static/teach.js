// A visitor, or sample digits, teach a model by right/wrong feedback.

import { call, get, model as path, showError } from "./api.js";
import { element, labelledRate, lineChart, percent, plural } from "./charts.js";
import { Paper } from "./digits.js";

const at = (id) => document.getElementById(id);
const SPEC = {
  actions: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  features: { count: 64, unit_norm: true, constant: 0.3 },
  recipe: "linucb",
  options: { width_in_std: 0.3, ridge: 0.1 }, // for a few hundred rounds; the defaults are for long streams
  exploration: 0.02, // random guesses identify the false positive rate
  people: true,
};
const PUPIL = "pupil", TEACHER = "you", LAST = 50, SAMPLES = 500, PAUSE = 600;

const state = { name: PUPIL, known: [], guess: null, done: false, excluded: [], rounds: [], practising: false, timer: 0 };
let paper;

export function start() {
  paper = new Paper(at("paper"), () => {
    clearTimeout(state.timer);
    state.timer = setTimeout(guess, PAUSE);
  });
  const touched = () => (state.done ? forget() : clearTimeout(state.timer));
  at("paper").addEventListener("pointerdown", touched, { capture: true }); // before the pen touches the paper
  at("clear").addEventListener("click", forget);
  at("guess-again").addEventListener("click", again);
  at("right").addEventListener("click", () => giveFeedback(true));
  at("wrong").addEventListener("click", () => giveFeedback(false));
  at("practise").addEventListener("click", practise);
  at("stop").addEventListener("click", () => (state.practising = false));
  at("careless").addEventListener("input", () => {
    at("careless-value").textContent = percent(carelessness());
  });
  at("pupil").addEventListener("change", choosePupil);
  at("dismiss").addEventListener("click", dismiss);
  at("new-pupil").addEventListener("submit", (event) => {
    event.preventDefault();
    teachPupil(at("pupil-name").value.trim());
  });
  document.addEventListener("keydown", (event) => {
    if (at("teach").hidden || !state.guess || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === "y") giveFeedback(true);
    if (event.key === "n") giveFeedback(false);
  });
}

export async function open() {
  try {
    const { models } = await get("/models");
    state.known = models.map((one) => one.name);
    const fitting = models.filter((one) => one.n_actions === 10 && [64, 65].includes(one.n_features)).map((one) => one.name);
    if (!fitting.includes(state.name)) fitting.unshift(state.name);
    at("pupil").replaceChildren(
      ...fitting.map((name) => element("option", { value: name }, name)),
      element("option", { value: "" }, "a new pupil …"),
    );
    at("pupil").value = state.name;
    at("dismiss").hidden = !state.known.includes(state.name);
    showError(null);
    await showTeacher();
    showProgress();
  } catch (error) {
    showError(error);
  }
}

// A pupil becomes a model with its first lesson, not when somebody looks at this page.
async function enrol() {
  if (state.known.includes(state.name)) return;
  await call("PUT", path(state.name), SPEC).catch((error) => {
    if (error.status !== 409) throw error; // a model with another specification: it is used as it is
  });
  state.known.push(state.name);
  at("dismiss").hidden = false;
}

async function choosePupil() {
  at("new-pupil").hidden = at("pupil").value !== "";
  if (at("pupil").value) await teachPupil(at("pupil").value);
  else at("pupil-name").focus();
}

async function teachPupil(name) {
  Object.assign(state, { name, rounds: [] });
  at("new-pupil").hidden = true;
  forget();
  await open();
}

async function dismiss() {
  if (!confirm(`Delete ${state.name} and its log? This can't be undone.`)) return;
  try {
    await call("DELETE", path(state.name));
    await teachPupil(PUPIL);
  } catch (error) {
    showError(error);
  }
}

const carelessness = () => Number(at("careless").value) / 100;

function forget() {
  clearTimeout(state.timer);
  paper.clear();
  state.guess = null;
  state.done = false;
  state.excluded = [];
  at("guess").textContent = "Draw a digit.";
  allowFeedback(false);
}

function allowFeedback(allowed) {
  at("right").disabled = at("wrong").disabled = !allowed;
  at("guess-again").disabled = allowed || !paper.drawn || !state.excluded.length;
}

async function guess() {
  const features = paper.features();
  if (!features || state.guess) return;
  try {
    await enrol();
    const excluded = state.excluded.length ? state.excluded : null;
    state.guess = await call("POST", `${path(state.name)}/decide`, { features, excluded });
    at("guess").replaceChildren("Is it a ", element("b", {}, `${state.guess.action}`), " ?");
    allowFeedback(true);
    showError(null);
  } catch (error) {
    showError(error);
  }
}

function again() {
  if (state.excluded.length < 9) guess();
}

async function giveFeedback(right) {
  const made = state.guess;
  if (!made) return;
  state.guess = null;
  allowFeedback(false);
  try {
    const observed = await sendFeedback(made, right);
    at("guess").textContent = observed === right ? "Thank you." : "Your feedback was flipped.";
    if (!right) state.excluded.push(made.action);
    allowFeedback(false);
    state.done = right;
    if (right) state.timer = setTimeout(forget, 900);
    showProgress();
    await showTeacher();
  } catch (error) {
    showError(error);
  }
}

async function sendFeedback(made, right) {
  const observed = Math.random() < carelessness() ? !right : right;
  await call("POST", `${path(state.name)}/feedback`, { decision_id: made.decision_id, right: observed, person: TEACHER });
  state.rounds.push([right, observed]);
  return observed;
}

async function practise() {
  state.practising = true;
  at("stop").hidden = false;
  at("practise").disabled = true;
  forget();
  try {
    await enrol();
    const { images, truth } = await get(`/teach/digits?count=${SAMPLES}`);
    for (let number = 0; number < images.length && state.practising; number += 1) {
      const made = await call("POST", `${path(state.name)}/decide`, { features: images[number] });
      await sendFeedback(made, made.action === truth[number]);
      if (number % 10 === 9) {
        paper.show(images[number]);
        at("practice-note").textContent = `${number + 1} of ${images.length} digits shown`;
        showProgress();
      }
      if (number % 50 === 49) await showTeacher();
    }
    showError(null);
  } catch (error) {
    showError(error);
  }
  state.practising = false;
  at("stop").hidden = true;
  at("practise").disabled = false;
  forget();
  showProgress();
}

async function showTeacher() {
  const report = state.known.includes(state.name) ? await get(path(state.name)) : { people_rates: [] };
  const you = report.people_rates.find((one) => one.person === TEACHER);
  if (!you || !you.settled) {
    at("teacher-rates").replaceChildren();
    at("teacher-note").textContent = "After a thousand rounds your estimated noise rates are shown here.";
    return;
  }
  const all = you.answers === state.rounds.length; // feedback of an earlier visit was flipped as it was set then
  at("teacher-rates").replaceChildren(
    labelledRate("estimated false positive rate", you.false_positive, all ? flipped(false) : undefined),
    labelledRate("estimated false negative rate", you.false_negative, all ? flipped(true) : undefined),
  );
  const mark = all ? "; the red mark is what was really flipped" : "";
  at("teacher-note").textContent = `From ${plural(you.answers, "round")}${mark}.`;
}

// The fraction of the feedback on right, or on wrong, guesses that was flipped.
function flipped(right) {
  const about = state.rounds.filter((round) => round[0] === right);
  return about.length ? about.filter((round) => round[1] !== right).length / about.length : undefined;
}

function showProgress() {
  const running = (which) =>
    state.rounds.map((_, index) => {
      const recent = state.rounds.slice(Math.max(0, index + 1 - LAST), index + 1);
      return [index + 1, recent.filter((round) => round[which]).length / recent.length];
    });
  lineChart(at("progress"), [{ kind: "observed", points: running(1) }, { kind: "corrected", points: running(0) }], "Fraction of right guesses");
  const right = state.rounds.filter((round) => round[0]).length;
  const changed = state.rounds.filter((round) => round[0] !== round[1]).length;
  at("tally").textContent = `${plural(state.rounds.length, "round")}, ${right} right, ${changed} flipped`;
}
