import type { OrgId } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';
import { statusOf } from '../core/webhook-status.ts';
import { pageOf, type Found, type Listed } from '../core/page.ts';
import { sortKeyOf, sortKeysIn, type SortKey } from '../core/sort-key.ts';
import { sortedList, type SortedList } from './sorted-list.ts';
import {
  isSameRun,
  mayReplace,
  type ProjectionPosition,
  type RunQuery,
  type RunView,
  type RunViews,
  type WebhookQuery,
} from '../run-views.ts';
import { webhookRow, type WebhookRow } from '../core/webhook-row.ts';

interface Kept {
  readonly place: SortKey;
  view: RunView;
}

interface Organisation {
  readonly runs: SortedList<Kept>;
  queued: number;
}

/** So many runs take some milliseconds. */
const LOOK_AT_MOST = 100_000;

/**
 * Views of one process, rebuilt from the log at every start; as large as what the log holds. For a page of a list, at
 * most `lookAtMost` runs are looked at.
 */
export const memoryRunViews = ({ lookAtMost = LOOK_AT_MOST }: { lookAtMost?: number } = {}): RunViews => {
  const views = new Map<string, Kept>();
  const organisations = new Map<OrgId, Organisation>();
  let position: ProjectionPosition | undefined;

  const organisationOf = ({ org_id }: Run): Organisation => {
    const known = organisations.get(org_id);
    if (known) return known;
    const organisation: Organisation = { runs: sortedList(), queued: 0 };
    organisations.set(org_id, organisation);
    return organisation;
  };
  const save = (view: RunView): void => {
    const present = views.get(view.run.run_id);
    if (present && !mayReplace(present.view, view)) return;
    const organisation = organisationOf(view.run);
    const place = sortKeyOf(view.run);
    organisation.queued += countsAsQueued(view) - (present ? countsAsQueued(present.view) : 0);
    if (present?.place === place) {
      present.view = view;
      return;
    }
    // In a log that took the place of another one, the run may be a later one.
    if (present) organisation.runs.remove(present);
    const kept = { place, view };
    views.set(view.run.run_id, kept);
    organisation.runs.add(kept);
  };
  const found = (query: RunQuery | WebhookQuery): IteratorObject<Kept> => {
    const { from, before } = sortKeysIn(query);
    return organisations.get(query.org_id)?.runs.backwards(from, before) ?? Iterator.from([]);
  };

  return {
    shared: false,
    find: async (key) => {
      const view = views.get(key.run_id)?.view;
      return isSameRun(view, key) ? view : undefined;
    },
    load: async (keys) =>
      keys.flatMap((key) => {
        const view = views.get(key.run_id)?.view;
        return isSameRun(view, key) ? [view] : [];
      }),
    save: async (given) => given.forEach(save),
    listRuns: async (query) => {
      const runs = lookThrough(found(query), lookAtMost, ({ place, view }) =>
        isAskedFor(view.run, query) ? { item: view, sortKey: place, bytes: bytesOf(view.run) } : undefined,
      );
      return pageOf(atHand(runs, query), query.limit);
    },
    listWebhooks: async (query) => {
      const rows = lookThrough(found(query), lookAtMost, ({ place, view }) => {
        const row = webhookRow(view);
        return row && isRowAskedFor(row, query) ? { item: row, sortKey: place, bytes: 0 } : undefined;
      });
      return pageOf(atHand(rows, query), query.limit);
    },
    countQueued: async (org_id, atMost) => Math.min(organisations.get(org_id)?.queued ?? 0, atMost),
    position: async () => position,
    savePosition: async (next) => {
      if (position && position.stream_created !== next.stream_created) return;
      if (!position || position.sequence < next.sequence) position = next;
    },
    resetTo: async (stream_created) => {
      for (const kept of views.values()) {
        const { view } = kept;
        kept.view = { ...view, head: 0, webhook: { ...view.webhook, head: 0 } };
      }
      position = { stream_created, sequence: 0, event_id: null };
    },
  };
};

const lookThrough = function* <Item>(
  found: Iterable<Kept>,
  most: number,
  asListed: (kept: Kept) => Listed<Item> | undefined,
): Generator<Found<Item>, undefined> {
  let looked = 0;
  let lookedTo: SortKey | undefined;
  for (const kept of found) {
    if (looked === most && lookedTo !== undefined) {
      yield { lookedTo };
      return;
    }
    looked += 1;
    lookedTo = kept.place;
    const listed = asListed(kept);
    if (listed) yield listed;
  }
};

/** What a page can hold, and one more, taken at once: the order may change behind the next await. */
const atHand = <Thing>(things: IteratorObject<Thing>, { limit }: { readonly limit: number }): Thing[] =>
  things.take(limit + 1).toArray();

const countsAsQueued = ({ run }: RunView): number => (run.status === 'queued' ? 1 : 0);

const isAskedFor = (
  { status, request }: Run,
  { statuses, deploymentId, workflowId, gpu, origin }: RunQuery,
): boolean =>
  (statuses === undefined || statuses.includes(status)) &&
  (deploymentId === undefined || request.deployment_id === deploymentId) &&
  (workflowId === undefined || request.workflow_id === workflowId) &&
  (gpu === undefined || request.gpu === gpu) &&
  (origin === undefined || request.origin === origin);

const isRowAskedFor = (row: WebhookRow, { statuses, host }: WebhookQuery): boolean =>
  statuses.includes(statusOf(row.webhook)) && (host === undefined || row.host === host);

/** As much as another adapter would read of it. */
const bytesOf = (run: Run): number => {
  const known = weights.get(run);
  if (known !== undefined) return known;
  const bytes = Buffer.byteLength(JSON.stringify(run));
  weights.set(run, bytes);
  return bytes;
};

const weights = new WeakMap<Run, number>();
