import type { LogChunk, LoggedAttempt } from '@runledger/contracts/logs/log-chunk';
import type { FrameWriter } from '../subscribe/frame-writer.ts';
import { isoTime } from './attempt-logs.ts';
import { logItems, type AttemptLines } from './core/log-items.ts';
import type { LogPosition } from './core/log-position.ts';
import { itemFrame } from './log-frames.ts';

/** Sends lines to a client, and knows which place it has reached. */
export interface LogSender {
  readonly place: () => LogPosition;
  /** Goes on with this attempt, unless the client is there already. */
  begin(attempt: number): void;
  /** Sends what is behind the place, until the client is full. False when there is more to send. */
  send(lines: AttemptLines): boolean;
  /** The client has all that is stored of this attempt. */
  keepUp(of: LoggedAttempt): void;
  /** Whether a part that was stored just now continues where the client is. */
  continuedBy(of: LoggedAttempt, chunk: LogChunk): boolean;
}

export const logSender = (
  frames: () => Pick<FrameWriter, 'write' | 'isFull' | 'isEnded'>,
  from: LogPosition,
): LogSender => {
  let place = from;
  let live: LoggedAttempt | undefined;
  return {
    place: () => place,
    begin: (attempt) => {
      if (attempt > place.attempt) place = { attempt, line: 0 };
    },
    send: (lines) => {
      const { write, isFull, isEnded } = frames();
      for (const shown of logItems(place, lines, isoTime)) {
        if (isFull() || isEnded()) return false;
        write(itemFrame(shown));
        place = shown.next;
      }
      return true;
    },
    keepUp: (of) => {
      live = of;
    },
    continuedBy: (of, { first }) =>
      live?.attempt === of.attempt && live.executor_id === of.executor_id && first <= place.line,
  };
};
