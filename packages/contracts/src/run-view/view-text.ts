import { isDeleted, isEnded, type RunState } from '../fold/run.ts';
import type { Webhook } from '../fold/webhook.ts';
import { isExactNumber } from '../numbers/exact-number.ts';

/**
 * All that a view says of a run, as one text: equal states give equal texts, whatever the order of their members. What is left to erase is
 * not in it: it goes when it is erased, without a fact.
 */
export const viewText = (run: RunState, webhook: Webhook | undefined): string =>
  JSON.stringify([sorted(withoutErasure(run)), sorted(webhook ?? null)]);

const withoutErasure = (run: RunState): RunState => {
  if (isDeleted(run)) return { ...run, to_erase: null };
  if (!isEnded(run) || !run.deleted_outputs) return run;
  return { ...run, deleted_outputs: { ...run.deleted_outputs, to_erase: null } };
};

/** Members without a value are left out, as in JSON. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
};
