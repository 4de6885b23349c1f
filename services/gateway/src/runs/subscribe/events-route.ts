import { RunFactEvent, RunProgressEvent } from '@runledger/contracts/http/runs/run-events';
import { isEnded } from '@runledger/contracts/fold/run';
import { Type } from 'typebox';
import type { ReadCurrentRun } from '../current/current-run.ts';
import type { KeyRevalidation } from './key-revalidation.ts';
import type { RunSubscriptions } from './run-subscriptions.ts';
import { CREDENTIAL_INVALID } from '../../auth/identify-caller.ts';
import { streamHolder } from '../../quotas/stream-limits.ts';
import { refuseWhenFull } from './refuse-when-full.ts';
import { eventStream } from './event-stream.ts';
import { operation, route, type Route } from '../../http/operation.ts';
import { notFoundRun, RunPath, runKeyOf } from '../current/run-path.ts';

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

export interface EventsRoute {
  readonly current: ReadCurrentRun;
  readonly subscriptions: RunSubscriptions;
  readonly keys: KeyRevalidation;
}

export const eventsRoute = ({ current, subscriptions, keys }: EventsRoute): Route =>
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
