// Zooming, panning, which sheet is shown (the one that the address names), and whether with what is inside.
const sections = [...document.querySelectorAll('section')];
const home = new Map([...document.querySelectorAll('.picture > svg')].map(s => [s, s.getAttribute('viewBox')]));
const inside = document.getElementById('inside');
let shown;
function show() {
  shown = document.getElementById(decodeURIComponent(location.hash.slice(1))) || sections[0];
  for (const s of sections) {
    s.classList.toggle('shown', s === shown);
    s.classList.toggle('open', Boolean(inside && inside.checked && s.querySelector('.inside')));
  }
}
function picture() { return shown.querySelector(shown.matches('.open') ? '.inside > svg' : '.picture > svg'); }
function box() { return picture().getAttribute('viewBox').split(' ').map(Number); }
function look(x, y, w, h) { picture().setAttribute('viewBox', [x, y, w, h].join(' ')); }
function zoom(factor, px = .5, py = .5) {
  const [x, y, w, h] = box();
  look(x + w * px * (1 - factor), y + h * py * (1 - factor), w * factor, h * factor);
}
function place(event) {
  const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture().getScreenCTM().inverse());
  const [x, y, w, h] = box();
  return [(p.x - x) / w, (p.y - y) / h];
}
document.getElementById('in').onclick = () => zoom(0.8);
document.getElementById('out').onclick = () => zoom(1.25);
document.getElementById('fit').onclick = () => look(...home.get(picture()).split(' ').map(Number));
if (inside) inside.onchange = show;
for (const svg of home.keys()) {
  svg.addEventListener('wheel', e => {
    e.preventDefault();
    zoom(e.deltaY > 0 ? 1.1 : 1 / 1.1, ...place(e));
  }, {passive: false});
  let from = null;
  svg.addEventListener('pointerdown', e => {
    if (e.target.closest('a')) return;
    from = place(e);
    svg.setPointerCapture(e.pointerId);
  });
  svg.addEventListener('pointermove', e => {
    if (!from) return;
    const [px, py] = place(e), [x, y, w, h] = box();
    look(x - (px - from[0]) * w, y - (py - from[1]) * h, w, h);
  });
  svg.addEventListener('pointerup', () => { from = null; });
}
addEventListener('hashchange', show);
show();
