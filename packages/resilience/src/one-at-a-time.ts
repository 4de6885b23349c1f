/** Calls during a run of the work share the next run, which begins after all of them. */
export const oneAtATime = <Result>(work: () => Promise<Result>): (() => Promise<Result>) => {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  const begin = (): Promise<Result> => {
    next = undefined;
    return work();
  };
  return () => {
    if (next === undefined) {
      next = running.then(begin);
      running = next.catch(() => undefined);
    }
    return next;
  };
};
