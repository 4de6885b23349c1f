import type { ServerResponse } from 'node:http';
import { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { isEnded } from '@runledger/contracts/fold/run';
import { Type } from 'typebox';
import { answerJson } from '@runledger/contracts/json';
import type { Runs } from './runs.ts';
import { operation, route, type Route } from '../door/operation.ts';
import { existingRun, RunPath, runKeyOf } from './run-path.ts';
import type { RunSubscription, SubscriptionListener } from './live-run.ts';
import { beginStream, eventFrame, frameWriter, type FrameWriter } from './server-sent-events.ts';

const NOT_A_SEQUENCE = {
  type: 'int_parsing',
  msg: 'Send a whole number: the id of the last event that was received',
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
    contentTypes: ['text/event-stream'],
    events: [RunFactEvent, RunProgressEvent],
  },
  otherResponses: { 204: 'Nothing follows the event that `Last-Event-ID` names: do not reconnect.' },
  refusals: [404],
});

export const eventsRoute = (runs: Runs): Route =>
  route(eventsOperation, async ({ path, headers }, caller, ctx) => {
    const key = runKeyOf(path, caller);
    const { run, head } = await existingRun(runs.current, key);
    const after = headers['Last-Event-ID'] ?? -1;
    if (isEnded(run) && after >= head && after >= 0) {
      ctx.status = 204;
      return;
    }
    beginStream(runs, caller, ctx, (holder, onClosed) =>
      eventStream({
        res: ctx.res,
        subscribe: (listener) => runs.subscriptions.subscribe(key, holder, listener),
        // The log has no such event: the id comes from another log, whose sequences mean nothing here.
        after: after > head ? -1 : after,
        onClosed,
      }),
    );
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
    frames.write(eventFrame('progress', JSON.stringify(progress)));
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
  const encode = (): string => eventFrame('fact', answerJson(fact), fact.sequence);
  if (!fact.finished) return encode();
  const frame = finalFrames.get(fact) ?? Buffer.from(encode());
  finalFrames.set(fact, frame);
  return frame;
};
