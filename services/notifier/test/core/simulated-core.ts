import TinyQueue from 'tinyqueue';
import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import { BREAKER_SETTINGS } from '../../src/core/breaker.ts';
import { decide } from '../../src/core/decide.ts';
import type { FinalDelivery } from '../../src/core/delivery.ts';
import type { Receiver } from '../../src/core/receiver.ts';
import type { Effect, NotifierInput, Outcome } from '../../src/core/inputs-and-effects.ts';
import type { PartitionStart } from '../../src/core/partition.ts';
import { createNotifierState, hasFinal, nextTick, type NotifierState } from '../../src/core/state.ts';

export const SECOND = 1_000;
/** The broker's clock at the start, in milliseconds since 1970; the monotonic one begins elsewhere. */
const BORN = 1_700_000_000_000;
const MONOTONIC_START = 5_000_000;
const GIVE_UP_AFTER_MS = 518_400_000;
const LOG_AGE_MS = 604_800_000;

export const STORED: Outcome = { kind: 'stored' };

type EffectOf<Type> = Extract<Effect, { type: Type }>;
type Attempt = EffectOf<'attempt_final'> | EffectOf<'attempt_intermediate'>;

/** What is done about effects; a test says what it wants to be different. */
interface Surroundings {
  attempt: (effect: Attempt) => void;
  conclude: (effect: EffectOf<'conclude_attempt'>) => void;
  defer: (effect: EffectOf<'defer_delivery'>) => void;
  load: (effect: EffectOf<'load_deferred'>) => void;
  /** Everything else that is to be done. */
  other: (effect: Effect) => void;
}

/** The whole core on clocks of its own, with a log made up. */
export interface SimulatedCore {
  readonly state: NotifierState;
  readonly surroundings: Surroundings;
  /** Deliveries in TIMERS that are deferred, by their sequence. */
  readonly deferred: Map<number, FinalDelivery>;
  /** Loads of deferred deliveries that go on now, at most so far, and of all. */
  readonly loads: { now: number; most: number; all: number };
  /** Effects that nothing was done about. */
  readonly others: Effect[];
  /** Milliseconds since the beginning of the simulation. */
  readonly elapsed: () => number;
  /** The broker's clock. */
  readonly now: () => number;
  readonly nextSequence: () => number;
  readonly handle: (input: NotifierInput) => void;
  /** Does something later. */
  readonly after: (ms: number, act: () => void) => void;
  /** Lets time pass, and does what is due. */
  readonly pass: (ms?: number) => void;
  deferredAt(receiver: Receiver): FinalDelivery[];
}

const ALL_PARTITIONS = Array.from({ length: PARTITIONS }, (_, number): PartitionStart => {
  return {
    number,
    created: 'first',
    lastSequence: 0,
    lastReport: 0,
    position: undefined,
  };
});

export interface SimulationOptions {
  readonly maxInFlight?: number;
  readonly readMs?: number;
}

export const simulateCore = (options: SimulationOptions = {}): SimulatedCore => {
  const { maxInFlight = 100, readMs = 1 } = options;
  const settings = {
    maxInFlight,
    breaker: BREAKER_SETTINGS,
    giveUpAfterMs: GIVE_UP_AFTER_MS,
    instantOf: Date.parse,
  };
  let at = MONOTONIC_START;
  let sequence = 0;
  const due = new TinyQueue<{ readonly at: number; readonly act: () => void }>(
    [],
    (one, other) => one.at - other.at,
  );
  let isTaking = false;
  const inputs = new Set<NotifierInput>();
  const state = createNotifierState(settings, at);
  const now = (): number => BORN + (at - MONOTONIC_START);
  decide(state, { type: 'log_age_read', logAgeMs: LOG_AGE_MS }, { at, now: now(), chance: 0.5 });

  /** Inputs that come up while one is taken wait for their turn. */
  const handle = (input: NotifierInput): void => {
    inputs.add(input);
    if (isTaking) return;
    isTaking = true;
    for (const next of inputs) {
      inputs.delete(next);
      for (const effect of decide(state, next, { at, now: now(), chance: 0.5 })) perform(effect);
    }
    isTaking = false;
  };
  const perform = (effect: Effect): void => {
    const { attempt, conclude, defer, load, other } = core.surroundings;
    if (effect.type === 'attempt_final' || effect.type === 'attempt_intermediate') attempt(effect);
    else if (effect.type === 'conclude_attempt') conclude(effect);
    else if (effect.type === 'defer_delivery') defer(effect);
    else if (effect.type === 'load_deferred') load(effect);
    else other(effect);
  };

  const core: SimulatedCore = {
    state,
    deferred: new Map(),
    loads: { now: 0, most: 0, all: 0 },
    others: [],
    elapsed: () => at - MONOTONIC_START,
    now,
    nextSequence: () => (sequence += 1),
    handle,
    after: (ms, act) => {
      due.push({ at: at + ms, act });
    },
    pass: (ms = 0) => {
      const until = at + ms;
      for (;;) {
        const first = due.peek();
        const next = Math.min(first?.at ?? Infinity, nextTick(state));
        if (next > until) break;
        at = Math.max(at, next);
        if (first && first.at <= at) due.pop()?.act();
        else handle({ type: 'tick' });
      }
      at = until;
    },
    deferredAt: (receiver) =>
      [...core.deferred.values()].filter(
        ({ key, origin }) => key.org_id === receiver.org_id && origin === receiver.origin,
      ),
    surroundings: {
      attempt: () => undefined,
      conclude: ({ attempt }) => handle({ type: 'attempt_concluded', attempt, outcome: STORED }),
      defer: ({ delivery }) => {
        storeDeferred(core, delivery);
        handle({ type: 'deferral_finished', run: delivery.key.run_id, outcome: STORED });
      },
      load: (effect) => loadDeferred(core, effect, readMs),
      other: (effect) => {
        core.others.push(effect);
        if (effect.type === 'remove_timer') core.deferred.delete(effect.sequence);
        if (effect.type !== 'store_position') return;
        handle({ type: 'position_stored', partition: effect.partition, position: effect.position });
      },
    },
  };
  for (const start of ALL_PARTITIONS) handle({ type: 'partition_gained', start });
  return core;
};

/** One of a run replaces that of before. */
export const storeDeferred = (core: SimulatedCore, delivery: FinalDelivery): void => {
  if (delivery.source.kind === 'deferred') return;
  const sequence = core.nextSequence();
  core.deferred.set(sequence, { ...delivery, source: { kind: 'deferred', sequence }, mayBeSuperseded: true });
};

const loadDeferred = (core: SimulatedCore, effect: EffectOf<'load_deferred'>, readMs: number): void => {
  const { loads, state, handle } = core;
  const { receiver, after, max } = effect;
  loads.now += 1;
  loads.all += 1;
  loads.most = Math.max(loads.most, loads.now);
  core.after(readMs, () => {
    loads.now -= 1;
    const there = core.deferredAt(receiver).filter(({ source }) => source.sequence > after);
    let lastSequence = after;
    let found = 0;
    for (const delivery of there) {
      if (found >= max) break;
      lastSequence = delivery.source.sequence;
      if (hasFinal(state, delivery.key.run_id)) continue;
      handle({ type: 'deferred_found', delivery });
      found += 1;
    }
    const end = found >= max ? 'more' : lastSequence > after ? 'end' : 'nothing_found';
    handle({ type: 'deferred_loaded', receiver, lastSequence, end });
  });
};
