import { readSlice } from '@runledger/contracts/slices/read-slice';
import { foldDay, type CapturedDay } from '@runledger/simulate/what-if/captured-day';
import { outcomeOf, summaryOf } from '@runledger/simulate/what-if/outcome-of';
import { decompressed } from './decompressed.ts';
import type { FromWorker, ToWorker } from './messages.ts';

/** What a worker has of a page. The code of the simulator has the types of Node, and so has this file. */
interface WorkerScope {
  readonly addEventListener: (type: 'message', take: (event: { readonly data: ToWorker }) => void) => void;
  readonly postMessage: (message: FromWorker) => void;
}

const scope = globalThis as unknown as WorkerScope;

/** The day that was read last. */
let day: CapturedDay | undefined;

const answerTo = async (message: ToWorker): Promise<FromWorker> => {
  if (message.kind === 'read') {
    const { file } = message;
    day = await foldDay(readSlice(file.name, decompressed(file)));
    return { kind: 'day', day: summaryOf(day) };
  }
  if (!day) return { kind: 'failed', why: 'Choose a captured day first.' };
  return { kind: 'outcome', outcome: outcomeOf(day, message.tried) };
};

const answer = async (message: ToWorker): Promise<void> => {
  try {
    scope.postMessage(await answerTo(message));
  } catch (error) {
    scope.postMessage({ kind: 'failed', why: error instanceof Error ? error.message : String(error) });
  }
};

scope.addEventListener('message', ({ data }) => void answer(data));
