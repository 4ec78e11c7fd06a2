// A session's figures, and what it did in the last moments.

const COLOURS = ["#8e8e93", "#3b82f6", "#f59e0b", "#10b981"]; // of lanes, in the service's order
const SHOWN_SECONDS = 2;
const SHOWN_PASSES = 5;
const BYTES = ["B", "KiB", "MiB", "GiB"];

export function bytes(count) {
  const unit = count > 0 ? Math.min(BYTES.length - 1, Math.floor(Math.log2(count) / 10)) : 0;
  return `${(count / 1024 ** unit).toFixed(unit ? 1 : 0)} ${BYTES[unit]}`;
}

const milliseconds = (seconds) => (seconds == null ? "–" : `${(seconds * 1000).toFixed(seconds < 0.1 ? 1 : 0)} ms`);

/** Fills a <dl>: `session` as the service describes it, `player` for what only the browser knows. */
export function showFigures(list, session, player) {
  const rows = [
    ["frames/s of " + session.fps, session.rate.toFixed(1), session.rate < session.fps * 0.95 && session.rate > 0],
    ["frame", player.shown ? `${player.shown.index}, clip ${player.shown.clip}` : "–"],
    ["latents to frame", milliseconds(session.latency_s)],
    ["latents to picture", milliseconds(player.latency)],
    ["step", milliseconds(session.step_s)],
    ["queue", `${session.queued_latents} + ${session.decoding_latents} decoding`],
    ["deadlines missed", session.deadline_missed, session.deadline_missed > 0],
    ["readers", session.readers],
    ["session", bytes(session.state_bytes)],
    ["device", session.device_bytes == null ? "–" : bytes(session.device_bytes)],
    ["device, free", session.device_bytes == null ? "–" : bytes(session.device_free)],
  ];
  list.replaceChildren(...rows.map(([name, value, bad]) => {
    const row = document.createElement("div"), term = document.createElement("dt"), text = document.createElement("dd");
    term.textContent = name;
    text.textContent = value;
    text.classList.toggle("bad", Boolean(bad));
    row.append(term, text);
    return row;
  }));
}

/** Draws the trace's last seconds, a row a lane, the newest at the right. */
export function drawLanes(canvas, trace) {
  const width = (canvas.width = canvas.clientWidth), height = (canvas.height = canvas.clientHeight);
  const context = canvas.getContext("2d");
  const names = trace.traceEvents.filter(({name}) => name === "thread_name").map(({args}) => args.name);
  const row = height / names.length, begin = trace.now - SHOWN_SECONDS * 1e6, scale = width / (SHOWN_SECONDS * 1e6);
  context.clearRect(0, 0, width, height);
  for (const {ph, tid, ts, dur} of trace.traceEvents) {
    if (ph !== "X") continue;
    context.fillStyle = COLOURS[tid % COLOURS.length];
    context.fillRect((ts - begin) * scale, tid * row + 2, Math.max(1, dur * scale), row - 4);
  }
  const style = getComputedStyle(canvas);
  context.font = "11px sans-serif";
  names.forEach((name, lane) => {
    context.fillStyle = style.backgroundColor;
    context.fillRect(0, lane * row, context.measureText(name).width + 8, row);
    context.fillStyle = style.color;
    context.fillText(name, 4, (lane + 0.68) * row);
  });
}

/** Fills the table of the decoder's dearest passes: a bar for a pass's share of the time, its name, its mean time. */
export function showPasses(table, passes) {
  table.hidden = passes.length === 0;
  table.tBodies[0].replaceChildren(...passes.map(({name, average_s, share}) => {
    const row = document.createElement("tr");
    for (const text of [name, milliseconds(average_s), `${(share * 100).toFixed(1)} %`])
      row.insertCell().textContent = text;
    row.style.setProperty("--share", share / passes[0].share);
    return row;
  }));
}

export const lanesPath = (id) => `/sessions/${id}/trace?seconds=${SHOWN_SECONDS}`;
export const passesPath = (id) => `/sessions/${id}/passes?most=${SHOWN_PASSES}`;
