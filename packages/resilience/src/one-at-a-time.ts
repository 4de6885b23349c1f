import { setImmediate as endOfTurn } from 'node:timers/promises';

/**
 * Calls during a run of the work share the next run, which begins after all of them. It begins at the end of a turn of the event loop: all requests that
 * are read in one turn share one, and not the first one and the others two.
 */
export const oneAtATime = <Result>(work: () => Promise<Result>): (() => Promise<Result>) => {
  const run = oneAtATimeByKey(work);
  return () => run('');
};

/** The same for each key by itself. A key that nobody waits for takes no memory. */
export const oneAtATimeByKey = <Result>(
  work: (key: string) => Promise<Result>,
): ((key: string) => Promise<Result>) => {
  const last = new Map<string, Run<Result>>();
  return (key) => {
    const before = last.get(key);
    if (before?.hasBegun === false) return before.result;
    const run: Run<Result> = {
      hasBegun: false,
      result: Promise.resolve(before?.result)
        .catch(() => undefined)
        .then(() => endOfTurn())
        .then(() => {
          run.hasBegun = true;
          return work(key);
        }),
    };
    last.set(key, run);
    const forget = (): void => {
      if (last.get(key) === run) last.delete(key);
    };
    run.result.then(forget, forget);
    return run.result;
  };
};

interface Run<Result> {
  hasBegun: boolean;
  readonly result: Promise<Result>;
}
