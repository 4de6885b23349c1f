import type { BreakerSettings } from './breaker-settings.ts';

/** How many slices a window has. The oldest slice leaves it as a whole. */
export const WINDOW_SLICES = 10;

interface Slice {
  readonly number: number;
  readonly results: number;
  readonly failures: number;
}

/** Results of the last minutes, the oldest slice first. Slices without a result are left out. */
export type ResultWindow = readonly Slice[];

export const EMPTY_WINDOW: ResultWindow = [];

type WindowSettings = Pick<BreakerSettings, 'windowMs'>;

/** The window with one more result, and without the slices that have become too old. */
export const countResult = (
  window: ResultWindow,
  outcome: 'success' | 'failure',
  at: number,
  settings: WindowSettings,
): ResultWindow => {
  const number = sliceAt(at, settings);
  const recent = window.filter((slice) => slice.number > number - WINDOW_SLICES);
  const last = recent.at(-1);
  const current = last?.number === number ? last : { number, results: 0, failures: 0 };
  const counted = {
    number,
    results: current.results + 1,
    failures: current.failures + (outcome === 'failure' ? 1 : 0),
  };
  return [...recent.slice(0, current === last ? -1 : undefined), counted];
};

/** Of a window to which a result was just added. */
export const countResults = (window: ResultWindow): { readonly results: number; readonly failures: number } =>
  window.reduce(
    (sum, slice) => ({ results: sum.results + slice.results, failures: sum.failures + slice.failures }),
    { results: 0, failures: 0 },
  );

/** Failures that are still in the window. */
export const countFailures = (window: ResultWindow, at: number, settings: WindowSettings): number => {
  const oldest = sliceAt(at, settings) - WINDOW_SLICES;
  return window.reduce((sum, slice) => sum + (slice.number > oldest ? slice.failures : 0), 0);
};

const sliceAt = (at: number, { windowMs }: WindowSettings): number =>
  Math.floor(at / (windowMs / WINDOW_SLICES));
