import { mandelbrot } from './mandelbrot.ts';
import { blend, byteOf, palette } from './palettes.ts';
import type { Colour } from './palettes.ts';
import type { RenderInputs } from './render-inputs.ts';
import type { Scene } from './render-scene.ts';

/** Four samples a pixel, in a rotated square, so that horizontal and vertical lines are smooth too. */
const SAMPLES = [
  { x: 0.375, y: 0.125 },
  { x: 0.875, y: 0.375 },
  { x: 0.125, y: 0.625 },
  { x: 0.625, y: 0.875 },
] as const;

const INSIDE: Colour = [0.002, 0.003, 0.006];
const WHITE: Colour = [1, 1, 1];

/** Paints one row of the picture (3 bytes a pixel). */
export const rowPainter = (inputs: RenderInputs, scene: Scene): ((row: number, into: Uint8Array) => void) => {
  const { size, iterations } = inputs;
  const colourAt = palette(inputs.palette);
  const unit = scene.width / size;
  const left = scene.x - scene.width / 2;
  const top = scene.y + scene.width / 2;

  const sample = (x: number, y: number): Colour => {
    const point = mandelbrot(x, y, iterations);
    if (point.kind === 'inside') return INSIDE;
    // The logarithm keeps the rings wide near the set, where the iterations grow fast.
    const base = colourAt(Math.log2(Math.max(1, point.after)) * 0.42 + 0.12);
    const lit = blend([0, 0, 0], base, 0.3 + 0.85 * point.light);
    return blend(lit, WHITE, 0.35 * Math.max(0, point.light - 0.82));
  };

  return (row, into) => {
    for (let column = 0; column < size; column += 1) {
      let [red, green, blue] = [0, 0, 0];
      for (const offset of SAMPLES) {
        const colour = sample(left + (column + offset.x) * unit, top - (row + offset.y) * unit);
        red += colour[0];
        green += colour[1];
        blue += colour[2];
      }
      const at = column * 3;
      into[at] = byteOf(red / SAMPLES.length);
      into[at + 1] = byteOf(green / SAMPLES.length);
      into[at + 2] = byteOf(blue / SAMPLES.length);
    }
  };
};
