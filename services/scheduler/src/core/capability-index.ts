import type { Capacity } from '@runledger/contracts/requests/queue-position';
import {
  canServe,
  capabilitiesKey,
  hasRunner,
  servesMachine,
  type Capabilities,
  type Requirements,
} from './requirements.ts';
import { isDraining, type RegisteredExecutor } from './registered-executor.ts';

/** Why no executor can take a run. */
export type Shortage = Extract<Capacity, 'draining' | 'no_gpu' | 'not_served' | 'no_runner' | 'no_label'>;

/** Executors with equal capabilities. */
interface Group {
  readonly key: string;
  readonly capabilities: Capabilities;
  readonly open: Set<RegisteredExecutor>;
  readonly draining: Set<RegisteredExecutor>;
}

/**
 * Indexes the executors by their capabilities: a fleet has many executors, but few different sets of capabilities. An
 * executor whose loss is pending does not count.
 */
export class CapabilityIndex {
  readonly #groups = new Map<string, Group>();
  readonly #groupOf = new Map<
    RegisteredExecutor,
    { readonly capabilities: Capabilities; readonly group: Group }
  >();

  /** Call it after each change of the executor. */
  update(executor: RegisteredExecutor): void {
    if (this.#groupOf.get(executor)?.capabilities !== executor.capabilities) this.remove(executor);
    if (executor.lossPending) return this.remove(executor);
    const group = this.#groupOf.get(executor)?.group ?? this.#join(executor);
    const [joined, left] = isDraining(executor) ? [group.draining, group.open] : [group.open, group.draining];
    left.delete(executor);
    joined.add(executor);
  }

  remove(executor: RegisteredExecutor): void {
    const group = this.#groupOf.get(executor)?.group;
    if (!group) return;
    this.#groupOf.delete(executor);
    group.open.delete(executor);
    group.draining.delete(executor);
    if (group.open.size + group.draining.size === 0) this.#groups.delete(group.key);
  }

  /** The different capabilities of the executors that can take such a run, now or when a slot becomes free. */
  ableTo(requirements: Requirements): Capabilities[] {
    const able: Capabilities[] = [];
    for (const { capabilities, open } of this.#groups.values()) {
      if (open.size > 0 && canServe(capabilities, requirements)) able.push(capabilities);
    }
    return able;
  }

  /** The executors that can execute such a run: those that take new runs, and those that are draining. */
  executorsFor(requirements: Requirements): Pick<Group, 'open' | 'draining'> {
    const able = [...this.#groups.values()].filter(({ capabilities }) =>
      canServe(capabilities, requirements),
    );
    return {
      open: new Set(able.flatMap(({ open }) => [...open])),
      draining: new Set(able.flatMap(({ draining }) => [...draining])),
    };
  }

  /** The executors that take new runs, of those whose capabilities are asked for. */
  *openWith(isAskedFor: (capabilities: Capabilities) => boolean): Generator<RegisteredExecutor> {
    for (const { capabilities, open } of this.#groups.values()) if (isAskedFor(capabilities)) yield* open;
  }

  /** Why no executor can take such a run: the last condition that fails. */
  shortageFor(requirements: Requirements): Shortage {
    const withGpu = [...this.#groups.values()]
      .map(({ capabilities }) => capabilities)
      .filter(({ gpus }) => gpus.has(requirements.gpu));
    if (withGpu.length === 0) return 'no_gpu';
    const serving = withGpu.filter((capabilities) => servesMachine(capabilities, requirements));
    if (serving.length === 0) return 'not_served';
    const running = serving.filter((capabilities) => hasRunner(capabilities, requirements));
    if (running.length === 0) return 'no_runner';
    return running.some((capabilities) => canServe(capabilities, requirements)) ? 'draining' : 'no_label';
  }

  #join(executor: RegisteredExecutor): Group {
    const { capabilities } = executor;
    const key = capabilitiesKey(capabilities);
    const group = this.#groups.get(key) ?? { key, capabilities, open: new Set(), draining: new Set() };
    this.#groups.set(key, group);
    this.#groupOf.set(executor, { capabilities, group });
    return group;
  }
}
