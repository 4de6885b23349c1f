import type { Retention } from '@runledger/contracts/catalogue/records';
import { orgId } from '@runledger/contracts/ids';
import { lifetimeProblems } from '@runledger/contracts/lifetimes';
import type { Logger } from '@runledger/event-log/connect/logger';
import { readLogAge, type LogAge } from '@runledger/event-log/messages/log-age';
import { whileProjecting } from '../../projection/while-projecting.ts';
import { createdBefore, DAY_MS, endedBefore } from './core/old-runs.ts';
import { eraseOldFiles, type EraseOldFilesOptions } from './erase-old-files.ts';
import { removeDeletedRuns, type RemoveDeletedRunsOptions } from './remove-deleted-runs.ts';
import { removeOldRuns, type RemoveOldRunsOptions } from './remove-old-runs.ts';
import type { RetentionRecords } from './retention-records.ts';

export interface RetentionOptions extends Omit<
  RemoveOldRunsOptions & EraseOldFilesOptions & RemoveDeletedRunsOptions,
  'stop'
> {
  readonly records: Pick<RetentionRecords, 'all'>;
  /** Days for which the installation keeps runs. */
  readonly runsDays: number;
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
}

const APPLY_EVERY_MS = 5 * 60_000;

/**
 * Removes what is older than the installation and each organisation want, until it is disposed of. What is left to remove is in the
 * views, so a crash loses nothing.
 */
export const openRetention = (options: RetentionOptions): AsyncDisposable => {
  const warn = warnOnce(options.logger);
  return whileProjecting({
    failure: 'old runs and files could not be removed',
    everyMs: APPLY_EVERY_MS,
    isProjecting: options.isProjecting,
    logger: options.logger,
    work: (stop) => applyRetention({ ...options, stop }, warn),
  });
};

const applyRetention = async (
  options: RetentionOptions & Pick<RemoveOldRunsOptions, 'stop'>,
  warn: (chosen: Retention, age: LogAge) => void,
): Promise<void> => {
  const { log, records, runsDays, stop } = options;
  const age = await readLogAge(log);
  await removeOldRuns(options, { createdBefore: createdBefore(runsDays, age) });
  await removeDeletedRuns(options);
  for await (const chosen of records.all()) {
    if (stop.aborted) return;
    const org_id = orgId(chosen.org_id);
    const { runs_days, outputs_days } = chosen;
    if (runs_days !== null) {
      warn(chosen, age);
      await removeOldRuns(options, { org_id, createdBefore: createdBefore(runs_days, age) });
    }
    if (outputs_days !== null) {
      await eraseOldFiles(options, { org_id, endedBefore: endedBefore(outputs_days, age) });
    }
  }
};

/** Once for each organisation: the log was made to keep facts for longer than the organisation's runs. */
const warnOnce = (logger: Logger): ((chosen: Retention, age: LogAge) => void) => {
  const warned = new Set<string>();
  return ({ org_id, runs_days }, { maxAgeMs }) => {
    const problems = lifetimeProblems({ log: maxAgeMs, ownRuns: (runs_days ?? Infinity) * DAY_MS });
    if (problems.length === 0) warned.delete(org_id);
    else if (!warned.has(org_id)) {
      warned.add(org_id);
      for (const problem of problems) logger.warn({ org_id, problem }, 'two lifetimes do not fit');
    }
  };
};
