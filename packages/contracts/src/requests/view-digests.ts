import { Type, type Static } from 'typebox';

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
