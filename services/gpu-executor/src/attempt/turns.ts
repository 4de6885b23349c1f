/**
 * Where programs of all organisations have one user, those of two never run at once: organisations take turns. Runs of one organisation execute together.
 * A run of another one waits until they have ended and nothing that they keep is left. Whoever waits first is next, so a run also waits behind one that
 * came before it, although its own organisation has the turn.
 */
export interface Turns {
  /** For one run, from before its program starts until nothing of it is left. Null when the signal is aborted first; `onWaiting` is called when the run has to wait. */
  acquire(org_id: string, signal: AbortSignal, onWaiting: () => void): Promise<Disposable | null>;
}

/** Where the programs of each have a user, or a user namespace, of their own. */
export const NO_TURNS: Turns = {
  acquire: async (_org_id, signal) => (signal.aborted ? null : { [Symbol.dispose]: () => undefined }),
};

interface Waiting {
  readonly org_id: string;
  readonly begin: () => void;
}

/** `vacate` ends what runs have left running for the next one of their organisation. It never rejects. */
export const openTurns = (vacate: () => Promise<void>): Turns => {
  /** Whose turn it is; null before the first one, and when nothing of anybody is left. */
  let present: string | null = null;
  let executing = 0;
  let isVacating = false;
  const waiting: Waiting[] = [];

  const advance = (): void => {
    if (isVacating) return;
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      if (present !== null && present !== first.org_id) {
        if (executing === 0) void endPresent();
        return;
      }
      present = first.org_id;
      executing += 1;
      waiting.shift();
      first.begin();
    }
  };
  const endPresent = async (): Promise<void> => {
    isVacating = true;
    await vacate();
    [isVacating, present] = [false, null];
    advance();
  };
  const end = (): void => {
    executing -= 1;
    advance();
  };

  return {
    acquire: async (org_id, signal, onWaiting) => {
      if (signal.aborted) return null;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const own: Waiting = { org_id, begin: () => resolve(true) };
      const withdraw = (): void => {
        const index = waiting.indexOf(own);
        if (index < 0) return;
        waiting.splice(index, 1);
        resolve(false);
        // It may have kept back others of the organisation that has the turn.
        advance();
      };
      waiting.push(own);
      advance();
      if (waiting.includes(own)) onWaiting();
      signal.addEventListener('abort', withdraw, { once: true });
      const isBegun = await promise;
      signal.removeEventListener('abort', withdraw);
      return isBegun ? { [Symbol.dispose]: end } : null;
    },
  };
};
