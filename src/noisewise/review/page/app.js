// The page of a review: shows a row, sends a decision, and shows the next one when it is stored.

const token = location.hash.slice(1);
const find = id => document.getElementById(id);
const state = { names: [], free: false, rows: [], decided: new Set(), at: 0, shown: null, busy: false };
const views = new Map();  // row to the promise of its view: the next one is fetched ahead

async function call(path, body) {
  const options = { headers: { Authorization: `Bearer ${token}` } };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("Not saved: the review has been stopped. Start it again with the same command; every decision before this one is stored.");
  }
  const found = await response.json();
  if (!response.ok) throw Object.assign(new Error(found.error), { status: response.status });
  return found;
}

function element(tag, options = {}, ...children) {
  const made = Object.assign(document.createElement(tag), options);
  made.append(...children);
  return made;
}

function percent(probability) {
  if (probability === null) return "";
  if (probability > 0 && probability < 0.001) return "below 1 in 1,000";
  if (probability > 0 && probability < 0.005) return `1 in ${Number((1 / probability).toPrecision(2)).toLocaleString("en")}`;
  if (probability > 0.995 && probability < 1) return "over 99 %";
  return `${Math.round(100 * probability)} %`;
}

function counted(n, noun) { return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`; }

function view(row) {
  if (!views.has(row)) {
    const wanted = call(`/api/rows/${row}`);
    wanted.catch(() => views.delete(row));
    views.set(row, wanted);
  }
  return views.get(row);
}

function nextUndecided(after) {
  const n = state.rows.length;
  for (let step = 1; step <= n; step++) {
    const at = (after + step) % n;
    if (!state.decided.has(state.rows[at])) return at;
  }
  return -1;
}

function showProgress(progress) {
  find("bar").max = Math.max(1, progress.rows);
  find("bar").value = progress.decided;
  const parts = [`${progress.decided} of ${progress.rows}`, `about ${counted(progress.left, state.free ? "wrong row" : "wrong label")} left`];
  if (progress.precision !== null) parts.push(`precision so far ${Math.round(100 * progress.precision)} %`);
  if (progress.unsure) parts.push(`${progress.unsure} can’t be told`);
  find("progress").textContent = parts.join("; ");
}

function say(sentence) { find("spoken").textContent = sentence; }

function complain(sentence) {
  find("error").hidden = !sentence;
  find("error").textContent = sentence || "";
}

async function show(at) {
  const row = state.rows[at];
  const seen = await view(row);
  state.at = at;
  state.shown = seen;
  find("review").hidden = false;
  find("heading").textContent = `Row ${seen.row}`;
  find("where").textContent = seen.spreadsheet_row === null ? "" : `row ${seen.spreadsheet_row} in a spreadsheet`;
  for (const side of ["observed", "suggested"]) {
    find(side).textContent = seen[side].name;
    find(`${side}-odds`).textContent = percent(seen[side].probability);
    find(`usual-${side}`).textContent = seen.columns.some(one => one[side]) ? `usual for ${seen[side].kin}` : "";
    find(`nearest-${side}-name`).textContent = seen[side].kin;
    find(`nearest-${side}`).replaceChildren(...seen.nearest[side].map(nearRow));
    find(`nearest-${side}`).parentElement.hidden = !seen.nearest[side].length;
  }
  find("keep-name").textContent = seen.observed.name;
  find("take-name").textContent = seen.suggested.name;
  showDecision(seen.decision);
  showRow(seen);
  find("candidates").replaceChildren(...seen.candidates.map((one, i) => element("button", {
    type: "button", className: one.name.length > 9 ? "long" : "",
    onclick: () => decide(one.code), title: `probability ${percent(one.probability)}`,
  }, element("kbd", {}, String(i + 1)), " ", element("span", {}, one.name))));
  find("other-button").hidden = !hasOthers();
  const next = nextUndecided(at);
  if (next >= 0) view(state.rows[next]).catch(() => {});
}

function hasOthers() { return state.free || state.names.length > 2 + state.shown.candidates.length; }

function showDecision(decision) {
  const words = { keep: "kept as", suggestion: "changed to", other: "changed to", unsure: "can’t be told" };
  find("decision").hidden = !decision;
  find("decision").textContent = decision ? `Decided: ${words[decision.action]} ${decision.label}` : "";
}

function showRow(seen) {
  find("picture").hidden = !seen.picture;
  if (seen.picture) {
    find("picture").src = seen.picture;
    find("picture").alt = `picture of row ${seen.row}`;
  }
  find("texts").replaceChildren(...seen.texts.map(text => element("div", {},
    element("h3", {}, text.name),
    element("p", { className: "text" }, ...text.parts.map(([words, side]) => side
      ? element("mark", { className: side > 0 ? "suggested" : "observed" }, words) : words)))));
  find("columns").hidden = !seen.columns.length;
  const strongest = Math.max(1, ...seen.columns.map(one => Math.abs(one.score)));
  find("columns").tBodies[0].replaceChildren(...seen.columns.map(one => columnRow(one, seen, strongest)));
  find("hidden-columns").textContent = seen.hidden ? `Not shown: ${counted(seen.hidden, "column")} less telling.` : "";
  find("unused").replaceChildren(...seen.unused.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function columnRow(one, seen, strongest) {
  const side = one.score > 0 ? "suggested" : "observed";
  const bar = element("span", { className: `bar ${side}` });
  bar.style.width = `${Math.min(50, 50 * Math.abs(one.score) / strongest)}%`;
  const tells = Math.abs(one.score) >= 0.1;
  const track = element("span", { className: "track", title: `score ${one.score.toFixed(1)}` }, ...(tells ? [bar] : []));
  const words = element("span", { className: "unseen" }, tells ? seen[side].kin : "neither");
  return element("tr", {}, element("th", { scope: "row" }, one.name), element("td", {}, one.value), element("td", {}, track, words),
    element("td", { className: "soft" }, one.suggested), element("td", { className: "soft" }, one.observed));
}

function nearRow(one) {
  const item = element("li", { className: one.picture ? "" : "wide" });
  if (one.picture) item.append(element("img", { src: one.picture, alt: `picture of row ${one.row}` }));
  item.append(...one.texts.map(text => element("p", { className: "text" }, text)));
  item.append(element("p", { className: "values" }, ...one.values.map(([name, value]) => element("span", {}, `${name} `, element("b", {}, value)))));
  item.append(element("small", {}, `row ${one.row}`));
  return item;
}

// One thing at a time: what is pressed while a decision is on its way to the disk is not meant for the next row.
async function alone(work) {
  if (state.busy) return;
  state.busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    await work();
    complain("");
  } catch (error) {
    complain(error.message);
    if (error.status === 409) {
      views.delete(state.shown.row);
      await show(state.at).catch(() => {});
    }
  } finally {
    state.busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

function decide(code) {
  return alone(async () => {
    const { row, version } = state.shown;
    const candidate = find("candidates").contains(document.activeElement);
    const stored = await call("/api/decide", { row, code, version });
    views.delete(row);
    state.decided.add(row);
    showProgress(stored.progress);
    const done = stored.decision.label ? `Row ${row}: ${stored.decision.label}, stored.` : `Row ${row}: can’t be told, stored.`;
    const next = nextUndecided(state.at);
    if (next < 0) {
      await show(state.at);
      say(`${done} All rows are decided.`);
      await finish();
      return;
    }
    await show(next);
    if (candidate) find("candidates").firstElementChild?.focus();  // the button that had the focus is gone
    say(`${done} ${spoken()}`);
  });
}

function spoken() {
  const { row, observed, suggested } = state.shown;
  return `Row ${row}, ${observed.name}, suggested ${suggested.name} ${percent(suggested.probability)}.`;
}

async function undo() {
  const undone = await call("/api/undo", {});
  if (undone.row === null) {
    say("Nothing to undo.");
    return;
  }
  views.delete(undone.row);
  state.decided.delete(undone.row);
  showProgress(undone.progress);
  await show(state.rows.indexOf(undone.row));
  say(`Undone. ${spoken()}`);
}

async function finish() {
  const written = await call("/api/finish", {});
  const { decided, rows, wrong, unsure } = written.progress;
  find("finish-summary").textContent = `${decided} of ${counted(rows, "row")} decided: ${wrong} changed, ${decided - wrong - unsure} kept, ${unsure} can’t be told.`;
  find("finish-estimate").textContent = `${written.estimate}.`;
  find("finish-files").replaceChildren(...written.files.map(file => element("li", {}, element("code", {}, file))));
  showProgress(written.progress);
  find("finish").showModal();
}

function look(step) {
  const n = state.rows.length;
  return alone(async () => {
    await show((state.at + step + n) % n);
    say(spoken());
  });
}

// The dialog of all labels: a field that filters, a list that the arrows go through.
function openOther() {
  find("filter").value = state.free ? state.shown.suggested.name : "";
  listLabels();
  find("other").showModal();
  find("filter").select();  // what is there can be typed over
}

function listLabels() {
  const wanted = find("filter").value.trim().toLowerCase();
  const typed = find("filter").value.trim();
  const fits = state.free ? [{ name: typed, code: typed }].filter(one => one.name)
    : state.names.map((name, code) => ({ name, code })).filter(one => one.name.toLowerCase().includes(wanted));
  fits.sort((a, b) => b.name.toLowerCase().startsWith(wanted) - a.name.toLowerCase().startsWith(wanted));
  find("labels").replaceChildren(...fits.slice(0, 200).map((one, i) => element("li", {
    role: "option", id: `label-${i}`, onclick: () => chooseLabel(one.code),
  }, one.name)));
  [...find("labels").children].forEach((item, i) => { item.dataset.code = fits[i].code; });
  markLabel(0);
}

function markLabel(index) {
  const items = [...find("labels").children];
  if (!items.length) return find("filter").removeAttribute("aria-activedescendant");
  const at = (index + items.length) % items.length;
  items.forEach((item, i) => item.setAttribute("aria-selected", i === at));
  items[at].scrollIntoView({ block: "nearest" });
  find("filter").setAttribute("aria-activedescendant", items[at].id);
}

function chooseLabel(code) {
  find("other").close();
  decide(code);
}

find("filter").addEventListener("input", listLabels);
find("filter").addEventListener("keydown", event => {
  const items = [...find("labels").children];
  const at = items.findIndex(item => item.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    markLabel(at + (event.key === "ArrowDown" ? 1 : -1));
  } else if (event.key === "Enter" && at >= 0) {
    chooseLabel(state.free ? items[at].dataset.code : Number(items[at].dataset.code));
  } else {
    return;
  }
  event.preventDefault();
});

const actions = {
  k: () => decide(state.shown.observed.code),
  s: () => decide(state.shown.suggested.code),
  c: () => decide(null),
  o: () => { if (hasOthers()) openOther(); },
  u: () => alone(undo),
  f: () => alone(finish),
  "?": () => find("help").showModal(),
  ArrowLeft: () => look(-1),
  ArrowRight: () => look(1),
};

document.addEventListener("keydown", event => {
  const elsewhere = event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]");
  if (elsewhere || !state.shown || !find("keys").checked) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const candidate = state.shown.candidates[Number(key) - 1];
  if (key in actions) actions[key]();
  else if (candidate) decide(candidate.code);
  else return;
  event.preventDefault();
});

document.querySelectorAll("button[data-key]").forEach(button => button.addEventListener("click", () => {
  if (state.shown) actions[button.dataset.key]();
}));

find("keys").checked = localStorage.getItem("keys") !== "off";
find("keys").addEventListener("change", () => localStorage.setItem("keys", find("keys").checked ? "on" : "off"));

async function load() {
  const overview = await call("/api/review");
  views.clear();
  Object.assign(state, { names: overview.names, free: overview.free, rows: overview.rows, decided: new Set(overview.decided) });
  document.title = find("title").textContent = overview.title;
  find("reviewer").textContent = overview.reviewer && `reviewer: ${overview.reviewer}`;
  showProgress(overview.progress);
  if (!state.rows.length) throw new Error("There is no row to review.");
  const first = nextUndecided(-1);
  await show(first < 0 ? 0 : first);
  say(spoken());
}

alone(load);
