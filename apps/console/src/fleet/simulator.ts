import type { DaySummary, Outcome, Tried } from '@runledger/simulate/what-if/outcome';
import type { FromWorker, ToWorker } from '../../worker/messages.ts';

/** The simulator in a worker of the browser, which the day does not leave. */
export class Simulator {
  #worker: Worker | undefined;

  /** Reads a captured day, and keeps it. @throws {Error} in words for people */
  async read(file: File): Promise<DaySummary> {
    this.stop();
    const answer = await this.#ask({ kind: 'read', file });
    if (answer.kind !== 'day') throw unexpected(answer);
    return answer.day;
  }

  /** Plays the day that was read last. @throws {Error} in words for people */
  async play(tried: Tried): Promise<Outcome> {
    const answer = await this.#ask({ kind: 'play', tried });
    if (answer.kind !== 'outcome') throw unexpected(answer);
    return answer.outcome;
  }

  /** Ends what it does, and forgets the day. */
  stop(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  #ask(message: ToWorker): Promise<FromWorker> {
    const worker = (this.#worker ??= new Worker(new URL('../../worker/worker.ts', import.meta.url), {
      type: 'module',
    }));
    return new Promise((resolve, reject) => {
      worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => resolve(data), {
        once: true,
      });
      worker.addEventListener(
        'error',
        ({ message: why }) => reject(new Error(`The simulator stopped: ${why || 'it could not be loaded'}.`)),
        { once: true },
      );
      worker.postMessage(message);
    });
  }
}

const unexpected = (answer: FromWorker): Error =>
  new Error(answer.kind === 'failed' ? answer.why : 'The simulator answered something else.');
