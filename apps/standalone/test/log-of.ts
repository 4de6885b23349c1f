import { orgId, runId } from '@runledger/contracts/ids';
import { SHARES } from '@runledger/contracts/deliveries';
import { openEventLog, type EventLog } from '@runledger/event-log/event-log';
import { silentLogger } from '@runledger/event-log/logger';
import { readPosition } from '@runledger/event-log/timers';
import { readRun, type ReadRun } from '@runledger/event-log/read-run';
import { readOperatorFile } from '../src/data-folder/connection-files.ts';
import type { RunShown } from './run-api.ts';

export type FoundRun = Extract<ReadRun, { kind: 'found' }>;

/** With the operator's credentials. */
const openLogOf = async (dataFolder: string): Promise<EventLog> => {
  const operator = await readOperatorFile(dataFolder);
  if (operator.kind !== 'found') throw new Error(`${operator.path} is ${operator.kind}`);
  const { nats_url: url, nats_nkey: seed } = operator.content;
  return openEventLog({ url, seed, name: 'test' }, silentLogger);
};

/** What the log itself says of runs. */
export const historiesOf = async (dataFolder: string, runs: readonly RunShown[]): Promise<FoundRun[]> => {
  await using log = await openLogOf(dataFolder);
  const histories: FoundRun[] = [];
  for (const { id, org_id } of runs) {
    const read = await readRun(log, { org_id: orgId(org_id), run_id: runId(id) });
    if (read.kind !== 'found') throw new Error(`the log does not tell run ${id}: ${JSON.stringify(read)}`);
    histories.push(read);
  }
  return histories;
};

export const historyOf = async (dataFolder: string, run: RunShown): Promise<FoundRun> => {
  const [history] = await historiesOf(dataFolder, [run]);
  if (!history) throw new Error(`the log was not asked for run ${run.id}`);
  return history;
};

/** How far the notifier's sweep has come in every share, and how far it has to come: sequences of RUNS. */
export const sweepOf = async (
  dataFolder: string,
): Promise<{ readonly swept: number; readonly last: number }> => {
  await using log = await openLogOf(dataFolder);
  const last = await log.jsm.streams.getMessage('RUNS', { last_by_subj: 'runs.*.*.life.>' });
  const shares = Array.from({ length: SHARES }, (_, share) => readPosition(log, share));
  const positions = await Promise.all(shares);
  return { swept: Math.min(...positions.map((at) => at?.swept ?? 0)), last: last?.seq ?? 0 };
};
