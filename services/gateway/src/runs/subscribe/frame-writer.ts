import type { ServerResponse } from 'node:http';
import { COMMENT, endFrame } from './event-frames.ts';

/** Writes server-sent events to a client that may be slow, without keeping anything for it. */
export interface FrameWriter {
  write(frame: string | Buffer): void;
  /** The client has to take what was written before more is written. */
  isFull(): boolean;
  isEnded(): boolean;
  /** Ends it before there is nothing more to come. */
  end(...why: Parameters<typeof endFrame>): void;
}

export interface FrameWriterOptions {
  /** Its status and headers are set. */
  readonly res: ServerResponse;
  readonly onDrain: () => void;
  readonly onClosed: () => void;
}

const COMMENT_EVERY_MS = 15_000;
/** A client that takes nothing for this time is disconnected. */
const STALLED_AFTER_MS = 60_000;

export const frameWriter = ({ res, onDrain, onClosed }: FrameWriterOptions): FrameWriter => {
  let isFull = false;
  const isEnded = (): boolean => res.writableEnded || res.destroyed;
  const write = (frame: string | Buffer): void => {
    isFull = !res.write(frame);
  };
  const comments = setInterval(() => {
    if (!isFull && !isEnded()) write(COMMENT);
  }, COMMENT_EVERY_MS);
  res.on('drain', () => {
    isFull = false;
    onDrain();
  });
  res.once('close', () => {
    clearInterval(comments);
    onClosed();
  });
  // Counts from the last byte that the client's side took.
  res.setTimeout(STALLED_AFTER_MS, () => res.destroy());
  res.flushHeaders();
  return {
    write,
    isFull: () => isFull,
    isEnded,
    end: (...why) => {
      if (!isEnded()) res.end(endFrame(...why));
    },
  };
};
