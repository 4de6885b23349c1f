import type { ViewDigestsRequest, ViewDigestsResponse } from '@runledger/contracts/requests/view-digests';
import { orgId, runId } from '@runledger/contracts/ids';
import { viewDigest } from '@runledger/request-reply/view-digests';
import { ViewsUnavailable, type RunViews } from './run-views.ts';

/** What the views say of runs, for somebody who compares it with the log. Undefined while they are unavailable. */
export const viewDigests = async (
  views: Pick<RunViews, 'load'>,
  { runs }: ViewDigestsRequest,
): Promise<ViewDigestsResponse | undefined> => {
  const keys = runs.map(({ org_id, run_id }) => ({ org_id: orgId(org_id), run_id: runId(run_id) }));
  try {
    const loaded = await views.load(keys);
    return {
      views: loaded.map(({ head, run, webhook }) => ({
        run_id: run.run_id,
        head,
        webhook_head: webhook.head,
        sha256: viewDigest(run, webhook.state),
      })),
    };
  } catch (error) {
    if (error instanceof ViewsUnavailable) return undefined;
    throw error;
  }
};
