import type { ServerResponse } from 'node:http';
import type { RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import type { SubscriptionListener } from './live-run.ts';
import type { RunSubscription } from './run-subscriptions.ts';
import { COMMENT, factFrame, farewell, progressFrame } from './event-frames.ts';

export interface EventStreamOptions {
  /** Its status and headers are set. */
  readonly res: ServerResponse;
  readonly watch: (listener: SubscriptionListener) => RunSubscription;
  /** Only facts behind this sequence are told. */
  readonly after: number;
  readonly onClosed: () => void;
  readonly commentEveryMs?: number;
  /** A client that takes nothing for so long is cut off. */
  readonly stalledAfterMs?: number;
}

export interface EventStream {
  /** Ends it before the run has ended. */
  end(...why: Parameters<typeof farewell>): void;
}

const COMMENT_EVERY_MS = 15_000;
const STALLED_AFTER_MS = 60_000;

/**
 * Tells a client of one run until it has ended, as server-sent events. What a slow client has not taken yet is not
 * copied for it: facts stand in the list of the watch, and of the progress only the latest counts.
 */
export const eventStream = (options: EventStreamOptions): EventStream => {
  const { res, after, commentEveryMs = COMMENT_EVERY_MS, stalledAfterMs = STALLED_AFTER_MS } = options;
  let next = 0;
  let told: RunProgressEvent | undefined;
  let isFull = false;

  const write = (frame: string | Buffer): void => {
    isFull = !res.write(frame);
  };
  const tell = (): void => {
    for (;;) {
      if (isFull || res.writableEnded) return;
      const fact = watched.facts[next];
      if (!fact) break;
      next += 1;
      if (fact.sequence > after) write(factFrame(fact, watched.progress()));
      if (fact.finished) res.end();
    }
    const progress = watched.progress();
    if (progress === undefined || progress === told) return;
    told = progress;
    write(progressFrame(progress));
  };
  const end: EventStream['end'] = (...why) => {
    if (!res.writableEnded) res.end(farewell(...why));
  };

  const watched = options.watch({ onFacts: tell, onProgress: tell, onOver: (why) => end(why, 'soon') });
  const comments = setInterval(() => {
    if (!isFull && !res.writableEnded) write(COMMENT);
  }, commentEveryMs);
  res.on('drain', () => {
    isFull = false;
    tell();
  });
  res.once('close', () => {
    clearInterval(comments);
    watched[Symbol.dispose]();
    options.onClosed();
  });
  // Counts from the last byte that the client's side took.
  res.setTimeout(stalledAfterMs, () => res.destroy());
  res.flushHeaders();
  tell();
  return { end };
};
