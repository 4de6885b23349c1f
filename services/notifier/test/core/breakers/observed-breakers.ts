import { beforeEach } from 'vitest';
import { BREAKER_SETTINGS, type BreakerSettings, type BreakerState } from '../../../src/core/breaker.ts';
import { Breakers } from '../../../src/core/breakers.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const A = 'https://a.example:443';

let at = 0;
let observed: Breakers | undefined;

/** The clock stands still until `pass`. */
export const useStoppedTime = (): void => {
  beforeEach(() => {
    at = 1_700_000_000_000;
    observed = undefined;
  });
};

export const now = (): number => at;

/** Lets time pass, and the breakers do what is due meanwhile. */
export const pass = (ms: number): void => {
  const until = at + ms;
  for (let next = observed?.nextTick ?? Infinity; next <= until; next = observed?.nextTick ?? Infinity) {
    at = Math.max(at, next);
    observed?.tick(at);
  }
  at = until;
};

export interface ObservedBreakers {
  readonly breakers: Breakers;
  readonly changes: (readonly [key: string, state: BreakerState])[];
  /** One letter for each request, begun and ended one after the other: f(ailure), s(uccess), n(eutral). */
  readonly report: (outcomes: string, key?: string) => void;
  readonly state: (key?: string) => BreakerState;
}

export const observeBreakers = (settings: Partial<BreakerSettings> = {}): ObservedBreakers => {
  const changes: ObservedBreakers['changes'] = [];
  const breakers = new Breakers({ ...BREAKER_SETTINGS, ...settings }, ({ key, state }) =>
    changes.push([key, state]),
  );
  observed = breakers;
  return {
    breakers,
    changes,
    report: (outcomes, key = A) => {
      for (const letter of outcomes) {
        const outcome = letter === 'f' ? 'failure' : letter === 's' ? 'success' : 'neutral';
        breakers.report(key, breakers.ticket, outcome, at);
      }
    },
    state: (key = A) => breakers.state(key),
  };
};

export const openFor = (ms: number, opens = 1): BreakerState => ({ kind: 'open', opens, until: at + ms });
