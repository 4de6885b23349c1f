import type { RunKey } from '@runledger/contracts/events/subjects';
import { isAt, type ProjectionPosition } from '../projection-start.decide.ts';
import { runName } from '../stored-run.decide.ts';
import type { StoredView } from '../run-view.ts';
import type { AdvancedViews } from './write-views.ts';

/** So long the file may be behind. */
const WRITE_AFTER_MS = 500;
/** A write of so many views blocks the process for some milliseconds. */
const WRITE_AT = 64;

interface FoundViews extends AdvancedViews {
  readonly find: (key: RunKey) => StoredView | undefined;
}

/**
 * Views that the projection has handed over, and the position that belongs to them, until they are written to the file together. A run
 * has several facts within moments: its row is written once for them. What a crash takes is derived again.
 */
export interface DeferredWrites extends Disposable, FoundViews {
  /** Writes them now: before anything else reads or writes the file. @throws what the file throws, and they stay */
  readonly flush: () => void;
  /** The position in the file is another one now. Call it with nothing deferred. */
  readonly forgetPosition: () => void;
}

interface Move {
  readonly from: ProjectionPosition;
  readonly to: ProjectionPosition;
}

export const deferWrites = (written: FoundViews, writeAfterMs = WRITE_AFTER_MS): DeferredWrites => {
  const views = new Map<string, StoredView>();
  let move: Move | undefined;
  /** In the file; read once, since only this process writes it. */
  let inFile: ProjectionPosition | undefined;
  let timer: NodeJS.Timeout | undefined;
  let hasFailed = false;

  const position = (): ProjectionPosition | undefined => move?.to ?? (inFile ??= written.position());
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (!move) return;
    try {
      const isMoved = written.advance([...views.values()], move.from, move.to);
      inFile = isMoved ? move.to : undefined;
    } catch (error) {
      hasFailed = true;
      later();
      throw error;
    }
    hasFailed = false;
    move = undefined;
    views.clear();
  };
  const later = (): void => {
    timer ??= setTimeout(() => {
      try {
        flush();
      } catch {
        // The next call fails with it.
      }
    }, writeAfterMs).unref();
  };
  const find = (key: RunKey): StoredView | undefined => views.get(runName(key)) ?? written.find(key);
  return {
    find,
    position,
    advance: (next, from, to) => {
      // Before anything is added: after a failure the caller comes with the same views again.
      if (hasFailed || views.size >= WRITE_AT) flush();
      if (!isAt(position(), from)) {
        flush();
        return written.advance(next, from, to);
      }
      for (const view of next) if (!isStale(view, find(view.run))) views.set(runName(view.run), view);
      move = { from: move?.from ?? from, to };
      later();
      return true;
    },
    flush,
    forgetPosition: () => {
      inFile = undefined;
    },
    [Symbol.dispose]: flush,
  };
};

const isStale = (view: StoredView, present: StoredView | undefined): boolean =>
  present !== undefined && (present.head > view.head || present.webhook.head > view.webhook.head);
