import type { EventLog } from '../connect/event-log.ts';
import type { DeliveredMessage } from '../messages/delivered-message.ts';
import { readToEnd } from './read-to-end.ts';

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
): Promise<DeliveredMessage[]> => {
  const found: DeliveredMessage[] = [];
  const options = { stream, subjects: [filter], lastPerSubject: true, withinMs: WITHIN_MS };
  for await (const message of readToEnd(log, options)) if (found.push(message) >= limit) break;
  return found;
};
