import { setTimeout as pause } from 'node:timers/promises';
import { unlessAborted } from '@runledger/resilience/abort';
import type { Client } from '../../api-client/client.ts';
import { retryForAMinute } from '../../api-client/retry-for-a-minute.ts';
import type { ShownRun } from '../../api-client/run-responses.ts';
import { wholeNumberIn } from '../../options/numbers.ts';
import { EXIT, type ExitCode } from '../../output/command-error.ts';
import type { Screen } from '../../output/screen.ts';
import { headLine, rowLine } from '../../output/table.ts';
import { readRuns, runColumns, type RunQuery } from './list-runs.ts';

const EVERY_MS = 1_000;
/** What one request returns. */
const MOST = 100;
/** The head of the table, and the line below it. */
const OTHER_LINES = 2;
/** Without a terminal, a line for each tenth of the work. */
const STEP = 0.1;

interface WatchOptions {
  readonly limit: string;
  readonly json?: boolean;
}

/**
 * Shows the newest runs that match, and reads them again each second until the signal aborts. A terminal gets a table that is drawn again;
 * everything else a line, or JSON, for each run that is new or has changed.
 */
export const watchRuns = async (
  client: Pick<Client, 'call' | 'screen'>,
  query: RunQuery,
  { limit: wanted, json = false }: WatchOptions,
  signal: AbortSignal,
): Promise<ExitCode> => {
  const { screen } = client;
  const most = wholeNumberIn('--limit', wanted, { least: 1, most: MOST });
  const show = screen.isTerminal && !json ? table(screen) : changes(screen, json);
  const room = (): number => (screen.isTerminal && !json ? Math.max(1, screen.rows() - OTHER_LINES) : most);
  try {
    for (;;) {
      const limit = Math.min(most, room());
      const reading = retryForAMinute(() => readRuns(client, { ...query, limit }), screen);
      show((await unlessAborted(reading, signal)).items);
      await pause(EVERY_MS, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return EXIT.done;
  }
};

type Show = (runs: readonly ShownRun[]) => void;

/** The empty line below it is where the shell goes on after Ctrl-C. */
const table =
  (screen: Screen): Show =>
  (runs) => {
    const width = screen.columns() - 1;
    const lines = runs.map((run) => rowLine(screen, runColumns, run, width));
    screen.redraw(
      headLine(screen, runColumns, width),
      ...(lines.length === 0 ? ['No run matches yet.'] : lines),
      '',
    );
  };

const changes = (screen: Screen, json: boolean): Show => {
  let before: ReadonlyMap<string, ShownRun> | undefined;
  return (runs) => {
    if (before === undefined && !json) screen.print(headLine(screen, runColumns));
    // The newest comes last, as in a log.
    for (const run of runs.toReversed()) {
      const known = before?.get(run.id);
      if (json && JSON.stringify(known) !== JSON.stringify(run)) screen.printJson(run);
      else if (!json && isWorthALine(known, run)) screen.print(rowLine(screen, runColumns, run));
    }
    before = new Map(runs.map((run) => [run.id, keptOf(before?.get(run.id), run, json)]));
  };
};

const isWorthALine = (before: ShownRun | undefined, now: ShownRun): boolean =>
  before === undefined || before.status !== now.status || now.progress - before.progress >= STEP;

/** Progress adds up until it is worth a line. */
const keptOf = (before: ShownRun | undefined, now: ShownRun, json: boolean): ShownRun =>
  before === undefined || json || isWorthALine(before, now) ? now : before;
