import { counted } from '@runledger/contracts/counted';
import { ANSWER_WITHIN_MS } from '../../api-client/api-call.ts';
import type { Client } from '../../api-client/client.ts';
import { errorLines, ShownRuns, type ShownRun } from '../../api-client/run-responses.ts';
import { listPages, type ListOptions, type Page } from '../../command/list-pages.ts';
import type { ExitCode } from '../../output/command-error.ts';
import { headLine, rowLine, type Column } from '../../output/table.ts';

export const runColumns: readonly Column<ShownRun>[] = [
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
export type RunQuery = Readonly<Record<string, string | number | undefined>>;

/** Prints the runs that match, newest first. */
export const listRuns = (client: Client, query: RunQuery, options: ListOptions): Promise<ExitCode> =>
  listPages(client.screen, options, {
    readPage: (span) => readRuns(client, { ...query, ...span }),
    head: headLine(client.screen, runColumns),
    line: (run) => rowLine(client.screen, runColumns, run),
    none: 'No run matches.',
    further: 'Use --created-before to continue.',
  });

/** A page of runs. */
export const readRuns = async (
  { call, screen }: Pick<Client, 'call' | 'screen'>,
  query: RunQuery,
): Promise<Page<ShownRun>> => {
  const page = await call(ShownRuns, {
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
