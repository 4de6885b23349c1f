/** How a point of the plane looks. */
export type Point =
  /** It did not escape within the iterations. */
  | { readonly kind: 'inside' }
  | {
      readonly kind: 'escaped';
      /** The iterations until it escaped, with a fraction, so that neighbouring points differ little. */
      readonly after: number;
      /** How much light falls on the point, 0 to 1, as if the set were a hill lit from the upper left. */
      readonly light: number;
    };

/** Large enough that the fraction of the last iteration shows no bands. */
const ESCAPE_SQUARED = 10_000;
const LIGHT_FROM = { x: Math.cos(Math.PI / 4), y: Math.sin(Math.PI / 4) };
const LIGHT_HEIGHT = 1.4;

const INSIDE: Point = { kind: 'inside' };

/**
 * Iterates z -> z² + c for one point c. The light follows from the derivative, which is at a right angle to the
 * lines of equal potential: https://en.wikipedia.org/wiki/Plotting_algorithms_for_the_Mandelbrot_set
 */
export const mandelbrot = (x: number, y: number, iterations: number): Point => {
  if (isInLargeParts(x, y)) return INSIDE;
  let [re, im, slopeRe, slopeIm] = [0, 0, 0, 0];
  for (let n = 0; n < iterations; n += 1) {
    const nextSlopeRe = 2 * (re * slopeRe - im * slopeIm) + 1;
    slopeIm = 2 * (re * slopeIm + im * slopeRe);
    slopeRe = nextSlopeRe;
    const nextRe = re * re - im * im + x;
    im = 2 * re * im + y;
    re = nextRe;
    const squared = re * re + im * im;
    if (squared > ESCAPE_SQUARED) {
      const after = n + 1 - Math.log2(Math.log(squared) / Math.log(ESCAPE_SQUARED));
      return { kind: 'escaped', after, light: light(re, im, slopeRe, slopeIm) };
    }
  }
  return INSIDE;
};

/** The heart and the disc beside it are most of the set, and would need all iterations. */
const isInLargeParts = (x: number, y: number): boolean => {
  const q = (x - 0.25) ** 2 + y * y;
  return q * (q + x - 0.25) <= 0.25 * y * y || (x + 1) ** 2 + y * y <= 0.0625;
};

const light = (re: number, im: number, slopeRe: number, slopeIm: number): number => {
  const size = slopeRe * slopeRe + slopeIm * slopeIm;
  if (size === 0 || !Number.isFinite(size)) return 0.5;
  const normalX = (re * slopeRe + im * slopeIm) / size;
  const normalY = (im * slopeRe - re * slopeIm) / size;
  const length = Math.hypot(normalX, normalY);
  if (length === 0) return 0.5;
  const facing = (normalX * LIGHT_FROM.x + normalY * LIGHT_FROM.y) / length;
  return Math.max(0, (facing + LIGHT_HEIGHT) / (1 + LIGHT_HEIGHT));
};
