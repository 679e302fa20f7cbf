// Figures of plotly, whose library is loaded when the first one is drawn.

import { make } from './elements.js';

let loading = null;
function plotly() {
  loading ??= new Promise((resolve, refuse) => {
    document.head.append(make('script', { src: 'plotly.js', onload: () => resolve(window.Plotly), onerror: refuse }));
  });
  return loading;
}
/** Draw a figure in an element; null clears it. */
export async function drawFigure(place, figure) {
  if (!figure && !place.children.length) return;
  const Plotly = await plotly();
  if (figure) await Plotly.react(place, figure.data, { ...figure.layout, autosize: true }, { responsive: true, displaylogo: false });
  else Plotly.purge(place);
}
