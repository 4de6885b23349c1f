import { within } from '@runledger/resilience/within';
import { basename } from 'node:path';
import { readOutputLine } from './server-log.decide.ts';

/** A file that a prediction put out by itself or in a list. */
export interface LoggedFile {
  readonly path: string;
  readonly name: string;
  /** Why the server left it out of the output; null when it did not. */
  unread: string | null;
}

/** What a server of the executor logs of the files of its predictions. Nothing is known of another server. */
export interface OutputLog {
  /** Takes each line that the server writes. */
  hear(line: string): void;
  /** The files of a prediction that has succeeded, in the order of its output; none when the server does not say them. */
  filesOf(prediction: string): Promise<readonly LoggedFile[]>;
  /** Of one that has not, as far as they are known. */
  filesSoFar(prediction: string): readonly LoggedFile[];
}

interface Logged {
  slot: string;
  readonly files: LoggedFile[];
  readonly ended: PromiseWithResolvers<true>;
}

/** Lines and answers come by two ways. */
const SAYS_WITHIN_MS = 2_000;
const MAX_PREDICTIONS = 8;

/** `isOwn`: the executor started the server, and has what it writes. */
export const openOutputLog = (isOwn: boolean): OutputLog => {
  const logs = new Map<string, Logged>();
  /** Its operator, or its release, may have it log less. */
  let logsPredictions = isOwn;

  const loggedOf = (prediction: string): Logged => {
    const known = logs.get(prediction);
    if (known !== undefined) return known;
    const logged = { slot: '', files: [], ended: Promise.withResolvers<true>() };
    logs.set(prediction, logged);
    const [oldest] = logs.keys();
    if (logs.size > MAX_PREDICTIONS && oldest !== undefined) logs.delete(oldest);
    return logged;
  };
  /** The last prediction of a slot is the present one. */
  const inSlot = (slot: string): Logged | undefined =>
    [...logs.values()].findLast((logged) => logged.slot === slot);

  return {
    hear: (written) => {
      const line = readOutputLine(written);
      switch (line?.kind) {
        case undefined:
          return;
        case 'begun':
          logsPredictions = true;
          loggedOf(line.prediction).slot = line.slot;
          return;
        case 'ended':
          loggedOf(line.prediction).ended.resolve(true);
          return;
        case 'file':
          inSlot(line.slot)?.files.push({ path: line.path, name: basename(line.path), unread: null });
          return;
        case 'unread': {
          const file = inSlot(line.slot)?.files.at(-1);
          if (file) file.unread = line.why;
        }
      }
    },
    filesOf: async (prediction) => {
      if (!logsPredictions) return [];
      const logged = loggedOf(prediction);
      logsPredictions = await within(SAYS_WITHIN_MS, logged.ended.promise, () => false);
      return logsPredictions ? logged.files : [];
    },
    filesSoFar: (prediction) => logs.get(prediction)?.files ?? [],
  };
};
