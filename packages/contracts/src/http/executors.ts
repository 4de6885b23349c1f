import { Type, type Static } from 'typebox';
import { IsolationKind, LimitsKind } from '../events/fleet-event.ts';
import { ExecutorState } from '../requests/executor-state.ts';
import { GpuModel } from '../gpu.ts';
import { EXECUTOR_NAME_PATTERN } from '../ids.ts';
import { Cursor, NextCursor, PageLimit, Time, Uuid } from './fields/values.ts';
import { nullable } from './fields/optional.ts';

const Name = Type.String({
  pattern: EXECUTOR_NAME_PATTERN,
  description: 'Stays the same over restarts of the executor.',
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: 'Input should be the name of an executor: 1 to 64 letters, digits, "_" or "-"',
  },
});

const Names = (what: string): Type.TArray<Type.TString> =>
  Type.Array(Type.String(), { description: `${what}; of many only the first ones.` });

const Drain = Type.Object(
  {
    requested_at: Time,
    requested_by: Type.String({ format: 'uuid', description: 'The id of the API key.' }),
  },
  { title: 'ExecutorDrain' },
);

const SlotRun = Type.Object(
  {
    org_id: Uuid,
    run_id: Uuid,
    attempt: Type.Integer({ minimum: 1 }),
    assigned_at: Time,
  },
  { title: 'SlotRun' },
);

const Slot = Type.Object(
  {
    slot: Type.Integer({ minimum: 0, description: 'Its index in the executor, from 0.' }),
    gpu: GpuModel,
    run: nullable(SlotRun),
  },
  { title: 'ExecutorSlot' },
);

export const Executor = Type.Object(
  {
    executor_id: nullable(
      Type.String({
        description: 'New at every start. Null for a drained name without a registered executor.',
      }),
    ),
    name: Name,
    state: {
      ...ExecutorState.properties.state,
      description:
        '`ready`: it gets runs. `draining`: it gets no runs, because its name is drained or it is stopping. `unresponsive`: it sent no heartbeat for half a heartbeat period; it gets no runs, and is lost after a whole period. `absent`: the name is drained, and no registered executor has it.',
    },
    drain: nullable(Drain),
    slots: Type.Array(Slot),
    machines: Names(
      'The machines that it serves: ids, or the id of an organisation, a slash and a name; `*` for every machine',
    ),
    machine_count: Type.Integer({ minimum: 0 }),
    programs: Names('The programs that it may execute'),
    program_count: Type.Integer({ minimum: 0 }),
    labels: Type.Array(Type.String(), {
      description: 'As EXECUTOR_LABELS says: deployments may ask for them.',
    }),
    isolation: nullable({
      ...IsolationKind,
      description:
        'What keeps its programs from everything that is not their run. `none`: they may do what its user may.',
    }),
    limits: nullable({
      ...LimitsKind,
      description:
        'What holds its programs to their limits of memory, processes, processors and files. `rlimits`: those of each process.',
    }),
    software_version: nullable(Type.String()),
    registered_at: nullable(Time),
    last_heartbeat_at: nullable(
      Type.String({
        format: 'date-time',
        description: 'Null before the leading scheduler has received a heartbeat.',
      }),
    ),
  },
  { title: 'Executor' },
);
export type Executor = Static<typeof Executor>;

export const ExecutorsQuery = Type.Object({
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

export const ExecutorPage = Type.Object(
  {
    executors: Type.Array(Executor, { description: 'Ordered by name.' }),
    next_cursor: NextCursor,
  },
  { title: 'ExecutorPage' },
);

export const ExecutorPath = Type.Object({ name: Name });

export const NamedExecutors = Type.Object(
  {
    name: Name,
    executors: Type.Array(Executor, {
      description: 'Usually one. Several while a restarted executor replaces an earlier one; at most 200.',
    }),
  },
  { title: 'NamedExecutors' },
);
export type NamedExecutors = Static<typeof NamedExecutors>;

export const Draining = Type.Object(
  {
    name: Name,
    draining: Type.Boolean({ description: 'Whether the name is drained now.' }),
    runs: Type.Integer({ minimum: 0, description: 'The number of runs in its slots now. They continue.' }),
  },
  { title: 'Draining' },
);
export type Draining = Static<typeof Draining>;
