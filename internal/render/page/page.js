(() => {
  "use strict";
  const svg = document.getElementById("map");
  if (!svg) return;
  const plot = document.getElementById("map-plot"), tip = document.getElementById("tip"), announce = document.getElementById("announce");
  const view = svg.querySelector(".view"), dots = [...view.querySelectorAll("use, circle")], names = [...view.querySelectorAll("text")];
  const numbers = (text) => (text || "").split(" ").map(Number);
  const [left, top, right, bottom] = numbers(svg.dataset.frame), domain = numbers(svg.dataset.domain);
  const points = dots.map((e) => {
    const title = e.querySelector("title"), text = title ? title.textContent : "";
    if (title) title.remove(); // the browser would show it a second time
    return { e, text, k: e.dataset.k, x: +(e.getAttribute("x") || e.getAttribute("cx")), y: +(e.getAttribute("y") || e.getAttribute("cy")), r: +(e.getAttribute("r") || 0) };
  });
  const at = names.map((e) => [+e.getAttribute("x"), +e.getAttribute("y")]);
  let zoom = 1, dx = 0, dy = 0, current = -1, drag = null;

  document.querySelectorAll(".zoom, .with-script").forEach((e) => { e.hidden = false; });
  plot.tabIndex = 0;
  plot.setAttribute("role", "application");
  plot.setAttribute("aria-label", "Rows in two dimensions. Arrow keys go from row to row, plus and minus zoom.");

  // A point (x, y) of the drawing is shown at (x * zoom + dx, y * zoom + dy).
  const limit = () => {
    zoom = Math.min(200, Math.max(1, zoom));
    dx = Math.min(left * (1 - zoom), Math.max(right * (1 - zoom), dx));
    dy = Math.min(top * (1 - zoom), Math.max(bottom * (1 - zoom), dy));
  };
  const format = (v, step) => {
    const size = Math.abs(v), digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));
    if (size >= 1e9 || (step < 1e-6 && size > 0)) return v.toExponential(3).replace("-", "\u2212");
    return v.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: size >= 1e4 }).replace("-", "\u2212");
  };
  const ticks = (lo, hi, about) => {
    const raw = (hi - lo) / about, power = 10 ** Math.floor(Math.log10(raw)), rest = raw / power;
    const step = power * (rest > 5 ? 10 : rest > 2 ? 5 : rest > 1 ? 2 : 1), list = [];
    for (let i = Math.ceil(lo / step); i * step <= hi && list.length < 4 * about; i++) list.push([i * step, format(i * step, step)]);
    return list;
  };
  const make = (name, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const axes = () => {
    const grid = svg.querySelector(".grids"), labels = svg.querySelector(".ticks"), numbered = svg.dataset.numbered;
    grid.replaceChildren(); labels.replaceChildren();
    const [x0, x1, y0, y1] = domain, perX = (x1 - x0) / (right - left), perY = (y1 - y0) / (bottom - top);
    const fromX = (px) => x0 + ((px - dx) / zoom - left) * perX, fromY = (py) => y1 - ((py - dy) / zoom - top) * perY;
    if (numbered.includes("x")) for (const [v, text] of ticks(fromX(left), fromX(right), 8)) {
      const px = (left + (v - x0) / perX) * zoom + dx;
      grid.append(make("path", { class: "grid", d: `M${px} ${top}V${bottom}` }));
      labels.append(make("text", { class: "tick middle", x: px, y: bottom + 18 }, text));
    }
    if (numbered.includes("y")) for (const [v, text] of ticks(fromY(bottom), fromY(top), 6)) {
      const py = (top + (y1 - v) / perY) * zoom + dy;
      grid.append(make("path", { class: "grid", d: `M${left} ${py}H${right}` }));
      labels.append(make("text", { class: "tick end", x: left - 8, y: py + 4 }, text));
    }
  };
  let waiting = false;
  const show = () => {
    limit();
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      view.setAttribute("transform", `translate(${dx} ${dy}) scale(${zoom})`);
      svg.style.setProperty("--z", 1 / zoom);
      for (const p of points) if (p.r) p.e.setAttribute("r", p.r / zoom);
      names.forEach((e, i) => e.setAttribute("transform", `translate(${at[i][0]} ${at[i][1]}) scale(${1 / zoom}) translate(${-at[i][0]} ${-at[i][1]})`));
      axes();
      aim();
      plot.style.touchAction = zoom > 1 ? "none" : "pan-y";
    });
  };
  const zoomBy = (factor, x, y) => {
    const before = zoom;
    zoom = Math.min(200, Math.max(1, zoom * factor));
    dx = x - (x - dx) * (zoom / before);
    dy = y - (y - dy) * (zoom / before);
    show();
  };
  const reset = () => { zoom = 1; dx = dy = 0; show(); };
  const middle = () => [(left + right) / 2, (top + bottom) / 2];
  const inDrawing = (event) => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale, scale];
  };

  // The row under the pointer or the focus.
  const ring = make("circle", { class: "aim", r: 8 });
  const aim = () => {
    if (current < 0) { ring.remove(); return; }
    const p = points[current];
    ring.setAttribute("cx", p.x); ring.setAttribute("cy", p.y);
    ring.setAttribute("r", ((p.r || 5) + 4) / zoom);
    view.append(ring);
  };
  const point = (index, speak) => {
    current = index;
    aim();
    if (index < 0) { tip.hidden = true; return; }
    const p = points[index], box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    const x = (p.x * zoom + dx) * scale, y = (p.y * zoom + dy) * scale;
    tip.textContent = p.text;
    tip.dir = "auto";
    tip.hidden = false;
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = Math.max(2, Math.min(box.width - width - 2, x + 12)) + "px";
    tip.style.top = (y - height - 10 < 0 ? y + 14 : y - height - 10) + "px";
    if (speak) announce.textContent = p.text;
  };
  const nearest = (x, y, reach) => {
    let best = -1, least = reach * reach;
    points.forEach((p, i) => {
      if (picked !== null && p.k !== picked) return;
      const a = p.x * zoom + dx - x, b = p.y * zoom + dy - y, d = Math.max(0, a * a + b * b - p.r * p.r);
      if (d < least) { least = d; best = i; }
    });
    return best;
  };
  const step = (sx, sy) => {
    if (current < 0) { const [x, y] = middle(); point(nearest(x, y, 1e9), true); return; }
    const from = points[current];
    let best = -1, least = Infinity;
    points.forEach((p, i) => {
      const a = p.x - from.x, b = p.y - from.y, ahead = a * sx + b * sy, aside = Math.abs(a * sy) + Math.abs(b * sx);
      if (i === current || ahead <= 0 || aside > ahead || (picked !== null && p.k !== picked)) return;
      const d = ahead + 2 * aside;
      if (d < least) { least = d; best = i; }
    });
    if (best < 0) return;
    const p = points[best], x = p.x * zoom + dx, y = p.y * zoom + dy; // bring it into view
    if (x < left + 20) dx += left + 60 - x; else if (x > right - 20) dx -= x - right + 60;
    if (y < top + 20) dy += top + 60 - y; else if (y > bottom - 20) dy -= y - bottom + 60;
    show();
    point(best, true);
  };

  plot.addEventListener("pointermove", (event) => {
    const [x, y, scale] = inDrawing(event);
    if (drag) {
      dx = drag.dx + x - drag.x; dy = drag.dy + y - drag.y;
      if (Math.hypot(x - drag.x, y - drag.y) > 4) { plot.classList.add("moving"); point(-1); }
      show();
      return;
    }
    point(nearest(x, y, 14 * scale));
  });
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("button") || (event.pointerType === "touch" && zoom === 1)) return;
    const [x, y] = inDrawing(event);
    drag = { x, y, dx, dy };
    plot.setPointerCapture(event.pointerId);
  });
  const release = () => { drag = null; plot.classList.remove("moving"); };
  plot.addEventListener("pointerup", release);
  plot.addEventListener("pointercancel", release);
  plot.addEventListener("pointerleave", () => { if (!drag) point(-1); });
  plot.addEventListener("blur", () => point(-1));
  plot.addEventListener("dblclick", (event) => { if (!event.target.closest("button")) { const [x, y] = inDrawing(event); zoomBy(2, x, y); } });
  plot.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const [x, y] = inDrawing(event);
    zoomBy(Math.exp(-event.deltaY / 300), x, y);
  }, { passive: false });
  plot.addEventListener("keydown", (event) => {
    const keys = {
      ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0), ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
      "+": () => zoomBy(1.5, ...middle()), "=": () => zoomBy(1.5, ...middle()), "-": () => zoomBy(1 / 1.5, ...middle()), "0": reset, Escape: () => point(-1),
    };
    if (event.target !== plot || !keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  plot.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
    if (button.dataset.zoom === "reset") reset(); else zoomBy(button.dataset.zoom === "in" ? 1.5 : 1 / 1.5, ...middle());
  }));

  // One cluster stands out while the legend is pointed at, and stays so after a click.
  let picked = null, kept = null;
  const pick = (k) => {
    picked = k;
    svg.classList.toggle("picked", k !== null);
    for (const e of [...dots, ...names]) e.classList.toggle("on", e.dataset.k === k);
  };
  const legend = [...document.querySelectorAll(".legend button[data-k]")];
  for (const button of legend) {
    button.setAttribute("aria-pressed", "false");
    for (const name of ["pointerenter", "focus"]) button.addEventListener(name, () => pick(button.dataset.k));
    for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => pick(kept));
    button.addEventListener("click", () => {
      kept = kept === button.dataset.k ? null : button.dataset.k;
      for (const other of legend) other.setAttribute("aria-pressed", String(other.dataset.k === kept));
      pick(kept);
    });
  }
})();
