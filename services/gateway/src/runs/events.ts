import type { ServerResponse } from 'node:http';
import { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { isEnded } from '@runledger/contracts/fold/run';
import { Type } from 'typebox';
import { answerJson } from '@runledger/contracts/json';
import type { Runs } from './runs.ts';
import { refuseWhenFull } from './run-subscriptions.ts';
import { CREDENTIAL_INVALID } from '../door/caller.ts';
import { streamHolder } from '../records/quotas/quotas.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { notFoundRun, RunPath, runKeyOf } from './run-path.ts';
import type { RunSubscription, SubscriptionListener } from './live-run.ts';

const NOT_A_SEQUENCE = {
  type: 'int_parsing',
  msg: 'Input should be a valid integer: the id of the last event that was received',
};

const EventsHeaders = Type.Object({
  'Last-Event-ID': Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      examples: [4711],
      description: 'The id of the last received event: the stream continues after it.',
      'x-refusal': NOT_A_SEQUENCE,
    }),
  ),
});

const eventsOperation = operation({
  id: 'watchRun',
  method: 'GET',
  path: '/run/{run_id}/events',
  tag: 'Runs',
  summary: 'Stream the events of a run',
  description:
    'Server-sent events. `event: fact` (RunFactEvent) is a fact of the run. The facts come in order, from the first one, with their sequence in the log as `id`. Each is the same while the run runs and when it is read again. `event: progress` (RunProgressEvent) is the progress of the current attempt, once a second at most; it is no fact, so it comes only while the run executes. A comment comes every 15 s. The stream closes after the final fact. A client that was disconnected sends the last `id` as `Last-Event-ID` and misses nothing.',
  scope: 'runs:read',
  runToken: { scope: 'events', inQuery: true },
  request: { path: RunPath, headers: EventsHeaders },
  response: {
    status: 200,
    description: 'The events, until the run has ended.',
    contentType: 'text/event-stream',
    events: [RunFactEvent, RunProgressEvent],
  },
  otherResponses: { 204: 'Nothing follows the event that `Last-Event-ID` names: do not reconnect.' },
  refusals: [404],
});

export const eventsRoute = ({ current, subscriptions, keys }: Runs): Route =>
  route(eventsOperation, async ({ path, headers }, caller, ctx) => {
    const key = runKeyOf(path, caller);
    const found = await current(key);
    if (found.kind !== 'found') throw notFoundRun(found);
    const after = headers['Last-Event-ID'] ?? -1;
    if (isEnded(found.run) && after >= found.head && after >= 0) {
      ctx.status = 204;
      return;
    }
    const holder = streamHolder(caller);
    refuseWhenFull(subscriptions, holder);
    ctx.status = 200;
    ctx.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
    if (ctx.method === 'HEAD') return;
    ctx.respond = false;
    // The client has disconnected already, so `close` will not come.
    if (ctx.res.destroyed) return;
    const stream = eventStream({
      res: ctx.res,
      subscribe: (listener) => subscriptions.subscribe(key, holder, listener),
      // The log has no such event: the id comes from another log, whose sequences mean nothing here.
      after: after > found.head ? -1 : after,
      onClosed: () => release(),
    });
    const release = keys.revalidate(caller, () => stream.end(CREDENTIAL_INVALID, 'as usual'));
  });

interface EventStream {
  /** Its status and headers are set. */
  readonly res: ServerResponse;
  readonly subscribe: (listener: SubscriptionListener) => RunSubscription;
  /** Only facts after this sequence are sent. */
  readonly after: number;
  readonly onClosed: () => void;
}

/**
 * Sends the events of one run to a client until the run has ended. Nothing is copied for a slow client: the facts are in
 * the list of the subscription, and only the latest progress counts.
 */
export const eventStream = (options: EventStream): FrameWriter => {
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
  const frames = frameWriter(res, send, () => {
    subscription[Symbol.dispose]();
    options.onClosed();
  });
  send();
  return frames;
};

/** Encoded once for all streams of a run: the outputs may be large, and many streams may wait for slow clients. */
const finalFrames = new WeakMap<RunFactEvent, Buffer>();

/** A fact as a server-sent event: the same bytes for each stream of the run, while it runs and after its end. */
const factFrame = (fact: RunFactEvent): string | Buffer => {
  if (!fact.finished) return framed(fact);
  const frame = finalFrames.get(fact) ?? Buffer.from(framed(fact));
  finalFrames.set(fact, frame);
  return frame;
};

const framed = (fact: RunFactEvent): string =>
  `id: ${fact.sequence}\nevent: fact\ndata: ${answerJson(fact)}\n\n`;

/** Without an id, so that the client's `Last-Event-ID` stays that of the last fact. */
const progressFrame = (progress: RunProgressEvent): string =>
  `event: progress\ndata: ${JSON.stringify(progress)}\n\n`;

/** Keeps the connection alive. */
const COMMENT = ': waiting\n\n';

const RECONNECT_AFTER_MS = 1_000;

/** The last frame of a stream that ends before its run. Clients reconnect by themselves; with `soon`, after a second. */
const endFrame = (why: string, reconnect: 'soon' | 'as usual'): string =>
  `${reconnect === 'soon' ? `retry: ${RECONNECT_AFTER_MS}\n` : ''}: ${why}\n\n`;

/** Writes server-sent events to a client that may be slow, without keeping anything for it. */
export interface FrameWriter {
  readonly write: (frame: string | Buffer) => void;
  /** The client has to take what was written before more is written. */
  readonly isFull: () => boolean;
  readonly isEnded: () => boolean;
  /** Ends it before there is nothing more to come. */
  readonly end: (...why: Parameters<typeof endFrame>) => void;
}

const COMMENT_EVERY_MS = 15_000;
/** A client that takes nothing for this time is disconnected. */
const STALLED_AFTER_MS = 60_000;

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
    end: (...why) => {
      if (!isEnded()) res.end(endFrame(...why));
    },
  };
};
