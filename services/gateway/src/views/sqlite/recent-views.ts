import { LRUCache } from 'lru-cache';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { runName } from '../stored-run.decide.ts';
import type { StoredView } from '../run-view.ts';

/** Of the JSON text of the views. As objects they take about three times as much. */
const MAX_BYTES = 8 * 1024 * 1024;

/** So many runs without a view: a batch of facts begins with them. */
const MAX_ABSENT = 1_000;

/** The views of the file that were used last. Only this process writes the file, so they are as the file has them. */
export interface RecentViews {
  /** Null when the file has none, undefined when that is not known here. */
  readonly get: (key: RunKey) => StoredView | null | undefined;
  /** `bytes`: of its JSON text. */
  readonly set: (view: StoredView, bytes: number) => void;
  readonly setAbsent: (key: RunKey) => void;
  readonly forget: (key: RunKey) => void;
  readonly clear: () => void;
}

export const recentViews = (maxBytes = MAX_BYTES): RecentViews => {
  const views = new LRUCache<string, StoredView>({ maxSize: maxBytes });
  const absent = new LRUCache<string, true>({ max: MAX_ABSENT });
  return {
    get: (key) => {
      const name = runName(key);
      return views.get(name) ?? (absent.has(name) ? null : undefined);
    },
    set: (view, bytes) => {
      const name = runName(view.run);
      views.set(name, view, { size: bytes });
      absent.delete(name);
    },
    setAbsent: (key) => void absent.set(runName(key), true),
    forget: (key) => {
      const name = runName(key);
      views.delete(name);
      absent.delete(name);
    },
    clear: () => {
      views.clear();
      absent.clear();
    },
  };
};
