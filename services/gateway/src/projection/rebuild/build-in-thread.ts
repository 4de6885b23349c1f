import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { programFile } from '@runledger/service-kit/lifecycle/program-file';
import type { BuildProgress, ComparedSet } from './build-views.ts';
import { answerQuery, type BuildOrder, type Built, type FromBuilder } from './worker-messages.ts';

export interface ThreadOptions {
  readonly live: ComparedSet;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BuildProgress) => void;
}

const PROGRAM = fileURLToPath(new URL('./build-worker.ts', import.meta.url));

/** Builds the next set in a thread of its own. Rejects when that fails, and with the signal's reason when it is stopped. */
export const buildInThread = async (
  order: BuildOrder,
  { live, signal, onProgress }: ThreadOptions,
): Promise<Built> => {
  signal.throwIfAborted();
  const worker = new Worker(programFile(PROGRAM), { workerData: order });
  const end = Promise.withResolvers<Built>();
  const stop = (): void => end.reject(signal.reason);
  signal.addEventListener('abort', stop);
  worker.on('message', (message: FromBuilder) => {
    if (message.kind === 'query') void answerQuery(worker, live, message);
    else if (message.kind === 'progress') onProgress(message.progress);
    else end.resolve(message.built);
  });
  worker.on('error', (error) => end.reject(error));
  worker.on('exit', (code) => end.reject(new Error(`the thread that built views ended with ${code}`)));
  try {
    return await end.promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
};
