import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { LIVE_MS } from '../api/query-client.ts';
import type { Schemas } from '../api/schemas.ts';
import { usePages } from '../api/use-pages.ts';
import { Paged } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';
import { counted } from '../ui/words.ts';
import { DrainDialog } from './drain-dialog.tsx';
import { Slots } from './slots.tsx';

type Executor = Schemas['Executor'];

const PAGE = 50;

const STATES = {
  ready: 'gets runs',
  draining: 'gets no new runs',
  unresponsive: 'sends no heartbeats, gets no new runs',
  absent: 'not running, and drained',
} as const satisfies Record<Executor['state'], string>;

/** All executors with what is in their slots. */
export const Executors = (): ReactNode => {
  const [chosen, setChosen] = useState<Executor>();
  const { pages, error, isPending, more } = usePages(
    ['executors'],
    async (page, signal) =>
      answered(
        api.GET('/executors', {
          params: { query: { limit: PAGE, ...page } },
          signal,
        }),
      ),
    LIVE_MS,
  );
  const executors = pages.flatMap((page) => page.executors);
  return (
    <section className="stack" aria-label="Executors">
      <h2>Executors</h2>
      <Paged
        what="executors"
        isEmpty={executors.length === 0}
        empty="No executor has registered. Runs wait until one does."
        {...{ error, isPending, more }}
      >
        {executors.map((executor) => (
          <ExecutorPanel
            key={executor.executor_id ?? executor.name}
            executor={executor}
            onDrain={() => setChosen(executor)}
          />
        ))}
      </Paged>
      {chosen && <DrainDialog executor={chosen} onClose={() => setChosen(undefined)} />}
    </section>
  );
};

interface ExecutorPanelProps {
  readonly executor: Executor;
  readonly onDrain: () => void;
}

const ExecutorPanel = ({ executor, onDrain }: ExecutorPanelProps): ReactNode => {
  const { name, executor_id, state, drain, slots } = executor;
  const busy = slots.filter(({ run }) => run !== null).length;
  return (
    <section className="panel stack" aria-label={`Executor ${executor_id ?? name}`}>
      <div className="row apart">
        <div className="row">
          <h3>{name}</h3> <span className="tag">{state}</span>
          <span className="quiet">
            {STATES[state]}; {busy} of {counted(slots.length, 'slot')} taken
          </span>
        </div>
        <button type="button" onClick={onDrain}>
          {drain === null ? 'Drain …' : 'Resume …'}
          <span className="visually-hidden"> {name}</span>
        </button>
      </div>
      {drain !== null && (
        <p className="notice warm">
          Drained <Ago time={drain.requested_at} /> with the key{' '}
          <span className="mono">{drain.requested_by}</span>.
        </p>
      )}
      {slots.length > 0 && <Slots slots={slots} executor={name} />}
      {state !== 'absent' && <Capabilities executor={executor} />}
    </section>
  );
};

const listed = (some: readonly string[], count: number): string =>
  count > some.length
    ? `${some.join(', ')} and ${(count - some.length).toLocaleString('en')} more`
    : some.join(', ') || 'none';

const Capabilities = ({ executor }: { readonly executor: Executor }): ReactNode => (
  <details>
    <summary>What it serves</summary>
    <dl className="facts">
      <dt>Id</dt>
      <dd className="mono">{executor.executor_id}</dd>
      <dt>Machines</dt>
      <dd>{listed(executor.machines, executor.machine_count).replace(/^\*$/, 'every machine')}</dd>
      <dt>Programs</dt>
      <dd>{listed(executor.programs, executor.program_count)}</dd>
      <dt>Labels</dt>
      <dd>{executor.labels.join(', ') || 'none'}</dd>
      <dt>Isolation</dt>
      <dd>{executor.isolation ?? 'unknown'}</dd>
      <dt>Network held by</dt>
      <dd>{executor.network ?? 'unknown'}</dd>
      <dt>Limits held by</dt>
      <dd>{executor.limits ?? 'unknown'}</dd>
      <dt>Version</dt>
      <dd>{executor.software_version ?? 'unknown'}</dd>
      <dt>Registered</dt>
      <dd>
        <Ago time={executor.registered_at} />
      </dd>
      <dt>Last heartbeat</dt>
      <dd>{executor.last_heartbeat_at === null ? 'none yet' : <Ago time={executor.last_heartbeat_at} />}</dd>
    </dl>
  </details>
);
