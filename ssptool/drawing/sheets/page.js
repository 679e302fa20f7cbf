// Zooming, panning, and which sheet is shown: the one that the address names.
const sections = [...document.querySelectorAll('section')];
const home = new Map(sections.map(s => [s, s.querySelector('svg').getAttribute('viewBox')]));
let shown;
function show() {
  shown = document.getElementById(decodeURIComponent(location.hash.slice(1))) || sections[0];
  sections.forEach(s => s.classList.toggle('shown', s === shown));
}
function box() { return shown.querySelector('svg').getAttribute('viewBox').split(' ').map(Number); }
function look(x, y, w, h) { shown.querySelector('svg').setAttribute('viewBox', [x, y, w, h].join(' ')); }
function zoom(factor, px = .5, py = .5) {
  const [x, y, w, h] = box();
  look(x + w * px * (1 - factor), y + h * py * (1 - factor), w * factor, h * factor);
}
function place(event) {
  const svg = shown.querySelector('svg');
  const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const [x, y, w, h] = box();
  return [(p.x - x) / w, (p.y - y) / h];
}
document.getElementById('in').onclick = () => zoom(0.8);
document.getElementById('out').onclick = () => zoom(1.25);
document.getElementById('fit').onclick = () => look(...home.get(shown).split(' ').map(Number));
for (const section of sections) {
  const svg = section.querySelector('svg');
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
