import { Type, type Static } from 'typebox';
import { KeepSlots } from '../run-options.ts';
import { EXECUTOR_ID_PATTERN } from '../ids.ts';
import { enumInWords } from '../schemas.ts';
import { ShortageRequest } from './executors.ts';

/** The leading scheduler answers a `ReadySlotsRequest` here. */
export const READY_SLOTS_SUBJECT = 'request.scheduler.ready_slots';

/** The most deployments, or versions, in one request. */
export const MAX_KEPT_READY = 64;

const Uuid = Type.String({ format: 'uuid' });
const Slot = Type.Integer({ minimum: 0 });

/** What a deployment has kept ready before runs come. */
export const WantedReady = Type.Object({
  ...ShortageRequest.properties,
  workflow_version_id: Uuid,
  keep_prepared: KeepSlots,
  keep_loaded: KeepSlots,
});
export type WantedReady = Static<typeof WantedReady>;

export const ReadySlotsRequest = Type.Object({
  wanted: Type.Array(WantedReady, { maxItems: MAX_KEPT_READY }),
});
export type ReadySlotsRequest = Static<typeof ReadySlotsRequest>;

/** Where the version of a deployment is to be ready: prepared by the executor, and loaded in these of its slots. */
const ReadyPlace = Type.Object({
  executor_id: Type.String({ pattern: EXECUTOR_ID_PATTERN }),
  slots: Type.Array(Slot),
});
export type ReadyPlace = Static<typeof ReadyPlace>;

/** For each of the wanted, in their order. Fewer slots than wanted where there are no more. */
export const ReadySlotsResponse = Type.Object({ places: Type.Array(Type.Array(ReadyPlace)) });
export type ReadySlotsResponse = Static<typeof ReadySlotsResponse>;

/** An executor of this name answers a `KeepReadyRequest` here. `*` for all. */
export const keepReadySubject = (name: string): string => `request.executor.${name}.keep_ready`;

/** A version that an executor is to have ready for some time. */
const KeptVersion = Type.Object({
  org_id: Uuid,
  deployment_id: Uuid,
  workflow_version_id: Uuid,
  /** Those in which it is to be loaded, while no run needs them otherwise. */
  slots: Type.Array(Slot),
  /** With which the executor fetches the version. */
  token: Type.String({ maxLength: 1024 }),
});
export type KeptVersion = Static<typeof KeptVersion>;

/** It replaces what was requested for these versions before; all is over after `for_s` seconds without another request. */
export const KeepReadyRequest = Type.Object({
  executor_id: Type.String({ pattern: EXECUTOR_ID_PATTERN }),
  versions: Type.Array(KeptVersion, { maxItems: MAX_KEPT_READY }),
  for_s: Type.Number({ exclusiveMinimum: 0 }),
});
export type KeepReadyRequest = Static<typeof KeepReadyRequest>;

export const ReadyState = enumInWords(
  {
    preparing: 'Its code, packages or weights are being fetched.',
    prepared: 'They are there.',
    loading: 'Its process is starting.',
    loaded: 'Its process is ready, or executes a run.',
    occupied: 'The slot has something else that was used, or executes it.',
    failed: 'It cannot be prepared or loaded; `why` says it. It is tried again after some minutes.',
  },
  { description: 'How far it is.' },
);

const StateOfVersion = Type.Object({
  state: ReadyState,
  /** For people; null unless it failed. */
  why: Type.Union([Type.String(), Type.Null()]),
});
export type StateOfVersion = Static<typeof StateOfVersion>;

/** For each version, in their order: what the executor has of it, and what each of the slots has. */
export const KeepReadyResponse = Type.Object({
  versions: Type.Array(Type.Object({ executor: StateOfVersion, slots: Type.Array(StateOfVersion) })),
});
export type KeepReadyResponse = Static<typeof KeepReadyResponse>;

/** What an executor fetches of a version that it is to have ready, beside its code. */
export const PreparationDocument = Type.Object({
  /** A JSON text as it is stored, so that its hash can be checked. */
  workflow: Type.String(),
  /** The values of the variables in `secrets` of the manifest. One whose secret does not exist is missing. */
  secrets: Type.Record(Type.String(), Type.String()),
});
export type PreparationDocument = Static<typeof PreparationDocument>;
