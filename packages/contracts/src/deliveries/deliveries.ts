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

/** Attempts of one delivery: at once, and after each delay of the schedule. */
export const MAX_DELIVERY_ATTEMPTS = 13;

/** Partitions of the origins; one notifier at a time holds each. Fixed: the number is part of the subjects. */
export const PARTITIONS = 16;

/** Scheme, host and port: `https://example.com`, `http://[::1]:8080`. A dot behind the name changes nothing. */
export const originOf = (url: URL): string => url.origin.replace(/\.(?=(?::\d+)?$)/, '');

/** The partition of an origin, 0 to 15: the highest four bits of its FNV-1a hash (RFC 9923). */
export const partitionOf = (origin: string): number =>
  new TextEncoder().encode(origin).reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), 0x811c9dc5) >>>
  28;

/** A delivery that waits, with all that a notifier needs to continue it. The body is made from the run when it is sent. */
export const PendingDelivery = Type.Object({
  version: Type.Literal(1),
  org_id: Uuid,
  run_id: Uuid,
  origin: Type.String({ maxLength: MAX_WEBHOOK_URL }),
  round: Type.Integer({ minimum: 1, maximum: MAX_ROUNDS }),
  /** Delivery attempts of this round. */
  tries: Type.Integer({ minimum: 0, maximum: MAX_DELIVERY_ATTEMPTS }),
  /** The time of the next attempt; in the past for a deferred delivery. */
  due_at: Time,
  /** No attempt is made after it: the run's facts are about to leave the log. */
  expires_at: Time,
});
export type PendingDelivery = Static<typeof PendingDelivery>;

/** Why a receiver is left alone for now; persisted so that another notifier goes on where this one was. */
export const OpenBreaker = Type.Object({
  version: Type.Literal(1),
  origin: Type.String({ maxLength: MAX_WEBHOOK_URL }),
  /** Null: the origin cannot be reached by anybody. */
  org_id: Type.Union([Uuid, Type.Null()]),
  /** How often in a row it opened. 0: it is closed, and deferred deliveries are sent. */
  opens: Type.Integer({ minimum: 0 }),
  until: Time,
});
export type OpenBreaker = Static<typeof OpenBreaker>;

/** The position of a partition: everything before it is settled, or is in TIMERS. Sequences, 0 for none. */
export const PartitionPosition = Type.Object({
  version: Type.Literal(1),
  /** The broker's time of the creation of RUNS: another stream has other facts at the same sequences. */
  created: Type.String(),
  /** Of RUNS. */
  runs: Type.Integer({ minimum: 0 }),
  /** Of ACTIVITY. */
  activity: Type.Integer({ minimum: 0 }),
  /** Of RUNS: the reconciliation has checked everything before it. */
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

/** Every breaker of a partition that is open. */
export const openBreakersIn = (share: number): string => `timers.${share}.*.*.breaker.wait`;

/** Where the position of a partition is stored. */
export const partitionPositionSubject = (share: number): string => `timers.${share}.-.-.-.position`;

/** The deferred deliveries of one organisation at one origin, or of all organisations at it. */
export const deferredAt = ({ origin, org_id }: Pick<OpenBreaker, 'origin' | 'org_id'>): string =>
  `timers.${partitionOf(origin)}.${originToken(origin)}.${org_id ?? '*'}.*.deferred`;

/** Every deferred delivery of a partition. */
export const deferredIn = (share: number): string => `timers.${share}.*.*.*.deferred`;

/** Every deferred delivery. */
export const ALL_DEFERRED = 'timers.*.*.*.*.deferred';

/** Every expired timer of a partition. */
export const expiredTimersIn = (share: number): string => `timers.${share}.*.*.*.due`;

/** One delivery attempt, for people to read. It never contains secrets or the query of the URL. */
export const DeliveryAttempt = Type.Object({
  version: Type.Literal(1),
  notification: Type.Enum(['intermediate', 'final']),
  webhook_id: Type.String(),
  round: Type.Integer({ minimum: 1, maximum: MAX_ROUNDS }),
  /** The number of the attempt in its round, from 1. A failure of the notifier's own environment does not count. */
  try: Type.Integer({ minimum: 1, maximum: MAX_DELIVERY_ATTEMPTS }),
  url: Type.String(),
  started_at: Time,
  phases: DeliveryAttemptPhases,
  reason: DeliveryAttemptResult,
  message: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
  status: Type.Union([Type.Integer(), Type.Null()]),
  /** The first part of the response's body. */
  answer: Type.Union([Type.String({ maxLength: MAX_RESPONSE_EXCERPT_BYTES }), Type.Null()]),
});
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

/** The state of a delivery that is not settled. A webhook fact settles it. */
export const DeliveryState = Type.Object({
  version: Type.Literal(1),
  round: Type.Integer({ minimum: 1, maximum: MAX_ROUNDS }),
  /** `deferred`: the receiver's breaker is open; the next attempt follows when it lets one through. */
  state: Type.Enum(['retrying', 'deferred']),
  tries: Type.Integer({ minimum: 0, maximum: MAX_DELIVERY_ATTEMPTS }),
  /** Null when it is deferred. */
  next_try_at: Type.Union([Time, Type.Null()]),
  last_reason: Type.Union([DeliveryAttemptResult, Type.Null()]),
  message: Type.Union([Type.String({ maxLength: MAX_ERROR_MESSAGE }), Type.Null()]),
  at: Time,
});
export type DeliveryState = Static<typeof DeliveryState>;

/** One message for each attempt of a final notification; only the latest of the intermediate ones. */
export const deliveryAttemptSubject = (
  { org_id, run_id }: RunKey,
  made: Pick<DeliveryAttempt, 'notification' | 'round' | 'try'>,
): string => {
  const run = `delivery_attempts.${org_id}.${run_id}`;
  return made.notification === 'final' ? `${run}.attempt.${made.round}.${made.try}` : `${run}.intermediate`;
};

export const deliveryStateSubject = ({ org_id, run_id }: RunKey): string =>
  `delivery_attempts.${org_id}.${run_id}.state`;

/** All delivery attempts of a run, and the state of its delivery. */
export const deliveryAttemptsOfRun = ({ org_id, run_id }: RunKey): string =>
  `delivery_attempts.${org_id}.${run_id}.>`;

/** The run that a message of DELIVERY_ATTEMPTS is about. */
export const runOfDeliverySubject = (subject: string): { org_id: OrgId; run_id: RunId } | undefined => {
  const [stream, org_id = '', run_id = ''] = subject.split('.');
  return stream === 'delivery_attempts' && isOrgId(org_id) && isRunId(run_id)
    ? { org_id, run_id }
    : undefined;
};

/** A callback address for people: the part behind `?` may be a secret. */
export const withoutQuery = (url: string): string => {
  const at = url.indexOf('?');
  return at === -1 ? url : `${url.slice(0, at)}?[hidden]`;
};
