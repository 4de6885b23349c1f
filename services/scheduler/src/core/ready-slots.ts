import type { ReadyPlace, ReadySlotsResponse, WantedReady } from '@runledger/contracts/requests/ready-slots';
import { orgId } from '@runledger/contracts/ids';
import { isTaken } from './fleet.ts';
import type { RegisteredExecutor, Slot } from './registered-executor.ts';
import type { SchedulerState } from './scheduler-state.ts';

/**
 * Where versions are to be ready before their runs come. What has a version already stays its place, so that the same question has the same
 * answer while nothing changes. The deployments take turns, so that one that wants many slots does not leave others without any.
 */
export const readySlots = (
  state: SchedulerState,
  wanted: readonly WantedReady[],
): ReadySlotsResponse['places'] => {
  const candidates = wanted.map((one) => candidatesFor(state, one));
  const given = new Set<Slot>();
  const loaded = wanted.map((): Slot[] => []);
  for (let turn = 0; turn < Math.max(0, ...wanted.map((one) => one.keep_loaded)); turn += 1)
    for (const [index, { keep_loaded }] of wanted.entries()) {
      const slot = turn < keep_loaded ? candidates[index]?.toLoad.find((one) => !given.has(one)) : undefined;
      if (slot === undefined) continue;
      given.add(slot);
      loaded[index]?.push(slot);
    }
  return wanted.map((one, index) => placesOf(one, candidates[index]?.slots ?? [], loaded[index] ?? []));
};

interface Candidates {
  /** Of all executors that can execute the version. */
  readonly slots: readonly Slot[];
  /** In the order in which they are taken for a process. */
  readonly toLoad: readonly Slot[];
}

const candidatesFor = (
  { fleet, runs }: SchedulerState,
  { org_id: org, gpus, workflow_version_id: version, machine_id, machine_name, runner, labels }: WantedReady,
): Candidates => {
  const requirements = { org_id: orgId(org), machine_id, machine_name, runner, labels, later: [] };
  const executors = new Set(
    gpus.flatMap((gpu) => [...fleet.capabilities.executorsFor({ ...requirements, gpu }).open]),
  );
  const slots = [...executors]
    .flatMap((executor) => [...executor.slots.values()])
    .filter(({ gpu }) => gpus.includes(gpu));
  /** Lower is better; null for a slot that a run has for something else. */
  const rank = (slot: Slot): number | null => {
    const { executor, number } = slot;
    const isRun = runs
      .inSlot({ executor: executor.id, slot: number })
      .some(({ run }) => run.request.workflow_version_id === version);
    if (slot.loaded === version || isRun) return 0;
    if (isTaken(fleet, slot)) return null;
    if (slot.loaded !== null) return 3;
    return executor.prepared.includes(version) ? 1 : 2;
  };
  const ranked = slots.flatMap((slot) => {
    const at = rank(slot);
    return at === null ? [] : [{ slot, at: at * gpus.length + gpus.indexOf(slot.gpu) }];
  });
  return { slots, toLoad: ranked.toSorted((a, b) => a.at - b.at).map(({ slot }) => slot) };
};

const placesOf = (
  { keep_prepared, workflow_version_id: version }: WantedReady,
  slots: readonly Slot[],
  loaded: readonly Slot[],
): ReadyPlace[] => {
  const places = new Map<RegisteredExecutor, number[]>();
  for (const { executor, number } of loaded)
    places.set(
      executor,
      [...(places.get(executor) ?? []), number].toSorted((a, b) => a - b),
    );
  const slotsOf = Map.groupBy(slots, ({ executor }) => executor);
  let prepared = [...places.keys()].reduce((sum, one) => sum + (slotsOf.get(one)?.length ?? 0), 0);
  const isFree = (executor: RegisteredExecutor): boolean =>
    [...executor.free.values()].some((free) => free.size > 0);
  const others = [...slotsOf.keys()]
    .filter((executor) => !places.has(executor))
    .map((executor) => ({
      executor,
      at: executor.prepared.includes(version) ? 0 : isFree(executor) ? 1 : 2,
    }))
    .toSorted((a, b) => a.at - b.at);
  for (const { executor } of others) {
    if (prepared >= keep_prepared) break;
    places.set(executor, []);
    prepared += slotsOf.get(executor)?.length ?? 0;
  }
  return [...places].map(([executor, ofExecutor]) => ({ executor_id: executor.id, slots: ofExecutor }));
};
