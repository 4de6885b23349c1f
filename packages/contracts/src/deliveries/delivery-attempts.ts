import { Type, type Static } from 'typebox';
import { isOrgId, isRunId, type OrgId, type RunId } from '../ids.ts';
import {
  MAX_RESPONSE_EXCERPT_BYTES,
  DeliveryAttemptPhases,
  DeliveryAttemptResult,
  MAX_ROUNDS,
} from '../events/webhook-event.ts';
import { MAX_ERROR_MESSAGE } from '../limits.ts';
import type { RunKey } from '../events/subjects.ts';

const Time = Type.String({ format: 'date-time' });

/** Attempts in one round: the first, and one after each delay of the schedule. */
export const MAX_DELIVERY_ATTEMPTS = 13;

/** A message of the stream DELIVERY_ATTEMPTS, for people to read. It never contains secrets or the query of the URL. */
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
  /** The first part of the response's body; null from an address that only the operator's settings allow: clients must not read what is there. */
  answer: Type.Union([Type.String({ maxLength: MAX_RESPONSE_EXCERPT_BYTES }), Type.Null()]),
});
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

/** The state of a delivery that is not settled. A webhook fact settles it. */
export const DeliveryState = Type.Object({
  version: Type.Literal(1),
  round: Type.Integer({ minimum: 1, maximum: MAX_ROUNDS }),
  /** `deferred`: the receiver's breaker is open; the next attempt follows when the breaker lets it through. */
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

/** The run that a message of DELIVERY_ATTEMPTS is about; undefined for any other subject. */
export const runOfDeliverySubject = (subject: string): { org_id: OrgId; run_id: RunId } | undefined => {
  const [stream, org_id = '', run_id = ''] = subject.split('.');
  return stream === 'delivery_attempts' && isOrgId(org_id) && isRunId(run_id)
    ? { org_id, run_id }
    : undefined;
};

/** A callback address for people: the part behind `?` is a secret more often than not. */
export const withoutQuery = (url: string): string => {
  const at = url.indexOf('?');
  return at === -1 ? url : `${url.slice(0, at)}?[hidden]`;
};

/** A callback address for those who may know where notifications go, and no more: the path may be a secret too. */
export const withoutPath = (url: string): string => {
  const parsed = URL.parse(url);
  if (parsed === null) return '[hidden]';
  return parsed.href === `${parsed.origin}/` ? url : `${parsed.origin}/[hidden]`;
};
