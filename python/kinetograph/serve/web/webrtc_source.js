// Frames by WebRTC: an offer in, an answer out (WHEP), and a data channel with the frames' facts.
import {ask} from "./api.js";

const GATHER_MILLISECONDS = 1000;
const FACTS = 200; // of the newest frames
const CLOCK = 90000, WRAP = 2 ** 32; // of RTP's timestamps

export class WebRtcSource {
  /** As Mp4Source's. */
  constructor(video, session, {onplay, onend}) {
    Object.assign(this, {video, session, onplay, onend});
    this.facts = [];
    this.origin = null; // RTP's timestamp of the stream's start
    this.connection = new RTCPeerConnection();
    this.connection.addTransceiver("video", {direction: "recvonly"});
    this.connection.ontrack = ({track}) => {
      video.removeAttribute("src");
      video.srcObject = new MediaStream([track]);
      video.playbackRate = 1;
      track.onunmute = () => this.onplay();
    };
    this.connection.onconnectionstatechange = () => {
      if (["failed", "disconnected"].includes(this.connection.connectionState)) this.end("the connection was lost");
    };
    this.channel = this.connection.createDataChannel("kinetograph");
    this.channel.onmessage = ({data}) => {
      this.facts.push({...JSON.parse(data), received: performance.now()});
      if (this.facts.length > FACTS) this.facts.shift();
    };
    this.channel.onclose = () => this.end("the session or the connection has ended");
    this.open().catch((error) => this.end(error.message));
  }

  async open() {
    await this.connection.setLocalDescription();
    const gathered = new Promise((done) => {
      this.connection.onicegatheringstatechange = () => this.connection.iceGatheringState === "complete" && done();
      setTimeout(done, GATHER_MILLISECONDS);
    });
    await gathered;
    const answer = await ask("POST", `/sessions/${this.session}/whep`, {
      body: this.connection.localDescription.sdp, headers: {"Content-Type": "application/sdp"}});
    await this.connection.setRemoteDescription({type: "answer", sdp: await answer.text()});
  }

  end(sentence) {
    if (this.onend) this.onend(0, sentence);
    this.close();
  }

  close() {
    this.onend = null;
    this.connection.close();
  }

  send(text) {
    if (this.channel.readyState === "open") this.channel.send(text);
  }

  /** The facts of the frame that the video shows; of the first one, those that have come last. */
  shown({rtpTimestamp}) {
    if (rtpTimestamp === undefined || this.facts.length === 0) return undefined;
    this.origin ??= rtpTimestamp - Math.round(this.facts.at(-1).start * CLOCK);
    const start = ((rtpTimestamp - this.origin + WRAP) % WRAP) / CLOCK;
    return this.facts.findLast((one) => one.start <= start + 0.001);
  }
}
