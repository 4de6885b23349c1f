import pLimit from 'p-limit';

/** Calls during a run of the work share the next run, which begins after all of them. */
export const oneAtATime = <Result>(work: () => Promise<Result>): (() => Promise<Result>) => {
  const limit = pLimit(1);
  let next: Promise<Result> | undefined;
  return () =>
    (next ??= limit(() => {
      next = undefined;
      return work();
    }));
};
