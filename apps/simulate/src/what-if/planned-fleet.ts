import { executorsOf } from '../plan/executors-of.ts';
import type { Plan, PlannedExecutor, PlannedFault } from '../plan/plan.ts';
import type { CapturedDay } from './captured-day.ts';
import type { ExecutorLifetime } from './fleet-of-day.ts';
import type { Needs } from './needs-of-day.ts';

/** Executors that left stay away until the runs of the day have ended. */
const AFTER_THE_DAY_MS = 3_600_000;

/** The executors of the day with what they can execute, and with others instead of those of some GPU models: these execute everything. */
export const plannedFleet = (
  { header, fleet }: CapturedDay,
  { gpus, needs }: { readonly gpus: ReadonlyMap<string, number>; readonly needs: Needs },
): Pick<Plan, 'executors' | 'faults'> => {
  const [beginMs, toMs] = [Date.parse(header.lead_in_from), Date.parse(header.to)];
  const executors: PlannedExecutor[] = [];
  const faults: PlannedFault[] = [];
  const present = fleet.executors.filter(({ toMs: ended }) => ended > beginMs);
  const labelled = (labels: readonly string[]): Pick<PlannedExecutor, 'labels'> =>
    labels.length === 0 ? {} : { labels: [...labels] };
  // A name with other slots than before, or other abilities, is another executor.
  const byName = Map.groupBy(present, (executor) =>
    [executor.name, ...executor.slots, '/', ...needs.servedBy(executor)].join(' '),
  );
  for (const lifetimes of byName.values()) {
    const [first] = lifetimes;
    const slots = (first?.slots ?? []).filter((gpu) => !gpus.has(gpu));
    if (!first || slots.length === 0) continue;
    const who = `executor ${executors.length}`;
    executors.push({ slots: [...slots], ...labelled(needs.servedBy(first)) });
    faults.push(...absences(lifetimes, beginMs, toMs).map((absence) => ({ ...absence, who })));
    for (const { name, fromMs, toMs: resumed } of fleet.drains)
      if (name === first.name && resumed > beginMs) {
        const atMs = Math.max(0, fromMs - beginMs);
        faults.push({ kind: 'drain', who, atMs, forMs: resumed - beginMs - atMs });
      }
  }
  for (const [gpu, slots] of gpus) {
    executors.push(...executorsOf(slots, gpu).map((executor) => ({ ...executor, ...labelled(needs.all) })));
  }
  return { executors, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
};

/** When no process of the executor was there. */
const absences = (
  lifetimes: readonly ExecutorLifetime[],
  beginMs: number,
  toMs: number,
): Pick<PlannedFault, 'kind' | 'atMs' | 'forMs'>[] => {
  const afterMs = toMs + AFTER_THE_DAY_MS;
  const first = lifetimes[0]?.fromMs ?? beginMs;
  const missing = first > beginMs ? [{ kind: 'stop' as const, atMs: 0, forMs: first - beginMs }] : [];
  return [
    ...missing,
    ...lifetimes.flatMap(({ toMs: endedMs, end }, n) => {
      if (end === null) return [];
      const backMs = lifetimes[n + 1]?.fromMs ?? afterMs;
      const kind = end === 'left' ? ('stop' as const) : ('kill' as const);
      return [{ kind, atMs: endedMs - beginMs, forMs: Math.max(0, backMs - endedMs) }];
    }),
  ];
};
