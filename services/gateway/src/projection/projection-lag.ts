import { polledClock } from '@runledger/coordination/polled-clock';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { messagesOf } from '@runledger/event-log/messages/messages-of';
import { streamFill } from '@runledger/event-log/provision/stream-fill';

/** How far views at a position are behind the log. Each is undefined while the broker does not respond. */
export interface ProjectionLag {
  /** Messages that are not in the views yet. */
  messages(position: number): Promise<number | undefined>;
  /** The age of the first message of the log that is not in the views yet. */
  seconds(position: number): Promise<number | undefined>;
}

export const projectionLag = (log: EventLog): ProjectionLag => {
  const brokerNow = polledClock(log, 'RUNS');
  return {
    messages: async (position) => {
      const fill = await streamFill(log, 'RUNS');
      return fill && Math.max(fill.lastSequence - position, 0);
    },
    seconds: async (position) => {
      const fill = await streamFill(log, 'RUNS');
      if (!fill || fill.lastSequence <= position) return fill && 0;
      const asked = Promise.all([messagesOf(log).next('>', position + 1), brokerNow()]);
      const [next, now] = await asked.catch(() => []);
      return next && now !== undefined ? Math.max(now - Date.parse(next.time), 0) / 1_000 : undefined;
    },
  };
};
