import type { OrgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { isSameRun, mayReplace, type RunView } from '../core/run-view.ts';
import { sortKeyOf, sortKeysIn, type ListRange, type SortKey } from '../core/sort-key.ts';
import { sortedList, type SortedList } from './sorted-list.ts';

export interface IndexedView {
  readonly sortKey: SortKey;
  readonly view: RunView;
}

/** Views by their runs, and sorted for each organisation. */
export interface ViewIndex {
  find(key: RunKey): RunView | undefined;
  /** Does nothing when the present view is later. */
  put(view: RunView): void;
  newestFirst(query: ListRange & { readonly org_id: OrgId }): IteratorObject<IndexedView>;
  countQueued(orgId: OrgId): number;
  /** Replaces every view by what `change` makes of it; its run stays the same. */
  update(change: (view: RunView) => RunView): void;
}

interface Entry extends IndexedView {
  view: RunView;
}

interface Organisation {
  readonly runs: SortedList<Entry>;
  queued: number;
}

export const viewIndex = (): ViewIndex => {
  const entries = new Map<string, Entry>();
  const organisations = new Map<OrgId, Organisation>();

  const organisationOf = (orgId: OrgId): Organisation => {
    const known = organisations.get(orgId) ?? { runs: sortedList<Entry>(), queued: 0 };
    organisations.set(orgId, known);
    return known;
  };
  const put = (view: RunView): void => {
    const { run } = view;
    const present = entries.get(run.run_id);
    if (present && !mayReplace(present.view, view)) return;
    const organisation = organisationOf(run.org_id);
    const sortKey = sortKeyOf(run);
    organisation.queued += countsAsQueued(view) - (present ? countsAsQueued(present.view) : 0);
    if (present?.sortKey === sortKey) {
      present.view = view;
      return;
    }
    // Another log may have stored the run at another time.
    if (present) organisation.runs.remove(present);
    const entry = { sortKey, view };
    entries.set(run.run_id, entry);
    organisation.runs.add(entry);
  };

  return {
    find: (key) => {
      const view = entries.get(key.run_id)?.view;
      return isSameRun(view, key) ? view : undefined;
    },
    put,
    newestFirst: (query) => {
      const { from, before } = sortKeysIn(query);
      return organisations.get(query.org_id)?.runs.backwards(from, before) ?? Iterator.from([]);
    },
    countQueued: (orgId) => organisations.get(orgId)?.queued ?? 0,
    update: (change) => {
      for (const entry of entries.values()) entry.view = change(entry.view);
    },
  };
};

const countsAsQueued = ({ run }: RunView): number => (run.status === 'queued' ? 1 : 0);
