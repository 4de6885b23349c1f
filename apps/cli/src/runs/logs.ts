import { setTimeout as pause } from 'node:timers/promises';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import {
  RunLogCut,
  RunLogLine,
  RunLogNotice,
  type RunLogItem,
} from '@runledger/contracts/http/runs/run-logs';
import { parseJson } from '@runledger/contracts/json';
import { Type } from 'typebox';
import { at } from '../api/api-call.ts';
import { Unavailable } from '../api/api-problem.ts';
import type { Client } from '../command/command-context.ts';
import { COMMENT, eventStream, notUnderstood, linesOf } from '../api/streams.ts';
import { wholeNumberIn } from '../command/option-values.ts';
import type { Screen } from '../command/screen.ts';

interface LogOptions {
  readonly follow?: boolean;
  readonly attempt?: string;
  readonly tail?: string;
}

const MAX_ATTEMPT = 999_999;
const MAX_TAIL = 1_000_000;
const RECONNECT_AFTER_MS = 1_000;
/** How long the service may be unavailable. */
const GIVE_UP_AFTER_MS = 60_000;

/** Prints what a run has written, and with `follow` what it writes until it has ended. */
export const logs = async (
  client: Client,
  run: string,
  { follow = false, attempt, tail }: LogOptions,
): Promise<void> => {
  const query = {
    attempt:
      attempt === undefined
        ? undefined
        : wholeNumberIn('--attempt', attempt, { least: 1, most: MAX_ATTEMPT }),
    tail: tail === undefined ? undefined : wholeNumberIn('--tail', tail, { least: 1, most: MAX_TAIL }),
  };
  const { screen } = client;
  const print = screen.isJson() ? screen.printJson : printer(screen);
  for await (const item of follow ? followed(client, run, query) : stored(client, run, query)) print(item);
};

interface LogQuery {
  readonly attempt: number | undefined;
  readonly tail: number | undefined;
}

/** The logs as they are now. */
const stored = async function* (
  { connection }: Client,
  run: string,
  query: LogQuery,
): AsyncGenerator<RunLogItem> {
  const request = { method: 'GET', path: at`/run/${run}/logs`, query: { ...query } } as const;
  for await (const line of linesOf(connection, request)) yield itemIn(line);
};

const ITEM_EVENTS: ReadonlySet<string> = new Set(['line', 'cut', 'notice']);

/** After a disconnect the stream continues after the last event. */
const followed = async function* (
  { connection, screen }: Client,
  run: string,
  query: LogQuery,
): AsyncGenerator<RunLogItem> {
  const request = { path: at`/run/${run}/logs`, query: { ...query, follow: true } };
  let after: string | undefined;
  let heardAt = performance.now();
  for (;;) {
    try {
      let isEmpty = true;
      for await (const { event, id, data } of eventStream(connection, request, after)) {
        heardAt = performance.now();
        isEmpty = false;
        if (event === 'end') return;
        if (event === COMMENT || !ITEM_EVENTS.has(event)) continue;
        // A notice has no id.
        after = id ?? after;
        yield itemIn(data);
      }
      // 204: nothing follows.
      if (isEmpty && after !== undefined) return;
    } catch (error) {
      const isLong = performance.now() - heardAt > GIVE_UP_AFTER_MS;
      if (!(error instanceof Unavailable) || isLong) throw error;
      screen.hint(`${error.message}\nConnecting again.`);
    }
    await pause(RECONNECT_AFTER_MS);
  }
};

const Item = compiledSchema(Type.Union([RunLogLine, RunLogCut, RunLogNotice]));

const itemIn = (text: string): RunLogItem => {
  const item = parseJson(text);
  if (!Item.Check(item)) throw notUnderstood();
  return item;
};

/** The lines as they are; between them what is missing, and which attempt it is when there are several. */
const printer = (screen: Screen): ((item: RunLogItem) => void) => {
  let attempt: number | undefined;
  return (item) => {
    if (attempt !== undefined && item.attempt !== attempt) screen.print(`[attempt ${item.attempt}]`);
    ({ attempt } = item);
    if ('line' in item) screen.print(harmless(item.line));
    else if ('cut' in item)
      screen.print(`[${item.cut.lines} lines are missing here, ${item.cut.bytes} bytes]`);
    else screen.hint(item.notice);
  };
};

/** A program may write what a terminal takes as a command. Spaces at the beginning of a line stay. */
const harmless = (text: string): string => text.replaceAll(/[^\P{Cc}\t]|[\p{Cf}\u2028\u2029]/gu, ' ');
