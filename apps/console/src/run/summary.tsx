import type { Run } from '../api/schemas.ts';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Facts } from '../ui/facts.tsx';
import { Status } from '../ui/status.tsx';
import { At, Lasted } from '../ui/time.tsx';
import { seconds } from '../ui/words.ts';

/** How long it was, and where some of it was preparing, what took how long. */
const coldStart = ({ cold_start_duration, cold_start_parts: parts }: Run): string | false => {
  if (cold_start_duration === null) return false;
  const total = seconds(cold_start_duration);
  if (parts === null || parts.load === cold_start_duration) return total;
  const { fetch, environment, weights, load } = parts;
  const said = Object.entries({ fetch, environment, weights, load }).map(
    ([part, s]) => `${part} ${seconds(s)}`,
  );
  return `${total}: ${said.join(', ')}`;
};

/** What a run is, and how far. */
export const Summary = ({ run }: { readonly run: Run }): ReactNode => (
  <section className="panel" aria-label="Summary">
    <div className="row apart">
      <Status status={run.status} />
      {run.end_reason !== null && <span className="quiet">{run.end_reason}</span>}
    </div>
    {!run.finished && run.started_at !== null && (
      <p>
        <progress value={run.progress} aria-label="Progress" /> {Math.floor(run.progress * 100)} %{' '}
        {run.live_status}
      </p>
    )}
    {run.warnings.map(({ message }) => (
      <p className="notice warm" role="note" key={message}>
        {message}
      </p>
    ))}
    <Facts rows={rowsOf(run)} />
  </section>
);

const rowsOf = (run: Run): (readonly [string, ReactNode])[] =>
  (
    [
      ['Queued', <At time={run.created_at} key="queued" />],
      ['Started', run.started_at !== null && <At time={run.started_at} key="started" />],
      ['Ended', run.ended_at !== null && <At time={run.ended_at} key="ended" />],
      ['Took', run.started_at !== null && <Lasted from={run.started_at} to={run.ended_at} key="took" />],
      ['Cold start', coldStart(run)],
      ['Code', run.code_sha256 !== null && <code key="code">{run.code_sha256.slice(0, 12)}</code>],
      [
        'Packages',
        run.environment_sha256 !== null && <code key="packages">{run.environment_sha256.slice(0, 12)}</code>,
      ],
      ['GPU', run.gpu],
      ['Machine type', `${run.machine_type} ${run.machine_version}`],
      ['Priority', run.priority === 0 ? false : String(run.priority)],
      ['Concurrency key', run.concurrency_key ?? false],
      ['Tags', run.tags.length > 0 && run.tags.join(', ')],
      ['Webhook', run.webhook !== null && (run.webhook_status ?? 'nothing sent yet')],
      ['Timeout', seconds(run.run_timeout_s)],
      [
        'Repeats',
        run.rerun_of !== null && (
          <Link to="/runs/$runId" params={{ runId: run.rerun_of }} key="rerun">
            an earlier run
          </Link>
        ),
      ],
    ] satisfies (readonly [string, ReactNode])[]
  ).filter(([, value]) => value !== false);
