import { Table } from '../ui/list.tsx';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { Loading, Problem } from '../ui/problem.tsx';
import { columnsOf } from './columns.ts';

const Chart = lazy(async () => ({ default: (await import('./chart.tsx')).Chart }));

interface Span {
  readonly title: string;
  readonly seconds: number;
  readonly step: number;
}

const HOUR_S = 3_600;
const SPANS: readonly Span[] = [
  { title: 'Last hour', seconds: HOUR_S, step: 60 },
  { title: 'Last 6 hours', seconds: 6 * HOUR_S, step: 300 },
  { title: 'Last day', seconds: 24 * HOUR_S, step: 900 },
  { title: 'Last week', seconds: 168 * HOUR_S, step: 7_200 },
];
const REFETCH_MS = 10_000;

/** What runs did over time: a chart, and the same as a table. It is closed at first, and nothing is loaded until it is opened. */
export const Activity = (): ReactNode => {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="panel" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Activity of all runs</summary>
      {isOpen && <Shown />}
    </details>
  );
};

const Shown = (): ReactNode => {
  const [index, setIndex] = useState(0);
  const span = SPANS[index];
  const { data, error } = useQuery({
    queryKey: ['runs', 'activity', index],
    queryFn: async ({ signal }) =>
      answered(api.GET('/runs/activity', { params: { query: queryOf(span) }, signal })),
    refetchInterval: REFETCH_MS,
  });
  return (
    <div className="stack">
      <label className="row">
        Of the
        <select value={index} onChange={({ target }) => setIndex(Number(target.value))}>
          {SPANS.map(({ title }, number) => (
            <option value={number} key={title}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {error && <Problem error={error} />}
      {data && (
        <Suspense fallback={<Loading what="the chart" />}>
          <Chart activity={data} />
        </Suspense>
      )}
      {data && <AsTable activity={data} />}
    </div>
  );
};

const queryOf = (span: Span | undefined): { since: string; step: number } => {
  const { seconds, step } = span ?? { seconds: HOUR_S, step: 60 };
  return { since: new Date(Date.now() - seconds * 1_000).toISOString(), step };
};

const MOST_ROWS = 60;
const short = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'short' });

const AsTable = ({ activity }: { readonly activity: Schemas['RunActivity'] }): ReactNode => {
  const columns = columnsOf(activity);
  const rows = activity.times
    .map((time, row) => ({ time, values: columns.map(({ values }) => values[row] ?? 0) }))
    .filter(({ values }) => values.some((value) => value > 0))
    .slice(-MOST_ROWS)
    .toReversed();
  return (
    <details>
      <summary>As a table, newest first</summary>
      <Table label="Activity as a table" columns={['From', ...columns.map(({ title }) => title)]}>
        {rows.map(({ time, values }) => (
          <tr key={time}>
            <th scope="row">{short.format(new Date(time))}</th>
            {values.map((value, column) => (
              <td key={columns[column]?.title}>{value.toLocaleString('en')}</td>
            ))}
          </tr>
        ))}
      </Table>
    </details>
  );
};
