import type { Capacity } from '@runledger/contracts/requests/queue-position';
import { canServe, servesMachine, type Requirements, type Capabilities } from '../slots/requirements.ts';
import { takesNoMore, type RegisteredExecutor } from './registered-executor.ts';

/** Why no executor could be given a run. */
export type Shortage = Exclude<Capacity, 'busy'>;

/** Executors that offer the very same. */
interface Group {
  readonly key: string;
  readonly offer: Capabilities;
  readonly open: Set<RegisteredExecutor>;
  readonly draining: Set<RegisteredExecutor>;
}

/**
 * What executors offer, each different offer once, however many say the same: a fleet is large, but has few kinds of
 * executors. One whose loss is decided counts as gone.
 */
export class OfferedCapabilities {
  readonly #groups = new Map<string, Group>();
  readonly #groupOf = new Map<RegisteredExecutor, { readonly said: Capabilities; readonly group: Group }>();

  /** The executor registered, or began or ceased to drain or to be lost. */
  note(executor: RegisteredExecutor): void {
    if (this.#groupOf.get(executor)?.said !== executor.capabilities) this.forget(executor);
    if (executor.losing) return this.forget(executor);
    const group = this.#groupOf.get(executor)?.group ?? this.#join(executor);
    const [joined, left] = takesNoMore(executor)
      ? [group.draining, group.open]
      : [group.open, group.draining];
    left.delete(executor);
    joined.add(executor);
  }

  forget(executor: RegisteredExecutor): void {
    const group = this.#groupOf.get(executor)?.group;
    if (!group) return;
    this.#groupOf.delete(executor);
    group.open.delete(executor);
    group.draining.delete(executor);
    if (group.open.size + group.draining.size === 0) this.#groups.delete(group.key);
  }

  /** Of the executors that could be given such a run, now or when a slot becomes free. */
  offersFor(demand: Requirements): Capabilities[] {
    const offers: Capabilities[] = [];
    for (const { offer, open } of this.#groups.values()) {
      if (open.size > 0 && canServe(offer, demand)) offers.push(offer);
    }
    return offers;
  }

  /** The executors that could execute such a run: those that take new runs, and those that do not. */
  ableTo(demand: Requirements): {
    readonly open: RegisteredExecutor[];
    readonly draining: RegisteredExecutor[];
  } {
    const able = [...this.#groups.values()].filter(({ offer }) => canServe(offer, demand));
    return {
      open: able.flatMap(({ open }) => [...open]),
      draining: able.flatMap(({ draining }) => [...draining]),
    };
  }

  /** Why nobody could be given such a run; the nearest to being possible is told. */
  shortageFor(demand: Requirements): Shortage {
    const withGpu = [...this.#groups.values()]
      .map(({ offer }) => offer)
      .filter(({ gpus }) => gpus.has(demand.gpu));
    if (withGpu.length === 0) return 'no_gpu';
    const serving = withGpu.filter((offer) => servesMachine(offer, demand));
    if (serving.length === 0) return 'not_served';
    return serving.some((offer) => canServe(offer, demand)) ? 'draining' : 'no_runner';
  }

  #join(executor: RegisteredExecutor): Group {
    const said = executor.capabilities;
    const key = JSON.stringify(
      [said.gpus, said.machines, said.programs].map((names) => [...names].toSorted()),
    );
    const group = this.#groups.get(key) ?? { key, offer: said, open: new Set(), draining: new Set() };
    this.#groups.set(key, group);
    this.#groupOf.set(executor, { said, group });
    return group;
  }
}
