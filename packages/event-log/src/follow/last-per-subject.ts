import type { JsMsg } from '@nats-io/jetstream';
import type { EventLog } from '../connect/event-log.ts';
import { LogUnavailable } from '../connect/event-log.ts';
import { pullInOrder } from './pull-in-order.ts';

const WITHIN_MS = 15_000;

/**
 * The last message of each subject under a filter, at most `limit`. By a consumer, since one request to the broker
 * answers for 1,024 subjects at most.
 * @throws {LogUnavailable}
 */
export const lastPerSubject = async (
  log: EventLog,
  stream: string,
  filter: string,
  limit: number,
): Promise<JsMsg[]> => {
  const found: JsMsg[] = [];
  const done = Promise.withResolvers<'all' | 'enough'>();
  await using pulling = await pullInOrder(log, {
    stream,
    subjects: [filter],
    begin: () => {
      // After an interruption it begins again, with everything.
      found.length = 0;
      return { deliver_policy: 'last_per_subject' };
    },
    take: async (messages) => {
      found.push(...messages.slice(0, limit - found.length));
      if (found.length >= limit) done.resolve('enough');
    },
    onCaughtUp: () => done.resolve('all'),
  });
  const late = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => late.resolve('late'), WITHIN_MS);
  const how = await Promise.race([done.promise, late.promise, pulling.failed]);
  clearTimeout(timer);
  if (how instanceof Error) throw how;
  if (how === 'late') {
    throw new LogUnavailable(`Listing ${filter} was not done within ${WITHIN_MS} ms. Try again.`);
  }
  return found;
};
