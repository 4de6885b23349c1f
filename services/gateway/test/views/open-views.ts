import type { RunView } from '../../src/views/run-view.ts';
import type { RunViews } from '../../src/views/run-views.ts';

export interface OpenedViews extends AsyncDisposable {
  readonly views: RunViews;
  /** How many runs a page searches at least before it ends early. */
  readonly searched: number;
  /** Stores many new views, after others were saved. */
  fill(views: readonly RunView[]): Promise<void>;
}

/** Opens empty views. `clock` limits how long a page is searched for. */
export type OpenViews = (clock?: () => number) => Promise<OpenedViews>;
