import type { ServerResponse } from 'node:http';
import type { RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { factFrame, progressFrame } from './event-frames.ts';
import { frameWriter, type FrameWriter } from './frame-writer.ts';
import type { RunSubscription, SubscriptionListener } from './run-subscription.ts';

export interface EventStreamOptions {
  /** Its status and headers are set. */
  readonly res: ServerResponse;
  readonly subscribe: (listener: SubscriptionListener) => RunSubscription;
  /** Only facts after this sequence are sent. */
  readonly after: number;
  readonly onClosed: () => void;
}

/** Its `end` ends it before the run has ended. */
export type EventStream = Pick<FrameWriter, 'end'>;

/**
 * Sends the events of one run to a client until the run has ended. Nothing is copied for a slow client: the facts are in
 * the list of the subscription, and only the latest progress counts.
 */
export const eventStream = (options: EventStreamOptions): EventStream => {
  const { res, after } = options;
  let next = 0;
  let sentProgress: RunProgressEvent | undefined;

  const send = (): void => {
    for (;;) {
      if (frames.isFull() || frames.isEnded()) return;
      const fact = subscription.facts[next];
      if (!fact) break;
      next += 1;
      if (fact.sequence > after) frames.write(factFrame(fact));
      if (fact.finished) res.end();
    }
    const progress = subscription.progress();
    if (progress === undefined || progress === sentProgress) return;
    sentProgress = progress;
    frames.write(progressFrame(progress));
  };
  const subscription = options.subscribe({
    onFacts: () => send(),
    onProgress: () => send(),
    onOver: (why) => frames.end(why, 'soon'),
  });
  const frames = frameWriter({
    res,
    onDrain: send,
    onClosed: () => {
      subscription[Symbol.dispose]();
      options.onClosed();
    },
  });
  send();
  return frames;
};
