// Requests to the service, with its token.

const TOKEN = "kinetograph-token";

/** The service asks for its token, or refuses this one. */
export class NeedsToken extends Error {}

export function setToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    setToken(given);
    history.replaceState(null, "", location.pathname); // out of sight, and out of the history
  }
  return sessionStorage.getItem(TOKEN);
}

/** The answer. Throws Error with the service's sentence, NeedsToken without a valid token. */
export async function ask(method, path, options = {}) {
  const headers = {...options.headers};
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const answer = await fetch(path, {method, ...options, headers});
  if (answer.ok) return answer;
  const sentence = (await answer.json().catch(() => ({}))).error ?? `${path} answers ${answer.status}`;
  throw answer.status === 401 ? new NeedsToken(sentence) : new Error(sentence);
}

/** A WebSocket of binary messages as ArrayBuffer. A browser can give it no header: the token is a subprotocol. */
export function socket(path) {
  const protocols = ["kinetograph", ...(token() ? [`token.${token()}`] : [])];
  const made = new WebSocket(location.origin.replace(/^http/, "ws") + path, protocols);
  made.binaryType = "arraybuffer";
  return made;
}

/** Saves a blob as a file of the person who looks at the page. */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
