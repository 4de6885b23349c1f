import { Option, type Command } from 'commander';
import { counted } from '@runledger/contracts/events/fact-sentence';
import type { BasicType } from 'hyparquet-writer';
import { type CommandContext, unlessInterrupted, type Client } from '../command/command-context.ts';
import { outputTarget, writeOutput, type OutputTarget } from '../command/write-output.ts';
import { addRunConditions, runFilterOf, type RunFilterOptions } from './run-options.ts';
import { ANSWER_WITHIN_MS, pages, retryForAMinute } from '../api/api-call.ts';
import {
  ExportedRuns,
  type ExportedRun,
  RUN_COLUMNS,
  type ColumnType,
  type RunColumn,
} from './run-columns.ts';

export const addExportCommand = (program: Command, context: CommandContext): void => {
  const { client, screen, stdout } = context;
  const command = program
    .command('export')
    .description('write runs as a table for analysts: a row for each run, newest first');
  addRunConditions(command)
    .addOption(new Option('--format <format>', 'of the file').choices(FORMATS).default('ndjson'))
    .option('--since <time>', 'created at this time or later, such as 2026-05-01 or 2026-05-01T12:00:00Z')
    .option('--until <time>', 'created before this time')
    .option('--output <file>', 'instead of standard output')
    .action(
      async ({
        output,
        since,
        until,
        ...options
      }: ExportOptions & { readonly since?: string; readonly until?: string }) => {
        const connected = await client();
        const what =
          options.format === 'parquet' ? 'Parquet is not for a screen' : 'An export is not for a screen';
        const target = outputTarget(output, { cwd: connected.cwd, screen, stdout, what });
        const span = {
          ...(since !== undefined && { createdAfter: since }),
          ...(until !== undefined && { createdBefore: until }),
        };
        await unlessInterrupted(context, 'export', (signal) =>
          exportRuns(connected, { ...options, ...span }, { target, signal }),
        );
      },
    );
};

const FORMATS = ['ndjson', 'parquet'] as const;

interface ExportOptions extends RunFilterOptions {
  readonly format: (typeof FORMATS)[number];
  readonly output?: string;
}

const PAGE = 100;

/** Writes the runs that match as a table, newest first: a row for each. */
const exportRuns = async (
  { call, screen }: Client,
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

/** Runs as the bytes of a file. */
type WriteRows = (pages: AsyncIterable<readonly ExportedRun[]>) => AsyncIterable<Uint8Array | string>;

/** One JSON object a line. */
const asJsonLines: WriteRows = async function* (pages) {
  for await (const runs of pages) {
    yield runs
      .map(
        (run) =>
          `${JSON.stringify(Object.fromEntries(RUN_COLUMNS.map(({ name, of }) => [name, of(run)])))}\n`,
      )
      .join('');
  }
};

/** Of one row group: what is in memory at a time. */
const GROUP_ROWS = 20_000;

const TYPES: Readonly<Record<ColumnType, BasicType>> = {
  text: 'STRING',
  number: 'DOUBLE',
  integer: 'INT64',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMP',
  list: 'JSON',
};

/** Apache Parquet, compressed with Snappy. */
const asParquet: WriteRows = async function* (pages) {
  const { ByteWriter, ParquetWriter, schemaFromColumnData } = await import('hyparquet-writer');
  const columnsOf = (runs: readonly ExportedRun[]) =>
    RUN_COLUMNS.map((column) => ({
      name: column.name,
      type: TYPES[column.type],
      data: runs.map((run) => valueOf(column, run)),
    }));
  const writer = new ByteWriter();
  const parquet = new ParquetWriter({
    writer,
    schema: schemaFromColumnData({ columnData: columnsOf([]) }),
    createdBy: 'runledger',
  });
  const taken = (): Uint8Array => {
    const bytes = writer.getBytes().slice();
    writer.index = 0;
    return bytes;
  };
  let rows: ExportedRun[] = [];
  for await (const runs of pages) {
    rows.push(...runs);
    if (rows.length < GROUP_ROWS) continue;
    await parquet.write({ columnData: columnsOf(rows), rowGroupSize: rows.length });
    rows = [];
    yield taken();
  }
  if (rows.length > 0) await parquet.write({ columnData: columnsOf(rows), rowGroupSize: rows.length });
  await parquet.finish();
  yield taken();
};

const valueOf = ({ type, of }: RunColumn, run: ExportedRun): unknown => {
  const value = of(run);
  if (value === null) return null;
  if (type === 'time') return new Date(String(value));
  return type === 'integer' ? BigInt(Number(value)) : value;
};
