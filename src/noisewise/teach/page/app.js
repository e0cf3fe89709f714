// Draw, guess, answer. Strokes are in the board's own units; every answer is stored before the board is cleared.

const find = (id) => document.getElementById(id);
const token = location.hash.slice(1);
const board = find("board");
const pen = board.getContext("2d");
let strokes = [];
let guessed = false;
let busy = false;

async function call(path, body) {
  const options = { headers: { Authorization: `Bearer ${token}` } };
  if (body) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  const response = await fetch(path, options);
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  return found;
}

async function once(work) {
  if (busy) return;
  busy = true;
  try {
    find("error").hidden = true;
    await work();
  } catch (error) {
    find("error").textContent = error.message === "Failed to fetch" ? "The lesson is not running any more; start it again." : error.message;
    find("error").hidden = false;
  }
  busy = false;
}

function point(event) {
  const frame = board.getBoundingClientRect();
  const scale = board.width / frame.width;
  return [Math.round((event.clientX - frame.left) * scale * 10) / 10, Math.round((event.clientY - frame.top) * scale * 10) / 10];
}

function draw() {
  pen.clearRect(0, 0, board.width, board.height);
  pen.lineWidth = 6;
  pen.lineCap = pen.lineJoin = "round";
  pen.strokeStyle = getComputedStyle(document.body).color;
  for (const stroke of strokes) {
    pen.beginPath();
    pen.moveTo(...stroke[0]);
    for (const at of stroke.length > 1 ? stroke.slice(1) : stroke) pen.lineTo(...at);
    pen.stroke();
  }
}

function show(text, answerable) {
  find("guess").textContent = text || "\u00a0";
  guessed = answerable;
  find("yes").disabled = find("no").disabled = !answerable;
}

function clear() {
  strokes = [];
  draw();
  show("", false);
}

const ask = () => once(async () => {
  if (!strokes.length) throw new Error("The board is empty; draw something first.");
  show((await call("/api/guess", { sketch: strokes })).guess + "?", true);
});

const answer = (right) => once(async () => {
  if (!guessed) return;
  tell(await call("/api/answer", { right }));
  clear();
  board.focus();
});

function tell(lesson) {
  find("names").textContent = lesson.names.join(", ");
  const recent = lesson.recent === null ? "" : `, ${Math.round(100 * lesson.recent)} % of the last ${Math.min(20, lesson.rounds)}`;
  find("progress").textContent = lesson.rounds ? `${lesson.right} of ${lesson.rounds} right${recent}` : "No round yet.";
  const chart = find("curve");
  chart.toggleAttribute("hidden", lesson.curve.length < 2);
  if (lesson.curve.length < 2) return;
  const x = (at) => 34 + (at * 316) / (lesson.curve.length - 1);
  const y = (value) => 90 - 80 * value;
  const grid = [0, 0.5, 1].map((value) => `<line x1="34" x2="350" y1="${y(value)}" y2="${y(value)}"/><text x="30" y="${y(value) + 3}" text-anchor="end">${100 * value} %</text>`);
  const path = lesson.curve.map((value, at) => `${at ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  chart.innerHTML = `${grid.join("")}<path d="${path}"/><text x="192" y="106" text-anchor="middle">right in each ten rounds</text>`;
}

board.addEventListener("pointerdown", (event) => {
  if (guessed) return;
  board.setPointerCapture(event.pointerId);
  strokes.push([point(event)]);
  draw();
});
board.addEventListener("pointermove", (event) => {
  if (!event.buttons || !strokes.length || guessed) return;
  strokes.at(-1).push(point(event));
  draw();
});
find("ask").addEventListener("click", ask);
find("yes").addEventListener("click", () => answer(true));
find("no").addEventListener("click", () => answer(false));
find("clear").addEventListener("click", clear);
addEventListener("keydown", (event) => {
  const keys = { y: () => answer(true), n: () => answer(false), c: clear };
  if (event.key === "Enter" && event.target.tagName !== "BUTTON") ask();
  else if (!event.ctrlKey && !event.metaKey && keys[event.key.toLowerCase()]) keys[event.key.toLowerCase()]();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
once(async () => tell(await call("/api/lesson")));
