import type { LogItem } from '../api/schemas.ts';
import { RunledgerError } from '../errors/errors.ts';
import { isObject, parsed } from '../json/json.ts';
import { requestOf } from '../http/request.ts';
import type { Settings } from '../http/settings.ts';
import { withRetries } from '../http/with-retries.ts';
import { resumedEvents } from '../streams/resumed-events.ts';
import type { ServerSentEvent } from '../streams/server-sent-events.ts';
import { linesOf, openText } from '../streams/streamed-text.ts';
import { dataOf } from './run-events.ts';

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
