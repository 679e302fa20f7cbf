// The server: calls that are answered, and events that it sends by itself.

const waiting = new Map();
const listeners = new Map();
let socket = null, number = 0, opened = null;

function address() {
  const here = new URL('calls', location.href);
  here.protocol = 'ws:';
  return here;
}

function connect() {
  socket = new WebSocket(address());
  opened = new Promise(resolve => { socket.onopen = resolve; });
  socket.onmessage = message => receive(JSON.parse(message.data));
  socket.onclose = () => {
    for (const { refuse } of waiting.values()) refuse(new Error('the server has ended; start ssptool studio again'));
    waiting.clear();
    tell({ event: 'closed' });
  };
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
export async function call(name, args = {}) {
  if (!socket) connect();
  await opened;
  return new Promise((resolve, refuse) => {
    waiting.set(++number, { resolve, refuse });
    socket.send(JSON.stringify({ id: number, call: name, arguments: args }));
  });
}

/** Listen to events of the server: model, disk, progress, closed. */
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
