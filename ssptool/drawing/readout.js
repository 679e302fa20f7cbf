"use strict";
// What is at the pointer in pictures of plots: a line, and beside it the values of the curves or the place itself.
{
  const MOST = 12;
  const value = (scale, part) =>
    scale.log
      ? Math.exp(Math.log(scale.from) + part * Math.log(scale.to / scale.from))
      : scale.from + part * (scale.to - scale.from);
  const shown = (number) => (number === 0 ? "0" : Number(number.toPrecision(5)).toString());
  const named = (label) => /^(.*?) ?(?:\[(.*)\])?$/s.exec(label);

  // Stretches of points of a path, which has a gap where a value is missing.
  const stretches = (path) =>
    (path?.getAttribute("d") ?? "").split("M").slice(1).map((text) => {
      const numbers = text.match(/-?[\d.]+(?:e-?\d+)?/g).map(Number);
      return numbers.filter((_, k) => k % 2 === 0).map((x, k) => [x, numbers[2 * k + 1]]);
    });

  const at = (parts, x) => {
    for (const points of parts) {
      if (!points.length || x < points[0][0] || x > points[points.length - 1][0]) continue;
      let low = 0, high = points.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (points[middle][0] <= x) low = middle; else high = middle;
      }
      const [[x0, y0], [x1, y1]] = [points[low], points[high]];
      return x1 > x0 ? y0 + ((x - x0) / (x1 - x0)) * (y1 - y0) : y1;
    }
    return null;
  };

  const box = document.createElement("div");
  box.className = "readout";
  box.setAttribute("aria-hidden", "true");
  document.body.append(box);

  const row = (name, text) => {
    const line = document.createElement("div");
    line.textContent = name ? `${name} = ${text}` : text;
    return line;
  };

  for (const svg of document.querySelectorAll("svg[data-axes]")) {
    const axes = JSON.parse(svg.dataset.axes);
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "path");
    mark.setAttribute("class", "mark");
    svg.append(mark);
    const points = {};
    const hide = () => { box.hidden = true; mark.removeAttribute("d"); };
    hide();
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", (event) => {
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const one = axes.find(({ box: [left, top, right, bottom] }) => x >= left && x <= right && y >= top && y <= bottom);
      if (!one?.x || !one.y) return hide();
      const [left, top, right, bottom] = one.box;
      const [, across, unitAcross] = named(one.x.label), [, up, unitUp] = named(one.y.label);
      const text = (scale, part, unit) => `${shown(value(scale, part))}${unit ? ` ${unit}` : ""}`;
      const rows = [row(across, text(one.x, (x - left) / (right - left), unitAcross))];
      const found = Object.entries(one.curves).map(([id, name]) => {
        points[id] ??= stretches(document.querySelector(`#${id} path`));
        return [at(points[id], x), name];
      }).filter(([place]) => place !== null);
      found.sort(([one], [other]) => Math.abs(one - y) - Math.abs(other - y));
      for (const [place, name] of found.slice(0, MOST).sort(([one], [other]) => one - other))
        rows.push(row(name, text(one.y, (bottom - place) / (bottom - top), unitUp)));
      if (!found.length) rows.push(row(up, text(one.y, (bottom - y) / (bottom - top), unitUp)));
      if (found.length > MOST) rows.push(row("", `and ${found.length - MOST} more`));
      mark.setAttribute("d", `M ${x} ${top} V ${bottom}`);
      box.replaceChildren(...rows);
      box.hidden = false;
      const beside = event.clientX + 16 + box.offsetWidth < window.innerWidth;
      box.style.left = `${beside ? event.clientX + 16 : event.clientX - 16 - box.offsetWidth}px`;
      box.style.top = `${Math.min(event.clientY + 12, window.innerHeight - box.offsetHeight - 4)}px`;
    });
  }
}
