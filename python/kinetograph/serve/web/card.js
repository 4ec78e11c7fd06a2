// One session on the page: its video, its buttons, its figures.
import {ask, save} from "./api.js";
import {drawLanes, lanesPath, passesPath, showFigures, showPasses} from "./overlay.js";
import {Player} from "./player.js";

const PERFETTO = "https://ui.perfetto.dev";

export class Card {
  /** `useWebRtc`: try it before the other way. `report` is called with a sentence when a request fails. */
  constructor(session, useWebRtc, report) {
    this.id = session.id;
    this.report = report;
    this.element = document.getElementById("card").content.firstElementChild.cloneNode(true);
    this.element.dataset.session = session.id;
    const video = this.find("video");
    [video.width, video.height] = [session.width, session.height];
    this.player = new Player(video, session.id, useWebRtc, (text) => (this.find(".state").value = text));
    if (session.takes_latents) this.listen();
    const buttons = {pause: () => this.pause(), reset: () => this.post("reset"), figures: () => this.toggleFigures(),
                     snapshot: () => this.snapshot(), trace: () => this.trace(), close: () => this.end()};
    for (const [name, action] of Object.entries(buttons))
      this.find("." + name).onclick = () => Promise.resolve(action()).catch((error) => this.report(error.message));
    this.find(".reset").hidden = !session.takes_latents;
  }

  find(selector) {
    return this.element.querySelector(selector);
  }

  /** Keys and the mouse, while the picture has the focus, go to the session's generator. */
  listen() {
    const picture = this.find(".picture");
    picture.tabIndex = 0;
    const send = (event, facts) => {
      event.preventDefault();
      event.stopPropagation();
      this.player.send(JSON.stringify({type: event.type, at: Date.now(), ...facts}));
    };
    for (const kind of ["keydown", "keyup"])
      picture.addEventListener(kind, (event) => event.key !== "Tab" && send(event, {key: event.key}));
    for (const kind of ["pointerdown", "pointerup", "pointermove"])
      picture.addEventListener(kind, (event) => {
        if (kind === "pointerdown") picture.focus();
        const {left, top, width, height} = picture.getBoundingClientRect();
        send(event, {x: (event.clientX - left) / width, y: (event.clientY - top) / height, buttons: event.buttons});
      });
  }

  post(action) {
    return ask("POST", `/sessions/${this.id}/${action}`);
  }

  async pause() {
    const paused = !this.paused;
    await this.post(paused ? "pause" : "play");
    this.showPaused(paused);
  }

  showPaused(paused) {
    this.paused = paused;
    this.find(".pause").textContent = paused ? "Play" : "Pause";
  }

  toggleFigures() {
    const overlay = this.find(".overlay");
    overlay.hidden = !overlay.hidden;
    this.find(".figures").setAttribute("aria-pressed", String(!overlay.hidden));
  }

  async snapshot() {
    const answer = await ask("GET", `/sessions/${this.id}/snapshot`);
    save(await answer.blob(), `frame_${answer.headers.get("kinetograph-frame")}.png`);
  }

  /** Opens the last minute in Perfetto, which takes it by postMessage once it answers a ping; else saves a file. */
  async trace() {
    const opened = window.open(PERFETTO);
    const buffer = await (await ask("GET", `/sessions/${this.id}/trace`)).arrayBuffer();
    if (!opened) return save(new Blob([buffer], {type: "application/json"}), `kinetograph_${this.id}.json`);
    const ping = () => (opened.closed ? clearInterval(pinging) : opened.postMessage("PING", PERFETTO));
    const pinging = setInterval(ping, 100);
    const answered = ({data, source}) => {
      if (data !== "PONG" || source !== opened) return;
      clearInterval(pinging);
      window.removeEventListener("message", answered);
      opened.postMessage({perfetto: {buffer, title: `kinetograph ${this.id}`}}, PERFETTO);
    };
    window.addEventListener("message", answered);
  }

  end() {
    return ask("DELETE", `/sessions/${this.id}`);
  }

  async update(session) {
    this.showPaused(session.paused);
    if (this.find(".overlay").hidden) return;
    showFigures(this.find("dl"), session, this.player);
    const [lanes, passes] = await Promise.all([lanesPath(this.id), passesPath(this.id)].map(
      async (path) => (await ask("GET", path)).json()));
    drawLanes(this.find(".lanes"), lanes);
    showPasses(this.find(".passes"), passes);
  }

  close() {
    this.player.close();
    this.element.remove();
  }
}
