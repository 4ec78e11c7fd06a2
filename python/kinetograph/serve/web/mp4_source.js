// Frames as H.264 in fragmented MP4 over a WebSocket, by Media Source Extensions.
import {socket} from "./api.js";

const MOST_AHEAD = 0.6; // seconds of video beyond the picture; then it jumps
const KEPT = 8; // seconds before the picture that stay in the buffer
const FACTS = 1000; // of the newest frames

export class Mp4Source {
  /** `onplay` is called once frames come, `onend` with the close code and the sentence when no more will. */
  constructor(video, session, {onplay, onend}) {
    Object.assign(this, {video, onplay, onend});
    this.facts = new Map(); // of frames, by their number
    this.waiting = []; // what the buffer has not taken
    this.buffer = null;
    this.socket = socket(`/sessions/${session}/frames?encoding=h264&late=skip`);
    this.socket.onmessage = ({data}) => this.take(data);
    this.socket.onclose = ({code, reason}) => this.onend(code, reason);
    this.following = setInterval(() => this.follow(), 200);
  }

  close() {
    clearInterval(this.following);
    this.socket.onclose = null;
    this.socket.close();
    URL.revokeObjectURL(this.video.src);
  }

  send(text) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
  }

  /** The facts of the frame that the video shows. */
  shown({mediaTime}) {
    return [...this.facts.values()].reverse().find(({start}) => start <= mediaTime + 0.001);
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
    this.facts.delete(facts.number - FACTS);
  }

  begin(codec) {
    const type = `video/mp4; codecs="${codec}"`;
    if (!MediaSource.isTypeSupported(type)) {
      this.close();
      return this.onend(0, `this browser does not play ${type}`);
    }
    const source = new MediaSource();
    this.video.srcObject = null;
    this.video.src = URL.createObjectURL(source);
    source.onsourceopen = () => {
      this.buffer = source.addSourceBuffer(type);
      this.buffer.onupdateend = () => this.append();
      this.append();
    };
    this.onplay();
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
}
