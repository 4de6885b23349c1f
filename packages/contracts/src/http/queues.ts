import { Type, type Static } from 'typebox';
import { GpuModel } from '../gpu.ts';
import { Pool } from '../requests/pools.ts';
import { Capacity, Eta } from '../requests/queue-position.ts';
import { nullable } from '../schemas.ts';
import { Cursor, NextCursor, OrganisationUuid, PageLimit, RunUuid, time } from './fields.ts';
import { RunStatus } from './runs/run-attempt.ts';

export const QueuesQuery = Type.Object({
  gpu: Type.Optional({ ...GpuModel, description: 'Only this GPU model, in upper case.' }),
  organisation: Type.Optional({
    ...OrganisationUuid,
    description: 'Only runs of this organisation. Needs the scope `operator`, unless it is that of the key.',
  }),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

export const QueuesPage = Type.Object(
  {
    pools: Type.Array(Pool, { description: 'Ordered by GPU model.' }),
    next_cursor: NextCursor,
  },
  { title: 'QueuesPage', description: 'A page of pools.' },
);

const count = (description: string): Type.TInteger =>
  Type.Integer({ minimum: 0, description, examples: [2] });

export const Waiting = Type.Object(
  {
    for_s: Type.Number({
      minimum: 0,
      description: 'Seconds since the run was queued or requeued.',
      examples: [42.5],
    }),
    reason: Capacity,
    not_before: nullable(time('The time from which it waits for a slot; null when it does so already.')),
    sentence: Type.String({
      description: 'The reason for people, as in `live_status` of the run.',
      examples: ['waiting for an A10G (2 ahead)'],
    }),
    ahead: count('The number of runs that are assigned before it.'),
    eta: nullable(
      {
        ...Eta,
        title: 'Eta',
        description:
          "When it starts, by the broker's clock: in 8 of 10 cases between `earliest` and `latest`, and as likely before `expected` as after it. Estimated from how long runs took lately, from the runs ahead, and from those that hold the slots which a limit or a concurrency key allows.",
      },
      'When it starts. Null when nobody can say: `eta_sentence` says why.',
    ),
    eta_sentence: Type.String({
      description: 'The same for people, or why nobody can say when it starts.',
      examples: ['nobody can say: it waits for something else than the ends of other runs'],
    }),
    gpu: { ...GpuModel, description: 'The GPU model that the numbers below are about.' },
    executors: Type.Object(
      {
        serving: count('The number of executors that could execute it and take new runs.'),
        busy_slots: count("The number of busy slots of these executors with the run's GPU model."),
        free_slots: count("The number of free slots of these executors with the run's GPU model."),
        draining: count('The number of executors that could execute it and take no new runs.'),
      },
      {
        title: 'WaitingExecutors',
        description:
          'The executors that could execute it, as numbers: which ones they are is not for clients.',
      },
    ),
    gives_up_at: time('The run ends as `timeout` if it has not begun to execute by this time.'),
  },
  { title: 'Waiting', description: 'Why a queued run waits, and how long it may.' },
);
export type Waiting = Static<typeof Waiting>;

export const RunWaiting = Type.Object(
  {
    run_id: RunUuid,
    status: RunStatus,
    waiting: nullable(Waiting, 'Why it waits. Null for a run that does not wait.'),
  },
  { title: 'RunWaiting', description: 'Whether a run waits, and for what.' },
);
export type RunWaiting = Static<typeof RunWaiting>;
