import { Type, type Static } from 'typebox';
import { MAX_ROUNDS } from '../events/webhook-event.ts';
import { MAX_WEBHOOK_URL } from '../limits.ts';
import { MAX_DELIVERY_ATTEMPTS } from './delivery-attempts.ts';

const Uuid = Type.String({ format: 'uuid' });
const Time = Type.String({ format: 'date-time' });

/** A delivery that waits, with everything that a notifier needs to continue it. The body is made from the run when it is sent. */
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
  /** No attempt is made after this time. */
  expires_at: Time,
  /** Of RUNS: the fact that it follows from, which is the run's end or the request to send it again. */
  sequence: Type.Integer({ minimum: 1 }),
});
export type PendingDelivery = Static<typeof PendingDelivery>;

/** The open circuit breaker of a receiver; persisted so that another notifier can continue with it. */
export const OpenBreaker = Type.Object({
  version: Type.Literal(1),
  origin: Type.String({ maxLength: MAX_WEBHOOK_URL }),
  /** Null for every organisation: the origin cannot be reached. */
  org_id: Type.Union([Uuid, Type.Null()]),
  /** How many times in a row it opened. 0: it is closed, and deferred deliveries are sent. */
  opens: Type.Integer({ minimum: 0 }),
  until: Time,
});
export type OpenBreaker = Static<typeof OpenBreaker>;

/** The position of a partition: everything before it is settled, has a message in TIMERS, or is in the overflow. Sequences, 0 for none. */
export const PartitionPosition = Type.Object({
  version: Type.Literal(1),
  /** The broker's time of the creation of RUNS: another stream has other facts at the same sequences. */
  created: Type.String(),
  /** Of RUNS. */
  runs: Type.Integer({ minimum: 0 }),
  /** Of ACTIVITY. */
  activity: Type.Integer({ minimum: 0 }),
  /** Of RUNS: everything before it is settled. The reconciliation begins here. */
  swept: Type.Integer({ minimum: 0 }),
  /** Of RUNS: from here on deliveries are in the overflow, because TIMERS had no capacity for them. 0 when there are none. */
  left: Type.Integer({ minimum: 0 }),
});
export type PartitionPosition = Static<typeof PartitionPosition>;

/** `wait`: the broker holds it until its time; `due`: its time has come; `deferred`: it waits for the breaker. */
export type TimerState = 'wait' | 'due' | 'deferred';

/** An origin as one subject token: dots and characters that NATS reserves are written `%XX`. */
export const originToken = (origin: string): string =>
  Array.from(new TextEncoder().encode(origin), (byte) => {
    const letter = String.fromCharCode(byte);
    return /[A-Za-z0-9:/[\]_-]/.test(letter)
      ? letter
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');

/** `timers.<partition>.<origin>.<org_id>.<run_id>`; a state follows. */
const pendingDeliverySubject = ({
  origin,
  org_id,
  run_id,
}: Pick<PendingDelivery, 'origin' | 'org_id' | 'run_id'>): string =>
  `timers.${partitionOf(origin)}.${originToken(origin)}.${org_id}.${run_id}`;

/** The subject of a pending delivery in this state. */
export const timerSubject = (delivery: PendingDelivery, state: TimerState): string =>
  `${pendingDeliverySubject(delivery)}.${state}`;

/** Every timer of one run, in any state. */
export const timersOfRun = (delivery: Pick<PendingDelivery, 'origin' | 'org_id' | 'run_id'>): string =>
  `${pendingDeliverySubject(delivery)}.*`;

/** Everything that waits for one organisation. */
export const timersOfOrg = (org_id: string): string => `timers.*.*.${org_id}.>`;

/** The subject of an open breaker: `all` for one that concerns every organisation. */
export const breakerTimerSubject = (
  { origin, org_id }: Pick<OpenBreaker, 'origin' | 'org_id'>,
  state: 'wait' | 'due',
): string => `timers.${partitionOf(origin)}.${originToken(origin)}.${org_id ?? 'all'}.breaker.${state}`;

/** Whether a subject is that of a breaker. Subjects of deliveries with a wildcard for the run match it too. */
export const isBreakerTimer = (subject: string): boolean => subject.split('.').at(-2) === 'breaker';

/** Every breaker of a partition that is open. */
export const openBreakersIn = (partition: number): string => `timers.${partition}.*.*.breaker.wait`;

/** Where the position of a partition is stored. */
export const partitionPositionSubject = (partition: number): string => `timers.${partition}.-.-.-.position`;

/** The deliveries in this state of one organisation at one origin, or of all organisations at it. */
export const pendingAt = (
  { origin, org_id }: Pick<OpenBreaker, 'origin' | 'org_id'>,
  state: 'due' | 'deferred',
): string => `timers.${partitionOf(origin)}.${originToken(origin)}.${org_id ?? '*'}.*.${state}`;

/** Every timer of one organisation at one origin: of its deliveries, and of its breaker there. */
export const timersAt = ({ origin, org_id }: Pick<PendingDelivery, 'origin' | 'org_id'>): string =>
  `timers.${partitionOf(origin)}.${originToken(origin)}.${org_id}.*.*`;

/** Of these, the timers of the breaker. */
export const breakerTimersAt = ({ origin, org_id }: Pick<PendingDelivery, 'origin' | 'org_id'>): string =>
  `timers.${partitionOf(origin)}.${originToken(origin)}.${org_id}.breaker.*`;

/** Every deferred delivery of a partition. */
export const deferredIn = (partition: number): string => `timers.${partition}.*.*.*.deferred`;

/** Every deferred delivery. */
export const ALL_DEFERRED = 'timers.*.*.*.*.deferred';

/** Every expired timer of a partition. */
export const expiredTimersIn = (partition: number): string => `timers.${partition}.*.*.*.due`;

/** Partitions of the origins. One notifier at a time owns each. The number never changes: it is part of the subjects. */
export const PARTITIONS = 16;

/** Scheme, host and port: `https://example.com`, `http://[::1]:8080`. A dot at the end of the name changes nothing. */
export const originOf = (url: URL): string => url.origin.replace(/\.(?=(?::\d+)?$)/, '');

/** The partition of an origin, 0 to 15: the highest four bits of its FNV-1a hash (RFC 9923). */
export const partitionOf = (origin: string): number =>
  new TextEncoder().encode(origin).reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), 0x811c9dc5) >>>
  28;
