import type { JsMsg } from '@nats-io/jetstream';
import { within } from '@runledger/resilience/within';
import type { EventLog } from '../connect/event-log.ts';
import { LogUnavailable } from '../connect/event-log.ts';
import { pullInOrder } from './pull-in-order.ts';

const WITHIN_MS = 15_000;

/**
 * The last message of each subject under a filter, at most `limit`. Read with a consumer, because a direct read covers at most
 * 1,024 subjects.
 * @throws {LogUnavailable}
 */
export const lastPerSubject = async (
  log: EventLog,
  stream: string,
  filter: string,
  limit: number,
): Promise<JsMsg[]> => {
  const found: JsMsg[] = [];
  const done = Promise.withResolvers<undefined>();
  await using pulling = await pullInOrder(log, {
    stream,
    subjects: [filter],
    begin: () => {
      // After an interruption everything is delivered again.
      found.length = 0;
      return { deliver_policy: 'last_per_subject' };
    },
    take: async (messages) => {
      found.push(...messages.slice(0, limit - found.length));
      if (found.length >= limit) done.resolve(undefined);
    },
    onCaughtUp: () => done.resolve(undefined),
  });
  const failure = await within(WITHIN_MS, Promise.race([done.promise, pulling.failed]), () => {
    throw new LogUnavailable(`${filter} could not be listed within ${WITHIN_MS} ms. Try again.`);
  });
  if (failure) throw failure;
  return found;
};
