import type { DeliveryAttemptResult } from '@runledger/contracts/events/delivery-attempt-result';
import { PARTITIONS } from '@runledger/contracts/deliveries/partition';
import { expect } from 'vitest';
import type { AttemptReport } from '../../src/core/delivery/attempt-report.ts';
import type { FinalDelivery } from '../../src/core/delivery/final-delivery.ts';
import type { Effect } from '../../src/core/state/effect.ts';
import type { StoredOpening } from '../../src/core/state/input.ts';
import type { PartitionStart } from '../../src/core/state/partition.ts';
import { isInHand } from '../../src/core/state/state.ts';
import { SECOND, simulateCore, STORED, type SimulatedCore } from './simulated-core.ts';
import {
  deferredAt,
  isSuperseded,
  removeTimer,
  runOf,
  storeTimer,
  writeConclusion,
  type SimulatedLog,
  type SimulatedRun,
  type Timer,
} from './simulated-log.ts';

const GIVE_UP_AFTER_MS = 518_400_000;
const OPENING_KEY = ({ org_id, origin }: Pick<StoredOpening, 'org_id' | 'origin'>): string =>
  `${org_id} ${origin}`;

/** How an attempt goes, and how long it takes. */
export interface Behaviour {
  readonly afterMs: number;
  readonly reason: DeliveryAttemptResult;
}

export interface Circumstances {
  readonly maxInFlight: number;
  readonly behave: () => Behaviour;
  /** How long a delivery waits in TIMERS that is to wait so long. */
  readonly waitOf: (ms: number) => number;
}

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
    return { number, created: 'first', lastSequence, lastReport: 0, position: positions.get(number) };
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
      if (timer) waitFor(log, core, circumstances, timer);
      take({ type: 'attempt_concluded', attempt, outcome: STORED });
    });
  surroundings.defer = ({ delivery, reminder }) =>
    core.after(2, () => {
      const run = runOf(log, delivery.key.run_id);
      if (reminder) storeOpening(log, core, reminder);
      const isNew = delivery.source.kind !== 'deferred';
      if (isNew && !(delivery.careful && isSuperseded(log, run, delivery)))
        storeTimer(log, delivery, 'deferred', 0);
      take({ type: 'deferral_finished', run: delivery.key.run_id, outcome: STORED });
    });
  surroundings.load = (effect) => core.after(1, () => loadDeferred(log, core, effect));
  surroundings.other = (effect) => doOther(log, core, effect);
  takeOver(log, core, circumstances);
  return core;
};

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
    if (timer.state === 'wait') waitFor(log, core, circumstances, timer);
    if (timer.state === 'due')
      core.take({ type: 'delivery_due', delivery: { ...timer.delivery, careful: true } });
  }
  for (const message of log.messages) core.take(message);
};

const begin = (run: SimulatedRun, core: SimulatedCore, maxInFlight: number): void => {
  run.inFlight += 1;
  expect(run.inFlight).toBe(1);
  expect(core.state.limits.inFlight).toBeLessThanOrEqual(maxInFlight);
};

const attemptFinal = (
  log: SimulatedLog,
  core: SimulatedCore,
  { behave, maxInFlight }: Circumstances,
  { attempt, delivery }: EffectOf<'attempt_final'>,
): void => {
  const run = runOf(log, delivery.key.run_id);
  const { afterMs, reason } = behave();
  begin(run, core, maxInFlight);
  const finish = (report: AttemptReport): void => {
    run.inFlight -= 1;
    core.take({ type: 'attempt_finished', attempt, report });
  };
  core.after(1, () => {
    if (delivery.careful && isSuperseded(log, run, delivery)) return finish({ kind: 'superseded' });
    const { round } = run;
    if (round === 0 || run.settled) return finish({ kind: 'nothing' });
    if (delivery.round < round && delivery.source.kind !== 'fact') return finish({ kind: 'nothing' });
    const attempts = round === delivery.round ? delivery.attempts : 0;
    const expiresAt = Math.min(delivery.expiresAt, run.endedAt + GIVE_UP_AFTER_MS);
    const progress = { round, attempts, expiresAt };
    expect(run.sentRounds.every((earlier) => earlier <= round)).toBe(true);
    run.sentRounds.push(round);
    const result = { reason, message: '', status: null, retry_after: null };
    core.after(afterMs, () => finish({ kind: 'sent', result, ...progress, endedAt: run.endedAt }));
  });
};

const attemptIntermediate = (
  log: SimulatedLog,
  core: SimulatedCore,
  { behave, maxInFlight }: Circumstances,
  { attempt, key }: EffectOf<'attempt_intermediate'>,
): void => {
  const run = runOf(log, key.run_id);
  const { afterMs, reason } = behave();
  begin(run, core, maxInFlight);
  expect(core.elapsed() - run.lastIntermediate).toBeGreaterThanOrEqual(SECOND);
  run.lastIntermediate = core.elapsed();
  const finish = (report: AttemptReport): void => {
    run.inFlight -= 1;
    core.take({ type: 'attempt_finished', attempt, report });
  };
  // The run is read before each attempt: behind its end nothing is sent.
  if (run.round > 0) return finish({ kind: 'nothing' });
  const result = { reason, message: '', status: null, retry_after: null };
  const progress = { round: 1, attempts: 0, expiresAt: Infinity, endedAt: core.now() };
  core.after(afterMs, () => finish({ kind: 'sent', result, ...progress }));
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
    if (isInHand(state, delivery.key.run_id)) continue;
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
    core.take({ type: 'delivery_due', delivery: { ...delivery, careful: false } satisfies FinalDelivery });
  });
