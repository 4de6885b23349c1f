import type { RunFact, RunProgress, LogItem } from '../operations.ts';
import { RunledgerError } from '../errors.ts';
import { isObject, parsed } from '../http/json.ts';
import type { Settings } from '../http/settings.ts';
import { resumedEvents, linesOf, openText } from '../http/streams.ts';
import type { ServerSentEvent } from '../http/server-sent-events.ts';
import { requestOf } from '../http/request.ts';
import { withRetries } from '../http/retries.ts';

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
const dataOf = ({ event, data }: ServerSentEvent): Readonly<Record<string, unknown>> => {
  const value = parsed(data);
  if (isObject(value)) return value;
  throw new RunledgerError(
    `The service sent an event ${event} that is no JSON object. Check that url is the address of the API.`,
  );
};

export interface LogsOptions {
  /** Whether to continue with what is written until the run has ended. */
  readonly follow?: boolean | undefined;
  /** Only this attempt; all, in order, when left out. */
  readonly attempt?: number | undefined;
  /** Only this number of last lines. */
  readonly tail?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const PATH = '/run/{run_id}/logs';

/** What the attempts of a run write, in order. @throws RunledgerError, the reason of the signal */
export const runLogs = (
  settings: Settings,
  runId: string,
  { follow = false, attempt, tail, signal }: LogsOptions,
): AsyncGenerator<LogItem, void, undefined> => {
  const options = { params: { run_id: runId }, query: { attempt, tail }, signal };
  return follow ? followed(settings, options) : kept(settings, options);
};

type Options = Parameters<typeof requestOf>[3];

const kept = async function* (
  settings: Settings,
  options: Options,
): AsyncGenerator<LogItem, void, undefined> {
  const { signal } = options;
  const request = requestOf(settings, 'GET', PATH, options);
  const { pieces } = await withRetries(settings, { idempotent: true, signal }, () =>
    openText(settings, request),
  );
  for await (const line of linesOf(pieces)) {
    const item = parsed(line);
    if (!isObject(item))
      throw new RunledgerError('The service sent a line of the log that is no JSON object.');
    yield item as unknown as LogItem;
  }
};

const ITEMS: ReadonlySet<string> = new Set(['line', 'cut', 'notice']);
const isEnd = ({ event }: ServerSentEvent): boolean => event === 'end';

const followed = async function* (
  settings: Settings,
  options: Options,
): AsyncGenerator<LogItem, void, undefined> {
  const following = { ...options, query: { ...options.query, follow: true } };
  const source = { path: PATH, options: following, after: undefined, isLast: isEnd };
  for await (const message of resumedEvents(settings, source))
    if (ITEMS.has(message.event)) yield dataOf(message) as unknown as LogItem;
};
