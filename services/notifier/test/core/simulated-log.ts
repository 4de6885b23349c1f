import { partitionOf, type PartitionPosition } from '@runledger/contracts/deliveries/timers';
import { newUuid, orgId, runId, type RunId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { Conclusion } from '../../src/core/conclusion.ts';
import { isInTimers, type FinalDelivery } from '../../src/core/delivery.ts';
import { receiverKey, type Receiver } from '../../src/core/receiver.ts';
import type { NotifierInput, StoredOpening } from '../../src/core/inputs-and-effects.ts';

/** A run of the simulation, and what happened to its notifications. */
export interface SimulatedRun {
  readonly key: RunKey;
  readonly receiver: Receiver;
  /** 0 until it ends. */
  round: number;
  endedAt: number;
  settled: boolean;
  inFlight: number;
  lastIntermediate: number;
  /** Rounds of the final notifications that were sent, in that order. */
  readonly sentRounds: number[];
}

type TimerState = 'wait' | 'due' | 'deferred';

export interface Timer {
  readonly delivery: FinalDelivery;
  readonly state: TimerState;
  readonly sequence: number;
  readonly at: number;
  /** The broker has lost its schedule. */
  readonly isStalled?: boolean;
}

type Message = Extract<
  NotifierInput,
  { type: 'run_ended' | 'redelivery_requested' | 'run_changed' | 'progress_reported' }
>;

/** RUNS, ACTIVITY and TIMERS as the broker holds them: they outlive every notifier. */
export interface SimulatedLog {
  readonly runs: readonly SimulatedRun[];
  readonly messages: Message[];
  readonly timers: Map<string, Timer>;
  /** Openings of breakers that wait, by their breaker, and those whose time is over, by their sequence. */
  readonly openings: Map<string, StoredOpening>;
  readonly dueOpenings: Map<number, StoredOpening>;
  readonly positions: Map<number, PartitionPosition>;
  /** How many deliveries TIMERS has room for. */
  readonly room: number;
  lastSequence: number;
}

export const simulateLog = (
  count: number,
  receivers: readonly Receiver[],
  room = Infinity,
): SimulatedLog => ({
  runs: Array.from({ length: count }, (_, at): SimulatedRun => {
    const receiver = receivers[at % receivers.length] ?? { org_id: newUuid(), origin: 'null' };
    const key = { org_id: orgId(receiver.org_id), run_id: runId(newUuid()) };
    const never = { round: 0, endedAt: Infinity, settled: false, inFlight: 0, lastIntermediate: -Infinity };
    return { key, receiver, ...never, sentRounds: [] };
  }),
  messages: [],
  timers: new Map(),
  openings: new Map(),
  dueOpenings: new Map(),
  positions: new Map(),
  room,
  lastSequence: 0,
});

export const runOf = ({ runs }: SimulatedLog, id: RunId): SimulatedRun => {
  const run = runs.find(({ key }) => key.run_id === id);
  if (!run) throw new Error('There is no such run.');
  return run;
};

/** A message about a run is stored, and every reader of the log gets it. */
export const append = (
  log: SimulatedLog,
  run: SimulatedRun,
  what: 'changed' | 'progress' | 'ended' | 'redelivery',
  now: number,
): Message => {
  const { key, receiver } = run;
  const sequence = (log.lastSequence += 1);
  const message = { partition: partitionOf(receiver.origin), key, origin: receiver.origin, sequence };
  const stored = ((): Message => {
    switch (what) {
      case 'changed':
        return { type: 'run_changed', ...message };
      case 'progress':
        return { type: 'progress_reported', ...message };
      case 'ended':
        return { type: 'run_ended', time: now, oldestFactAt: now, ...message };
      case 'redelivery':
        return {
          type: 'redelivery_requested',
          time: now,
          oldestFactAt: run.endedAt,
          round: run.round,
          ...message,
        };
    }
  })();
  log.messages.push(stored);
  return stored;
};

/** The newest message that is pending for the run. */
export const pendingOf = ({ timers }: SimulatedLog, { key }: SimulatedRun): Timer | undefined =>
  (['wait', 'due', 'deferred'] as const)
    .flatMap((state) => timers.get(`${key.run_id}.${state}`) ?? [])
    .toSorted((one, other) => other.sequence - one.sequence)[0];

export const storeTimer = (
  log: SimulatedLog,
  delivery: FinalDelivery,
  state: TimerState,
  at: number,
): Timer => {
  const sequence = (log.lastSequence += 1);
  const kind = state === 'deferred' ? state : 'due';
  const timer = { delivery: { ...delivery, source: { kind, sequence } }, state, sequence, at } as const;
  log.timers.set(`${delivery.key.run_id}.${state}`, timer);
  return timer;
};

/** An organisation may have as many as are free. */
export const hasRoom = ({ timers, room }: SimulatedLog, delivery: FinalDelivery): boolean => {
  if (isInTimers(delivery)) return true;
  const own = timers.values().filter((timer) => timer.delivery.key.org_id === delivery.key.org_id);
  return room - timers.size >= Math.max(own.toArray().length, 1);
};

/** As an operator who purges TIMERS, or a broker that drops the oldest. */
export const loseTimers = (log: SimulatedLog, count: number): void => {
  const oldest = [...log.timers.values()].toSorted((one, other) => one.sequence - other.sequence);
  for (const { sequence } of oldest.slice(0, count)) removeTimer(log, sequence);
};

/** As a broker that loses the schedules of everything that waits, and keeps the messages. Their time comes now. */
export const stallTimers = ({ timers }: SimulatedLog, now: number): void => {
  for (const [subject, timer] of timers)
    if (timer.state === 'wait') timers.set(subject, { ...timer, at: now, isStalled: true });
};

export const removeTimer = ({ timers, dueOpenings }: SimulatedLog, sequence: number): void => {
  dueOpenings.delete(sequence);
  for (const [subject, timer] of timers) if (timer.sequence === sequence) timers.delete(subject);
};

export const deferredAt = (log: SimulatedLog, receiver: Receiver, after: number): FinalDelivery[] =>
  [...log.timers.values()]
    .filter(({ state, sequence, delivery: { key, origin } }) => {
      const isThere = receiverKey({ org_id: key.org_id, origin }) === receiverKey(receiver);
      return state !== 'wait' && sequence > after && isThere;
    })
    .toSorted((one, other) => one.sequence - other.sequence)
    .map(({ delivery }) => ({ ...delivery, mayBeSuperseded: true }));

/** Only what is newest in TIMERS counts; a new round begins with nothing there. */
export const isSuperseded = (log: SimulatedLog, run: SimulatedRun, delivery: FinalDelivery): boolean => {
  const pending = pendingOf(log, run);
  if (!pending) return false;
  if (isInTimers(delivery)) return pending.sequence > delivery.source.sequence;
  if (pending.delivery.round >= delivery.round) return true;
  for (const state of ['wait', 'due', 'deferred']) log.timers.delete(`${run.key.run_id}.${state}`);
  return false;
};

/** Writes down what follows from an attempt. A waiting delivery is to be given to the notifier when it is due. */
export const writeConclusion = (
  log: SimulatedLog,
  run: SimulatedRun,
  delivery: FinalDelivery,
  conclusion: Conclusion,
): Timer | 'no_room' | undefined => {
  if (conclusion.kind !== 'retry') {
    run.settled = true;
    return undefined;
  }
  if (!hasRoom(log, delivery)) return 'no_room';
  return storeTimer(log, { ...delivery, ...conclusion.progress }, 'wait', conclusion.at);
};
