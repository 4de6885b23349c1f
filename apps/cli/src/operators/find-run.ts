import { isRunId } from '@runledger/contracts/ids';
import { parseLifecycleSubject } from '@runledger/contracts/subjects/run-subjects';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { CommandError } from '../output/command-error.ts';

/** The run with this id, of any organisation. @throws CommandError */
export const findRun = async (log: EventLog, run: string): Promise<RunKey> => {
  const id = run.toLowerCase();
  if (!isRunId(id))
    throw new CommandError(`"${run}" is not a run id. A run id is a UUID, as queue prints it.`);
  const info = await log.jsm.streams.info('RUNS', { subjects_filter: `runs.*.${id}.life.queued.>` });
  for (const subject of Object.keys(info.state.subjects ?? {})) {
    const key = parseLifecycleSubject(subject);
    if (key !== undefined) return { org_id: key.org_id, run_id: key.run_id };
  }
  throw new CommandError(
    `The log has no run ${run}. Check the id. The log keeps events for a limited time, 7 days by default.`,
  );
};
