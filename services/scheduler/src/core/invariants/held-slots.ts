import type { Limit } from '@runledger/contracts/requests/queue-position';
import type { Run } from '@runledger/contracts/fold/run';
import type { ShareOf } from '../runs/fair-queue.ts';
import type { KnownRun } from '../runs/known-run.ts';

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
