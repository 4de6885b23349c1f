import { setTimeout as pause } from 'node:timers/promises';
import type { RunLogItem } from '@runledger/contracts/http/runs/run-logs';
import { Unavailable } from '../api-client/api-call.ts';
import type { Client } from '../api-client/client.ts';
import type { RunApi } from '../api-client/run-api.ts';
import type { LogQuery } from '../api-client/run-logs.ts';
import { wholeNumberIn } from '../options/numbers.ts';
import { EXIT, type ExitCode } from '../output/command-error.ts';
import type { Screen } from '../output/screen.ts';

export interface LogOptions {
  readonly follow?: boolean;
  readonly attempt?: string;
  readonly tail?: string;
  readonly json?: boolean;
}

const MAX_ATTEMPT = 999_999;
const MAX_TAIL = 1_000_000;
const RECONNECT_AFTER_MS = 1_000;
/** How long the service may be unavailable. */
const GIVE_UP_AFTER_MS = 60_000;

/** Prints what a run has written, and with `follow` what it writes until it has ended. */
export const logs = async (
  { api, screen }: Pick<Client, 'api' | 'screen'>,
  run: string,
  { follow = false, json = false, attempt, tail }: LogOptions,
): Promise<ExitCode> => {
  const query = {
    attempt:
      attempt === undefined
        ? undefined
        : wholeNumberIn('--attempt', attempt, { least: 1, most: MAX_ATTEMPT }),
    tail: tail === undefined ? undefined : wholeNumberIn('--tail', tail, { least: 1, most: MAX_TAIL }),
  };
  const print = json ? screen.printJson : printer(screen);
  for await (const item of follow ? followed(api, run, query, screen) : api.logs(run, query)) print(item);
  return EXIT.done;
};

/** After a disconnect the stream continues after the last event. */
const followed = async function* (
  api: RunApi,
  run: string,
  query: LogQuery,
  screen: Screen,
): AsyncGenerator<RunLogItem> {
  let after: string | undefined;
  let heardAt = performance.now();
  for (;;) {
    try {
      for await (const event of api.followLogs(run, query, after)) {
        heardAt = performance.now();
        if (event.kind === 'end') return;
        if (event.kind === 'nothing_new') continue;
        after = event.id ?? after;
        yield event.item;
      }
    } catch (error) {
      const isLong = performance.now() - heardAt > GIVE_UP_AFTER_MS;
      if (!(error instanceof Unavailable) || isLong) throw error;
      screen.hint(`${error.message}\nConnecting again.`);
    }
    await pause(RECONNECT_AFTER_MS);
  }
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
