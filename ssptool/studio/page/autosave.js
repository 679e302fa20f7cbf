// Saving without being asked, as an option that is remembered: a moment after the last gesture.

const KEY = 'ssptool studio autosave', REST = 1000;  // ms without a gesture

/** Whether gestures can be saved: not in a conflict, not beside kept edits that would no longer fit, not an untouched new system. */
export function savable({ unsaved, conflict, kept, undo, redo }) {
  return Boolean(unsaved && !conflict && !kept && (undo || redo));
}

/** Gives a function that is told of each state of the system; `save` is called where saving is wanted and possible. */
export function enableAutosave(box, save) {
  let now = null, waiting = null;
  const wait = () => {
    clearTimeout(waiting);
    if (box.checked && now && savable(now)) waiting = setTimeout(save, REST);
  };
  box.checked = localStorage.getItem(KEY) === 'on';
  box.addEventListener('change', () => {
    if (box.checked) localStorage.setItem(KEY, 'on'); else localStorage.removeItem(KEY);
    wait();
  });
  return model => { now = model; wait(); };
}
