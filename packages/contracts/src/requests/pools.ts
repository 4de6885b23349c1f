import { Type, type Static } from 'typebox';
import { GpuModel } from '../gpu.ts';

/** The leading scheduler answers a `PoolsRequest` here. */
export const POOLS_SUBJECT = 'request.scheduler.pools';

/** The most pools in one response; fewer when they would not fit one message. */
const MAX_LISTED_POOLS = 100;

/** Of a pool the response lists at most this number of organisations, and of each of them of deployments. */
export const MAX_LISTED_FLOWS = 20;

const Uuid = Type.String({ format: 'uuid' });
const count = (description: string): Type.TInteger =>
  Type.Integer({ minimum: 0, description, examples: [2] });
const id = (description: string, example: string): Type.TString =>
  Type.String({ format: 'uuid', description, examples: [example] });

export const PoolsRequest = Type.Object({
  /** Only the pools in which this organisation has runs, and nothing about others; null for all. */
  org_id: Type.Union([Uuid, Type.Null()]),
  /** Only this pool; null for all. */
  gpu: Type.Union([GpuModel, Type.Null()]),
  /** Continue after this pool, the last of the previous response; null for the first page. */
  after: Type.Union([GpuModel, Type.Null()]),
  limit: Type.Integer({ minimum: 1, maximum: MAX_LISTED_POOLS }),
});
export type PoolsRequest = Static<typeof PoolsRequest>;

const counts = {
  waiting: count('The number of runs that wait for a slot.'),
  delayed: count(
    'The number of runs that wait for a time, and for no slot yet: as their request says (`delay_s`, `start_at`), or before another attempt after an error. They count for the GPU model that they prefer.',
  ),
  running: count('The number of runs that hold a slot.'),
  oldest_queued_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    examples: ['2026-01-31T09:30:00.000Z'],
    description: 'When the run that has waited longest was queued or requeued. Null when none waits.',
  }),
};
const starts = Type.Number({
  minimum: 0,
  examples: [1.5],
  description:
    'The number of runs that got a slot, per minute, in the last ten minutes. Too low for ten minutes after all schedulers were restarted.',
});

const PooledDeployment = Type.Object(
  {
    deployment_id: id('The id of the deployment.', '01a21460-0004-7000-8000-000000000004'),
    ...counts,
  },
  { title: 'PooledDeployment', description: 'The runs of a deployment in a pool.' },
);
export type PooledDeployment = Static<typeof PooledDeployment>;

const PooledOrganisation = Type.Object(
  {
    org_id: id('The id of the organisation.', '01a21460-0006-7000-8000-000000000006'),
    ...counts,
    starts_per_minute: starts,
    deployments: Type.Array(PooledDeployment, {
      maxItems: MAX_LISTED_FLOWS,
      description:
        'The deployments with runs here, those with the most waiting runs first; of many only the first ones.',
    }),
    more_deployments: count('The number of deployments with runs here that are not listed.'),
  },
  { title: 'PooledOrganisation', description: 'The runs of an organisation in a pool.' },
);
export type PooledOrganisation = Static<typeof PooledOrganisation>;

/** What shares the slots of one GPU model. */
export const Pool = Type.Object(
  {
    gpu: GpuModel,
    slots: count(
      'The number of slots of executors that take new runs; for an organisation, of those that can take its runs.',
    ),
    busy_slots: count('The number of these that are taken.'),
    ...counts,
    starts_per_minute: starts,
    organisations: Type.Array(PooledOrganisation, {
      maxItems: MAX_LISTED_FLOWS,
      description:
        'The organisations with runs here, those with the most waiting runs first; of many only the first ones.',
    }),
    more_organisations: count('The number of organisations with runs here that are not listed.'),
  },
  { title: 'Pool', description: 'What shares the slots of one GPU model.' },
);
export type Pool = Static<typeof Pool>;

/** Ordered by GPU model. */
export const PoolsResponse = Type.Object({
  pools: Type.Array(Pool, { maxItems: MAX_LISTED_POOLS }),
  /** Whether further pools follow. */
  more: Type.Boolean(),
});
export type PoolsResponse = Static<typeof PoolsResponse>;
