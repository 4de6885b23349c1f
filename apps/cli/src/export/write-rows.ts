import type { BasicType } from 'hyparquet-writer';
import type { ExportedRun } from './exported-run.ts';
import { RUN_COLUMNS, type ColumnType, type RunColumn } from './run-columns.ts';

/** Runs as the bytes of a file. */
export type WriteRows = (pages: AsyncIterable<readonly ExportedRun[]>) => AsyncIterable<Uint8Array | string>;

/** One JSON object a line. */
export const asJsonLines: WriteRows = async function* (pages) {
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
export const asParquet: WriteRows = async function* (pages) {
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
