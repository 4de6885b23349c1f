import { EventEmitter } from 'node:events';
import type { Outcome } from '../core/verdict.ts';
import { openDormantReceivers } from './dormant-receivers.ts';
import { newCircuit, WINDOW_SLICES } from './opossum.ts';
import { afterRound, CLOSED, PROBE } from '../core/breakers/breaker.ts';
import type { BreakerState, Receiver } from '../core/breakers/breaker.ts';
import { restoredOpenings } from '../core/breakers/restored-openings.ts';
import type { Opening } from '../core/breakers/restored-openings.ts';
import { BREAKER_SETTINGS, openingMs, wakeEveryMs } from '../core/breakers/breaker-settings.ts';
import type { BreakerSettings } from '../core/breakers/breaker-settings.ts';
import { isQuiet, watchedReceivers, withoutCircuit } from './watched-receivers.ts';
import type { Watched } from './watched-receivers.ts';

/** Remembers in what situation a request was begun. It is good for one report. */
export interface Ticket {
  readonly begun: number;
}

export type { BreakerState };

/**
 * The circuit breakers of those that webhooks are sent to. They open on five failures in a row, or when more than half
 * of at least ten results in ten minutes are failures. Results count from the first failure on: until then nothing is
 * kept of a receiver, and again when its last failure is over ten minutes old.
 */
export interface Breakers {
  state(key: string): BreakerState;
  /** Taken before a request is begun. */
  ticket(key: string): Ticket;
  /** What became of it. `neutral`, and what was begun before the breaker last opened, closed or let a probe through, change nothing. */
  report(key: string, ticket: Ticket, outcome: Outcome): void;
  /** Opens it for the time that is left, and at least a moment. A breaker that is not closed stays as it is. */
  restore(key: string, opening: Opening): void;
  /** Tells of every change, that of `restore` too, within the call or the timer that makes it. Gives back its end. */
  onChange(listener: (key: string, state: BreakerState) => void): () => void;
  /** How many keys are open. */
  readonly open: number;
  /** How many opossum breakers there are. */
  readonly instances: number;
  /** How many keys were not remembered any longer, because there were too many. Each was told to be closed. */
  readonly forgotten: number;
  /** No timer is left, and nothing is told or taken any more. */
  close(): void;
}

interface BreakersOptions {
  readonly now: () => number;
  /** So many opossum breakers at most. */
  readonly most?: number;
  readonly settings?: Partial<BreakerSettings>;
}

/** Nothing has failed yet. */
const HEALTHY: Receiver = { state: CLOSED, opens: 0, since: 0 };

export const openBreakers = (options: BreakersOptions): Breakers => {
  const { now, most = 5_000 } = options;
  const settings: BreakerSettings = { ...BREAKER_SETTINGS, ...options.settings };
  const listeners = new Set<(key: string, state: BreakerState) => void>();
  const rotation = new EventEmitter().setMaxListeners(0);
  let changes = 0;
  let forgotten = 0;
  let ended = false;

  const notify = (key: string, state: BreakerState): void => {
    for (const listener of listeners) listener(key, state);
  };

  const restored = restoredOpenings(settings, now);
  const watched = watchedReceivers();
  const dormant = openDormantReceivers({
    now,
    wakeEveryMs: wakeEveryMs(settings),
    most: settings.mostDormant,
    onDue: (key, { opens }) => {
      dormant.put(key, { state: PROBE, opens, since: (changes += 1) });
      notify(key, PROBE);
    },
    onForgotten: (key) => {
      forgotten += 1;
      notify(key, CLOSED);
    },
  });

  const enter = (receiver: Watched, state: BreakerState): void => {
    if (state.kind !== receiver.state.kind) receiver.since = changes += 1;
    receiver.enteredAt = now();
    receiver.successes = 0;
    watched.enter(receiver, state);
    notify(receiver.key, state);
  };

  /** Does without its opossum breaker. */
  const rest = (receiver: Watched): void => {
    watched.remove(receiver);
    const rested = withoutCircuit(receiver);
    if (rested === undefined) return;
    dormant.put(receiver.key, rested);
    if (rested.state !== receiver.state) notify(receiver.key, rested.state);
  };

  const watch = (key: string, known: Receiver): Watched => {
    dormant.delete(key);
    while (watched.size >= most) {
      const dispensable = watched.mostDispensable();
      if (dispensable === undefined) break;
      rest(dispensable);
    }
    const receiver: Watched = {
      ...known,
      key,
      circuit: newCircuit({ settings, rotation, onHalfOpen: () => enter(receiver, PROBE) }),
      enteredAt: now(),
      failuresInARow: 0,
      successes: 0,
    };
    watched.add(receiver);
    return receiver;
  };

  const fail = (receiver: Watched): void => {
    receiver.failuresInARow += 1;
    const openMs = openingMs(settings, receiver.opens + 1);
    const trip = receiver.state.kind === 'probing' || receiver.failuresInARow >= settings.inARow;
    if (!receiver.circuit.fail({ openMs, trip })) return;
    receiver.opens += 1;
    receiver.failuresInARow = 0;
    enter(receiver, { kind: 'open', opens: receiver.opens, until: now() + openMs });
  };

  const succeed = (receiver: Watched): void => {
    const { state } = receiver;
    receiver.circuit.succeed();
    receiver.failuresInARow = 0;
    receiver.successes += 1;
    if (state.kind === 'closed') receiver.opens = 0;
    else if (state.kind === 'probing' && receiver.successes >= state.limit)
      enter(receiver, afterRound(state.limit));
  };

  const turn = setInterval(() => {
    rotation.emit('rotate');
    const longAgo = now() - settings.windowMs;
    for (const receiver of watched.all().filter((one) => isQuiet(one, longAgo))) {
      // In use, though too little to come to the end of its rounds: it has gone without a failure for long enough.
      const { state } = receiver;
      if (state.kind === 'probing' && state.limit !== PROBE.limit) enter(receiver, CLOSED);
      if (state.kind !== 'open') rest(receiver);
    }
  }, settings.windowMs / WINDOW_SLICES);
  turn.unref();

  const find = (key: string): Receiver | undefined => watched.get(key) ?? dormant.get(key);

  return {
    state: (key) => find(key)?.state ?? CLOSED,
    ticket: () => ({ begun: changes }),
    report: (key, { begun }, outcome) => {
      if (ended || outcome === 'neutral') return;
      const known = find(key);
      if (known === undefined) {
        if (outcome === 'failure') fail(watch(key, HEALTHY));
        return;
      }
      if (known.state.kind === 'open' || begun < known.since) return;
      const receiver = watched.get(key) ?? watch(key, known);
      if (outcome === 'failure') fail(receiver);
      else succeed(receiver);
    },
    restore: (key, opening) => {
      const known = find(key);
      if (ended || (known !== undefined && known.state.kind !== 'closed')) return;
      const receiver = watched.get(key);
      if (receiver !== undefined) rest(receiver);
      const state = restored(opening);
      dormant.put(key, { state, opens: state.opens, since: (changes += 1) });
      notify(key, state);
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    get open() {
      return watched.open + dormant.open;
    },
    get instances() {
      return watched.size;
    },
    get forgotten() {
      return forgotten;
    },
    close: () => {
      ended = true;
      clearInterval(turn);
      listeners.clear();
      for (const receiver of watched.all()) watched.remove(receiver);
      dormant.close();
    },
  };
};
