// Calls to the service; where it asks for an API key, so does the page.

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export async function call(method, path, body) {
  const response = await send(method, path, body);
  return response.status === 204 ? null : response.json();
}

async function send(method, path, body) {
  const headers = { "Content-Type": "application/json" };
  const key = sessionStorage.getItem("noisewise-key");
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  if (response.ok) return response;
  if (response.status === 401) document.getElementById("key-form").hidden = false;
  const problem = await response.json().catch(() => ({}));
  throw new Refused(response.status, problem.detail || `the service responded with ${response.status}`);
}

export const get = (path) => call("GET", path);
export const text = async (path) => (await send("GET", path)).text();
export const model = (name) => `/models/${encodeURIComponent(name)}`;

export function listenForKey(then) {
  const form = document.getElementById("key-form");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("noisewise-key", document.getElementById("key").value.trim());
    form.hidden = true;
    then();
  });
}

export function showError(error) {
  const alert = document.getElementById("error");
  alert.hidden = !error;
  alert.textContent = error ? `${error.message || error}` : "";
}
