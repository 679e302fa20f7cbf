// Views of a picture that is scaled on the screen before it is drawn anew. Nothing here touches the page.

/** No movement: points of the screen [pixels] go to `scale` times themselves plus `shift`. */
export const STILL = { scale: 1, shift: [0, 0] };

/** A movement, and after it another one that scales everything around a point of the screen. */
export function scaled({ scale, shift }, factor, at) {
  return { scale: scale * factor, shift: shift.map((one, k) => at[k] + factor * (one - at[k])) };
}
/** A movement, and after it another one. */
export function joined({ scale, shift }, next) {
  return { scale: next.scale * scale, shift: shift.map((one, k) => next.scale * one + next.shift[k]) };
}
/** The movement that brings two fingers from two points of the page to two others; `corner` is that of the screen. */
export function pinch(before, now, corner) {
  const middle = ([a, b]) => a.map((one, k) => (one + b[k]) / 2 - corner[k]), apart = ([a, b]) => Math.hypot(a[0] - b[0], a[1] - b[1]);
  const scale = apart(before) > 0 ? apart(now) / apart(before) : 1, from = middle(before), to = middle(now);
  return { scale, shift: to.map((one, k) => one - scale * from[k]) };
}
/** Where a view [x, y, width, height] is on a screen [width, height]: in its middle, as large as possible. */
export function placeOf([, , w, h], [width, height]) {
  const size = Math.min(width / w, height / h);
  return { size, corner: [(width - size * w) / 2, (height - size * h) / 2] };
}
/** The view that shows a picture where a movement has brought it. */
export function viewAfter({ scale, shift }, { size, corner }, [x, y, w, h]) {
  const [left, top] = corner.map((one, k) => (scale * one - one + shift[k]) / (scale * size));
  return [x - left, y - top, w / scale, h / scale];
}
