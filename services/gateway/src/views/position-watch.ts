import { CannotContinue } from '@runledger/event-log/follow/follow';
import { inBackground, sleep } from '@runledger/resilience/abort';
import { polledClock } from '@runledger/coordination/broker-clock';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { messagesOf } from '@runledger/event-log/read/run-messages';
import { streamFill } from '@runledger/event-log/provision/stream-sizes';
import { isBehind, type ProjectionPosition } from './projection-start.decide.ts';
import { ViewsUnavailable, type RunViews } from './run-views.ts';

/**
 * The views are not as this process left them: they were emptied, were restored from a copy, or another gateway has moved on with
 * them.
 */
export class ViewsReplaced extends CannotContinue {
  override readonly name = 'ViewsReplaced';
}

export interface PositionWatch extends AsyncDisposable {
  /** The latest position that this process has seen in the views. */
  latest(): ProjectionPosition | undefined;
  /** The views are at this position, by what this process has done. */
  set(position: ProjectionPosition): void;
  /** Resolves the next time that the views are found behind the latest position. */
  behind(): Promise<ViewsReplaced>;
}

const CHECK_EVERY_MS = 2_000;

/**
 * Reads the position of the views every two seconds, also while another gateway projects: the gateway that projects next
 * knows what the views have held.
 */
export const openPositionWatch = (views: RunViews): PositionWatch => {
  let latest: ProjectionPosition | undefined;
  let next = Promise.withResolvers<ViewsReplaced>();

  const check = async (): Promise<void> => {
    const before = latest;
    const found = await views.position();
    // The position may have been set while it was read.
    if (!isBehind(found, before)) {
      if (!isBehind(found, latest)) latest = found;
    } else if (isBehind(found, latest)) {
      next.resolve(
        new ViewsReplaced(`the views had come to ${before?.sequence}, and are at ${found?.sequence ?? 0}`),
      );
      next = Promise.withResolvers();
    }
  };
  const watching = inBackground(async (stop) => {
    while (!stop.aborted) {
      try {
        await check();
      } catch (error) {
        if (!(error instanceof ViewsUnavailable)) throw error;
      }
      await sleep(CHECK_EVERY_MS, stop);
    }
  });
  return {
    latest: () => latest,
    set: (position) => {
      latest = position;
    },
    behind: () => next.promise,
    ...watching,
  };
};

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
