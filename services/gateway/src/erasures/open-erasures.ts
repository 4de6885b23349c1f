import { orgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Logger } from '@runledger/event-log/connect/logger';
import { isContinued, type ProjectionPosition } from '../projection/core/projection-start.ts';
import { ofCompleteViews } from '../projection/of-complete-views.ts';
import { whileProjecting } from '../projection/while-projecting.ts';
import { eraseOrganisation, type EraseOrganisationOptions } from './erase-organisation.ts';
import { haveNoRuns } from './erase-runs.ts';
import type { ErasureRecords } from '../catalogue/store/erasure-records.ts';

export interface ErasuresOptions extends Omit<EraseOrganisationOptions, 'onUnreadable'> {
  readonly erasures: Pick<ErasureRecords, 'change' | 'next'>;
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
}

const CHECK_EVERY_MS = 1_000;

/**
 * Erases the organisations whose erasure was requested, until it is disposed of. Their records say what is left after a crash. A copy of the
 * views may bring back runs of one that was complete: then its erasure goes on.
 */
export const openErasures = (options: ErasuresOptions): AsyncDisposable => {
  const { erasures, isProjecting, logger } = options;
  const onUnreadable = errorOnce(logger);
  /** The revision up to which all are complete. */
  let completeUpTo = 0;
  /** The views that had no run of these. */
  let without: ProjectionPosition | undefined;
  return whileProjecting({
    failure: 'an organisation could not be erased',
    everyMs: CHECK_EVERY_MS,
    isProjecting,
    logger,
    work: async (stop) => {
      const failures: unknown[] = [];
      for (let behind = completeUpTo; !stop.aborted;) {
        const erasure = await erasures.next(behind);
        if (!erasure) break;
        const { value, revision } = erasure;
        if (value.erased_at !== null) {
          if (behind === completeUpTo) completeUpTo = revision;
        } else {
          // One that fails holds up no other.
          await eraseOrganisation({ ...options, onUnreadable }, value, stop).catch((error: unknown) =>
            failures.push(error),
          );
        }
        behind = revision;
      }
      if (completeUpTo > 0) without = await eraseAgain(options, without, stop);
      if (failures.length > 0) throw failures[0];
    },
  });
};

/**
 * Lets the erasures go on of which the views have runs again: in the beginning, and when the views were derived again or are those of a copy.
 * Resolves with the views that have none of the others; undefined while that is unknown.
 */
const eraseAgain = async (
  options: ErasuresOptions,
  without: ProjectionPosition | undefined,
  stop: AbortSignal,
): Promise<ProjectionPosition | undefined> => {
  const { views, erasures, logger } = options;
  if (without && isContinued(without, await views.position())) return without;
  const found = await ofCompleteViews(options, async (at) => ({
    at,
    again: await completeWithRuns(options, stop),
  }));
  for (const org_id of found?.again ?? []) {
    logger.warn({ org_id }, 'the views have runs of an erased organisation again: it is erased again');
    await erasures.change(org_id, (present) => ({ ...present, quiet_at: null, erased_at: null }));
  }
  return stop.aborted ? undefined : found?.at;
};

const completeWithRuns = async (
  { erasures, views }: Pick<ErasuresOptions, 'erasures' | 'views'>,
  stop: AbortSignal,
): Promise<string[]> => {
  const found: string[] = [];
  for (let behind = 0; !stop.aborted;) {
    const erasure = await erasures.next(behind);
    if (!erasure) break;
    const { org_id, erased_at } = erasure.value;
    if (erased_at !== null && !(await haveNoRuns(views, orgId(org_id)))) found.push(org_id);
    behind = erasure.revision;
  }
  return found;
};

/** Once for each run, since a pass finds it again and again. */
const errorOnce = (logger: Logger): ((key: RunKey, why: string) => void) => {
  const known = new Set<string>();
  return (key, why) => {
    if (known.has(key.run_id)) return;
    known.add(key.run_id);
    logger.error(
      { ...key, why },
      'a run cannot be read, and keeps its organisation from being erased: look at it with "runledger history"',
    );
  };
};
