import { Type, type Static } from 'typebox';
import { GpuModel } from '../../gpu.ts';
import { Capacity } from '../../requests/queue-position.ts';
import { Eta } from '../../requests/wait-reason.ts';
import { Uuid } from '../fields/values.ts';
import { nullable } from '../fields/optional.ts';
import { RunStatus } from './run.ts';

const count = (description: string): Type.TInteger => Type.Integer({ minimum: 0, description });

const Waiting = Type.Object(
  {
    for_s: Type.Number({ minimum: 0, description: 'Seconds since the run was queued or requeued.' }),
    reason: {
      ...Capacity,
      description:
        '`delayed`: it may not start before `not_before`, as its request says. `retrying`: its last attempt failed, and it waits before another one. `busy`: the slots of all executors that could execute it are taken. `warm`: slots are free, and it waits for a busy one that has its version loaded, at most for the `warm_wait_s` of its deployment. `organisation_limit`: its organisation executes as many runs as an operator allows. `concurrency_limit`: as many runs of its deployment as its limit allows execute. `concurrency_key`: another run with its concurrency key executes. `storage_full`: the log has no room for another attempt until runs end or old ones expire. `draining`: only draining executors could execute it. `no_gpu`: no executor has its GPU model. `not_served`: no executor with this GPU model serves its machine. `no_runner`: none of these executors has its runner or program. `no_label`: none of those that have it has all labels that its deployment asks for.',
    },
    not_before: nullable(
      Type.String({
        format: 'date-time',
        description: 'The time from which it waits for a slot; null when it does so already.',
      }),
    ),
    sentence: Type.String({ description: 'The reason for people, as in `live_status` of the run.' }),
    ahead: count('The number of runs that are assigned before it.'),
    eta: nullable({
      ...Eta,
      title: 'Eta',
      description:
        "When it starts, by the broker's clock: in 8 of 10 cases between `earliest` and `latest`, and as likely before `expected` as after it. Estimated from how long runs took lately, from the runs ahead, and from those that hold the slots which a limit or a concurrency key allows. Null when nobody can say: `eta_sentence` says why.",
    }),
    eta_sentence: Type.String({ description: 'The same for people, or why nobody can say when it starts.' }),
    gpu: GpuModel,
    executors: Type.Object(
      {
        serving: count('Executors that could execute it and take new runs.'),
        busy_slots: count("Busy slots of these executors with the run's GPU model."),
        free_slots: count("Free slots of these executors with the run's GPU model."),
        draining: count('Executors that could execute it and take no new runs.'),
      },
      { title: 'WaitingExecutors' },
    ),
    gives_up_at: Type.String({
      format: 'date-time',
      description: 'The run ends as `timeout` if it has not begun to execute by this time.',
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
