import { Type, type Static } from 'typebox';
import { GpuModel } from '../gpu.ts';
import { EXECUTOR_ID_PATTERN, EXECUTOR_NAME_PATTERN } from '../ids.ts';

/** Where the scheduler that leads answers an `ExecutorsQuestion`; nobody else does. */
export const EXECUTORS_SUBJECT = 'request.scheduler.executors';

/** One answer tells of this many executors at most; of fewer when more would not fit a message. */
export const MAX_LISTED_EXECUTORS = 200;

/** Of an executor that serves more machines, or offers more programs, the first ones are told. */
export const MAX_LISTED_NAMES = 100;

const Name = Type.String({ pattern: EXECUTOR_NAME_PATTERN });
const MaybeId = Type.Union([Type.String({ pattern: EXECUTOR_ID_PATTERN }), Type.Null()]);
const Uuid = Type.String({ format: 'uuid' });
const Time = Type.String({ format: 'date-time' });

export const ExecutorsRequest = Type.Object({
  /** Only executors of this name; null for all. */
  name: Type.Union([Name, Type.Null()]),
  /** Behind which one to begin: the last of the answer before, as it was told; null for the first page. */
  after: Type.Union([Type.Object({ name: Name, executor_id: MaybeId }), Type.Null()]),
  limit: Type.Integer({ minimum: 1, maximum: MAX_LISTED_EXECUTORS }),
});
export type ExecutorsRequest = Static<typeof ExecutorsRequest>;

/**
 * - `ready`: it is given runs.
 * - `draining`: it is given none, because it is stopping or because its name is drained.
 * - `unresponsive`: registered, but without a heartbeat for half a heartbeat period; it is given none, and is lost after a whole one.
 * - `absent`: the name is drained, and no executor bears it now.
 */
const State = Type.Enum(['ready', 'draining', 'unresponsive', 'absent']);

export const ExecutorState = Type.Object({
  /** Null when absent. */
  executor_id: MaybeId,
  name: Name,
  state: State,
  /** Who drained its name, and when; null when nobody did. Times are the broker's. */
  drain: Type.Union([Type.Object({ requested_at: Time, requested_by: Uuid }), Type.Null()]),
  slots: Type.Array(
    Type.Object({
      slot: Type.Integer({ minimum: 0 }),
      gpu: GpuModel,
      run: Type.Union([
        Type.Object({
          org_id: Uuid,
          run_id: Uuid,
          attempt: Type.Integer({ minimum: 1 }),
          assigned_at: Time,
        }),
        Type.Null(),
      ]),
    }),
    { maxItems: 1024 },
  ),
  /** Machine ids or names, the first MAX_TOLD_NAMES; `*` for every machine. */
  machines: Type.Array(Type.String(), { maxItems: MAX_LISTED_NAMES }),
  /** How many machines there are in all. */
  machine_count: Type.Integer({ minimum: 0 }),
  programs: Type.Array(Type.String(), { maxItems: MAX_LISTED_NAMES }),
  program_count: Type.Integer({ minimum: 0 }),
  /** Null when absent. */
  software_version: Type.Union([Type.String(), Type.Null()]),
  /** Null when absent. */
  registered_at: Type.Union([Time, Type.Null()]),
  /** Null before the first heartbeat that this scheduler received. */
  last_heartbeat_at: Type.Union([Time, Type.Null()]),
});
export type ExecutorState = Static<typeof ExecutorState>;

/** Ordered by name, then by id. */
export const ExecutorsResponse = Type.Object({
  executors: Type.Array(ExecutorState, { maxItems: MAX_LISTED_EXECUTORS }),
  /** Whether there are others behind the last one. */
  more: Type.Boolean(),
  /** The sequence in FLEET of the last fact that is in this response. */
  read_up_to: Type.Integer({ minimum: 0 }),
});
export type ExecutorsResponse = Static<typeof ExecutorsResponse>;
