import { counted } from '@runledger/contracts/counted';
import type { Client } from '../api-client/client.ts';
import { ANSWER_WITHIN_MS } from '../api-client/api-call.ts';
import { pages } from '../api-client/pages.ts';
import { retryForAMinute } from '../api-client/retry-for-a-minute.ts';
import { runFilterOf, type RunFilterOptions } from '../runs/run-filter.ts';
import { writeOutput, type OutputTarget } from '../output/write-output.ts';
import { ExportedRuns, type ExportedRun } from './exported-run.ts';
import { asJsonLines, asParquet } from './write-rows.ts';

export const FORMATS = ['ndjson', 'parquet'] as const;

export interface ExportOptions extends RunFilterOptions {
  readonly format: (typeof FORMATS)[number];
  readonly output?: string;
}

const PAGE = 100;

/** Writes the runs that match as a table, newest first: a row for each. */
export const exportRuns = async (
  { call, screen }: Pick<Client, 'call' | 'screen'>,
  { format, ...filter }: ExportOptions,
  { target, signal }: { readonly target: OutputTarget; readonly signal: AbortSignal },
): Promise<void> => {
  const query = { ...(await runFilterOf(call, filter)), limit: PAGE };
  let rows = 0;
  const read = async function* (): AsyncGenerator<readonly ExportedRun[]> {
    const page = (cursor: string | undefined) =>
      retryForAMinute(
        () =>
          call(ExportedRuns, {
            method: 'GET',
            path: '/runs',
            query: { ...query, cursor },
            answerWithinMs: ANSWER_WITHIN_MS,
          }),
        screen,
      );
    for await (const { runs } of pages(page)) {
      rows += runs.length;
      yield runs;
    }
  };
  const write = format === 'parquet' ? asParquet : asJsonLines;
  const bytes = await writeOutput(target, write(read()), { signal });
  screen.hint(`Exported ${counted(rows, 'run')} in ${bytes} bytes.`);
};
