import type { EventEmitter } from 'node:events';
import CircuitBreaker from 'opossum';
import type { BreakerSettings } from '../core/breakers/breaker-settings.ts';

/** How many slices opossum divides its window into. One of them is dropped with each `rotate`. */
export const WINDOW_SLICES = 10;

/** An opossum circuit breaker that is only told what became of requests. It neither sends nor times anything itself. */
export interface Circuit {
  /** Not to be told to an open one: opossum would count a call that has no result, and trip later for it. */
  succeed(): void;
  /** Opens for `openMs` when the window says so, or when `trip` does. Tells at once whether it is open now. */
  fail(how: { readonly openMs: number; readonly trip: boolean }): boolean;
  /** Failures in the window. */
  failures(): number;
  /** Its timer is gone afterwards. */
  shutDown(): void;
}

interface CircuitSurroundings {
  readonly settings: BreakerSettings;
  /** Emits `rotate` WINDOW_SLICES times per window: one timer for all circuits instead of one each. */
  readonly rotation: EventEmitter;
  /** The time that it was to be open for is over. */
  readonly onHalfOpen: () => void;
}

const FAILED = new Error('A receiver failed.');

/** Thrown and not rejected: opossum then counts it, and opens, before `fire` returns. */
const tell = (outcome: 'success' | 'failure'): Promise<void> => {
  if (outcome === 'failure') throw FAILED;
  return Promise.resolve();
};

const ignore = (): void => {};

/**
 * What is left out is left out on purpose. A `capacity` counts its own refusals as failures; an `errorFilter` turns
 * what it passes into successes, which close a half-open circuit; an `abortController` is one for all calls, so that
 * one time-out aborts the others; a `state` out of `toJSON` may go half-open at once.
 */
export const newCircuit = ({ settings, rotation, onHalfOpen }: CircuitSurroundings): Circuit => {
  const breaker = new CircuitBreaker(tell, {
    timeout: false,
    resetTimeout: settings.firstOpenMs,
    volumeThreshold: settings.fewestResults,
    errorThresholdPercentage: settings.failingPercent,
    rollingCountTimeout: settings.windowMs,
    rollingCountBuckets: WINDOW_SLICES,
    rollingPercentilesEnabled: false,
    enableSnapshots: false,
    rotateBucketController: rotation,
  });
  breaker.on('halfOpen', onHalfOpen);
  return {
    succeed: () => {
      // By itself it would close only some microtasks later.
      breaker.close();
      breaker.fire('success').catch(ignore);
    },
    fail: ({ openMs, trip }) => {
      // Before it opens: the timer is started by opossum's own listener, which comes before any of ours.
      breaker.options.resetTimeout = openMs;
      breaker.fire('failure').catch(ignore);
      if (trip) breaker.open();
      return breaker.opened;
    },
    failures: () => breaker.stats.failures,
    shutDown: () => breaker.shutdown(),
  };
};
