// A person, or sample digits, teach a model by yes and no.

import { call, get, model as path, say } from "./api.js";
import { element, lineChart, measure, percent } from "./charts.js";
import { Paper } from "./digits.js";

const at = (id) => document.getElementById(id);
const SPEC = {
  actions: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  features: { count: 64, unit_norm: true, constant: 0.3 },
  recipe: "linucb",
  options: { width_in_std: 0.3, ridge: 0.1 }, // learns from a few hundred answers; the usual ones are for long streams
  exploration: 0.02, // guesses at random show what the teacher says about wrong ones
  people: true,
};
const PUPIL = "pupil", TEACHER = "you", LAST = 50, SAMPLES = 500, PAUSE = 600;

const state = { name: PUPIL, guess: null, answered: false, excluded: [], rounds: [], practising: false, timer: 0 };
let paper;

export function start() {
  paper = new Paper(at("paper"), () => {
    clearTimeout(state.timer);
    state.timer = setTimeout(guess, PAUSE);
  });
  const touched = () => (state.answered ? forget() : clearTimeout(state.timer));
  at("paper").addEventListener("pointerdown", touched, { capture: true }); // before the pen touches the paper
  at("clear").addEventListener("click", forget);
  at("guess-again").addEventListener("click", again);
  at("right").addEventListener("click", () => answer(true));
  at("wrong").addEventListener("click", () => answer(false));
  at("practise").addEventListener("click", practise);
  at("stop").addEventListener("click", () => (state.practising = false));
  at("careless").addEventListener("input", () => {
    at("careless-value").textContent = percent(carelessness());
    showTeacher();
  });
  at("pupil").addEventListener("change", choosePupil);
  document.addEventListener("keydown", (event) => {
    if (at("teach").hidden || !state.guess || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === "y") answer(true);
    if (event.key === "n") answer(false);
  });
}

export async function open() {
  try {
    const { models } = await get("/models");
    const fitting = models.filter((one) => one.n_actions === 10 && [64, 65].includes(one.n_features)).map((one) => one.name);
    if (!fitting.includes(state.name)) fitting.unshift(state.name);
    at("pupil").replaceChildren(
      ...fitting.map((name) => element("option", { value: name }, name)),
      element("option", { value: "" }, "a new pupil …"),
    );
    at("pupil").value = state.name;
    await call("PUT", path(state.name), SPEC).catch((trouble) => {
      if (trouble.status !== 409) throw trouble; // a model that somebody else made: it is used as it is
    });
    say(null);
    await showTeacher();
    showProgress();
  } catch (trouble) {
    say(trouble);
  }
}

async function choosePupil() {
  state.name = at("pupil").value || `${PUPIL}-${Date.now().toString(36)}`;
  state.rounds = [];
  forget();
  await open();
}

const carelessness = () => Number(at("careless").value) / 100;

function forget() {
  clearTimeout(state.timer);
  paper.clear();
  state.guess = null;
  state.answered = false;
  state.excluded = [];
  at("guess").textContent = "Draw a digit.";
  allow(false);
}

function allow(answering) {
  at("right").disabled = at("wrong").disabled = !answering;
  at("guess-again").disabled = answering || !paper.drawn || !state.excluded.length;
}

async function guess() {
  const features = paper.features();
  if (!features || state.guess) return;
  try {
    const excluded = state.excluded.length ? state.excluded : null;
    state.guess = await call("POST", `${path(state.name)}/decide`, { features, excluded });
    at("guess").replaceChildren("Is it a ", element("b", {}, `${state.guess.action}`), " ?");
    allow(true);
    say(null);
  } catch (trouble) {
    say(trouble);
  }
}

function again() {
  if (state.excluded.length < 9) guess();
}

async function answer(right) {
  const made = state.guess;
  if (!made) return;
  state.guess = null;
  allow(false);
  try {
    const said = await tell(made, right);
    at("guess").textContent = said === right ? "Thank you." : "You were careless: it heard the opposite.";
    if (!right) state.excluded.push(made.action);
    allow(false);
    state.answered = right;
    if (right) state.timer = setTimeout(forget, 900);
    showProgress();
    await showTeacher();
  } catch (trouble) {
    say(trouble);
  }
}

async function tell(made, right) {
  const said = Math.random() < carelessness() ? !right : right;
  await call("POST", `${path(state.name)}/feedback`, { decision_id: made.decision_id, right: said, person: TEACHER });
  state.rounds.push([right, said]);
  return said;
}

async function practise() {
  state.practising = true;
  at("stop").hidden = false;
  at("practise").disabled = true;
  forget();
  try {
    const { images, truth } = await get(`/teach/digits?count=${SAMPLES}`);
    for (let number = 0; number < images.length && state.practising; number += 1) {
      const made = await call("POST", `${path(state.name)}/decide`, { features: images[number] });
      await tell(made, made.action === truth[number]);
      if (number % 10 === 9) {
        paper.show(images[number]);
        at("practice-note").textContent = `${number + 1} of ${images.length} digits shown`;
        showProgress();
      }
      if (number % 50 === 49) await showTeacher();
    }
    say(null);
  } catch (trouble) {
    say(trouble);
  }
  state.practising = false;
  at("stop").hidden = true;
  at("practise").disabled = false;
  forget();
  showProgress();
}

async function showTeacher() {
  const report = await get(path(state.name));
  const you = report.people_rates.find((one) => one.person === TEACHER);
  const truth = carelessness();
  if (!you || !you.settled) {
    at("teacher-rates").replaceChildren();
    at("teacher-note").textContent = "After a few hundred answers the service says here how careless it believes you are.";
    return;
  }
  at("teacher-rates").replaceChildren(
    measure("believed: says right when wrong", you.false_positive, truth),
    measure("believed: says wrong when right", you.false_negative, truth),
  );
  at("teacher-note").textContent = `From ${you.answers.toLocaleString("en")} answers; the red mark is the slider.`;
}

function showProgress() {
  const running = (which) =>
    state.rounds.map((_, place) => {
      const recent = state.rounds.slice(Math.max(0, place + 1 - LAST), place + 1);
      return [place + 1, recent.filter((round) => round[which]).length / recent.length];
    });
  lineChart(at("progress"), [{ kind: "heard", points: running(1) }, { kind: "corrected", points: running(0) }], "Share of right guesses");
  const right = state.rounds.filter((round) => round[0]).length;
  const flipped = state.rounds.filter((round) => round[0] !== round[1]).length;
  at("tally").textContent = `${state.rounds.length} answers, ${right} guesses right, ${flipped} answers flipped`;
}
