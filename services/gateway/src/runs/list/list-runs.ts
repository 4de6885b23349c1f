import type { OutputLists } from '@runledger/blob-store/output-lists';
import type { ProgressReport } from '@runledger/contracts/events/activity';
import type { WorkflowRun } from '@runledger/contracts/http/runs/run';
import { jsonBytes, type JsonValue } from '@runledger/contracts/json';
import type { RunId } from '@runledger/contracts/ids';
import { isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { runResponse } from '../read/core/run-response.ts';
import { pageOf, type Page } from '../../projection/core/page.ts';
import { sortKeyOf } from '../../projection/core/sort-key.ts';
import type { RunViews } from '../../projection/run-views.ts';
import type { RunQuery } from '../../projection/core/list-query.ts';
import type { RunView } from '../../projection/core/run-view.ts';
import type { FreshViews } from '../../projection/fresh-views.ts';
import type { QueuePositions } from '../read/queue-positions.ts';

export interface ListRunsOptions {
  readonly views: RunViews;
  readonly fresh: FreshViews;
  readonly lists: OutputLists;
  readonly progress: (run: Run) => Promise<ProgressReport | undefined>;
  readonly positions: QueuePositions;
  readonly catalogue: Pick<Catalogue, 'getWorkflowVersion'>;
  readonly publicUrl: () => string;
}

/** Members that are null unless the request includes them. */
interface Included {
  readonly inputs: boolean;
  readonly workflow_api: boolean;
}

/** @throws {ViewsUnavailable} @throws {LogUnavailable} when workflows are included */
export type ListRuns = (query: RunQuery, include: Included) => Promise<Page<WorkflowRun>>;

/** Runs as a read of each shows them. A page ends early when the workflows and long lists of outputs in it become too large. */
export const listRuns =
  ({ views, fresh, lists, progress, positions, catalogue, publicUrl }: ListRunsOptions): ListRuns =>
  async (query, include) => {
    await fresh();
    const { items, end } = await views.listRuns(query);
    const [reports, waiting] = await Promise.all([
      reportsOf(items, progress),
      positions(items.flatMap(({ run }) => (run.status === 'queued' ? [keyOf(run)] : []))),
    ]);
    const shown = async function* () {
      const workflows = workflowsOf(query.org_id, include.workflow_api ? catalogue : undefined);
      for (const { run: viewed, webhook } of items) {
        const run = await lists.ofRun(viewed);
        const workflow_api = await workflows(run.request.workflow_version_id);
        const item = runResponse(run, {
          webhook: webhook.state,
          report: reports.get(run.run_id),
          position: waiting.get(run.run_id),
          workflow_inputs: include.inputs ? run.request.inputs : null,
          workflow_api,
          publicUrl: publicUrl(),
        });
        const bytes = workflow_api === null ? 0 : jsonBytes(workflow_api);
        yield { item, sortKey: sortKeyOf(run), bytes: bytes + listBytes(viewed) };
      }
    };
    const page = await pageOf(shown(), query.limit);
    return { items: page.items, end: page.end ?? end };
  };

const listBytes = (run: Run): number => (isEnded(run) ? (run.outputs_blob?.bytes ?? 0) : 0);

const keyOf = ({ org_id, run_id }: Run): RunKey => ({ org_id, run_id });

const reportsOf = async (
  items: readonly RunView[],
  progress: ListRunsOptions['progress'],
): Promise<ReadonlyMap<RunId, ProgressReport | undefined>> => {
  const executing = items.map(({ run }) => run).filter(isExecuting);
  return new Map(await Promise.all(executing.map(async (run) => [run.run_id, await progress(run)] as const)));
};

/** Reads each version once for a page; null when workflows are not included, or the version does not exist. */
const workflowsOf = (
  org: string,
  catalogue: Pick<Catalogue, 'getWorkflowVersion'> | undefined,
): ((id: string) => Promise<JsonValue>) => {
  const known = new Map<string, JsonValue>();
  return async (id) => {
    if (!catalogue) return null;
    const workflow = known.get(id) ?? (await catalogue.getWorkflowVersion(org, id))?.workflow ?? null;
    known.set(id, workflow);
    return workflow;
  };
};
