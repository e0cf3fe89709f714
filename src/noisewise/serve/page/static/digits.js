// A drawing as 64 features from 0 to 16: the ink in each cell of an 8 x 8 grid, as in scikit-learn's digits.

const SIDE = 32;

export class Paper {
  constructor(canvas, lifted) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { willReadFrequently: true });
    this.drawn = false;
    this.lifted = lifted;
    canvas.addEventListener("pointerdown", (event) => this.begin(event));
    canvas.addEventListener("pointermove", (event) => this.draw(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => this.end());
    this.clear();
  }

  clear() {
    this.pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.drawn = false;
    this.drawing = false;
  }

  position(event) {
    const box = this.canvas.getBoundingClientRect();
    const scale = this.canvas.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }

  begin(event) {
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    Object.assign(this.pen, { lineWidth: 24, lineCap: "round", lineJoin: "round", strokeStyle: "#1b2430" });
    this.drawing = this.drawn = true;
    this.pen.beginPath();
    this.pen.moveTo(...this.position(event));
    this.draw(event);
  }

  draw(event) {
    if (!this.drawing) return;
    for (const move of event.getCoalescedEvents?.() ?? [event]) this.pen.lineTo(...this.position(move));
    this.pen.lineTo(...this.position(event));
    this.pen.stroke();
  }

  end() {
    if (!this.drawing) return;
    this.drawing = false;
    this.lifted();
  }

  show(image) {
    this.clear();
    const side = this.canvas.width / 8;
    image.forEach((ink, index) => {
      this.pen.fillStyle = `rgba(27, 36, 48, ${ink / 16})`;
      this.pen.fillRect((index % 8) * side, Math.floor(index / 8) * side, side, side);
    });
  }

  features() {
    const box = this.inkBox();
    if (!box) return null;
    const scale = SIDE / Math.max(box.width, box.height);
    const small = document.createElement("canvas");
    small.width = small.height = SIDE;
    const pen = small.getContext("2d");
    const [width, height] = [box.width * scale, box.height * scale];
    pen.imageSmoothingQuality = "high";
    pen.drawImage(this.canvas, box.left, box.top, box.width, box.height, (SIDE - width) / 2, (SIDE - height) / 2, width, height);
    const pixels = pen.getImageData(0, 0, SIDE, SIDE).data;
    const features = new Array(64).fill(0);
    for (let index = 0; index < SIDE * SIDE; index += 1) {
      if (pixels[4 * index + 3] > 127) features[8 * Math.floor(index / SIDE / 4) + Math.floor((index % SIDE) / 4)] += 1;
    }
    return features;
  }

  inkBox() {
    const { width, height } = this.canvas;
    const pixels = this.pen.getImageData(0, 0, width, height).data;
    let [left, top, right, bottom] = [width, height, -1, -1];
    for (let index = 0; index < width * height; index += 1) {
      if (pixels[4 * index + 3] <= 127) continue;
      const [x, y] = [index % width, Math.floor(index / width)];
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
    return right < 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 };
  }
}
