import type { Process } from './process.ts';

/** What executes in a process from its start until it is killed or has stopped. */
export interface Life {
  /** The connection to the broker was restored. */
  onReconnect(): void;
  /** Stops in order. `onStopped` is called when it has ended. */
  stop(onStopped: () => void): void;
}

/** A process that is started, killed and stopped, and begins another life with each start. */
export class Restartable<OfKind extends Life = Life> {
  readonly process: Process;
  readonly #begin: () => OfKind;
  #life: OfKind | undefined;

  /** `begin` is called at each start, after that of the process. */
  constructor(process: Process, begin: () => OfKind) {
    this.process = process;
    this.#begin = begin;
  }

  /** Undefined while it is down. */
  get life(): OfKind | undefined {
    return this.#life;
  }

  start(): void {
    this.process.start();
    this.#life = this.#begin();
  }

  kill(): void {
    this.process.kill();
    this.#life = undefined;
  }

  stop(): void {
    const life = this.#life;
    life?.stop(() => {
      if (this.#life === life) this.kill();
    });
  }

  onReconnect(): void {
    const life = this.#life;
    if (life) this.process.receive(this.process.life, () => life.onReconnect());
  }
}
