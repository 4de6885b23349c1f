import { eventIdOf } from '@runledger/contracts/fold/chain';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readStored, runsIdentity } from '@runledger/event-log/messages/stream-identity';
import type { Scheduling } from '../core/scheduling.ts';
import { type Position, type SnapshotRun } from './snapshot-format.ts';
import { loadState } from './stored-state.ts';

/**
 * Takes the last snapshot into an empty state. Returns the position after which to read the log; undefined when the snapshot
 * has no runs of this log. Drained names are facts of FLEET, so they count even if the runs are dropped: `fleetCreated`
 * distinguishes the present FLEET from another one. @throws {LogUnavailable}
 */
export const restoreState = async (
  log: EventLog,
  scheduling: Scheduling,
  fleetCreated: string,
): Promise<Position | undefined> => {
  const stored = await loadState(log);
  if (!stored) {
    log.logger.info({}, 'there is no snapshot: the state is rebuilt from the whole log');
    return undefined;
  }
  const { drains, ...decoded } = stored;
  for (const drained of drains?.created === fleetCreated ? drains.names : []) {
    scheduling.take({ type: 'drained_name', drained });
  }
  const why = decoded.kind === 'invalid' ? decoded.why : await whyNotOfThisLog(log, decoded.position);
  if (why !== undefined || decoded.kind === 'invalid') {
    log.logger.warn({ why }, 'the runs of the snapshot are dropped, and rebuilt from the whole log');
    return undefined;
  }
  const { position, runs, rows, rowCount, durations } = decoded;
  scheduling.take({ type: 'durations', records: durations });
  scheduling.restore(rows);
  for (const run of runs) takeRun(scheduling, run);
  log.logger.info(
    { sequence: position?.sequence ?? 0, runs: runs.length + rowCount },
    'the state is restored from a snapshot',
  );
  return position;
};

const takeRun = (scheduling: Scheduling, { head, run, event_id }: SnapshotRun): void => {
  const { org_id, run_id } = run;
  const history = { head, state: run };
  scheduling.take({ type: 'run_fact', key: { org_id, run_id }, history, event_id, writer: 'gateway' });
};

/** The log must have that very event at that sequence, or the snapshot belongs to another log. */
const whyNotOfThisLog = async (
  log: EventLog,
  position: Position | undefined,
): Promise<string | undefined> => {
  if (!position) return undefined;
  const { created, sequence, event_id } = position;
  const identity = await runsIdentity(log, sequence);
  if (identity.created !== created) {
    return `its stream was created at ${created}, and this one at ${identity.created}`;
  }
  if (identity.lastSequence < sequence) {
    return `it ends at ${sequence}, and the log ends at ${identity.lastSequence}`;
  }
  const stored = await readStored(log, sequence);
  if (!stored) return `it ends with message ${sequence}, which is not in the log any more`;
  const found = eventIdOf(stored);
  return found === event_id ? undefined : `it ends with event ${event_id}, and the log has ${found} there`;
};
