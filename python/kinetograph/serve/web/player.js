// A session's frames in a <video>: H.264 in fragmented MP4 over a WebSocket, by Media Source Extensions.
import {socket} from "./api.js";

const MOST_AHEAD = 0.6; // seconds of video beyond the picture; then it jumps
const KEPT = 8; // seconds before the picture that stay in the buffer
const FIRST_RETRY = 250, LAST_RETRY = 5000; // milliseconds
const ENDED = 4410; // close code: the session has ended

export class Player {
  /** `onstate` is called with a text, empty while the video plays. */
  constructor(video, session, onstate) {
    this.video = video;
    this.session = session;
    this.onstate = onstate;
    this.shown = null; // facts of the frame on show
    this.latency = null; // seconds from its latents' arrival to its showing here
    this.retry = FIRST_RETRY;
    this.closed = false;
    this.watch();
    this.connect();
    this.following = setInterval(() => this.follow(), 200);
  }

  connect() {
    this.facts = new Map(); // of frames, by their number in this connection
    this.waiting = []; // what the buffer has not taken
    this.buffer = null;
    this.socket = socket(`/sessions/${this.session}/frames?encoding=h264&late=skip`);
    this.socket.onmessage = ({data}) => this.take(data);
    this.socket.onclose = ({code, reason}) => this.lost(code, reason);
  }

  lost(code, reason) {
    if (this.closed) return;
    if (code === ENDED) return this.onstate(reason);
    this.onstate(reason || "connecting again");
    setTimeout(() => this.closed || this.connect(), this.retry);
    this.retry = Math.min(LAST_RETRY, this.retry * 2);
  }

  close() {
    this.closed = true;
    clearInterval(this.following);
    this.socket.close();
    URL.revokeObjectURL(this.video.src);
  }

  take(message) {
    if (typeof message !== "string") {
      this.waiting.push(message);
      this.append();
      return;
    }
    const facts = JSON.parse(message);
    if (facts.codec) this.begin(facts.codec);
    if (facts.number === undefined) return;
    this.facts.set(facts.number, {...facts, received: performance.now()});
    this.facts.delete(facts.number - 1000);
  }

  begin(codec) {
    const source = new MediaSource();
    const type = `video/mp4; codecs="${codec}"`;
    if (!MediaSource.isTypeSupported(type)) return this.onstate(`this browser does not play ${type}`);
    URL.revokeObjectURL(this.video.src);
    this.video.src = URL.createObjectURL(source);
    source.onsourceopen = () => {
      this.buffer = source.addSourceBuffer(type);
      this.buffer.onupdateend = () => this.append();
      this.append();
    };
    this.retry = FIRST_RETRY;
    this.onstate("");
  }

  append() {
    if (!this.buffer || this.buffer.updating || this.waiting.length === 0) return;
    const old = this.video.currentTime - KEPT;
    if (this.buffer.buffered.length && this.buffer.buffered.start(0) < old - KEPT) this.buffer.remove(0, old);
    else this.buffer.appendBuffer(this.waiting.shift());
  }

  /** Stays close to the newest frame: a little slower when little is there, a little faster or a jump when much is. */
  follow() {
    const {video} = this;
    if (!video.buffered.length || video.seeking) return;
    const end = video.buffered.end(video.buffered.length - 1), ahead = end - video.currentTime;
    if (ahead > MOST_AHEAD || ahead < 0) video.currentTime = Math.max(video.buffered.start(0), end - 0.1);
    video.playbackRate = ahead < 0.06 ? 0.8 : ahead > 0.25 ? 1.1 : 1;
    if (video.paused) video.play().catch(() => {});
  }

  watch() {
    const shown = (now, {mediaTime}) => {
      const facts = [...this.facts.values()].reverse().find(({start}) => start <= mediaTime + 0.001);
      if (facts) {
        this.shown = facts;
        this.latency = facts.age + (now - facts.received) / 1000;
        this.video.dataset.frame = facts.index;
      }
      if (!this.closed) this.video.requestVideoFrameCallback(shown);
    };
    this.video.requestVideoFrameCallback(shown);
  }
}
