import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { append } from '@runledger/event-log/append/append';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { readRun } from '@runledger/event-log/read/read-run';
import { readOperatorFile } from '@runledger/standalone/connection-files';
import { timedOut } from '@runledger/testing/events/run-events';
import { QUEUE, queueBody } from '../load/queue-runs.ts';
import type { MeasuredStandalone } from '../system/measured-standalone.ts';

/** Appends that wait for the broker at once. */
const AT_ONCE = 512;

/** The log of a standalone, for its operator. */
export const openLogOf = async ({ folder }: MeasuredStandalone): Promise<EventLog> => {
  const file = await readOperatorFile(folder);
  if (file.kind !== 'found') throw new Error(`the standalone has no operator's key: ${file.path}`);
  const { nats_url: url, nats_nkey: seed } = file.content;
  return openEventLog({ url, seed, name: 'bench' }, silentLogger);
};

/**
 * Stores so many runs that no executor can serve: those that wait, or have waited too long. Their facts are appended as the services append
 * them, since a request for each would take minutes for what takes seconds. The first run is queued by a request, and the others are like it.
 */
export const appendRuns = async (
  system: MeasuredStandalone,
  count: number,
  become: 'waiting' | 'ended',
): Promise<void> => {
  await using log = await openLogOf(system);
  const first = await queueOne(system, log);
  const one = async (): Promise<void> => {
    const run_id = runId(newUuid());
    const event = { ...first, run_id, event_id: newUuid(), correlation_id: newUuid() };
    const sequence = await stored(append(log, event, 0));
    const key = { org_id: orgId(first.org_id), run_id };
    if (become === 'ended') await stored(append(log, timedOut(key, 'start_deadline'), sequence));
  };
  let left = count - 1;
  const worker = async (): Promise<void> => {
    for (; left > 0; left -= 1) await one();
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, left) }, worker));
};

const queueOne = async (system: MeasuredStandalone, log: EventLog): Promise<RunEventOf<'RunQueued'>> => {
  const { run_id } = await system.call(QUEUE, queueBody(system.deployments.waiting));
  const { org_id } = await system.call(`/run/${String(run_id)}`);
  const read = await readRun(log, { org_id: orgId(String(org_id)), run_id: runId(String(run_id)) });
  const event = read.kind === 'found' ? read.facts[0]?.event : undefined;
  if (event?.type !== 'RunQueued') throw new Error(`run ${String(run_id)} is not in the log`);
  return event;
};

const stored = async (appending: ReturnType<typeof append>): Promise<number> => {
  const appended = await appending;
  if (appended.kind !== 'appended') throw new Error('another message of a new run was stored first');
  return appended.sequence;
};
