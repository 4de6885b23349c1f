import { executorToken } from '@runledger/contracts/ids';

/** An executor of the standalone, which is a process of its own. */
export interface Executor {
  /** The name of its process: of its log file, and in messages. */
  readonly process: string;
  /** Its `EXECUTOR_NAME` as a token of a subject, and of its user at the broker. */
  readonly name: string;
  readonly workFolder: string;
}

/** A number of two digits behind it is still a token. */
const LONGEST_FIRST_PART = 45;

/** The first one has the given name and folder, so that these stay when more are added. The others have a number behind both. */
export const executorsOf = (name: string, count: number, workFolder: string): [Executor, ...Executor[]] => {
  const token = executorToken(name);
  const first = { process: 'gpu-executor', name: token, workFolder };
  const more = Array.from({ length: count - 1 }, (_, index) => {
    const number = index + 2;
    return {
      process: `gpu-executor-${number}`,
      name: `${token.slice(0, LONGEST_FIRST_PART)}-${number}`,
      workFolder: `${workFolder}-${number}`,
    };
  });
  return [first, ...more];
};
