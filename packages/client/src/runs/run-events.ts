import type { RunFact, RunProgress } from '../api/schemas.ts';
import { RunledgerError } from '../errors/errors.ts';
import { isObject, parsed } from '../json/json.ts';
import type { Settings } from '../http/settings.ts';
import { resumedEvents } from '../streams/resumed-events.ts';
import type { ServerSentEvent } from '../streams/server-sent-events.ts';

/**
 * `fact`: something about the run that is stored. Give its `id` to `subscribe` as `after` to continue behind it.
 * `progress`: how far the present attempt is, once a second at most, and only the latest.
 */
export type RunEvent =
  | { readonly event: 'fact'; readonly id: string; readonly data: RunFact }
  | { readonly event: 'progress'; readonly data: RunProgress };

export interface SubscribeOptions {
  /** The id of a fact: the events begin behind it. */
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The events of a run from the first one on, until it has ended. @throws RunledgerError, the reason of the signal */
export const runEvents = async function* (
  settings: Settings,
  runId: string,
  { after, signal }: SubscribeOptions,
): AsyncGenerator<RunEvent, void, undefined> {
  const source = {
    path: '/run/{run_id}/events',
    options: { params: { run_id: runId }, signal },
    after,
    isLast: (message: ServerSentEvent) => message.event === 'fact' && dataOf(message)['finished'] === true,
  };
  for await (const message of resumedEvents(settings, source)) {
    const event = eventOf(message);
    if (event) yield event;
  }
};

/** Undefined for a kind of event that this release does not know. */
const eventOf = (message: ServerSentEvent): RunEvent | undefined => {
  const { event, id } = message;
  // The service describes its data, and members may be added.
  if (event === 'fact' && id !== undefined) return { event, id, data: dataOf(message) as unknown as RunFact };
  return event === 'progress' ? { event, data: dataOf(message) as unknown as RunProgress } : undefined;
};

/** The JSON object of an event. @throws RunledgerError */
export const dataOf = ({ event, data }: ServerSentEvent): Readonly<Record<string, unknown>> => {
  const value = parsed(data);
  if (isObject(value)) return value;
  throw new RunledgerError(
    `The service sent an event ${event} that is no JSON object. Check that url is the address of the API.`,
  );
};
