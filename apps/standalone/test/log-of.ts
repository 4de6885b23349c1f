import { orgId, runId } from '@runledger/contracts/ids';
import { openEventLog } from '@runledger/event-log/event-log';
import { silentLogger } from '@runledger/event-log/logger';
import { readRun, type ReadRun } from '@runledger/event-log/read-run';
import { readOperatorFile } from '../src/data-folder/connection-files.ts';
import type { RunShown } from './run-api.ts';

export type FoundRun = Extract<ReadRun, { kind: 'found' }>;

/** What the log itself says of runs, read with the operator's credentials. */
export const historiesOf = async (dataFolder: string, runs: readonly RunShown[]): Promise<FoundRun[]> => {
  const operator = await readOperatorFile(dataFolder);
  if (operator.kind !== 'found') throw new Error(`${operator.path} is ${operator.kind}`);
  const { nats_url: url, nats_user: user, nats_password: password } = operator.content;
  await using log = await openEventLog({ url, user, password, name: 'test' }, silentLogger);
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
