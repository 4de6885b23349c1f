import { Type, type Static } from 'typebox';
import { ExecutorState } from '../requests/executor-state.ts';
import { GpuModel } from '../gpu.ts';
import { EXECUTOR_NAME_PATTERN } from '../ids.ts';
import { Cursor, NextCursor, PageLimit, Time, Uuid } from './fields/values.ts';
import { nullable } from './fields/optional.ts';

const Name = Type.String({
  pattern: EXECUTOR_NAME_PATTERN,
  description: 'The same over the restarts of an executor.',
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: 'Input should be the name of an executor: 1 to 64 letters, digits, "_" or "-"',
  },
});

const Names = (what: string): Type.TArray<Type.TString> =>
  Type.Array(Type.String(), { description: `${what}: the first of them where there are many.` });

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
    slot: Type.Integer({ minimum: 0, description: 'Its position in the executor.' }),
    gpu: GpuModel,
    run: nullable(SlotRun),
  },
  { title: 'ExecutorSlot' },
);

export const Executor = Type.Object(
  {
    executor_id: nullable(
      Type.String({
        description: 'New with every start; null for a drained name that no executor bears now.',
      }),
    ),
    name: Name,
    state: {
      ...ExecutorState.properties.state,
      description:
        '`ready`: it is given runs. `draining`: it is given none, because its name is drained or it stops by itself. `unresponsive`: it sent no heartbeat for half a heartbeat period; it is given none, and is lost after a whole one. `absent`: its name is drained, and no executor bears it now.',
    },
    drain: nullable(Drain),
    slots: Type.Array(Slot),
    machines: Names('Ids or names of the machines that it serves, `*` for every one'),
    machine_count: Type.Integer({ minimum: 0 }),
    programs: Names('The programs that it may execute'),
    program_count: Type.Integer({ minimum: 0 }),
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
    executors: Type.Array(Executor, { description: 'In the order of their names.' }),
    next_cursor: NextCursor,
  },
  { title: 'ExecutorPage' },
);

export const ExecutorPath = Type.Object({ name: Name });

export const NamedExecutors = Type.Object(
  {
    name: Name,
    executors: Type.Array(Executor, {
      description: 'As a rule one. More while one takes the place of another; the first 200 at most.',
    }),
  },
  { title: 'NamedExecutors' },
);
export type NamedExecutors = Static<typeof NamedExecutors>;

export const Draining = Type.Object(
  {
    name: Name,
    draining: Type.Boolean({ description: 'Whether the name is drained now.' }),
    runs: Type.Integer({ minimum: 0, description: 'How many runs are in its slots now; they go on.' }),
  },
  { title: 'Draining' },
);
export type Draining = Static<typeof Draining>;
