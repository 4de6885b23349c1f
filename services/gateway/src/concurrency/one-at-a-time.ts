import pLimit from 'p-limit';

/** Calls that come while the work is under way share the next run of it, which begins after all of them came. */
export const oneAtATime = <Result>(work: () => Promise<Result>): (() => Promise<Result>) => {
  const limit = pLimit(1);
  let next: Promise<Result> | undefined;
  return () =>
    (next ??= limit(() => {
      next = undefined;
      return work();
    }));
};
