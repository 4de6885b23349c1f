import TinyQueue from 'tinyqueue';
import type { Outcome } from './conclusion.ts';
import {
  openingMs,
  type BreakerSettings,
  afterFailure,
  afterSuccess,
  CLOSED,
  enterState,
  isQuiet,
  NEW_BREAKER,
  PROBE,
  type Breaker,
  type BreakerState,
  type OpenState,
  WINDOW_SLICES,
} from './breaker.ts';

interface KeyedBreaker extends Breaker {
  readonly key: string;
  /** The number of the change that led to the state: what began before it is late. */
  readonly since: number;
}

export interface BreakerChange {
  readonly key: string;
  readonly state: BreakerState;
}

/** What is stored of an open breaker, so that another process can continue it. */
interface Opening {
  readonly opens: number;
  /** Monotonic, in milliseconds. */
  readonly until: number;
}

/** Restored openings that are over are probed one after the other, over the length of a first opening in this many steps. */
const RESTORE_STEPS = 30;

/**
 * The circuit breakers of the receivers, by origin and by organisation and origin. Nothing is kept of a receiver before its first
 * failure, and again when its last failure is over ten minutes old.
 */
export class Breakers {
  readonly #settings: BreakerSettings;
  readonly #onChange: (change: BreakerChange) => void;
  /** The one that changed its state longest ago is the first. */
  readonly #closed = new Map<string, KeyedBreaker>();
  readonly #tripped = new Map<string, KeyedBreaker>();
  readonly #openings = new TinyQueue<{ readonly key: string; readonly until: number }>(
    [],
    (one, other) => one.until - other.until,
  );
  #changes = 0;
  #open = 0;
  #forgotten = 0;
  #nextCleanUp: number | undefined;
  #restored = 0;

  constructor(settings: BreakerSettings, onChange: (change: BreakerChange) => void) {
    this.#settings = settings;
    this.#onChange = onChange;
  }

  /** Undefined when nothing failed lately. */
  find(key: string): KeyedBreaker | undefined {
    return this.#tripped.get(key) ?? this.#closed.get(key);
  }

  state(key: string): BreakerState {
    return this.find(key)?.state ?? CLOSED;
  }

  /** To be taken before a request begins. It is good for one report. */
  get ticket(): number {
    return this.#changes;
  }

  /** How many are open. */
  get open(): number {
    return this.#open;
  }

  get size(): number {
    return this.#closed.size + this.#tripped.size;
  }

  /** How many were not remembered any longer, because there were too many. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** When `tick` has something to do: the end of an opening, or old results to forget. */
  get nextTick(): number {
    return Math.min(this.#openings.peek()?.until ?? Infinity, this.#nextCleanUp ?? Infinity);
  }

  /** The outcome of a request. One that began before the breaker last opened, closed or let a probe through changes nothing. */
  report(key: string, ticket: number, outcome: Outcome, at: number): void {
    if (outcome === 'neutral') return;
    const known = this.find(key);
    if (known ? known.state.kind === 'open' || ticket < known.since : outcome === 'success') return;
    const before = known ?? { ...NEW_BREAKER, key, since: 0 };
    const after = outcome === 'failure' ? afterFailure : afterSuccess;
    this.#replace(before, after(before, at, this.#settings), at);
  }

  /** Somebody expects it to work again: an opening lasts no longer than a first one. */
  endSoon(key: string, at: number): void {
    const breaker = this.#tripped.get(key);
    if (breaker?.state.kind !== 'open') return;
    const until = breaker.enteredAt + openingMs(this.#settings, 1);
    if (until >= breaker.state.until) return;
    this.#tripped.set(key, { ...breaker, state: { ...breaker.state, until } });
    this.#openings.push({ key, until });
    this.tick(at);
  }

  /** Opens it for the time that is left, at most the longest opening. A breaker that is not closed stays as it is. */
  restore(key: string, opening: Opening, at: number): void {
    const known = this.find(key);
    if (known && known.state.kind !== 'closed') return;
    const state = this.#restoredState(opening, at);
    const before = { ...NEW_BREAKER, key, since: 0, opens: state.opens };
    this.#replace(before, enterState(before, state, at), at);
  }

  /** Openings that are over end one after the other, so that a takeover does not send all its probes at once. */
  #restoredState({ opens, until }: Opening, at: number): OpenState {
    const { firstOpenMs, longestOpenMs } = this.#settings;
    const isOver = !(until > at);
    if (isOver) this.#restored = (this.#restored % RESTORE_STEPS) + 1;
    return {
      kind: 'open',
      opens: Number.isSafeInteger(opens) && opens > 0 ? opens : 1,
      until: isOver
        ? at + (this.#restored * firstOpenMs) / RESTORE_STEPS
        : Math.min(until, at + longestOpenMs),
    };
  }

  /** Lets probes through where an opening is over, and forgets what is too old to matter. */
  tick(at: number): void {
    for (let next = this.#openings.peek(); next && next.until <= at; next = this.#openings.peek()) {
      this.#openings.pop();
      const breaker = this.#tripped.get(next.key);
      // It may have opened again since.
      if (breaker?.state.kind === 'open' && breaker.state.until <= at)
        this.#replace(breaker, enterState(breaker, PROBE, at), at);
    }
    if (this.#nextCleanUp === undefined || at < this.#nextCleanUp) return;
    this.#nextCleanUp = this.size > 0 ? this.#cleanUpAfter(at) : undefined;
    for (const breaker of [...this.#closed.values(), ...this.#tripped.values()]) this.#cleanUp(breaker, at);
  }

  /** Closes a breaker that had no failure for long enough, also without enough successes. */
  #cleanUp(breaker: KeyedBreaker, at: number): void {
    const { state, key } = breaker;
    if (state.kind === 'open' || !isQuiet(breaker, at, this.#settings)) return;
    if (state.kind === 'probing' && state.limit === PROBE.limit) return;
    if (state.kind === 'probing') this.#replace(breaker, enterState(breaker, CLOSED, at), at);
    this.#closed.delete(key);
  }

  #replace({ key, state: before, since }: KeyedBreaker, after: Breaker, at: number): void {
    const { state } = after;
    const changed = state.kind !== before.kind;
    const breaker: KeyedBreaker = { ...after, key, since: changed ? (this.#changes += 1) : since };
    if (changed) this.#forget(key);
    (state.kind === 'closed' ? this.#closed : this.#tripped).set(key, breaker);
    if (changed && state.kind === 'open') {
      this.#open += 1;
      this.#openings.push({ key, until: state.until });
    }
    this.#nextCleanUp ??= this.#cleanUpAfter(at);
    if (state !== before) this.#onChange({ key, state });
    if (this.size > this.#settings.maxBreakers) this.#forgetOldest();
  }

  #cleanUpAfter(at: number): number {
    const sliceMs = this.#settings.windowMs / WINDOW_SLICES;
    return (Math.floor(at / sliceMs) + 1) * sliceMs;
  }

  #forget(key: string): void {
    if (this.#tripped.get(key)?.state.kind === 'open') this.#open -= 1;
    this.#tripped.delete(key);
    this.#closed.delete(key);
  }

  /** It counts as healthy from now on. */
  #forgetOldest(): void {
    // The only closed one is the one that was just added.
    const [oldest] = this.#closed.size > 1 ? this.#closed.keys() : this.#tripped.keys();
    if (oldest === undefined) return;
    const { kind } = this.state(oldest);
    this.#forget(oldest);
    this.#forgotten += 1;
    if (kind !== 'closed') this.#onChange({ key: oldest, state: CLOSED });
  }
}
