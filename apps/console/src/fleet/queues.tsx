import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { LIVE_MS } from '../api/query-client.ts';
import type { Schemas } from '../api/schemas.ts';
import { usePages } from '../api/use-pages.ts';
import { useDeployments } from '../deploy/use-deployments.ts';
import { useSession } from '../session/use-session.ts';
import { Bar } from '../ui/bar.tsx';
import { Paged, Table } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';
import { counted } from '../ui/words.ts';
import { sharesOf, type Share } from './shares.ts';

/** What waits and runs on each GPU model, and whose it is. Somebody without the scope `operator` sees one organisation. */
export const Queues = ({ isOperator }: { readonly isOperator: boolean }): ReactNode => {
  const { pages, error, isPending, more } = usePages(
    ['queues'],
    async (page, signal) => answered(api.GET('/queues', { params: { query: page }, signal })),
    LIVE_MS,
  );
  const pools = pages.flatMap((page) => page.pools);
  return (
    <section className="stack" aria-label="Queues">
      <h2>Queues</h2>
      <Paged
        what="queues"
        isEmpty={pools.length === 0}
        empty={
          isOperator
            ? 'No executor has registered, and no run waits.'
            : 'No run of this organisation waits or runs.'
        }
        {...{ error, isPending, more }}
      >
        {pools.map((pool) => (
          <PoolPanel key={pool.gpu} pool={pool} isOperator={isOperator} />
        ))}
      </Paged>
    </section>
  );
};

const PoolPanel = ({
  pool,
  isOperator,
}: {
  readonly pool: Schemas['Pool'];
  readonly isOperator: boolean;
}): ReactNode => (
  <section className="panel stack" aria-label={`Queue for ${pool.gpu}`}>
    <h3>{pool.gpu}</h3>
    <dl className="facts">
      <dt>Taken</dt>
      <dd>
        <Bar percent={pool.slots === 0 ? 0 : (pool.busy_slots / pool.slots) * 100} /> {pool.busy_slots} of{' '}
        {counted(pool.slots, 'slot')}
      </dd>
      <dt>Waiting</dt>
      <dd>
        {counted(pool.waiting, 'run')}
        {pool.oldest_queued_at !== null && (
          <>
            , the first one queued <Ago time={pool.oldest_queued_at} />
          </>
        )}
      </dd>
      <dt>Delayed</dt>
      <dd>{counted(pool.delayed, 'run')}: they wait for a time, not for a slot</dd>
      <dt>Started</dt>
      <dd>{pool.starts_per_minute.toFixed(1)} runs per minute, in the last ten minutes</dd>
    </dl>
    <Shares pool={pool} isOperator={isOperator} />
  </section>
);

const Shares = ({
  pool,
  isOperator,
}: {
  readonly pool: Schemas['Pool'];
  readonly isOperator: boolean;
}): ReactNode => {
  const shares = sharesOf(pool, isOperator);
  if (shares.length === 0) return <p className="quiet">No run waits or runs here.</p>;
  return (
    <Table
      label={`Shares of ${pool.gpu}`}
      columns={[
        isOperator ? 'Organisation, deployment' : 'Deployment',
        'Share of the running runs',
        'Waiting',
        'Delayed',
        'Waits longest since',
      ]}
    >
      {shares.map((share) => (
        <tr key={share.key}>
          <th scope="row" className={isOperator && isDeployment(share) ? 'below' : ''}>
            <Name share={share} />
          </th>
          <td>
            {share.percent !== null && (
              <>
                <Bar percent={share.percent} /> {share.percent}&nbsp;%:{' '}
              </>
            )}
            {counted(share.running, 'run')}
          </td>
          <td>{share.waiting.toLocaleString('en')}</td>
          <td>{share.delayed.toLocaleString('en')}</td>
          <td>
            <Ago time={share.oldest_queued_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
};

const isDeployment = ({ of }: Share): boolean => of === 'deployment' || of === 'other deployments';

/** The name of what the person can see; an id otherwise. */
const Name = ({ share: { of, id, count } }: { readonly share: Share }): ReactNode => {
  const { data: session } = useSession();
  const { data: newest } = useDeployments();
  if (id === null)
    return counted(count, of === 'other deployments' ? 'other deployment' : 'other organisation');
  const named = of === 'organisation' ? session?.organisations : newest?.deployments;
  const name = named?.find((each) => each.id === id)?.name;
  return name ?? <span className="mono">{id}</span>;
};
