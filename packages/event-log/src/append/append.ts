import type { RunEvent } from '@runledger/contracts/events/run-event';
import { orgId, runId } from '@runledger/contracts/ids';
import {
  lifecycleFilter,
  runEventSubject,
  webhookFilter,
  webhookEventSubject,
  type RunKey,
} from '@runledger/contracts/subjects/run-subjects';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import type { EventLog } from '../connect/event-log.ts';
import { observeAppend } from '../connect/log-observer.ts';
import { lastOfSubjects } from '../read/direct-read.ts';
import { publish, publishUntilAcknowledged, type Publication } from './publish.ts';
import { traceAppend } from './trace-append.ts';

export { EventTooLarge, LogFull } from './publish.ts';

export type Appended =
  | { readonly kind: 'appended'; readonly sequence: number }
  /** Something else was stored first. Nothing was appended; `head` is what the leader holds now, 0 for nothing. */
  | { readonly kind: 'conflict'; readonly head: number };

export interface AppendOptions {
  /** How long the broker may be away; 8 s when left out. */
  readonly withinMs?: number;
}

const utf8 = new TextEncoder();

/**
 * Adds a fact to its run, if the run's head is still `expected`: the one place where lifecycle events are written.
 * It is stored exactly once, whatever becomes of the acknowledgements.
 * @throws {LogUnavailable} when the broker does not answer in time: the event may or may not be stored, and
 *   appending it again, with the same event id, tells
 * @throws {LogFull} @throws {EventTooLarge}
 */
export const append = async (
  log: EventLog,
  event: RunEvent,
  expected: number,
  { withinMs }: AppendOptions = {},
): Promise<Appended> => appendFenced(log, event, runEventSubject(event), fenceOf(event, expected), withinMs);

export type AppendedBlind =
  | Extract<Appended, { kind: 'appended' }>
  /** Not known to be stored. `head`: the last message of the run, as the broker named it; undefined when it named none. */
  | { readonly kind: 'conflict'; readonly head: number | undefined };

/**
 * As `append`, for a writer that may look at its own facts only, in any replica. A replica may be behind, so the conflict
 * may be with this very event, whose acknowledgement was lost: whoever follows its own facts hears of it.
 * @throws {LogUnavailable} @throws {LogFull} @throws {EventTooLarge}
 */
export const appendOwn = (log: EventLog, event: RunEvent, expected: number): Promise<AppendedBlind> =>
  observed<AppendedBlind>(log, event, async (traceparent) => {
    const subject = runEventSubject(event);
    const message = messageOf(event, subject, fenceOf(event, expected), traceparent);
    const sent = await publishUntilAcknowledged(log, message);
    if (sent.kind === 'stored') return { kind: 'appended', sequence: sent.sequence };
    const own = (await lastOfSubjects(log, [subject])).find(({ body }) => isEvent(body, event.event_id));
    if (own) return { kind: 'appended', sequence: own.sequence };
    return { kind: 'conflict', head: sent.kind === 'conflict' ? sent.head : sent.sequence };
  });

const isEvent = (body: unknown, id: string): boolean =>
  typeof body === 'object' && body !== null && 'event_id' in body && body.event_id === id;

interface Fence {
  readonly filter: string;
  readonly sequence: number;
}

const fenceOf = (event: RunEvent, expected: number): Fence => {
  if (event.type !== 'RunQueued' && expected < 1) {
    throw new TypeError(
      `${event.type} of run ${event.run_id} rests on nothing: only RunQueued may be a run's first event. ` +
        'Read the run, and append at its head.',
    );
  }
  // Exactly this filter, always: on replicated streams writers with different overlapping filters could both win.
  return { filter: lifecycleFilter(keyOf(event)), sequence: expected };
};

/**
 * Adds a fact to what became of a run's notifications, if the last such fact is still `expected` (0: there is none).
 * Otherwise as `append`: these facts are a chain of their own, so that they never stand in the way of the run.
 */
export const appendWebhook = async (
  log: EventLog,
  event: WebhookEvent,
  expected: number,
  { withinMs }: AppendOptions = {},
): Promise<Appended> =>
  appendFenced(
    log,
    event,
    webhookEventSubject(event),
    { filter: webhookFilter(keyOf(event)), sequence: expected },
    withinMs,
  );

const keyOf = ({ org_id, run_id }: { readonly org_id: string; readonly run_id: string }): RunKey => ({
  org_id: orgId(org_id),
  run_id: runId(run_id),
});

const appendFenced = (
  log: EventLog,
  event: RunEvent | WebhookEvent,
  subject: string,
  fence: Fence,
  withinMs: number | undefined,
): Promise<Appended> =>
  observed<Appended>(log, event, async (traceparent) => {
    const published = await publish(log, {
      ...messageOf(event, subject, fence, traceparent),
      ...(withinMs === undefined ? {} : { withinMs }),
    });
    switch (published.kind) {
      case 'stored':
        return { kind: 'appended', sequence: published.sequence };
      case 'conflict':
        return published;
    }
  });

/** To whoever traces, and to whoever counts. */
const observed = <Stored extends Appended | AppendedBlind>(
  { observer }: EventLog,
  event: RunEvent | WebhookEvent,
  work: (traceparent: string | undefined) => Promise<Stored>,
): Promise<Stored> => observeAppend(observer, () => traceAppend<Stored>(event, work));

const messageOf = (
  event: RunEvent | WebhookEvent,
  subject: string,
  fence: Fence,
  traceparent: string | undefined,
): Publication => ({
  stream: 'RUNS',
  subject,
  data: utf8.encode(JSON.stringify(event)),
  id: event.event_id,
  fence,
  ...(traceparent === undefined ? {} : { traceparent }),
});
