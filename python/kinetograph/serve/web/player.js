// A session's frames in a <video>: by WebRTC, where that connects, else as fragmented MP4.
import {Mp4Source} from "./mp4_source.js";
import {WebRtcSource} from "./webrtc_source.js";

const CONNECT_MILLISECONDS = 4000; // of WebRTC; then the other one is used
const FIRST_RETRY = 250, LAST_RETRY = 5000; // milliseconds
const ENDED = 4410; // close code: the session has ended

export class Player {
  /** `onstate` is called with a text, empty while the video plays. */
  constructor(video, session, useWebRtc, onstate) {
    Object.assign(this, {video, session, useWebRtc, onstate});
    this.shown = null; // facts of the frame on show
    this.latency = null; // seconds from its latents' arrival to its showing here
    this.retry = FIRST_RETRY;
    this.closed = false;
    this.watch();
    this.connect();
  }

  connect() {
    if (this.closed) return;
    clearTimeout(this.connecting);
    const Source = this.useWebRtc ? WebRtcSource : Mp4Source;
    const isWebRtc = this.useWebRtc;
    let plays = false;
    this.source = new Source(this.video, this.session, {
      onplay: () => {
        plays = true;
        clearTimeout(this.connecting);
        this.retry = FIRST_RETRY;
        this.video.dataset.source = isWebRtc ? "webrtc" : "mp4";
        this.onstate("");
      },
      onend: (code, reason) => this.lost(code, reason, isWebRtc && !plays),
    });
    if (isWebRtc) this.connecting = setTimeout(() => plays || this.lost(0, "", true), CONNECT_MILLISECONDS);
  }

  lost(code, reason, doesNotConnect) {
    if (this.closed) return;
    this.source.close();
    if (code === ENDED) return this.onstate(reason);
    if (doesNotConnect) this.useWebRtc = false;
    this.onstate(reason || "connecting again");
    clearTimeout(this.connecting);
    this.connecting = setTimeout(() => this.connect(), doesNotConnect ? 0 : this.retry);
    this.retry = Math.min(LAST_RETRY, this.retry * 2);
  }

  /** Sends a text to the session's generator. */
  send(input) {
    this.source.send(JSON.stringify({input}));
  }

  close() {
    this.closed = true;
    clearTimeout(this.connecting);
    this.source.close();
  }

  watch() {
    const shown = (now, metadata) => {
      const facts = this.source.shown(metadata);
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
