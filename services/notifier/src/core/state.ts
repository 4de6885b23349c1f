import type { RunId } from '@runledger/contracts/ids';
import TinyQueue from 'tinyqueue';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { BreakerSettings } from './breaker.ts';
import { Breakers, type BreakerChange } from './breakers.ts';
import type { ConclusionSettings } from './conclusion.ts';
import { AttemptTurns, ConcurrencyLimits, LoadingTurns, type Permit } from './turns.ts';
import { ReceiverQueues, type ReceiverQueue } from './receiver-queues.ts';
import { type Effect, LeftRetries } from './inputs-and-effects.ts';
import type { Partition } from './partition.ts';
import type { Sent, Receiver } from './receiver.ts';
import type { FinalDelivery } from './delivery.ts';

export interface CoreSettings extends ConclusionSettings {
  /** Attempts in flight at most, over all receivers. */
  readonly maxInFlight: number;
  readonly breaker: BreakerSettings;
}

/** All that a notifier knows. Only `decide` changes it. */
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

/** An attempt that is being made, or whose outcome is being stored. */
export interface Attempt {
  readonly id: number;
  readonly run: RunId;
  readonly partition: number;
  readonly content:
    | { readonly kind: 'final'; readonly delivery: FinalDelivery }
    | { readonly kind: 'intermediate'; readonly notification: IntermediateNotification };
  /** None for a delivery that is only given up: nothing is sent. */
  readonly permit: Permit | undefined;
  /** Of the breakers. */
  readonly ticket: number;
  /** How the request ended, while its outcome is being stored. */
  sent: Sent;
  /** The outcome could not be stored once; the delivery is being postponed. */
  postponed: boolean;
}

/** When an input is taken, and by what chance. */
export interface Moment {
  /** Monotonic, in milliseconds. */
  readonly at: number;
  /** The broker's clock, in milliseconds since 1970. */
  readonly now: number;
  /** 0 to 1. */
  readonly chance: number;
}

/** Sequences of the facts and progress that an intermediate notification comes from. */
export interface IntermediateSources {
  readonly runs: readonly number[];
  readonly activity: readonly number[];
}

/** What an intermediate notification contains: the run as it was then, or later. */
export interface IntermediateNotification extends IntermediateSources {
  /** A sequence of RUNS, or 0. */
  readonly atLeast: number;
}

/** The state of the next notification of a run. */
type Stage =
  /** There is nothing to send, or it is too early. */
  | { readonly kind: 'idle' }
  /** In the queue of its receiver. */
  | { readonly kind: 'queued'; readonly final: boolean }
  /** An attempt is being made, or its outcome stored. */
  | { readonly kind: 'in_flight'; readonly attempt: number }
  /** The final one is being stored in TIMERS until its receiver takes notifications again. */
  | { readonly kind: 'deferring'; readonly delivery: FinalDelivery };

export const IDLE: Stage = { kind: 'idle' };

/** All notifications of one run in memory. */
export interface Outbox {
  readonly key: RunKey;
  readonly receiver: Receiver;
  readonly partition: number;
  /** The first is the one that the stage is about. */
  readonly finals: FinalDelivery[];
  intermediate: IntermediateNotification | undefined;
  stage: Stage;
  /** Monotonic: nothing is sent before. */
  readonly notBefore: { final: number; intermediate: number };
  /** When its alarm is due; Infinity when none is set. */
  alarmAt: number;
}

export const emptyOutbox = (key: RunKey, origin: string, partition: number): Outbox => ({
  key,
  receiver: { org_id: key.org_id, origin },
  partition,
  finals: [],
  intermediate: undefined,
  stage: IDLE,
  notBefore: { final: -Infinity, intermediate: -Infinity },
  alarmAt: Infinity,
});

/** Takes out the delivery, wherever it is among the others. */
export const takeDelivery = ({ finals }: Outbox, delivery: FinalDelivery): void => {
  const at = finals.indexOf(delivery);
  if (at >= 0) finals.splice(at, 1);
};

/** Takes out the deliveries of the round, and of earlier ones. */
export const takeUpToRound = ({ finals }: Outbox, round: number): FinalDelivery[] => {
  const taken = finals.filter((delivery) => delivery.round <= round);
  finals.splice(0, finals.length, ...finals.filter((delivery) => delivery.round > round));
  return taken;
};

export const joinIntermediates = (
  before: IntermediateNotification | undefined,
  added: IntermediateNotification,
): IntermediateNotification => ({
  atLeast: Math.max(before?.atLeast ?? 0, added.atLeast),
  runs: [...(before?.runs ?? []), ...added.runs],
  activity: [...(before?.activity ?? []), ...added.activity],
});
