import type { World } from '../broker/world.ts';
import type { StoredHeartbeat } from '../broker/fleet-log.ts';
import type { Process } from '../time/process.ts';
import { SchedulerLife } from './scheduler-life.ts';
import type { SchedulerWatcher } from './watcher.ts';

/** One of the schedulers, over its restarts. */
export class SchedulerProcess {
  readonly process: Process;
  readonly #world: World;
  readonly #watcher: SchedulerWatcher;
  #life: SchedulerLife | undefined;

  constructor(world: World, process: Process, watcher: SchedulerWatcher) {
    this.#world = world;
    this.process = process;
    this.#watcher = watcher;
  }

  /** Undefined while it is down. */
  get life(): SchedulerLife | undefined {
    return this.#life;
  }

  start(): void {
    this.process.start();
    this.#life = new SchedulerLife(this.#world, this.process, this.#watcher);
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

  onRunFact(): void {
    this.#life?.onRunFact();
  }

  onFleetFact(): void {
    this.#life?.onFleetFact();
  }

  onHeartbeat(stored: StoredHeartbeat): void {
    this.#life?.onHeartbeat(stored);
  }
}
