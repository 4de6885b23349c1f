import type { World } from '../broker/world.ts';
import type { Process } from '../virtual-time.ts';

/** As packages/coordination/src/lease.ts, in virtual time. */
const TTL_MS = 3_000;
const POLL_MS = 500;

export interface HeldLease {
  /** It is not renewed any more, and free for others. */
  readonly release: () => void;
}

/** Waits until the process holds the lease. */
export class LeaseHolder {
  readonly #world: World;
  readonly #process: Process;
  /** The last revision, and since when it is known. */
  #seen = { revision: -1, since: 0 };

  constructor(world: World, process: Process) {
    this.#world = world;
    this.#process = process;
  }

  /** After a reconnect: what was seen before says nothing. */
  forget(): void {
    this.#seen = { revision: -1, since: 0 };
  }

  /** `onHeld` is called once, and `onLost` after it when another process may hold it. */
  acquire(onHeld: (lease: HeldLease) => void, onLost: () => void): void {
    const { broker, lease } = this.#world;
    const again = (): void => this.#process.after(POLL_MS, () => this.acquire(onHeld, onLost));
    broker.ask(
      this.#process,
      POLL_MS * 2,
      () => lease.last,
      (last) => {
        if (!last) {
          this.forget();
          return again();
        }
        const now = this.#process.clock;
        if (last.revision !== this.#seen.revision) this.#seen = { revision: last.revision, since: now };
        if (last.holder !== '' && now - this.#seen.since < TTL_MS) return again();
        this.#take(last.revision, (revision, sentAt) =>
          revision ? onHeld(this.#hold(revision, sentAt, onLost)) : again(),
        );
      },
    );
  }

  #take(revision: number, then: (revision: number | false | undefined, sentAt: number) => void): void {
    const { broker, lease } = this.#world;
    const sentAt = this.#process.clock;
    const write = (): number | false => lease.write(this.#process.instance, revision);
    broker.ask(this.#process, TTL_MS, write, (taken) => then(taken, sentAt));
  }

  #hold(first: number, taken: number, onLost: () => void): HeldLease {
    const process = this.#process;
    let [revision, heldSince, isOver] = [first, taken, false];
    const lose = (): void => {
      if (isOver) return;
      isOver = true;
      onLost();
    };
    const watch = (): void => {
      if (isOver) return;
      const leftMs = heldSince + TTL_MS - process.clock;
      if (leftMs <= 0) lose();
      else process.after(leftMs, watch);
    };
    const renew = (): void => {
      if (isOver) return;
      const sentAt = process.clock;
      const again = (): void => process.after(TTL_MS / 3, renew);
      const { broker, lease } = this.#world;
      broker.ask(
        process,
        TTL_MS / 2,
        () => lease.write(process.instance, revision),
        (renewed) => {
          if (isOver) return;
          if (renewed === false) return lose();
          if (renewed !== undefined) [revision, heldSince] = [renewed, sentAt];
          again();
        },
      );
    };
    watch();
    process.after(TTL_MS / 3, renew);
    return {
      release: () => {
        if (isOver) return;
        isOver = true;
        this.#world.broker.ask(
          process,
          TTL_MS,
          () => this.#world.lease.write('', revision),
          () => undefined,
        );
      },
    };
  }
}
