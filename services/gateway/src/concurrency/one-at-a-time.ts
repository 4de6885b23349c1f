/** Whoever asks while the work is under way shares the next one with all others who do: it begins after they asked. */
export const oneAtATime = <Result>(work: () => Promise<Result>): (() => Promise<Result>) => {
  let underWay: Promise<unknown> = Promise.resolve();
  let next: Promise<Result> | undefined;
  const begin = (): Promise<Result> => {
    next = undefined;
    const begun = work();
    underWay = begun.catch(() => undefined);
    return begun;
  };
  return () => (next ??= underWay.then(begin));
};
