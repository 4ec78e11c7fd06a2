// The page: a grid of the service's sessions, and what is dropped on it.
import {ask, NeedsToken, setToken} from "./api.js";
import {Card} from "./card.js";

const POLL_MILLISECONDS = 1000;
const THEME = "kinetograph-theme";

const grid = document.getElementById("sessions");
const message = document.getElementById("message");
const login = document.getElementById("login");
const cards = new Map();
let tokenIsRefused = false;

function report(sentence) {
  message.textContent = sentence;
  message.hidden = !sentence;
}

async function update() {
  const {decoders, sessions, webrtc} = await (await ask("GET", "/sessions")).json();
  document.getElementById("decoders").textContent =
    decoders.map(({family, device, description}) => `${family} on ${device}: ${description}`).join("; ");
  for (const [id, card] of cards)
    if (!sessions.some((session) => session.id === id)) {
      card.close();
      cards.delete(id);
    }
  for (const session of sessions) {
    if (!cards.has(session.id)) {
      cards.set(session.id, new Card(session, webrtc && !location.search.includes("webrtc=0"), report));
      grid.append(cards.get(session.id).element);
    }
    await cards.get(session.id).update(session);
  }
  document.getElementById("nothing").hidden = sessions.length > 0;
}

let isAway = false;
async function poll() {
  try {
    if (!tokenIsRefused && !document.hidden) await update();
    if (isAway) report("");
    isAway = false;
  } catch (error) {
    tokenIsRefused = error instanceof NeedsToken;
    login.hidden = !tokenIsRefused;
    isAway = !tokenIsRefused;
    const sentence = error instanceof TypeError ? "The service does not answer; trying again." : error.message;
    report(tokenIsRefused ? "" : sentence);
  }
  setTimeout(poll, POLL_MILLISECONDS);
}

async function play(file) {
  report("");
  try {
    await ask("POST", "/clips", {body: file, headers: {"Content-Type": "application/octet-stream"}});
  } catch (error) {
    report(`${file.name}: ${error.message}`);
  }
}

login.onsubmit = (event) => {
  event.preventDefault();
  setToken(new FormData(login).get("token"));
  tokenIsRefused = false;
  login.hidden = true;
};
document.getElementById("file").onchange = ({target}) => {
  for (const file of target.files) play(file);
  target.value = "";
};
for (const kind of ["dragover", "dragleave", "drop"])
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    document.body.classList.toggle("dropping", kind === "dragover");
    if (kind === "drop") for (const file of event.dataTransfer.files) play(file);
  });
document.addEventListener("keydown", (event) => {
  if (event.key !== " " || event.target.closest("button, input")) return;
  event.preventDefault();
  for (const card of cards.values()) card.find(".pause").click();
});
document.getElementById("theme").onclick = () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  localStorage.setItem(THEME, (document.documentElement.dataset.theme = dark ? "light" : "dark"));
};
document.documentElement.dataset.theme = localStorage.getItem(THEME) ?? "";
poll();
