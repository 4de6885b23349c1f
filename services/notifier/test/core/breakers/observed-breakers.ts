import { afterEach, beforeEach, vi } from 'vitest';
import { openBreakers, type Breakers, type BreakerState } from '../../../src/breaker/breakers.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const A = 'https://a.example:443';

/** The clock and all timers stand still until `pass`. */
export const useStoppedTime = (): void => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
};

/** Lets what opossum still has to do be done, and time pass. */
export const pass = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};

export interface Tried {
  readonly breakers: Breakers;
  readonly changes: (readonly [key: string, state: BreakerState])[];
  /** One letter for each request, begun and ended one after the other: f(ailure), s(uccess), n(eutral). */
  readonly tell: (outcomes: string, key?: string) => Promise<void>;
  readonly state: (key?: string) => BreakerState;
}

export const tryBreakers = (options: Partial<Parameters<typeof openBreakers>[0]> = {}): Tried => {
  const breakers = openBreakers({ now: () => Date.now(), ...options });
  const changes: Tried['changes'] = [];
  breakers.onChange((key, state) => changes.push([key, state]));
  return {
    breakers,
    changes,
    tell: async (outcomes, key = A) => {
      for (const letter of outcomes) {
        const outcome = letter === 'f' ? 'failure' : letter === 's' ? 'success' : 'neutral';
        breakers.report(key, breakers.ticket(key), outcome);
      }
      await pass(0);
    },
    state: (key = A) => breakers.state(key),
  };
};

export const openFor = (ms: number, opens = 1): BreakerState => ({
  kind: 'open',
  opens,
  until: Date.now() + ms,
});
