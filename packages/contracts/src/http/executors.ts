import { Type, type Static } from 'typebox';
import { IsolationGaps, IsolationLevel, LimitsKind } from '../events/fleet-event.ts';
import { ExecutorState } from '../requests/executors.ts';
import { GpuModel } from '../gpu.ts';
import { EXECUTOR_NAME_PATTERN } from '../ids.ts';
import {
  KeyUuid,
  OrganisationUuid,
  RunUuid,
  VersionUuid,
  Cursor,
  NextCursor,
  PageLimit,
  time,
} from './fields.ts';
import { nullable } from '../schemas.ts';
import { AttemptPlacement } from './runs/run-attempt.ts';

const Name = Type.String({
  pattern: EXECUTOR_NAME_PATTERN,
  description: 'The name of the executor. It stays the same over restarts.',
  examples: ['desk'],
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: 'Send the name of an executor: 1 to 64 letters, digits, "_" or "-"',
  },
});

const Names = (what: string, example: string): Type.TArray<Type.TString> =>
  Type.Array(Type.String(), {
    description: `${what}; of many only the first ones.`,
    examples: [[example]],
  });

const Drain = Type.Object(
  {
    requested_at: time('When it was requested.'),
    requested_by: { ...KeyUuid, description: 'The API key of the request.' },
  },
  { title: 'ExecutorDrain', description: 'A request that the name gets no new runs.' },
);

const SlotRun = Type.Object(
  {
    org_id: { ...OrganisationUuid, description: 'The organisation of the run.' },
    run_id: RunUuid,
    attempt: Type.Integer({
      minimum: 1,
      description: 'The number of the attempt, from 1.',
      examples: [1],
    }),
    assigned_at: time('When it got the slot.'),
    placement: AttemptPlacement,
  },
  { title: 'SlotRun', description: 'The attempt that holds a slot.' },
);

const Slot = Type.Object(
  {
    slot: Type.Integer({ minimum: 0, description: 'Its index in the executor, from 0.', examples: [0] }),
    gpu: { ...GpuModel, description: 'The GPU model of the slot, in upper case; `CPU` without a card.' },
    loaded_workflow_version_id: nullable(
      VersionUuid,
      'The workflow version that it has loaded, as its executor said last: the next run of it is warm here. Null when it has none, or when that is not known.',
    ),
    run: nullable(SlotRun, 'What holds it. Null while it is free.'),
  },
  { title: 'ExecutorSlot', description: 'A slot of an executor: it executes one run at a time.' },
);

export const Executor = Type.Object(
  {
    executor_id: nullable(
      Type.String({
        description:
          'Its id, which is new at every start. Null for a drained name without a registered executor.',
        examples: ['desk.k3v9x2'],
      }),
    ),
    name: Name,
    state: ExecutorState.properties.state,
    drain: nullable(Drain, 'Who drained its name. Null when nobody did.'),
    slots: Type.Array(Slot, { description: 'Its slots; empty when it is absent.' }),
    machines: Names(
      'The machines that it serves: ids, or the id of an organisation, a slash and a name; `*` for every machine',
      '*',
    ),
    machine_count: Type.Integer({
      minimum: 0,
      description: 'The number of all machines that it serves.',
      examples: [1],
    }),
    programs: Names('The programs that it may execute', 'render-image'),
    program_count: Type.Integer({
      minimum: 0,
      description: 'The number of all programs that it may execute.',
      examples: [1],
    }),
    labels: Type.Array(Type.String(), {
      description: 'Its labels, as EXECUTOR_LABELS says: deployments may ask for them.',
      examples: [['zone:eu-west-1']],
    }),
    isolation: nullable(IsolationLevel, 'Null when it is absent, or does not say it.'),
    isolation_gaps: IsolationGaps,
    limits: nullable(LimitsKind, 'Null when it is absent, or does not say it.'),
    software_version: nullable(
      Type.String({ description: 'The version of its software.', examples: ['0.1.0'] }),
      'Null when it is absent.',
    ),
    registered_at: nullable(time('When it registered.'), 'Null when it is absent.'),
    last_heartbeat_at: nullable(
      time('When the leading scheduler received its last heartbeat.'),
      'Null before it has received one.',
    ),
  },
  { title: 'Executor', description: 'What executes runs on a machine, as the leading scheduler knows it.' },
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
  { title: 'ExecutorPage', description: 'A page of executors.' },
);

export const ExecutorPath = Type.Object({ name: Name });

export const NamedExecutors = Type.Object(
  {
    name: Name,
    executors: Type.Array(Executor, {
      description: 'Usually one. Several while a restarted executor replaces an earlier one; at most 200.',
    }),
  },
  { title: 'NamedExecutors', description: 'All executors with one name.' },
);
export type NamedExecutors = Static<typeof NamedExecutors>;

export const Draining = Type.Object(
  {
    name: Name,
    draining: Type.Boolean({ description: 'Whether the name is drained now.', examples: [true] }),
    runs: Type.Integer({
      minimum: 0,
      description: 'The number of runs in its slots now. They continue.',
      examples: [2],
    }),
  },
  { title: 'Draining', description: 'Whether a name is drained.' },
);
export type Draining = Static<typeof Draining>;
