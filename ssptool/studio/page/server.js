// The server: calls that are answered, and events that it sends by itself.

const gone = () => Object.assign(new Error('the server has ended'), { away: true });
const RETRY = 1000;  // ms between two looks whether the server is back
const CHANGES = ['add', 'paste', 'edit', 'move', 'resize', 'align', 'route', 'fix', 'rewrite', 'stimulus'];
const waiting = new Map();
const listeners = new Map();
const changing = new Set();
let socket = null, number = 0, opened = null, away = false;

function address() {
  const here = new URL('calls', location.href);
  here.protocol = 'ws:';
  return here;
}

function connect() {
  socket = new WebSocket(address());
  opened = new Promise((resolve, refuse) => {
    socket.onopen = resolve;
    socket.onclose = () => { refuse(gone()); closed(); };
  });
  opened.catch(() => {});  // each call is told
  socket.onmessage = message => receive(JSON.parse(message.data));
}

function closed() {
  socket = null;
  for (const { refuse } of waiting.values()) refuse(gone());
  waiting.clear();
  if (away) return;
  away = true;
  tell({ event: 'closed', refused: false });
  comeBack();
}
/** Connect again as soon as a server answers at this address and lets the page in. */
async function comeBack() {
  while (away) {
    await new Promise(resolve => { setTimeout(resolve, RETRY); });
    const answer = await fetch('page/style.css', { method: 'HEAD', cache: 'no-store' }).catch(() => null);
    if (answer && !answer.ok) tell({ event: 'closed', refused: true });
    if (!answer || !answer.ok) continue;
    connect();
    try { await opened; away = false; } catch { /* not yet */ }
  }
  tell({ event: 'opened' });
}

function receive(message) {
  if (message.event) { tell(message); return; }
  const call = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.error === undefined) call.resolve(message.answer);
  else call.refuse(Object.assign(new Error(message.error), { shared: message.shared }));
}

function tell(event) {
  for (const listener of listeners.get(event.event) || []) listener(event);
}

/** Call the server; the promise gives the answer, or fails with the sentence that says why not. */
export function call(name, args = {}) {
  const answer = send(name, args);
  if (CHANGES.includes(name)) {
    changing.add(answer);
    answer.catch(() => {}).then(() => changing.delete(answer));
  }
  return answer;
}
/** Wait for the changes that are on their way. */
export function changed() { return Promise.allSettled(changing); }

async function send(name, args) {
  if (away) throw gone();
  if (!socket) connect();
  await opened;
  return new Promise((resolve, refuse) => {
    waiting.set(++number, { resolve, refuse });
    socket.send(JSON.stringify({ id: number, call: name, arguments: args }));
  });
}

/** Listen to events of the server: model, disk, progress; closed and opened when it ends and is back. */
export function on(event, listener) {
  listeners.set(event, [...(listeners.get(event) || []), listener]);
}

/** Hand a dropped file to the server; gives the path by which edits name it. */
export async function upload(file) {
  const answer = await fetch('files?name=' + encodeURIComponent(file.name), { method: 'POST', body: file });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  return told.path;
}
