import type { Schemas } from '../api/schemas.ts';

type Pool = Schemas['Pool'];
type Counted = Pick<Schemas['PooledDeployment'], 'waiting' | 'delayed' | 'running'>;

/** Who has runs in a pool: an organisation, a deployment, or those of the organisation that are not listed one by one. */
export interface Share extends Counted {
  readonly key: string;
  readonly of: 'organisation' | 'deployment' | 'other deployments' | 'other organisations';
  /** Null for the others. */
  readonly id: string | null;
  /** The number of others that it stands for; 1 for one with an id. */
  readonly count: number;
  /** Its part of the running runs of the pool. Null while none runs. */
  readonly percent: number | null;
  readonly oldest_queued_at: string | null;
}

/**
 * The shares of a pool: each organisation, followed by its deployments. Without `organisations` only deployments, as for somebody who
 * sees one organisation.
 */
export const sharesOf = (pool: Pool, organisations: boolean): readonly Share[] => {
  const percentOf = (running: number): number | null =>
    pool.running === 0 ? null : Math.round((running / pool.running) * 100);
  const listed = pool.organisations.flatMap((organisation): Share[] => {
    const { org_id, deployments, more_deployments, waiting, delayed, running, oldest_queued_at } =
      organisation;
    const counts = { waiting, delayed, running, oldest_queued_at };
    return [
      ...(organisations
        ? [
            {
              key: org_id,
              of: 'organisation',
              id: org_id,
              count: 1,
              percent: percentOf(running),
              ...counts,
            } as const,
          ]
        : []),
      ...deployments.map((each) => ({
        key: `${org_id} ${each.deployment_id}`,
        of: 'deployment' as const,
        id: each.deployment_id,
        count: 1,
        waiting: each.waiting,
        delayed: each.delayed,
        running: each.running,
        oldest_queued_at: each.oldest_queued_at,
        percent: percentOf(each.running),
      })),
      ...othersOf(
        'other deployments',
        `${org_id} others`,
        more_deployments,
        rest(organisation, deployments),
        percentOf,
      ),
    ];
  });
  const others = rest(pool, pool.organisations);
  return [
    ...listed,
    ...othersOf('other organisations', 'others', pool.more_organisations, others, percentOf),
  ];
};

const othersOf = (
  of: Share['of'],
  key: string,
  count: number,
  counts: Counted,
  percentOf: (running: number) => number | null,
): readonly Share[] =>
  count === 0
    ? []
    : [{ key, of, id: null, count, percent: percentOf(counts.running), oldest_queued_at: null, ...counts }];

/** What a whole has beyond its listed parts. The scheduler counts them at one time, so it is never negative. */
const rest = (whole: Counted, parts: readonly Counted[]): Counted => {
  const beyond = (name: keyof Counted): number =>
    Math.max(
      0,
      parts.reduce((left, part) => left - part[name], whole[name]),
    );
  return { waiting: beyond('waiting'), delayed: beyond('delayed'), running: beyond('running') };
};
