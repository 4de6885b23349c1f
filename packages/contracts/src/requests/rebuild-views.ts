import { Type, type Static } from 'typebox';

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
