import { Type, type Static } from 'typebox';
import { GpuModel } from '../../gpu.ts';
import { Capacity } from '../../requests/queue-position.ts';
import { Uuid } from '../fields/values.ts';
import { nullable } from '../fields/optional.ts';
import { RunStatus } from './run.ts';

const count = (description: string): Type.TInteger => Type.Integer({ minimum: 0, description });

const Waiting = Type.Object(
  {
    for_s: Type.Number({ minimum: 0, description: 'Seconds since it was queued, or queued again.' }),
    reason: {
      ...Capacity,
      description:
        '`busy`: the slots of those that could execute it are taken. `draining`: only executors that take no new runs could. `no_gpu`: no executor offers its GPU model. `not_served`: none that offers it serves its machine. `no_runner`: none of these offers what executes it.',
    },
    sentence: Type.String({ description: 'The same for people; what `live_status` of the run says.' }),
    ahead: count('Runs that are served before it.'),
    gpu: GpuModel,
    executors: Type.Object(
      {
        serving: count('That take new runs and could execute it.'),
        busy_slots: count("Of these, with the run's GPU model."),
        free_slots: count("Of these, with the run's GPU model."),
        draining: count('That could execute it, and take no new runs.'),
      },
      { title: 'WaitingExecutors' },
    ),
    gives_up_at: Type.String({
      format: 'date-time',
      description: 'When it ends as `timeout` if it has not begun to execute by then.',
    }),
  },
  { title: 'Waiting' },
);
export type Waiting = Static<typeof Waiting>;

export const RunWaiting = Type.Object(
  {
    run_id: Uuid,
    status: RunStatus,
    waiting: nullable({ ...Waiting, description: 'Null for a run that does not wait.' }),
  },
  { title: 'RunWaiting' },
);
export type RunWaiting = Static<typeof RunWaiting>;
