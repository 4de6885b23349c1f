import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { Logger } from '@runledger/event-log/connect/logger';
import { whileProjecting } from '../projection/while-projecting.ts';
import { eraseOrganisation, type EraseOrganisationOptions } from './erase-organisation.ts';
import type { ErasureRecords } from '../catalogue/store/erasure-records.ts';

export interface ErasuresOptions extends Omit<EraseOrganisationOptions, 'onUnreadable'> {
  readonly erasures: Pick<ErasureRecords, 'change' | 'next'>;
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
}

const CHECK_EVERY_MS = 1_000;

/** Erases the organisations whose erasure was requested, until it is disposed of. Their records say what is left after a crash. */
export const openErasures = (options: ErasuresOptions): AsyncDisposable => {
  const { erasures, isProjecting, logger } = options;
  const onUnreadable = errorOnce(logger);
  /** The revision up to which all are complete: these never change again. */
  let completeUpTo = 0;
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
      if (failures.length > 0) throw failures[0];
    },
  });
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
