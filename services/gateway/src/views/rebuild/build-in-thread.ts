import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { programFile } from '@runledger/service-kit/program-file';
import type { BuildProgress } from './build-views.ts';
import {
  answering,
  type BuildOrder,
  type Built,
  type FromBuilder,
  type ParentViews,
} from './worker-messages.ts';

export interface ThreadOptions extends ParentViews {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BuildProgress) => void;
}

const PROGRAM = fileURLToPath(new URL('./build-worker.ts', import.meta.url));

/** Builds the next set in a thread of its own. Rejects when that fails, and with the signal's reason when it is stopped. */
export const buildInThread = async (
  order: BuildOrder,
  { signal, onProgress, ...views }: ThreadOptions,
): Promise<Built> => {
  signal.throwIfAborted();
  const worker = new Worker(programFile(PROGRAM), { workerData: order });
  const end = Promise.withResolvers<Built>();
  const stop = (): void => end.reject(signal.reason);
  signal.addEventListener('abort', stop);
  const answer = answering(worker, views);
  worker.on('message', (message: FromBuilder) => {
    if (message.kind === 'query') void answer(message);
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
