// @ts-check
// Lays out a graph in a worker: springs pull linked nodes together, and all nodes push each other apart.

const SPRING = 30;
const FAR_CELLS = 12;
const MOST_NEAR = 10;
const COOLING = 0.98;
const STILL = 0.02;
const STEPS_MILLISECONDS = 60;

class ForceLayout {
  /** @param {number} count @param {Uint32Array} edges the places of both ends, one pair after the other */
  constructor(count, edges) {
    this.count = count;
    this.edges = edges;
    this.x = new Float32Array(count);
    this.y = new Float32Array(count);
    this.dx = new Float32Array(count);
    this.dy = new Float32Array(count);
    this.next = new Int32Array(count);
    this.degree = new Uint32Array(count);
    for (const end of edges) this.degree[end]++;
    // A spiral spreads them evenly, and the same graph always begins the same way.
    for (let i = 0; i < count; i++) {
      const radius = SPRING * 0.7 * Math.sqrt(i + 0.5);
      this.x[i] = radius * Math.cos(i * 2.399963);
      this.y[i] = radius * Math.sin(i * 2.399963);
    }
    this.left = this.top = 0;
    this.size = 1;
    this.heat = count > 1 ? 1 : 0;
  }

  get isSettled() {
    return this.heat <= STILL;
  }

  step() {
    this.dx.fill(0);
    this.dy.fill(0);
    this.readBounds();
    this.pushFar();
    this.pushNear();
    this.pull();
    const most = 40 * this.heat;
    for (let i = 0; i < this.count; i++) {
      const dx = this.dx[i] - this.x[i] * 0.01;
      const dy = this.dy[i] - this.y[i] * 0.01;
      const length = Math.sqrt(dx * dx + dy * dy) || 1;
      const scale = Math.min(length, most) / length;
      this.x[i] += dx * scale;
      this.y[i] += dy * scale;
    }
    this.heat *= COOLING;
  }

  readBounds() {
    this.left = this.top = Infinity;
    let right = -Infinity, bottom = -Infinity;
    for (let i = 0; i < this.count; i++) {
      this.left = Math.min(this.left, this.x[i]);
      this.top = Math.min(this.top, this.y[i]);
      right = Math.max(right, this.x[i]);
      bottom = Math.max(bottom, this.y[i]);
    }
    this.size = Math.max(right - this.left, bottom - this.top, 1);
  }

  /** Pushes each node away from the centres of a few large cells. */
  pushFar() {
    const cells = FAR_CELLS * FAR_CELLS, width = this.size / FAR_CELLS;
    const mass = new Float32Array(cells), sumX = new Float32Array(cells), sumY = new Float32Array(cells);
    const own = new Uint16Array(this.count);
    for (let i = 0; i < this.count; i++) {
      const cell = this.cell(this.y[i] - this.top, width, FAR_CELLS) * FAR_CELLS + this.cell(this.x[i] - this.left, width, FAR_CELLS);
      own[i] = cell;
      mass[cell]++;
      sumX[cell] += this.x[i];
      sumY[cell] += this.y[i];
    }
    for (let cell = 0; cell < cells; cell++) {
      if (!mass[cell]) continue;
      const x = sumX[cell] / mass[cell], y = sumY[cell] / mass[cell];
      for (let i = 0; i < this.count; i++) {
        if (own[i] !== cell || mass[cell] > 1) this.repel(i, x, y, mass[cell]);
      }
    }
  }

  /** Pushes each node away from those in the small cells around it. */
  pushNear() {
    const columns = Math.max(1, Math.min(256, Math.ceil(this.size / (SPRING * 2)))), width = this.size / columns;
    const first = new Int32Array(columns * columns).fill(-1);
    for (let i = 0; i < this.count; i++) {
      const cell = this.cell(this.y[i] - this.top, width, columns) * columns + this.cell(this.x[i] - this.left, width, columns);
      this.next[i] = first[cell];
      first[cell] = i;
    }
    for (let i = 0; i < this.count; i++) {
      const row = this.cell(this.y[i] - this.top, width, columns), column = this.cell(this.x[i] - this.left, width, columns);
      for (let r = Math.max(0, row - 1); r <= Math.min(columns - 1, row + 1); r++) {
        for (let c = Math.max(0, column - 1); c <= Math.min(columns - 1, column + 1); c++) {
          let left = MOST_NEAR;
          for (let j = first[r * columns + c]; j >= 0 && left > 0; j = this.next[j], left--) {
            if (j !== i) this.repel(i, this.x[j], this.y[j], 1);
          }
        }
      }
    }
  }

  /** @param {number} offset @param {number} width @param {number} count */
  cell(offset, width, count) {
    return Math.min(count - 1, Math.floor(offset / width));
  }

  /** @param {number} i @param {number} x @param {number} y @param {number} mass */
  repel(i, x, y, mass) {
    // Two nodes in one place are parted by their numbers.
    const dx = this.x[i] - x || ((i % 7) - 3) * 0.1 + 0.05;
    const dy = this.y[i] - y || ((i % 5) - 2) * 0.1 + 0.05;
    const square = dx * dx + dy * dy;
    const force = (SPRING * SPRING * 0.35 * mass) / ((square + 1) * Math.sqrt(square));
    this.dx[i] += dx * force;
    this.dy[i] += dy * force;
  }

  pull() {
    for (let e = 0; e < this.edges.length; e += 2) {
      const from = this.edges[e], to = this.edges[e + 1];
      const dx = this.x[to] - this.x[from], dy = this.y[to] - this.y[from];
      const length = Math.sqrt(dx * dx + dy * dy) || 1;
      const force = ((length - SPRING) * 0.16) / length;
      // The better connected end moves less.
      const share = this.degree[to] / (this.degree[from] + this.degree[to]);
      this.dx[from] += dx * force * share;
      this.dy[from] += dy * force * share;
      this.dx[to] -= dx * force * (1 - share);
      this.dy[to] -= dy * force * (1 - share);
    }
  }
}

/** @type {ForceLayout | null} */
let layout = null;

onmessage = ({ data }) => {
  layout = data.next ? layout : new ForceLayout(data.count, data.edges);
  if (!layout) return;
  const end = performance.now() + STEPS_MILLISECONDS;
  do layout.step();
  while (!layout.isSettled && performance.now() < end);
  postMessage({ x: layout.x.slice(), y: layout.y.slice(), isSettled: layout.isSettled });
};
