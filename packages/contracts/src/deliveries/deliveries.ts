import { Type, type Static } from 'typebox';
import { isOrgId, isRunId, type OrgId, type RunId } from '../ids.ts';
import {
  MAX_RESPONSE_EXCERPT_BYTES,
  DeliveryAttemptPhases,
  DeliveryAttemptResult,
} from '../events/delivery-attempt-result.ts';
import { MAX_ERROR_MESSAGE, MAX_WEBHOOK_URL } from '../limits.ts';
import type { RunKey } from '../subjects/run-subjects.ts';
import { MAX_ROUNDS } from '../events/webhook-event.ts';

const Uuid = Type.String({ format: 'uuid' });
const Time = Type.String({ format: 'date-time' });

/** Tries that one delivery may make: at once, and after each delay of the schedule. */
export const MAX_DELIVERY_ATTEMPTS = 13;

/** How many parts the notifiers divide the origins into, each held by one notifier at a time. Fixed: it is in the subjects. */
export const PARTITIONS = 16;

/** Scheme, host and port: `https://example.com`, `http://[::1]:8080`. A dot behind the name changes nothing. */
export const originOf = (url: URL): string => url.origin.replace(/\.(?=(?::\d+)?$)/, '');

/** The share that an origin belongs to, 0 to 15: the highest four bits of its FNV-1a hash (RFC 9923). */
export const partitionOf = (origin: string): number =>
  new TextEncoder().encode(origin).reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), 0x811c9dc5) >>>
  28;

/** Of a delivery that waits: what a notifier must know to go on with it. What is sent is made from the run at that time. */
export const PendingDelivery = Type.Object({
  version: Type.Literal(1),
  org_id: Uuid,
  run_id: Uuid,
  origin: Type.String({ maxLength: MAX_WEBHOOK_URL }),
  round: Type.Integer({ minimum: 1, maximum: MAX_ROUNDS }),
  /** Tries made in this round. */
  tries: Type.Integer({ minimum: 0, maximum: MAX_DELIVERY_ATTEMPTS }),
  /** When the next try is to be made; past for one that is parked. */
  due_at: Time,
  /** Nothing is tried after it: the run's facts are about to leave the log. */
  expires_at: Time,
});
export type PendingDelivery = Static<typeof PendingDelivery>;

/** Why a receiver is left alone for now; persisted so that another notifier goes on where this one was. */
export const OpenBreaker = Type.Object({
  version: Type.Literal(1),
  origin: Type.String({ maxLength: MAX_WEBHOOK_URL }),
  /** Null: the origin cannot be reached by anybody. */
  org_id: Type.Union([Uuid, Type.Null()]),
  /** How often in a row it opened. 0: it is closed, and what is parked is to be sent. */
  opens: Type.Integer({ minimum: 0 }),
  until: Time,
});
export type OpenBreaker = Static<typeof OpenBreaker>;

/** How far a notifier has come in one share: what lies before is settled, or stands in TIMERS. Sequences, 0 for none. */
export const PartitionPosition = Type.Object({
  version: Type.Literal(1),
  /** The broker's time of the creation of RUNS: another stream has other facts at the same sequences. */
  created: Type.String(),
  /** Of RUNS. */
  runs: Type.Integer({ minimum: 0 }),
  /** Of ACTIVITY. */
  activity: Type.Integer({ minimum: 0 }),
  /** Of RUNS: so far it was looked after that nothing was forgotten. */
  swept: Type.Integer({ minimum: 0 }),
});
export type PartitionPosition = Static<typeof PartitionPosition>;

/** `wait`: a schedule of the broker; `due`: its time has come; `deferred`: set aside until the breaker lets it through. */
export type TimerState = 'wait' | 'due' | 'deferred';

/** An origin as one subject token: dots and what NATS keeps for itself are written `%XX`. */
export const originToken = (origin: string): string =>
  Array.from(new TextEncoder().encode(origin), (byte) => {
    const letter = String.fromCharCode(byte);
    return /[A-Za-z0-9:/[\]_-]/.test(letter)
      ? letter
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');

/** `timers.<share>.<origin>.<org_id>.<run_id>`, in front of a state. */
const pendingDeliverySubject = ({
  origin,
  org_id,
  run_id,
}: Pick<PendingDelivery, 'origin' | 'org_id' | 'run_id'>): string =>
  `timers.${partitionOf(origin)}.${originToken(origin)}.${org_id}.${run_id}`;

/** Where a pending delivery stands. */
export const timerSubject = (delivery: PendingDelivery, state: TimerState): string =>
  `${pendingDeliverySubject(delivery)}.${state}`;

/** Everything that is pending for one run. */
export const timersOfRun = (delivery: Pick<PendingDelivery, 'origin' | 'org_id' | 'run_id'>): string =>
  `${pendingDeliverySubject(delivery)}.*`;

/** Where a breaker's opening stands: `all` for one that concerns every organisation. */
export const breakerTimerSubject = (
  { origin, org_id }: Pick<OpenBreaker, 'origin' | 'org_id'>,
  state: 'wait' | 'due',
): string => `timers.${partitionOf(origin)}.${originToken(origin)}.${org_id ?? 'all'}.breaker.${state}`;

/** Every opening that is not over in a share. */
export const openBreakersIn = (share: number): string => `timers.${share}.*.*.breaker.wait`;

/** Where a share's position stands. */
export const partitionPositionSubject = (share: number): string => `timers.${share}.-.-.-.position`;

/** The parked deliveries of one organisation at one origin, or of all at it. */
export const deferredAt = ({ origin, org_id }: Pick<OpenBreaker, 'origin' | 'org_id'>): string =>
  `timers.${partitionOf(origin)}.${originToken(origin)}.${org_id ?? '*'}.*.deferred`;

/** Every parked delivery of a share. */
export const deferredIn = (share: number): string => `timers.${share}.*.*.*.deferred`;

/** Every parked delivery. */
export const ALL_DEFERRED = 'timers.*.*.*.*.deferred';

/** Whatever is due in a share. */
export const expiredTimersIn = (share: number): string => `timers.${share}.*.*.*.due`;

/** One try, as a person may see it. Secrets and the query of the URL never stand in it. */
export const DeliveryAttempt = Type.Object({
  version: Type.Literal(1),
  notification: Type.Enum(['intermediate', 'final']),
  webhook_id: Type.String(),
  round: Type.Integer({ minimum: 1, maximum: MAX_ROUNDS }),
  /** The number of the try in its round, from 1. A failure of the notifier's own surroundings uses up none. */
  try: Type.Integer({ minimum: 1, maximum: MAX_DELIVERY_ATTEMPTS }),
  url: Type.String(),
  started_at: Time,
  phases: DeliveryAttemptPhases,
  reason: DeliveryAttemptResult,
  message: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
  status: Type.Union([Type.Integer(), Type.Null()]),
  /** The first part of the answer's body. */
  answer: Type.Union([Type.String({ maxLength: MAX_RESPONSE_EXCERPT_BYTES }), Type.Null()]),
});
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

/** Where a delivery that is not settled stands; it is settled by a fact of the run. */
export const DeliveryState = Type.Object({
  version: Type.Literal(1),
  round: Type.Integer({ minimum: 1, maximum: MAX_ROUNDS }),
  /** `deferred`: the receiver's breaker is open, and the next try follows when it lets one through. */
  state: Type.Enum(['retrying', 'deferred']),
  tries: Type.Integer({ minimum: 0, maximum: MAX_DELIVERY_ATTEMPTS }),
  /** Null when it is parked. */
  next_try_at: Type.Union([Time, Type.Null()]),
  last_reason: Type.Union([DeliveryAttemptResult, Type.Null()]),
  message: Type.Union([Type.String({ maxLength: MAX_ERROR_MESSAGE }), Type.Null()]),
  at: Time,
});
export type DeliveryState = Static<typeof DeliveryState>;

/** Of a final notification one message for each try; of the intermediate ones the latest. */
export const deliveryAttemptSubject = (
  { org_id, run_id }: RunKey,
  made: Pick<DeliveryAttempt, 'notification' | 'round' | 'try'>,
): string => {
  const run = `delivery_attempts.${org_id}.${run_id}`;
  return made.notification === 'final' ? `${run}.attempt.${made.round}.${made.try}` : `${run}.intermediate`;
};

export const deliveryStateSubject = ({ org_id, run_id }: RunKey): string =>
  `delivery_attempts.${org_id}.${run_id}.state`;

/** All that is known of a run's tries. */
export const deliveryAttemptsOfRun = ({ org_id, run_id }: RunKey): string =>
  `delivery_attempts.${org_id}.${run_id}.>`;

/** The run that a message of DELIVERY_ATTEMPTS speaks of. */
export const runOfDeliverySubject = (subject: string): { org_id: OrgId; run_id: RunId } | undefined => {
  const [stream, org_id = '', run_id = ''] = subject.split('.');
  return stream === 'delivery_attempts' && isOrgId(org_id) && isRunId(run_id)
    ? { org_id, run_id }
    : undefined;
};

/** A callback address for people: what stands behind `?` may be a secret. */
export const withoutQuery = (url: string): string => {
  const at = url.indexOf('?');
  return at === -1 ? url : `${url.slice(0, at)}?[hidden]`;
};
