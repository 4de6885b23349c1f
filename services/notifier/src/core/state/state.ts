import type { RunId } from '@runledger/contracts/ids';
import TinyQueue from 'tinyqueue';
import type { BreakerSettings } from '../breakers/breaker-settings.ts';
import { Breakers, type BreakerChange } from '../breakers/breakers.ts';
import type { ConclusionSettings } from '../delivery/conclusion.ts';
import { AttemptTurns } from '../receivers/attempt-turns.ts';
import { ConcurrencyLimits } from '../receivers/concurrency-limits.ts';
import { LoadingTurns } from '../receivers/loading-turns.ts';
import { ReceiverQueues, type ReceiverQueue } from '../receivers/receiver-queues.ts';
import type { Attempt } from './attempt.ts';
import type { Effect } from './effect.ts';
import { LeftRetries } from './left-retries.ts';
import type { Moment } from './moment.ts';
import type { Outbox } from './outbox.ts';
import type { Partition } from './partition.ts';

export interface CoreSettings extends ConclusionSettings {
  /** Attempts in flight at most, over all receivers. */
  readonly maxInFlight: number;
  readonly breaker: BreakerSettings;
}

/** All that a notifier knows. Only `take` changes it. */
export interface NotifierState {
  readonly settings: CoreSettings;
  /** Of the input that is being taken, and what is to be done because of it. */
  moment: Moment;
  effects: Effect[];
  /** Milliseconds for which RUNS keeps a fact; Infinity when it keeps them all. */
  logAgeMs: number;
  readonly partitions: Map<number, Partition>;
  /** Of the runs that have something to send. */
  readonly outboxes: Map<RunId, Outbox>;
  readonly attempts: Map<number, Attempt>;
  readonly leftRetries: LeftRetries;
  lastAttempt: number;
  readonly queues: ReceiverQueues;
  readonly withWaiting: Set<ReceiverQueue>;
  /** Notifications in all queues together. */
  waiting: number;
  readonly limits: ConcurrencyLimits;
  readonly turns: AttemptTurns;
  readonly loading: LoadingTurns;
  readonly breakers: Breakers;
  /** Changes that were not handled yet. */
  breakerChanges: BreakerChange[];
  readonly alarms: TinyQueue<Alarm>;
  /** The reconciliation would find something to send now. */
  roundWanted: boolean;
  /** When waiting notifications are checked next, once a second. */
  nextCheck: number;
  checks: number;
}

/** When the next notification of a run may be sent. */
interface Alarm {
  readonly at: number;
  readonly run: RunId;
}

export const CHECK_EVERY_MS = 1_000;

/** `at`: monotonic, in milliseconds. */
export const createNotifierState = (settings: CoreSettings, at: number): NotifierState => {
  const limits = new ConcurrencyLimits(settings.maxInFlight);
  const state: NotifierState = {
    settings,
    moment: { at, now: 0, chance: 0 },
    effects: [],
    logAgeMs: Infinity,
    partitions: new Map(),
    outboxes: new Map(),
    attempts: new Map(),
    leftRetries: new LeftRetries(),
    lastAttempt: 0,
    queues: new ReceiverQueues(),
    withWaiting: new Set(),
    waiting: 0,
    limits,
    turns: new AttemptTurns(limits),
    loading: new LoadingTurns(),
    breakers: new Breakers(settings.breaker, (change) => state.breakerChanges.push(change)),
    breakerChanges: [],
    alarms: new TinyQueue<Alarm>([], (one, other) => one.at - other.at),
    roundWanted: false,
    nextCheck: at + CHECK_EVERY_MS,
    checks: 0,
  };
  return state;
};

/** Whether a final delivery of the run is in memory. */
export const hasFinal = ({ outboxes }: NotifierState, run: RunId): boolean =>
  (outboxes.get(run)?.finals.length ?? 0) > 0;

/** When the next `tick` is to be taken, in monotonic milliseconds. */
export const nextTick = ({ alarms, breakers, nextCheck }: NotifierState): number =>
  Math.min(alarms.peek()?.at ?? Infinity, breakers.nextTick, nextCheck);
