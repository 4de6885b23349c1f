import type { ExecutorId } from '@runledger/contracts/ids';
import { executorIdOf } from '../plan/ids.ts';
import type { World } from '../broker/world.ts';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { PlannedExecutor, PlannedRun } from '../plan/plan.ts';
import type { Process } from '../time/process.ts';
import { ExecutorLife } from './executor-life.ts';

export interface ExecutorOptions {
  readonly world: World;
  readonly process: Process;
  readonly planned: PlannedExecutor;
  readonly runOf: (run_id: string) => PlannedRun | undefined;
}

/** One of the executors, over its restarts: each is another executor of its name. */
export class ExecutorProcess {
  readonly process: Process;
  readonly #options: ExecutorOptions;
  #life: ExecutorLife | undefined;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.process = options.process;
  }

  get name(): string {
    return this.process.name.replace(' ', '-');
  }

  /** Of the present process; undefined while it is down. */
  get id(): ExecutorId | undefined {
    return this.#life?.id;
  }

  get planned(): PlannedExecutor {
    return this.#options.planned;
  }

  start(): void {
    this.process.start();
    const id = executorIdOf(this.process.name, this.process.life);
    this.#life = new ExecutorLife(this.#options, id);
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

  /** A fact that is addressed to this process. */
  onFact(message: StoredMessage): void {
    this.#life?.onFact(message);
  }
}
