import type { ServerResponse } from 'node:http';
import type { RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { COMMENT, factFrame, endFrame, progressFrame } from './event-frames.ts';
import type { RunSubscription, SubscriptionListener } from './run-subscription.ts';

export interface EventStreamOptions {
  /** Its status and headers are set. */
  readonly res: ServerResponse;
  readonly subscribe: (listener: SubscriptionListener) => RunSubscription;
  /** Only facts after this sequence are sent. */
  readonly after: number;
  readonly onClosed: () => void;
}

export interface EventStream {
  /** Ends it before the run has ended. */
  end(...why: Parameters<typeof endFrame>): void;
}

const COMMENT_EVERY_MS = 15_000;
/** A client that takes nothing for this time is disconnected. */
const STALLED_AFTER_MS = 60_000;

/**
 * Sends the events of one run to a client until the run has ended. Nothing is copied for a slow client: the facts are in
 * the list of the subscription, and only the latest progress counts.
 */
export const eventStream = (options: EventStreamOptions): EventStream => {
  const { res, after } = options;
  let next = 0;
  let sentProgress: RunProgressEvent | undefined;
  let isFull = false;

  const write = (frame: string | Buffer): void => {
    isFull = !res.write(frame);
  };
  const send = (): void => {
    for (;;) {
      if (isFull || res.writableEnded) return;
      const fact = subscription.facts[next];
      if (!fact) break;
      next += 1;
      if (fact.sequence > after) write(factFrame(fact, subscription.progress()));
      if (fact.finished) res.end();
    }
    const progress = subscription.progress();
    if (progress === undefined || progress === sentProgress) return;
    sentProgress = progress;
    write(progressFrame(progress));
  };
  const end: EventStream['end'] = (...why) => {
    if (!res.writableEnded) res.end(endFrame(...why));
  };

  const subscription = options.subscribe({
    onFacts: send,
    onProgress: send,
    onOver: (why) => end(why, 'soon'),
  });
  const comments = setInterval(() => {
    if (!isFull && !res.writableEnded) write(COMMENT);
  }, COMMENT_EVERY_MS);
  res.on('drain', () => {
    isFull = false;
    send();
  });
  res.once('close', () => {
    clearInterval(comments);
    subscription[Symbol.dispose]();
    options.onClosed();
  });
  // Counts from the last byte that the client's side took.
  res.setTimeout(STALLED_AFTER_MS, () => res.destroy());
  res.flushHeaders();
  send();
  return { end };
};
