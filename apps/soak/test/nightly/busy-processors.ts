import { Worker } from 'node:worker_threads';
import { availableParallelism } from 'node:os';

/** Keeps every processor busy, as other work on a machine does, until it is disposed of. */
export const busyProcessors = (): AsyncDisposable => {
  const workers = Array.from(
    { length: availableParallelism() },
    () => new Worker('for (;;) Math.random();', { eval: true }),
  );
  return {
    [Symbol.asyncDispose]: async () => {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
};
