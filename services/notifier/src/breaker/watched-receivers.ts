import type { Circuit } from './opossum.ts';
import { PROBE } from '../core/breakers/breaker.ts';
import type { BreakerState, Receiver } from '../core/breakers/breaker.ts';

/** A receiver with an opossum breaker. */
export interface Watched extends Receiver {
  readonly key: string;
  readonly circuit: Circuit;
  state: BreakerState;
  opens: number;
  since: number;
  /** When the state was entered. */
  enteredAt: number;
  failuresInARow: number;
  /** Since the state was entered, while it is probed. */
  successes: number;
}

export interface WatchedReceivers {
  readonly size: number;
  readonly open: number;
  get(key: string): Watched | undefined;
  all(): readonly Watched[];
  add(watched: Watched): void;
  enter(watched: Watched, state: BreakerState): void;
  remove(watched: Watched): void;
  /** The one to do without when there are too many: an open one needs no opossum breaker until its time has come. */
  mostDispensable(): Watched | undefined;
}

export const watchedReceivers = (): WatchedReceivers => {
  const byKey = new Map<string, Watched>();
  /** Each in the order in which they entered that state; in the order in which they are done without. */
  const byState = {
    open: new Set<Watched>(),
    probing: new Set<Watched>(),
    closed: new Set<Watched>(),
  };

  return {
    get size() {
      return byKey.size;
    },
    get open() {
      return byState.open.size;
    },
    get: (key) => byKey.get(key),
    all: () => [...byKey.values()],
    add: (watched) => {
      byKey.set(watched.key, watched);
      byState[watched.state.kind].add(watched);
    },
    enter: (watched, state) => {
      byState[watched.state.kind].delete(watched);
      watched.state = state;
      byState[state.kind].add(watched);
    },
    remove: (watched) => {
      byKey.delete(watched.key);
      byState[watched.state.kind].delete(watched);
      watched.circuit.shutDown();
    },
    mostDispensable: () => {
      for (const receivers of Object.values(byState)) {
        const [first] = receivers;
        if (first !== undefined) return first;
      }
      return undefined;
    },
  };
};

/** What is remembered of it when it loses its opossum breaker: of a closed one nothing. */
export const withoutCircuit = ({ state, opens, since }: Watched): Receiver | undefined => {
  switch (state.kind) {
    case 'closed':
      return undefined;
    case 'open':
      return { state, opens, since };
    case 'probing':
      // How far it had come is not kept: it begins with a single probe again.
      return { state: PROBE, opens, since };
  }
};

/** No failure is left in the window, and how often it opened has lost its meaning or did so `longAgo`. */
export const isQuiet = ({ circuit, opens, enteredAt }: Watched, longAgo: number): boolean =>
  circuit.failures() === 0 && (opens === 0 || enteredAt <= longAgo);
