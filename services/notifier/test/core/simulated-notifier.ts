import { PARTITIONS } from '@runledger/contracts/deliveries/timers';
import { expect } from 'vitest';
import type { FinalDelivery } from '../../src/core/delivery.ts';
import type { Effect, StoredOpening } from '../../src/core/inputs-and-effects.ts';
import type { PartitionStart } from '../../src/core/partition.ts';
import { hasFinal } from '../../src/core/state.ts';
import { reconcile } from './simulated-reconciliation.ts';
import { attemptFinal, attemptIntermediate, type Circumstances } from './simulated-attempts.ts';
import { simulateCore, STORED, type SimulatedCore } from './simulated-core.ts';
import {
  deferredAt,
  hasRoom,
  isSuperseded,
  removeTimer,
  runOf,
  storeTimer,
  writeConclusion,
  type SimulatedLog,
  type Timer,
} from './simulated-log.ts';

const OPENING_KEY = ({ org_id, origin }: Pick<StoredOpening, 'org_id' | 'origin'>): string =>
  `${org_id} ${origin}`;

/** The core at work on a log, as the service does it. It goes on where an earlier one was killed. */
export const startNotifier = (
  log: SimulatedLog,
  startAt: number,
  circumstances: Circumstances,
): SimulatedCore => {
  for (const run of log.runs) {
    run.inFlight = 0;
    // A process that was killed does not remember it.
    run.lastIntermediate = -Infinity;
  }
  const partitions = Array.from({ length: PARTITIONS }, (_, number): PartitionStart => {
    const { lastSequence, positions } = log;
    const position = positions.get(number);
    return { number, created: 'first', lastSequence, lastReport: 0, position };
  });
  const core = simulateCore({ maxInFlight: circumstances.maxInFlight, startAt, partitions });
  const { take, surroundings } = core;
  surroundings.attempt = (effect) =>
    effect.type === 'attempt_final'
      ? attemptFinal(log, core, circumstances, effect)
      : attemptIntermediate(log, core, circumstances, effect);
  surroundings.conclude = ({ attempt, delivery, conclusion }) =>
    core.after(1, () => {
      const timer = writeConclusion(log, runOf(log, delivery.key.run_id), delivery, conclusion);
      if (timer && timer !== 'no_room') waitFor(log, core, circumstances, timer);
      const at = conclusion.kind === 'retry' ? conclusion.at - core.now() : 0;
      const retry = { at: core.now() + circumstances.waitOf(at), attempts: delivery.attempts + 1 };
      const outcome = timer === 'no_room' ? ({ kind: timer, retry } as const) : STORED;
      take({ type: 'attempt_concluded', attempt, outcome });
    });
  surroundings.defer = ({ delivery, reminder }) =>
    core.after(2, () => {
      const run = runOf(log, delivery.key.run_id);
      if (!hasRoom(log, delivery))
        return take({ type: 'deferral_finished', run: delivery.key.run_id, outcome: { kind: 'no_room' } });
      if (reminder) storeOpening(log, core, reminder);
      const isNew = delivery.source.kind !== 'deferred';
      if (isNew && !(delivery.mayBeSuperseded && isSuperseded(log, run, delivery)))
        storeTimer(log, delivery, 'deferred', 0);
      take({ type: 'deferral_finished', run: delivery.key.run_id, outcome: STORED });
    });
  surroundings.load = (effect) => core.after(1, () => loadDeferred(log, core, effect));
  surroundings.other = (effect) => doOther(log, core, effect);
  takeOver(log, core, circumstances);
  const reconcileOften = (): void => {
    reconcile(log, core);
    core.after(ROUND_EVERY_MS, reconcileOften);
  };
  core.after(ROUND_EVERY_MS, reconcileOften);
  return core;
};

const ROUND_EVERY_MS = 20_000;

type EffectOf<Type> = Extract<Effect, { type: Type }>;

/** What a new holder reads: openings, timers that are due, and the log behind the position. */
const takeOver = (log: SimulatedLog, core: SimulatedCore, circumstances: Circumstances): void => {
  for (const opening of log.openings.values()) {
    core.take({ type: 'opening_found', ...opening });
    remindOf(log, core, opening);
  }
  for (const [sequence, opening] of log.dueOpenings)
    core.take({ type: 'opening_due', sequence, restore: true, ...opening });
  for (const timer of log.timers.values()) {
    if (timer.state === 'wait' && !timer.isStalled) waitFor(log, core, circumstances, timer);
    if (timer.state === 'due')
      core.take({ type: 'delivery_due', delivery: { ...timer.delivery, mayBeSuperseded: true } });
  }
  for (const message of log.messages) core.take(message);
};

const loadDeferred = (
  log: SimulatedLog,
  { state, take }: SimulatedCore,
  { receiver, after, max }: EffectOf<'load_deferred'>,
): void => {
  let lastSequence = after;
  let found = 0;
  for (const delivery of deferredAt(log, receiver, after)) {
    if (found >= max) break;
    lastSequence = delivery.source.sequence;
    if (hasFinal(state, delivery.key.run_id)) continue;
    take({ type: 'deferred_found', delivery });
    found += 1;
  }
  const end = found >= max ? 'more' : lastSequence > after ? 'end' : 'nothing_found';
  take({ type: 'deferred_loaded', receiver, lastSequence, end });
};

const doOther = (log: SimulatedLog, core: SimulatedCore, effect: Effect): void => {
  if (effect.type === 'remove_timer') removeTimer(log, effect.sequence);
  else if (effect.type === 'store_opening') storeOpening(log, core, effect.opening);
  else if (effect.type === 'remove_opening') {
    log.openings.delete(OPENING_KEY(effect.receiver));
    if (effect.due !== null) removeTimer(log, effect.due);
  } else if (effect.type === 'store_position') {
    log.positions.set(effect.partition, effect.position);
    core.take({ ...effect, type: 'position_stored' });
  } else expect.unreachable(`nothing is done about ${effect.type}`);
};

const storeOpening = (log: SimulatedLog, core: SimulatedCore, opening: StoredOpening): void => {
  log.openings.set(OPENING_KEY(opening), opening);
  remindOf(log, core, opening);
};

const remindOf = (log: SimulatedLog, core: SimulatedCore, opening: StoredOpening): void =>
  core.after(Math.max(opening.until - core.now(), 0), () => {
    const key = OPENING_KEY(opening);
    if (log.openings.get(key) !== opening) return;
    log.openings.delete(key);
    // One message for each subject.
    for (const [due, { origin, org_id }] of log.dueOpenings)
      if (OPENING_KEY({ origin, org_id }) === key) log.dueOpenings.delete(due);
    const sequence = (log.lastSequence += 1);
    log.dueOpenings.set(sequence, opening);
    core.take({ type: 'opening_due', sequence, restore: false, ...opening });
  });

/** A delivery that waits is due at its time, unless it was replaced meanwhile. */
const waitFor = (log: SimulatedLog, core: SimulatedCore, { waitOf }: Circumstances, timer: Timer): void =>
  core.after(waitOf(Math.max(timer.at - core.now(), 0)), () => {
    const subject = `${timer.delivery.key.run_id}.wait`;
    if (log.timers.get(subject) !== timer) return;
    log.timers.delete(subject);
    const { delivery } = storeTimer(log, timer.delivery, 'due', 0);
    core.take({
      type: 'delivery_due',
      delivery: { ...delivery, mayBeSuperseded: false } satisfies FinalDelivery,
    });
  });
