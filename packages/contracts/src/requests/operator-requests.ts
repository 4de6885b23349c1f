import { Type, type Static } from 'typebox';
import { MAX_ERROR_MESSAGE } from '../limits.ts';
import { executorOfConsumer } from './executors.ts';

/** The service that handles a dead letter again; an executor by its name. */
export type Redriver = 'scheduler' | 'gateway' | `executor.${string}`;

/** The subject on which a service answers a `RedriveRequest`. */
export const redriveSubject = (who: Redriver): string => `request.${who}.redrive`;

/** The service that wrote a dead letter, by the name of its consumer; undefined for a consumer without redrive. */
export const redriverOf = (consumer: string): Redriver | undefined => {
  if (consumer === 'scheduler') return 'scheduler';
  if (consumer === 'projection') return 'gateway';
  const name = executorOfConsumer(consumer);
  return name === undefined ? undefined : `executor.${name}`;
};

/** Requests that a dead letter is handled again, by the current release. Stream and sequence are those of the original message. */
export const RedriveRequest = Type.Object({
  stream: Type.Enum(['RUNS', 'FLEET']),
  sequence: Type.Integer({ minimum: 1 }),
  /** Of the message. Required for an executor, which may read by subject only; optional for others. */
  subject: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
});
export type RedriveRequest = Static<typeof RedriveRequest>;

export const RedriveResponse = Type.Object({
  outcome: Type.Enum(['taken', 'refused']),
  /** For people: the outcome, or why the message cannot be handled. */
  why: Type.String({ maxLength: MAX_ERROR_MESSAGE }),
});
export type RedriveResponse = Static<typeof RedriveResponse>;

/** The gateway that keeps the views answers it. */
export const REBUILD_VIEWS_SUBJECT = 'request.gateway.rebuild_views';

/**
 * `start` begins to build the views again, beside the live ones; it changes nothing while that is under way. `state` only asks. `stop` ends
 * it, and removes what was built.
 */
export const RebuildViewsRequest = Type.Object({
  action: Type.Enum(['start', 'state', 'stop']),
  /** With `start`: put the new views in place also where the live ones differ, which is then what was wrong. */
  accept_differences: Type.Optional(Type.Boolean()),
});
export type RebuildViewsRequest = Static<typeof RebuildViewsRequest>;

const Count = Type.Integer({ minimum: 0 });

export const RebuildComparison = Type.Object({
  /** The digests speak of the runs of which nothing was stored behind this sequence. */
  sequence: Count,
  runs: Count,
  live_sha256: Type.String(),
  new_sha256: Type.String(),
  /** Runs that went on meanwhile, and were compared at the end, when both sets stood still. */
  compared_at_end: Count,
  differences: Count,
  examples: Type.Array(Type.Object({ run_id: Type.String(), why: Type.String() })),
});
export type RebuildComparison = Static<typeof RebuildComparison>;

export const RebuildViewsResponse = Type.Object({
  /**
   * `none`: nothing is being built. `different`: the new views are complete, and wait, because they differ from the live ones. `replaced`:
   * they are the live ones.
   */
  state: Type.Enum([
    'none',
    'copying',
    'folding',
    'comparing',
    'finishing',
    'different',
    'replaced',
    'failed',
  ]),
  /** How often the live views were derived from the beginning of the log: a rebuild adds one. */
  derivation: Count,
  /** Views that were copied or compared, or the sequence that is folded. */
  done: Type.Optional(Count),
  /** The last sequence of the log. */
  of: Type.Optional(Count),
  /** Since the process began with it. */
  seconds: Type.Optional(Type.Number({ minimum: 0 })),
  comparison: Type.Optional(RebuildComparison),
  /** Why it failed, or cannot be started. */
  why: Type.Optional(Type.String()),
});
export type RebuildViewsResponse = Static<typeof RebuildViewsResponse>;

/** Every gateway answers it: what its views say of runs, as hashes. */
export const VIEW_DIGESTS_SUBJECT = 'request.gateway.view_digests';

/** Runs in one request. */
export const MAX_DIGESTS = 100;

const Uuid = Type.String({ format: 'uuid' });

export const ViewDigestsRequest = Type.Object({
  runs: Type.Array(Type.Object({ org_id: Uuid, run_id: Uuid }), { minItems: 1, maxItems: MAX_DIGESTS }),
});
export type ViewDigestsRequest = Static<typeof ViewDigestsRequest>;

export const ViewDigest = Type.Object({
  run_id: Uuid,
  /** The sequence of the last message of its lifecycle that is in the view; 0 for a view of another log. */
  head: Type.Integer({ minimum: 0 }),
  /** The same of its notifications; 0 for none. */
  webhook_head: Type.Integer({ minimum: 0 }),
  sha256: Type.String(),
});
export type ViewDigest = Static<typeof ViewDigest>;

/** Without runs that have no view. */
export const ViewDigestsResponse = Type.Object({ views: Type.Array(ViewDigest) });
export type ViewDigestsResponse = Static<typeof ViewDigestsResponse>;
