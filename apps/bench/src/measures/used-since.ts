import type { MeasuredStandalone } from '../system/measured-standalone.ts';

export interface Used {
  /** In ms. */
  readonly total: number;
  readonly byProcess: ReadonlyMap<string, number>;
}

/** What its processes use up from now on. */
export const usedSince = ({ processorTimes }: MeasuredStandalone): (() => Used) => {
  const before = processorTimes();
  return () => {
    const byProcess = new Map(
      [...processorTimes()].map(([name, ms]) => [name, ms - (before.get(name) ?? 0)] as const),
    );
    return { byProcess, total: sum(byProcess.values()) };
  };
};

export const sum = (values: Iterable<number>): number => {
  let all = 0;
  for (const value of values) all += value;
  return all;
};
