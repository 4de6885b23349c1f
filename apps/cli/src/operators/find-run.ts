import { isRunId } from '@runledger/contracts/ids';
import { parseLifecycleSubject } from '@runledger/contracts/subjects/run-subjects';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { CommandError } from '../output/command-error.ts';

/** The run of this id, of whichever organisation: the operator reads across all of them. @throws Explained */
export const findRun = async (log: EventLog, run: string): Promise<RunKey> => {
  const id = run.toLowerCase();
  if (!isRunId(id)) throw new CommandError(`"${run}" is not a run id: it is a UUID, as queue prints it.`);
  const info = await log.jsm.streams.info('RUNS', { subjects_filter: `runs.*.${id}.life.queued.>` });
  for (const subject of Object.keys(info.state.subjects ?? {})) {
    const key = parseLifecycleSubject(subject);
    if (key !== undefined) return { org_id: key.org_id, run_id: key.run_id };
  }
  throw new CommandError(
    `The log has no run ${run}. Check the id; events older than the log keeps them (7 days as a rule) are gone.`,
  );
};
