import { executorName } from '@runledger/contracts/ids';
import type { Limit } from '@runledger/contracts/requests/queue-position';
import type { Run } from '@runledger/contracts/fold/run';
import type { Decision } from '../src/core/decision.ts';
import type { KnownRun } from '../src/core/runs/known-run.ts';
import type { Scheduling } from '../src/core/scheduling.ts';
import { isDraining, type RegisteredExecutor, type Slot } from '../src/core/registered-executor.ts';
import type { ShareOf } from '../src/core/runs/fair-queue.ts';

/** A run as it was at a moment. */
export interface RunThen extends Pick<KnownRun, 'name' | 'key' | 'head' | 'run' | 'requirements' | 'slot'> {
  /** It waits for a slot, at once or from some time on. */
  readonly waits: boolean;
}

export interface Moment {
  readonly runs: readonly RunThen[];
  readonly slots: readonly KnownSlot[];
}

/**
 * What the scheduler knew before a decision, from what it knows after all decisions on an input: `decisions` are that one and those that
 * followed it. What they gave away is free again, and their runs wait.
 */
export const beforeDecision = (
  scheduling: Pick<Scheduling, 'runs' | 'executors'>,
  decisions: readonly Decision[],
  isDrained: (name: string) => boolean,
): Moment => {
  const undecided = new Set<string>();
  for (const decision of decisions)
    if (decision.type !== 'declare_lost' && decision.run.status === 'queued')
      undecided.add(decision.run.run_id);
  const runs = [...scheduling.runs()].map(
    ({ name, key, head, run, requirements, slot, decided }): RunThen => {
      const isUndecided = undecided.has(key.run_id);
      return {
        name,
        key,
        head,
        run,
        requirements,
        slot: isUndecided ? undefined : slot,
        waits: run.status === 'queued' && (isUndecided || !decided),
      };
    },
  );
  return { runs, slots: knownSlots(scheduling, runs, isDrained) };
};

export interface KnownSlot {
  readonly slot: Slot;
  /** `closed`: its executor takes no runs, whether one is in it or not. */
  readonly use: 'free' | 'busy' | 'closed';
}

/** All slots that a scheduler knows, from executors and runs and not from an index. `isDrained`: an operator drained the name. */
export const knownSlots = (
  scheduling: Pick<Scheduling, 'executors'>,
  runs: Iterable<Pick<KnownRun, 'slot'>>,
  isDrained: (name: string) => boolean,
): readonly KnownSlot[] => {
  const held = new Set<string>();
  for (const { slot } of runs) if (slot) held.add(`${slot.executor} ${slot.slot}`);
  return [...scheduling.executors()].flatMap((executor) => {
    const isOpen = takesRuns(executor) && !isDrained(executorName(executor.id));
    return [...executor.slots.values()].map((slot): KnownSlot => {
      if (!isOpen) return { slot, use: 'closed' };
      const isBusy = held.has(`${executor.id} ${slot.number}`) || Boolean(slot.leftover?.until);
      return { slot, use: isBusy ? 'busy' : 'free' };
    });
  });
};

const takesRuns = (executor: RegisteredExecutor): boolean =>
  executor.confirmed && !executor.lossPending && !isDraining(executor);

/** A slot that the scheduler takes for busy although no run is in it, or for free although one is. There must be none. */
export const misjudgedSlot = (
  scheduling: Scheduling,
  isDrained: (name: string) => boolean,
): { readonly slot: Slot; readonly isFree: boolean } | undefined => {
  for (const { slot, use } of knownSlots(scheduling, scheduling.runs(), isDrained)) {
    const isFree = use === 'free';
    const isTakenForFree = slot.executor.free.get(slot.gpu)?.has(slot) ?? false;
    if (isTakenForFree !== isFree) return { slot, isFree };
  }
  return undefined;
};

/** How many slots are held by organisation, deployment and concurrency key, counted from the runs and not from an index. */
export type HeldSlots = ReadonlyMap<string, number>;

export const heldSlots = (runs: Iterable<Pick<KnownRun, 'run' | 'slot'>>): HeldSlots => {
  const held = new Map<string, number>();
  for (const { run, slot } of runs) {
    if (slot)
      for (const name of flowsOf(run).filter((one) => one !== undefined))
        held.set(name, (held.get(name) ?? 0) + 1);
  }
  return held;
};

/** The limit that keeps a run from a slot while so many are held. */
export const limitAt = (held: HeldSlots, run: Run, shareOf: ShareOf): Limit | undefined => {
  const [organisation, deployment, key] = flowsOf(run);
  const slotsOf = (name: string): number => held.get(name) ?? 0;
  if (slotsOf(organisation) >= shareOf(run.org_id).limit) return 'organisation_limit';
  if (slotsOf(deployment) >= (run.request.concurrency_limit ?? Infinity)) return 'concurrency_limit';
  return key !== undefined && slotsOf(key) > 0 ? 'concurrency_key' : undefined;
};

/** On all GPU models. */
const flowsOf = ({ org_id, request }: Run): [organisation: string, deployment: string, key?: string] => {
  const deployment = `${org_id} ${request.deployment_id}`;
  const { concurrency_key: key } = request;
  return key === undefined ? [org_id, deployment] : [org_id, deployment, `${deployment} ${key}`];
};
