import { quantile } from '@runledger/testing/measuring';

/** The processor time of this process that the work takes, in microseconds. */
export const microseconds = async (work: () => Promise<unknown> | void): Promise<number> => {
  const begun = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begun);
  return user + system;
};

export const say = (line: string): void => void process.stdout.write(`${line}\n`);

export const median = (values: readonly number[]): number => quantile(values, 0.5);
