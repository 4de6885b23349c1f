import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { CREDENTIAL_INVALID } from '../door/caller.ts';
import type { Caller } from '../door/operation.ts';
import { Refused, type Conflict } from '../door/refusal.ts';
import { streamHolder, type StreamHolder } from '../records/quotas/quotas.ts';
import type { SubscriptionRefusal } from './live-run.ts';
import type { Runs } from './runs.ts';

/**
 * Begins a stream of server-sent events. `open` writes it; it is not called for a client that wants the headers only, or that has
 * disconnected already. The stream ends when the caller's credential becomes invalid. @throws {Refused} when there is no room for it
 */
export const beginStream = (
  { subscriptions, keys }: Runs,
  caller: Caller,
  ctx: Context,
  open: (holder: StreamHolder, onClosed: () => void) => FrameWriter,
): void => {
  const holder = streamHolder(caller);
  const refusal = subscriptions.refuses(holder);
  if (refusal) throw new Refused(REFUSALS[refusal]);
  ctx.status = 200;
  ctx.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
  if (ctx.method === 'HEAD') return;
  ctx.respond = false;
  // The client has disconnected already, so `close` will not come.
  if (ctx.res.destroyed) return;
  const frames = open(holder, () => release());
  const release = keys.revalidate(caller, () => frames.end(CREDENTIAL_INVALID, 'as usual'));
};

const REFUSALS: Readonly<Record<SubscriptionRefusal, Conflict>> = {
  too_many: {
    code: 'gateway_streams_full',
    why: 'This gateway has reached its limit of open streams. Try again, or poll the run',
  },
  over_quota: {
    code: 'too_many_streams',
    why: 'The organisation has reached its limit of open streams and waiting reads at this gateway. Close some, or poll the run',
  },
  over_key_limit: {
    code: 'too_many_streams',
    why: 'This API key with the keys derived from it, or their tokens, have reached the limit of open streams and waiting reads at this gateway. Close some, or poll the run',
  },
  stopping: { code: 'gateway_stopping', why: 'This gateway is stopping. Try again' },
};

/** Without an id, the client's `Last-Event-ID` stays that of the event before. `data` is JSON. */
export const eventFrame = (event: string, data: string, id?: string | number): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;

/** Keeps the connection alive. */
const COMMENT = ': waiting\n\n';
const COMMENT_EVERY_MS = 15_000;
const RECONNECT_AFTER_MS = 1_000;
/** A client that takes nothing for this time is disconnected. */
const STALLED_AFTER_MS = 60_000;

/** Writes server-sent events to a client that may be slow, without keeping anything for it. */
export interface FrameWriter {
  readonly write: (frame: string | Buffer) => void;
  /** The client has to take what was written before more is written. */
  readonly isFull: () => boolean;
  readonly isEnded: () => boolean;
  /** Ends it before there is nothing more to come. Clients reconnect by themselves; with `soon`, after a second. */
  readonly end: (why: string, reconnect: 'soon' | 'as usual') => void;
}

export const frameWriter = (
  /** Its status and headers are set. */
  res: ServerResponse,
  onDrain: () => void,
  onClosed: () => void,
): FrameWriter => {
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
    end: (why, reconnect) => {
      if (!isEnded()) res.end(`${reconnect === 'soon' ? `retry: ${RECONNECT_AFTER_MS}\n` : ''}: ${why}\n\n`);
    },
  };
};
