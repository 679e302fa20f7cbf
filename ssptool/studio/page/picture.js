// The picture of the shown system as a file: SVG, or PNG with as many pixels as fit a page.

import { ask } from './edits.js';
import { make } from './elements.js';

const WIDE = 3000;  // pixels of the longer side of a PNG

/** Let the browser save the picture of a sheet, as `ssptool draw` makes it. */
export async function savePicture(sheet, kind) {
  const answer = await ask('picture', { sheet: sheet.path });
  if (!answer) return;
  const vector = new Blob([answer.svg], { type: 'image/svg+xml' });
  download(kind === 'png' ? await painted(answer.svg) : vector, `${sheet.name}.${kind}`);
}
async function painted(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const scale = WIDE / Math.max(image.width, image.height);
  const canvas = make('canvas', { width: Math.round(scale * image.width), height: Math.round(scale * image.height) }), pen = canvas.getContext('2d');
  pen.fillStyle = 'white';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(resolve => canvas.toBlob(resolve, 'image/png'));
}
function download(content, name) {
  const address = URL.createObjectURL(content);
  make('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);  // the browser has read it by then
}
