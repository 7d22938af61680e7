// @ts-check
// Draws a graph of some thousand memories on a canvas: panning, zooming and choosing. A worker lays it out meanwhile.

/** @typedef {{id: string, label: string, kind: string, start: boolean}} GraphNode */
/** @typedef {{nodes: GraphNode[], edges: [number, number, string][], truncated: boolean}} GraphData */

const LIGHT = ["#0b5fa5", "#a3480b", "#1a6b34", "#7a2f8f", "#8a1538", "#00687a", "#6b5a00", "#4a4f57"];
const DARK = ["#7fbcf5", "#f5a873", "#8ddba4", "#d9a0ea", "#f59ab2", "#7fd6e3", "#e3d07a", "#b9c0c9"];
// If drawing takes longer, the last picture is moved with the hand, and drawn when the hand rests.
const SMOOTH_MILLISECONDS = 25;
const REST_MILLISECONDS = 150;
// Many lines in one path take much longer than the same lines in several.
const LINES_IN_PATH = 200;
const MOST_LABELS = 60;
const SMALL = 2.5;

/** The canvas: what is seen of the layout, and what the user does with it. */
class GraphView {
  /** @param {HTMLElement} frame @param {GraphData} data */
  constructor(frame, data) {
    this.frame = frame;
    this.data = data;
    const count = data.nodes.length;
    this.layout = { count, x: new Float32Array(count), y: new Float32Array(count), degree: new Uint32Array(count) };
    for (const [from, to] of data.edges) {
      this.layout.degree[from]++;
      this.layout.degree[to]++;
    }
    this.canvas = /** @type {HTMLCanvasElement} */ (frame.querySelector("canvas"));
    this.chosenText = /** @type {HTMLElement} */ (frame.querySelector(".chosen"));
    this.pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    this.text = this.line = this.surface = "";
    this.palette = LIGHT;
    this.width = this.height = 0;
    this.ratio = 1;
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.chosen = -1;
    this.followsLayout = true;
    this.isDue = false;
    this.drawMilliseconds = 0;
    this.restTimer = 0;
    /** Where the last picture was drawn, while it is moved. @type {{picture: HTMLCanvasElement, left: number, top: number} | null} */
    this.moved = null;
    const kinds = [...new Set(data.nodes.map((node) => node.kind))].sort();
    this.colour = data.nodes.map((node) => kinds.indexOf(node.kind) % LIGHT.length);
    this.byDegree = [...data.nodes.keys()].sort((a, b) => this.layout.degree[b] - this.layout.degree[a]);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.readColours());
    this.readColours();
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.listen();
    this.resize();
    this.startLayout();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.text = style.getPropertyValue("--text");
    this.line = style.getPropertyValue("--muted");
    this.surface = style.getPropertyValue("--surface");
    this.palette = this.dark.matches ? DARK : LIGHT;
    this.redraw();
  }

  startLayout() {
    const worker = new Worker(new URL(this.frame.dataset.layout ?? "", location.href), { type: "module" });
    worker.onmessage = ({ data }) => {
      this.layout.x = data.x;
      this.layout.y = data.y;
      if (this.followsLayout) this.fit();
      else if (!this.moved) this.redraw();
      if (data.isSettled) this.frame.dataset.settled = "yes";
      else worker.postMessage({ next: true });
    };
    worker.postMessage({ count: this.layout.count, edges: Uint32Array.from(this.data.edges.flatMap(([from, to]) => [from, to])) });
  }

  resize() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.ratio = ratio;
    if (this.followsLayout) this.fit();
    else this.redraw();
  }

  bounds() {
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (let i = 0; i < this.layout.count; i++) {
      left = Math.min(left, this.layout.x[i]);
      right = Math.max(right, this.layout.x[i]);
      top = Math.min(top, this.layout.y[i]);
      bottom = Math.max(bottom, this.layout.y[i]);
    }
    return { left, top, width: right - left, height: bottom - top };
  }

  fit() {
    this.moved = null;
    const box = this.bounds();
    const margin = 40;
    this.scale = Math.min(3, (this.width - margin) / (box.width || 1), (this.height - margin) / (box.height || 1));
    this.left = this.width / 2 - (box.left + box.width / 2) * this.scale;
    this.top = this.height / 2 - (box.top + box.height / 2) * this.scale;
    this.redraw();
  }

  /** @param {number} factor @param {number} x @param {number} y */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    this.moved = null;
    const scale = Math.min(20, Math.max(0.01, this.scale * factor));
    this.left = x - ((x - this.left) * scale) / this.scale;
    this.top = y - ((y - this.top) * scale) / this.scale;
    this.scale = scale;
    this.followsLayout = false;
    this.redraw();
  }

  /** @param {number} dx @param {number} dy */
  pan(dx, dy) {
    if (!this.moved && this.drawMilliseconds > SMOOTH_MILLISECONDS) this.moved = this.takePicture();
    this.left += dx;
    this.top += dy;
    this.followsLayout = false;
    clearTimeout(this.restTimer);
    this.restTimer = window.setTimeout(() => this.rest(), REST_MILLISECONDS);
    this.redraw();
  }

  rest() {
    this.moved = null;
    this.redraw();
  }

  takePicture() {
    const picture = document.createElement("canvas");
    picture.width = this.canvas.width;
    picture.height = this.canvas.height;
    picture.getContext("2d")?.drawImage(this.canvas, 0, 0);
    return { picture, left: this.left, top: this.top };
  }

  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      if (this.moved) {
        this.movePicture(this.moved);
        return;
      }
      const began = performance.now();
      this.draw();
      this.drawMilliseconds = performance.now() - began;
    });
  }

  /** @param {{picture: HTMLCanvasElement, left: number, top: number}} moved */
  movePicture(moved) {
    this.pen.setTransform(1, 0, 0, 1, 0, 0);
    this.pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.pen.drawImage(moved.picture, (this.left - moved.left) * this.ratio, (this.top - moved.top) * this.ratio);
  }

  draw() {
    const { pen, layout, scale, left, top } = this;
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    pen.strokeStyle = this.line;
    pen.globalAlpha = this.data.edges.length > 2000 ? 0.18 : 0.4;
    pen.lineWidth = 1;
    pen.beginPath();
    let lines = 0;
    for (const [from, to] of this.data.edges) {
      const x1 = layout.x[from] * scale + left, y1 = layout.y[from] * scale + top;
      const x2 = layout.x[to] * scale + left, y2 = layout.y[to] * scale + top;
      if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > this.width || Math.max(y1, y2) < 0 || Math.min(y1, y2) > this.height) continue;
      pen.moveTo(x1, y1);
      pen.lineTo(x2, y2);
      if (++lines % LINES_IN_PATH === 0) {
        pen.stroke();
        pen.beginPath();
      }
    }
    pen.stroke();
    pen.globalAlpha = 1;
    this.drawNodes();
    this.drawLabels();
  }

  drawNodes() {
    const { pen, layout, scale, left, top } = this;
    for (let colour = 0; colour < this.palette.length; colour++) {
      pen.beginPath();
      pen.fillStyle = this.palette[colour];
      for (let i = 0; i < layout.count; i++) {
        if (this.colour[i] !== colour) continue;
        const x = layout.x[i] * scale + left, y = layout.y[i] * scale + top, radius = this.radius(i);
        if (x < -radius || y < -radius || x > this.width + radius || y > this.height + radius) continue;
        // A small circle looks like a square, which is drawn ten times as fast.
        if (radius < SMALL) pen.rect(x - radius, y - radius, radius * 2, radius * 2);
        else {
          pen.moveTo(x + radius, y);
          pen.arc(x, y, radius, 0, 7);
        }
      }
      pen.fill();
    }
    if (this.chosen >= 0) {
      pen.beginPath();
      pen.arc(layout.x[this.chosen] * scale + left, layout.y[this.chosen] * scale + top, this.radius(this.chosen) + 4, 0, 7);
      pen.strokeStyle = this.text;
      pen.lineWidth = 2;
      pen.stroke();
    }
  }

  drawLabels() {
    const { pen, layout, scale, left, top } = this;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.lineWidth = 3;
    pen.strokeStyle = this.surface;
    pen.fillStyle = this.text;
    const taken = new Set();
    let shown = 0;
    for (const i of this.byDegree) {
      if (shown >= MOST_LABELS) break;
      const x = layout.x[i] * scale + left, y = layout.y[i] * scale + top;
      if (x < 0 || y < 0 || x > this.width || y > this.height) continue;
      // One label in each place, that of the best connected node.
      const place = `${Math.floor(x / 110)} ${Math.floor(y / 22)}`;
      if (taken.has(place)) continue;
      taken.add(place);
      shown++;
      const label = this.data.nodes[i].label.slice(0, 28);
      pen.strokeText(label, x, y - this.radius(i) - 4);
      pen.fillText(label, x, y - this.radius(i) - 4);
    }
  }

  /** @param {number} i */
  radius(i) {
    const size = 4 + Math.min(8, Math.sqrt(this.layout.degree[i])) + (this.data.nodes[i].start && this.data.nodes.length < 500 ? 2 : 0);
    return Math.max(1, size * Math.min(1.6, Math.sqrt(this.scale)));
  }

  /** @param {number} x @param {number} y */
  nodeAt(x, y) {
    let best = -1, nearest = 144;
    for (let i = 0; i < this.layout.count; i++) {
      const dx = this.layout.x[i] * this.scale + this.left - x, dy = this.layout.y[i] * this.scale + this.top - y;
      const distance = dx * dx + dy * dy;
      if (distance < nearest) {
        nearest = distance;
        best = i;
      }
    }
    return best;
  }

  /** @param {number} i */
  choose(i) {
    this.chosen = i;
    this.chosenText.replaceChildren();
    if (i >= 0) {
      const node = this.data.nodes[i];
      const link = document.createElement("a");
      link.href = `${this.frame.dataset.memory}${this.frame.dataset.memory?.includes("?") ? "&" : "?"}id=${encodeURIComponent(node.id)}`;
      link.textContent = node.label;
      this.chosenText.append(link, ` ${node.kind}, ${this.layout.degree[i]} links`);
    }
    this.redraw();
  }

  listen() {
    const { canvas } = this;
    let from = { x: 0, y: 0 }, isDown = false, hasMoved = false;
    canvas.addEventListener("pointerdown", (event) => {
      isDown = true;
      hasMoved = false;
      from = { x: event.offsetX, y: event.offsetY };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!isDown) return;
      const dx = event.offsetX - from.x, dy = event.offsetY - from.y;
      if (!hasMoved && Math.hypot(dx, dy) < 4) return;
      hasMoved = true;
      from = { x: event.offsetX, y: event.offsetY };
      this.pan(dx, dy);
    });
    canvas.addEventListener("pointerup", (event) => {
      isDown = false;
      if (!hasMoved) this.choose(this.nodeAt(event.offsetX, event.offsetY));
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      const move = moves[/** @type {keyof typeof moves} */ (event.key)];
      if (move) this.pan(move[0], move[1]);
      else if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 1.4 : 0.71);
      else return;
      event.preventDefault();
    });
    for (const button of this.frame.querySelectorAll("button")) {
      button.addEventListener("click", () => (button.dataset.zoom ? this.zoom(Number(button.dataset.zoom)) : this.fit()));
    }
  }
}

for (const frame of document.querySelectorAll("[data-graph]")) {
  if (!(frame instanceof HTMLElement)) continue;
  const response = await fetch(frame.dataset.graph ?? "");
  if (response.ok && !response.redirected) {
    frame.hidden = false;
    new GraphView(frame, await response.json());
  }
}
