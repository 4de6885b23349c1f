import type { ServerResponse } from 'node:http';
import type { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/run-events';
import type { RunWatching, Watched } from '../watching/run-watching.ts';

export interface EventStreamOptions {
  /** Its status and headers are set. */
  readonly res: ServerResponse;
  readonly watch: (listener: Parameters<RunWatching['watch']>[1]) => Watched;
  /** Only facts behind this sequence are told. */
  readonly after: number;
  readonly onClosed: () => void;
  readonly commentEveryMs?: number;
  /** A client that takes nothing for so long is cut off. */
  readonly stalledAfterMs?: number;
}

export interface EventStream {
  /** Ends it with a word to people; with `again`, a client soon comes back and goes on where it was. */
  end(why: string, again: 'again' | 'for good'): void;
}

const COMMENT_EVERY_MS = 15_000;
const STALLED_AFTER_MS = 60_000;
const COME_BACK_AFTER_MS = 1_000;

/**
 * Tells a client of one run until it has ended, as server-sent events. What a slow client has not taken yet is not
 * copied for it: facts stand in the list of the watch, and of the progress only the latest counts.
 */
export const eventStream = (options: EventStreamOptions): EventStream => {
  const { res, after, commentEveryMs = COMMENT_EVERY_MS, stalledAfterMs = STALLED_AFTER_MS } = options;
  let next = 0;
  let told: RunProgressEvent | undefined;
  let isFull = false;

  const write = (text: string): void => {
    isFull = !res.write(text);
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
  const end: EventStream['end'] = (why, again) => {
    if (res.writableEnded) return;
    res.end(`${again === 'again' ? `retry: ${COME_BACK_AFTER_MS}\n` : ''}: ${why}\n\n`);
  };

  const watched = options.watch({ onFacts: tell, onProgress: tell, onOver: (why) => end(why, 'again') });
  const comments = setInterval(() => {
    if (!isFull && !res.writableEnded) write(': waiting\n\n');
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

const factFrame = (fact: RunFactEvent, progress: RunProgressEvent | undefined): string => {
  const isUnderWay = !fact.finished && fact.status !== 'queued' && fact.attempt === progress?.attempt;
  // A client that was told of progress is never told less with the next fact of the attempt.
  const shown = isUnderWay ? { ...fact, progress: progress.progress } : fact;
  return `id: ${fact.sequence}\nevent: fact\ndata: ${JSON.stringify(shown)}\n\n`;
};

const progressFrame = (progress: RunProgressEvent): string =>
  `event: progress\ndata: ${JSON.stringify(progress)}\n\n`;
