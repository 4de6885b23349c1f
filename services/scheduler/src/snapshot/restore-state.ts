import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readStored, runsIdentity } from '@runledger/event-log/read/read-run';
import { loadSnapshot, saveSnapshot } from '@runledger/event-log/snapshots';
import type { Scheduling } from '../core/scheduling.ts';
import { eventIdOf } from '../log/event-id.ts';
import {
  decodeSnapshot,
  encodeSnapshot,
  keyOf,
  type Position,
  type Snapshot,
  type SnapshotRun,
} from './snapshot-format.ts';

const NAME = 'scheduler';

/** The state as it is at this moment: every run that has not ended. */
export const liveRunsOf = (scheduling: Scheduling): SnapshotRun[] =>
  [...scheduling.runs()].map(({ head, event_id, run }) => ({ head, event_id, run }));

/** @throws {LogUnavailable} */
export const saveState = async (log: EventLog, snapshot: Snapshot): Promise<void> => {
  const bytes = await encodeSnapshot(snapshot);
  await saveSnapshot(log, NAME, bytes);
  const { runs } = snapshot;
  const sequence = snapshot.position?.sequence ?? 0;
  log.logger.debug({ sequence, runs: runs.length, bytes: bytes.byteLength }, 'the state is saved');
};

/**
 * Takes the last snapshot into an empty state, and answers behind which sequence to go on reading: undefined when it has
 * no runs of this log. Drained names are those of FLEET, so they are taken whatever became of RUNS: `fleetCreated` tells
 * the present FLEET from another one. @throws {LogUnavailable}
 */
export const restoreState = async (
  log: EventLog,
  scheduling: Scheduling,
  fleetCreated: string,
): Promise<Position | undefined> => {
  const bytes = await loadSnapshot(log, NAME);
  if (!bytes) {
    log.logger.info({}, 'there is no snapshot: the state is rebuilt from the whole log');
    return undefined;
  }
  const { drains, ...decoded } = await decodeSnapshot(bytes);
  for (const drained of drains?.created === fleetCreated ? drains.names : []) {
    scheduling.take({ type: 'drained_name', drained });
  }
  const unfit = decoded.kind === 'unfit' ? decoded.why : await whyInvalid(log, decoded.position);
  if (unfit !== undefined || decoded.kind === 'unfit') {
    log.logger.warn({ why: unfit }, 'the runs of the snapshot are dropped, and rebuilt from the whole log');
    return undefined;
  }
  const { position, runs } = decoded;
  for (const line of runs) {
    const history = { head: line.head, state: line.run };
    scheduling.take({
      type: 'run_fact',
      key: keyOf(line),
      history,
      event_id: line.event_id,
      writer: 'gateway',
    });
  }
  log.logger.info(
    { sequence: position?.sequence ?? 0, runs: runs.length },
    'the state is restored from a snapshot',
  );
  return position;
};

/** The log must hold that very event at that very place, else the snapshot speaks of another log. */
const whyInvalid = async (log: EventLog, position: Position | undefined): Promise<string | undefined> => {
  if (!position) return undefined;
  const { created, sequence, event_id } = position;
  const identity = await runsIdentity(log);
  if (identity.created !== created) {
    return `it is of a stream that was created at ${created}, and this one was at ${identity.created}`;
  }
  if (identity.lastSequence < sequence) {
    return `it goes up to ${sequence}, and the log ends at ${identity.lastSequence}`;
  }
  const stored = await readStored(log, sequence);
  if (!stored) return `the message ${sequence} that it ends with is not in the log any more`;
  const found = eventIdOf(stored);
  return found === event_id ? undefined : `it ends with event ${event_id}, and the log has ${found} there`;
};
