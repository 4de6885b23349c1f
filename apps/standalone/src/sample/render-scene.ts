import { isJsonObject } from '@runledger/contracts/json';

/** The part of the plane that a picture shows. It belongs to the workflow; inputs come with each run. */
export interface Scene {
  readonly x: number;
  readonly y: number;
  /** Of the picture, in units of the plane. */
  readonly width: number;
}

/** Seahorse valley, between the heart and the disc of the Mandelbrot set. */
export const SEAHORSE_VALLEY: Scene = { x: -0.7453, y: 0.1127, width: 0.0065 };

export type ReadScene =
  | { readonly ok: true; readonly scene: Scene }
  | { readonly ok: false; readonly problem: string };

export const readScene = (workflow: unknown): ReadScene => {
  const scene = isJsonObject(workflow) ? workflow['scene'] : undefined;
  if (isJsonObject(scene)) {
    const { x, y, width } = scene;
    if (isWithin(x, 4) && isWithin(y, 4) && isWithin(width, 8) && width > 0)
      return { ok: true, scene: { x, y, width } };
  }
  return {
    ok: false,
    problem:
      'the workflow has no scene: it must be {"scene": {"x", "y", "width"}} with x and y from -4 to 4 and a width above 0, at most 8.',
  };
};

const isWithin = (value: unknown, limit: number): value is number =>
  typeof value === 'number' && Math.abs(value) <= limit;
