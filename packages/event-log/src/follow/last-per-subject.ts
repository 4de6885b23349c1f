import type { JsMsg } from '@nats-io/jetstream';
import { within } from '@runledger/resilience/within';
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
  const done = Promise.withResolvers<undefined>();
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
      if (found.length >= limit) done.resolve(undefined);
    },
    onCaughtUp: () => done.resolve(undefined),
  });
  const failure = await within(WITHIN_MS, Promise.race([done.promise, pulling.failed]), () => {
    throw new LogUnavailable(`Listing ${filter} was not done within ${WITHIN_MS} ms. Try again.`);
  });
  if (failure) throw failure;
  return found;
};
