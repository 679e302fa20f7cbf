// Views of a picture that is scaled on the screen before it is drawn anew. Nothing here touches the page.

/** No movement: points of the screen [pixels] go to `scale` times themselves plus `shift`. */
export const STILL = { scale: 1, shift: [0, 0] };

/** A movement, and after it another one that scales everything around a point of the screen. */
export function scaled({ scale, shift }, factor, at) {
  return { scale: scale * factor, shift: shift.map((one, k) => at[k] + factor * (one - at[k])) };
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
