import { createColumnHelper, tableFeatures, useTable } from '@tanstack/react-table';
import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useMemo, useRef, type ReactNode } from 'react';
import { Status } from '../ui/status.tsx';
import { Ago, Lasted } from '../ui/time.tsx';
import { shortId } from '../ui/words.ts';
import type { RunRow } from './run-row.ts';
import './runs-table.css';

const features = tableFeatures({});
const column = createColumnHelper<typeof features, RunRow>();

const columns = column.columns([
  column.display({
    id: 'status',
    header: 'Status',
    cell: ({ row }) => <Status status={row.original.status} />,
  }),
  column.accessor('id', {
    header: 'Run',
    cell: ({ row: { original: run } }) => (
      <Link to="/runs/$runId" params={{ runId: run.id }} title={run.id}>
        #{run.number} <span className="mono">{shortId(run.id)}</span>
      </Link>
    ),
  }),
  column.display({ id: 'news', header: 'What happens', cell: ({ row }) => <News run={row.original} /> }),
  column.accessor('gpu', { header: 'GPU' }),
  column.accessor('created_at', { header: 'Queued', cell: ({ getValue }) => <Ago time={getValue()} /> }),
  column.display({
    id: 'took',
    header: 'Took',
    cell: ({ row: { original: run } }) =>
      run.started_at === null ? null : <Lasted from={run.started_at} to={run.ended_at} />,
  }),
]);

/** The one thing of a run that a reader of the list wants to know. */
const News = ({ run }: { readonly run: RunRow }): ReactNode => {
  if (run.error !== null) return <span title={run.error}>{run.error}</span>;
  if (run.status === 'queued' && run.queue_position !== null)
    return <>position {run.queue_position} in the queue</>;
  if (!run.finished && run.started_at !== null)
    return (
      <>
        {Math.floor(run.progress * 100)} % {run.live_status}
      </>
    );
  return run.tags.map((tag) => (
    <span className="tag" key={tag}>
      {tag}
    </span>
  ));
};

const ROW_PX = 40;
/** So many rows before the end, the next page is asked for. */
const AHEAD = 30;

export interface RunsTableProps {
  readonly rows: readonly RunRow[];
  readonly more: (() => void) | undefined;
  readonly onSeen: (seen: { readonly first: number; readonly last: number }) => void;
}

/** All rows that are there, of which only those in view are in the page. */
export const RunsTable = ({ rows, more, onSeen }: RunsTableProps): ReactNode => {
  const scrolled = useRef<HTMLDivElement>(null);
  // The same function for the same rows: with another one all rows are measured anew.
  const keyOf = useCallback((index: number) => rows[index]?.id ?? index, [rows]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scrolled.current,
    estimateSize: () => ROW_PX,
    getItemKey: keyOf,
    overscan: 8,
  });
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  // Only what is in view: a model of all rows would be made anew with each page.
  const data = useMemo(() => rows.slice(first, last + 1), [rows, first, last]);
  const table = useTable({ features, columns, data, getRowId: ({ id }) => id });
  useEffect(() => onSeen({ first, last }), [first, last, onSeen]);
  const isNearEnd = last + AHEAD >= rows.length;
  useEffect(() => {
    if (isNearEnd) more?.();
  }, [isNearEnd, more]);
  const shown = table.getRowModel().rows;
  return (
    <div className="runs" ref={scrolled} tabIndex={0} role="region" aria-label="Runs, newest first">
      <div role="table" aria-label="Runs" aria-rowcount={more ? -1 : rows.length + 1}>
        {table.getHeaderGroups().map((group) => (
          <div role="row" className="runs-row head" key={group.id} aria-rowindex={1}>
            {group.headers.map((header) => (
              <div role="columnheader" className={`cell-${header.column.id}`} key={header.id}>
                <table.FlexRender header={header} />
              </div>
            ))}
          </div>
        ))}
        <div role="rowgroup" className="runs-body" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ key, index, start }) => (
            <div
              role="row"
              className="runs-row"
              key={key}
              aria-rowindex={index + 2}
              style={{ transform: `translateY(${start}px)` }}
            >
              {shown[index - first]?.getAllCells().map((cell) => (
                <div role="cell" className={`cell-${cell.column.id}`} key={cell.id}>
                  <table.FlexRender cell={cell} />
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
};
