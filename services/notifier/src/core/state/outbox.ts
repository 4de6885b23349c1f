import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Receiver } from '../receivers/receiver.ts';
import type { FinalDelivery } from '../delivery/final-delivery.ts';

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
export type Stage =
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
