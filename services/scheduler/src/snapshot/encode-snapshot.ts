import { Readable } from 'node:stream';
import type { RowRequest } from '../core/rows/packed-rows.ts';
import { frame, FRAME, jsonFrame } from './frames.ts';
import { encodeRows } from './rows-frame.ts';
import { FORMAT, type Header, type Snapshot, type SnapshotRun } from './snapshot-format.ts';

const RUNS_AT_ONCE = 100;

/**
 * Frames: a header, the rows page by page, the other runs, and an end. Requests come before the first rows that have them. The frames are made while they are
 * read, so a snapshot is never in memory as a whole, and other work goes on between two frames.
 */
export const encodeSnapshot = (snapshot: Snapshot): Readable => Readable.from(framesOf(snapshot));

function* framesOf({ position, runs, rows, rowCount, drains, durations }: Snapshot): Generator<Buffer> {
  const header: Header = {
    format: FORMAT,
    ...(position && { position }),
    runs: runs.length,
    rows: rowCount,
    drains: { ...drains, names: [...drains.names] },
    durations: [...durations],
  };
  yield jsonFrame(FRAME.header, header);
  const numbers = new Map<RowRequest, number>();
  for (const page of rows) {
    const added = [...new Set(page.requests)].filter((request) => !numbers.has(request));
    for (const request of added) numbers.set(request, numbers.size);
    if (added.length > 0)
      yield jsonFrame(
        FRAME.requests,
        added.map(({ org_id, request }) => ({ org_id, request })),
      );
    yield frame(
      FRAME.rows,
      encodeRows(page, (request) => numbers.get(request) ?? 0),
    );
  }
  for (let from = 0; from < runs.length; from += RUNS_AT_ONCE) {
    const part: readonly SnapshotRun[] = runs.slice(from, from + RUNS_AT_ONCE);
    yield jsonFrame(FRAME.runs, part);
  }
  yield frame(FRAME.end, new Uint8Array());
}
