// Navigation between the pages, and periodic refresh.

import { listenForKey } from "./api.js";
import * as dashboard from "./dashboard.js";
import * as teach from "./teach.js";

const SECONDS = 2;

function show() {
  const teaching = location.hash === "#teach";
  document.getElementById("models").hidden = teaching;
  document.getElementById("teach").hidden = !teaching;
  for (const [id, here] of [["to-models", !teaching], ["to-teach", teaching]]) {
    const link = document.getElementById(id);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (teaching) teach.open();
  else dashboard.refresh();
}

teach.start();
listenForKey(show);
addEventListener("hashchange", show);
setInterval(() => {
  if (!document.hidden && location.hash !== "#teach") dashboard.refresh();
}, 1000 * SECONDS);
show();
