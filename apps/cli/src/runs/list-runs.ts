import { setTimeout as pause } from 'node:timers/promises';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { unlessAborted } from '@runledger/resilience/abort';
import { ANSWER_WITHIN_MS, retryForAMinute } from '../api/api-call.ts';
import type { Client } from '../command/command-context.ts';
import { errorLines, isWorthALine, RunListResponse, type RunResponse } from './run-response.ts';
import { listPages, type ListOptions, type Page } from '../command/list-pages.ts';
import { inColumns, headLine, rowLine, type Column } from '../command/table.ts';
import { wholeNumberIn } from '../command/option-values.ts';
import type { Screen } from '../command/screen.ts';

const runColumns: readonly Column<RunResponse>[] = [
  { title: 'ID', width: 36, of: ({ id }) => id },
  { title: 'CREATED', width: 24, is: 'time', of: ({ created_at }) => created_at },
  { title: 'STATUS', width: 10, is: 'status', of: ({ status }) => status },
  { title: 'DONE', width: 5, of: ({ progress }) => `${Math.floor(progress * 100)} %`.padStart(5) },
  { title: 'GPU', width: 12, of: ({ gpu }) => gpu },
  { title: 'TOOK', width: 9, of: ({ duration }) => (duration === null ? null : `${duration.toFixed(1)} s`) },
  {
    title: 'NOW, OR WHY',
    width: 0,
    of: (run) => run.live_status ?? errorLines(run)[0] ?? run.end_reason ?? '',
  },
];

/** Members of the query. Those that are undefined are left out. */
type RunQuery = Readonly<Record<string, string | number | undefined>>;

/** Prints the runs that match, newest first. */
export const listRuns = (client: Client, query: RunQuery, options: ListOptions): Promise<void> =>
  listPages(client.screen, options, {
    readPage: (span) => readRuns(client, { ...query, ...span }),
    ...inColumns(client.screen, runColumns),
    none: 'No run matches.',
    further: 'Use --created-before to continue.',
  });

/** A page of runs. */
const readRuns = async ({ call, screen }: Client, query: RunQuery): Promise<Page<RunResponse>> => {
  const page = await call(RunListResponse, {
    method: 'GET',
    path: '/runs',
    query,
    answerWithinMs: ANSWER_WITHIN_MS,
  });
  const unknown = page.unknown_runs?.length ?? 0;
  if (unknown > 0)
    screen.hint(
      `Of ${counted(unknown, 'run')} nobody knows how they were then: their facts have left the log.`,
    );
  return { items: page.runs, next_cursor: page.next_cursor };
};

const EVERY_MS = 1_000;
/** What one request returns. */
const MOST = 100;
/** The head of the table, and the line below it. */
const OTHER_LINES = 2;

/**
 * Shows the newest runs that match, and reads them again each second until the signal aborts. A terminal gets a table that is drawn again;
 * everything else a line, or JSON, for each run that is new or has changed.
 */
export const watchRuns = async (
  client: Client,
  query: RunQuery,
  { limit: wanted }: ListOptions,
  signal: AbortSignal,
): Promise<void> => {
  const { screen } = client;
  const drawsAgain = screen.isTerminal && !screen.isJson();
  const most = wholeNumberIn('--limit', wanted, { least: 1, most: MOST });
  const show = drawsAgain ? table(screen) : changes(screen);
  const fitting = (): number => (drawsAgain ? Math.max(1, screen.rows() - OTHER_LINES) : most);
  try {
    for (;;) {
      const limit = Math.min(most, fitting());
      const reading = retryForAMinute(() => readRuns(client, { ...query, limit }), screen);
      show((await unlessAborted(reading, signal)).items);
      await pause(EVERY_MS, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

type Show = (runs: readonly RunResponse[]) => void;

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

const changes = (screen: Screen): Show => {
  const json = screen.isJson();
  let before: ReadonlyMap<string, RunResponse> | undefined;
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

/** Progress adds up until it is worth a line. */
const keptOf = (before: RunResponse | undefined, now: RunResponse, json: boolean): RunResponse =>
  before === undefined || json || isWorthALine(before, now) ? now : before;
