import { Type, type Static } from 'typebox';
import { compiledSchema } from '../compiled-schema.ts';
import { Envelope } from './event-envelope.ts';
import { GpuModel } from '../gpu.ts';
import { EXECUTOR_ID_PATTERN, EXECUTOR_NAME_PATTERN, executorId, type ExecutorId } from '../ids.ts';
import { Label, MAX_EXECUTOR_LABELS } from '../run-options.ts';
import { enumInWords } from '../schemas.ts';

/** An operator's request to every executor of a name: those that run now and those that start later. */
const fleetRequest = <const Name extends string>(type: Name) => ({
  type: Type.Literal(type),
  version: Type.Literal(1),
  event_id: Type.String({ format: 'uuid' }),
  executor_name: Type.String({ pattern: EXECUTOR_NAME_PATTERN }),
  /** The id of the API key. */
  requested_by: Type.String({ format: 'uuid' }),
  time: Type.String({ format: 'date-time' }),
});

/** Executors of this name get no new runs until it is resumed, even after restarts. Their current runs continue. */
const ExecutorDrainRequested = Type.Object({ ...fleetRequest('ExecutorDrainRequested') });
/** Executors of this name get runs again. */
const ExecutorResumeRequested = Type.Object({ ...fleetRequest('ExecutorResumeRequested') });

export const FleetRequest = Type.Union([ExecutorDrainRequested, ExecutorResumeRequested]);
export type FleetRequest = Static<typeof FleetRequest>;

/** The last token of the subject. */
const FLEET_REQUEST_FACTS: Record<FleetRequest['type'], string> = {
  ExecutorDrainRequested: 'drain_requested',
  ExecutorResumeRequested: 'resume_requested',
};

/** `all` replaces the boot id: the request concerns every process of that name. */
const fleetRequestSubject = ({ executor_name, type }: FleetRequest): string =>
  `fleet.${executor_name}.all.${FLEET_REQUEST_FACTS[type]}`;

const GpuSlot = Type.Object({
  /** Position among the executor's slots, from 0. */
  slot: Type.Integer({ minimum: 0 }),
  gpu: GpuModel,
});
type GpuSlot = Static<typeof GpuSlot>;

export const IsolationLevel = enumInWords(
  {
    strong: 'Nothing of it succeeded.',
    weak: 'Some of it succeeded: `isolation_gaps` says what.',
    none: 'Its operator wants none, and nothing was tried.',
  },
  {
    description:
      'What keeps its programs from everything that is not their run is worth: at its start, a program tried what hostile ones try.',
  },
);
export type IsolationLevel = Static<typeof IsolationLevel>;

/** Each is the end of a sentence that begins with "A program can". */
export const IsolationGaps = Type.Array(Type.String({ maxLength: 512 }), {
  maxItems: 64,
  description:
    'What that program could do: each ends a sentence that begins with "A program can". Empty unless the isolation is weak.',
  examples: [['leave files in folders of the machine', 'leave processes behind']],
});

export const LimitsKind = enumInWords(
  {
    cgroup: 'A control group of each attempt.',
    rlimits: 'The resource limits of each process.',
    none: 'Nothing works on this machine.',
  },
  { description: 'What holds its programs to their limits of memory, processes, processors and files.' },
);

/** The id of an organisation, a slash, and the name of a machine. */
export const MAX_MACHINE_REFERENCE = 36 + 1 + 128;
/** One program may be for so many organisations. */
export const MAX_DEDICATED_TO = 64;

const fleetFact = <const Name extends string>(type: Name) => ({
  type: Type.Literal(type),
  version: Type.Literal(1),
  event_id: Type.String({ format: 'uuid' }),
  executor_id: Type.String({ pattern: EXECUTOR_ID_PATTERN }),
  time: Type.String({ format: 'date-time' }),
});

/** An executor registers its slots. Its id is new at every start. */
export const ExecutorRegistered = Type.Object({
  ...fleetFact('ExecutorRegistered'),
  slots: Type.Array(GpuSlot, { maxItems: 1024 }),
  /** The machines that it serves, by id or as `organisation id/name`; `*` serves every machine. */
  machines: Type.Array(Type.String({ minLength: 1, maxLength: MAX_MACHINE_REFERENCE }), { maxItems: 1024 }),
  /** The capabilities of its runners: names in its allow-list of programs, and `runner:<kind>` or `runner:<kind>:<name>` for other kinds. */
  programs: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 1024 }),
  /** The organisations that may use a capability, for those that not every organisation may use. */
  dedicated: Type.Record(
    Type.String({ maxLength: 128 }),
    Type.Array(Type.String({ format: 'uuid' }), { maxItems: MAX_DEDICATED_TO }),
  ),
  /** What runs may ask for beside GPU, machine and program; left out without any. */
  labels: Type.Optional(Type.Array(Label, { maxItems: MAX_EXECUTOR_LABELS })),
  /** Ed25519 (SPKI, DER, base64url); signs the upload tokens of its attempts. */
  public_key: Type.String({ minLength: 1, maxLength: 256 }),
  /** Executors of earlier releases do not say it. */
  isolation: Type.Optional(IsolationLevel),
  isolation_gaps: Type.Optional(IsolationGaps),
  limits: Type.Optional(LimitsKind),
  software_version: Type.String(),
});

/** It takes no new runs, and finishes its current ones. */
const ExecutorDraining = Type.Object({ ...fleetFact('ExecutorDraining') });
/** It stopped in order. The runs that it still had are lost to it. */
const ExecutorLeft = Type.Object({ ...fleetFact('ExecutorLeft') });
/** The scheduler's decision after a heartbeat period without a heartbeat. */
const ExecutorLost = Type.Object({ ...fleetFact('ExecutorLost'), message: Type.String() });

/** A fact about one executor. */
export const ExecutorFact = Type.Union([ExecutorRegistered, ExecutorDraining, ExecutorLeft, ExecutorLost]);
export type ExecutorFact = Static<typeof ExecutorFact>;
export const FleetEvent = Type.Union([...ExecutorFact.anyOf, ...FleetRequest.anyOf]);
export type FleetEvent = ExecutorFact | FleetRequest;
export type ExecutorRegistered = Static<typeof ExecutorRegistered>;

type ParsedFleetEvent =
  | { readonly kind: 'event'; readonly event: FleetEvent }
  /** A version, or a type, of a later release. Of a service, it stops the reader. */
  | { readonly kind: 'newer_version'; readonly type: string; readonly version: number }
  | { readonly kind: 'invalid'; readonly why: string };

/** The version that this release writes and reads. */
const VERSION = 1;
const TYPES: ReadonlySet<string> = new Set(FleetEvent.anyOf.map(({ properties }) => properties.type.const));
const Known = compiledSchema(FleetEvent);

export const parseFleetEvent = (body: unknown): ParsedFleetEvent => {
  if (!Envelope.Check(body)) return { kind: 'invalid', why: 'the event has no type and version' };
  const { type, version } = body;
  if (!TYPES.has(type) || version > VERSION) return { kind: 'newer_version', type, version };
  if (Known.Check(body)) return { kind: 'event', event: body };
  return { kind: 'invalid', why: `the event does not match the schema of ${type}` };
};

/** A message in the EXECUTORS bucket: a hint that the executor lives, never proof that it does not. */
export const Heartbeat = Type.Object({
  executor_id: Type.String({ pattern: EXECUTOR_ID_PATTERN }),
  /** Counts up from the executor's start. */
  count: Type.Integer({ minimum: 0 }),
  draining: Type.Boolean(),
  /** The run in each busy slot. */
  runs: Type.Array(
    Type.Object({
      slot: Type.Integer({ minimum: 0 }),
      run_id: Type.String({ format: 'uuid' }),
      attempt: Type.Integer({ minimum: 1 }),
    }),
  ),
  /**
   * The slots in which a process is kept that executed this workflow version last, so that the next run of it is warm. A hint: a wrong one
   * costs a cold start. Left out by executors that do not say it.
   */
  loaded: Type.Optional(
    Type.Array(
      Type.Object({
        slot: Type.Integer({ minimum: 0 }),
        workflow_version_id: Type.String({ format: 'uuid' }),
      }),
      { maxItems: 1024 },
    ),
  ),
  /**
   * The workflow versions that the executor can begin without fetching anything, those that were used last. A hint, as `loaded` is. Left out by
   * executors without any.
   */
  prepared: Type.Optional(Type.Array(Type.String({ format: 'uuid' }), { maxItems: 256 })),
});
export type Heartbeat = Static<typeof Heartbeat>;

const FACTS: Record<ExecutorFact['type'], FleetFact> = {
  ExecutorRegistered: 'registered',
  ExecutorDraining: 'draining',
  ExecutorLeft: 'left',
  ExecutorLost: 'lost',
};

/** The last token of the subject of a fact of the fleet. */
export const fleetFactOf = (type: FleetEvent['type']): string => ({ ...FACTS, ...FLEET_REQUEST_FACTS })[type];

/** Where a fact of the fleet is stored. */
export const fleetSubjectOf = (event: FleetEvent): string =>
  'executor_name' in event
    ? fleetRequestSubject(event)
    : fleetSubject(executorId(event.executor_id), FACTS[event.type]);

type FleetFact = 'registered' | 'draining' | 'left' | 'lost';
export const fleetSubject = (executor: ExecutorId, fact: FleetFact): string => `fleet.${executor}.${fact}`;
export const ALL_FLEET = 'fleet.>';
