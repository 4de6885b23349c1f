import type { StoredView } from '@runledger/gateway/views/run-view';
import { isAt, type ProjectionPosition } from '@runledger/gateway/views/projection-start.decide';
import { isDeleted, isEnded } from '@runledger/contracts/fold/run';

/** The views of runs, as services/gateway/src/views/run-views.ts says: what is stored stays when the gateway is killed. */
export class ViewStore {
  position: ProjectionPosition | undefined;
  #views = new Map<string, StoredView>();

  find(run_id: string): StoredView | undefined {
    return this.#views.get(run_id);
  }

  /** A stale view changes nothing. */
  save(views: readonly StoredView[]): void {
    for (const view of views) {
      const { run_id } = view.run;
      if ((this.find(run_id)?.head ?? 0) > view.head) continue;
      this.#views.set(run_id, view);
    }
  }

  /** False when the position is another one than `from`. */
  advance(views: readonly StoredView[], from: ProjectionPosition, to: ProjectionPosition): boolean {
    if (!isAt(this.position, from)) return false;
    this.save(views);
    this.position = to;
    return true;
  }

  /** All views are derived again: what the log does not have any more stays. */
  resetTo(beginning: ProjectionPosition): void {
    for (const [run_id, view] of this.#views) this.#views.set(run_id, { ...view, head: 0 });
    this.position = beginning;
  }

  /** Runs that have not ended. */
  open(): StoredView[] {
    return [...this.#views.values()].filter(({ run }) => !isDeleted(run) && !isEnded(run));
  }

  /** A copy of everything. Returns what restores it. */
  copy(): () => void {
    const [position, views] = [this.position, new Map(this.#views)];
    return () => {
      this.position = position;
      this.#views = new Map(views);
    };
  }
}
