import { Type, type Static } from 'typebox';
import { GpuModel } from '../../gpu.ts';
import { Capacity } from '../../requests/queue-position.ts';
import { Eta } from '../../requests/wait-reason.ts';
import { RunUuid } from '../fields/ids.ts';
import { time } from '../fields/values.ts';
import { nullable } from '../fields/optional.ts';
import { RunStatus } from './run-status.ts';

const count = (description: string): Type.TInteger =>
  Type.Integer({ minimum: 0, description, examples: [2] });

const Waiting = Type.Object(
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
