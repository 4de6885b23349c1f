import type { JsonValue } from '@runledger/contracts/json';
import { WEBHOOK_STATUSES, type WebhookStatus } from '../domain/webhook-status.ts';
import type { WebhookQuery } from '../views/run-views.ts';
import { invalid, type Invalid } from './problem.ts';

/** Which runs with a webhook are meant. */
export type WebhookFilter = Pick<WebhookQuery, 'statuses' | 'host' | 'createdAfter' | 'createdBefore'>;

export interface FilterSource {
  /** Undefined or null for what is left out. */
  readonly member: (name: string) => JsonValue | undefined;
  readonly loc: readonly string[];
  /** Those meant when none is named. */
  readonly statuses: readonly WebhookStatus[];
}

/** Checks the filter of a query or a body; what is wrong with it is added to `wrong`. */
export const webhookFilter = (source: FilterSource, wrong: Invalid[]): WebhookFilter => {
  const statuses = statusesOf(source, wrong);
  const host = text(source, 'host', wrong);
  const createdAfter = time(source, 'created_after', wrong);
  const createdBefore = time(source, 'created_before', wrong);
  return {
    statuses,
    ...(host === undefined ? {} : { host: host.toLowerCase() }),
    ...(createdAfter === undefined ? {} : { createdAfter }),
    ...(createdBefore === undefined ? {} : { createdBefore }),
  };
};

const text = ({ member, loc }: FilterSource, name: string, wrong: Invalid[]): string | undefined => {
  const value = member(name);
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') {
    wrong.push(invalid([...loc, name], 'string_type', 'Input should be a valid string'));
    return undefined;
  }
  if (value === '') {
    const msg = 'String should have at least 1 character; leave it out for all of them';
    wrong.push(invalid([...loc, name], 'string_too_short', msg));
    return undefined;
  }
  return value;
};

const statusesOf = (source: FilterSource, wrong: Invalid[]): readonly WebhookStatus[] => {
  const words = text(source, 'status', wrong)
    ?.split(',')
    .map((word) => word.trim());
  if (words === undefined) return source.statuses;
  const known = words.filter(isStatus);
  if (known.length < words.length) wrong.push(invalid([...source.loc, 'status'], 'enum', STATUS_CHOICE));
  return [...new Set(known)];
};

const isStatus = (word: string): word is WebhookStatus =>
  (WEBHOOK_STATUSES as readonly string[]).includes(word);

const STATUS_CHOICE = `Input should be 'not-started', 'running', 'success' or 'failed', or several of them between commas`;

/** A day, or a time with its offset from UTC. */
const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

const time = (source: FilterSource, name: string, wrong: Invalid[]): Date | undefined => {
  const value = text(source, name, wrong);
  if (value === undefined) return undefined;
  const date = new Date(TIME.test(value) ? value : Number.NaN);
  if (!Number.isNaN(date.getTime())) return date;
  const msg =
    'Input should be a valid datetime in ISO 8601 with its offset, such as 2026-01-31T09:30:00Z, or a day';
  wrong.push(invalid([...source.loc, name], 'datetime_parsing', msg));
  return undefined;
};
